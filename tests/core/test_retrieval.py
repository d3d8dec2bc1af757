"""What a new question may rely on when lessons are looked for: related words find them, accidents do not."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_core.retrieval import ENDINGS, FLOOR, STOP_WORDS, family, relevance, select, tokens

RETRIES = (
    "check the payment gateway client retry budget before blaming slow upstream timeouts\n"
    "payment gateway client retries"
)

# ------------------------------------------------------------------------------------------------------------- families


@pytest.mark.parametrize(
    "words",
    [
        "question questions questioning questioned",
        "value values valued valuing valuation valuations",
        "literature literatures",
        "synthesis syntheses synthesise synthesised synthesising synthesize synthesized synthesizing",
        "retry retries retried retrying",
        "analysis analyses analyse analysing analyze analyzing",
        "hypothesis hypotheses",
        "budget budgets",
        "timeout timeouts",
        "cache caches cached caching",
        "process processes processed processing",
        "index indexes indexed",
        "crash crashes crashed",
        "plan plans planned planning",
        "control controls controlled",
        "commit commits committed committing",
        "calibrate calibrates calibrated calibrating calibration calibrations calibrator",
        "normalise normalised normalising normalisation normalize normalized normalizing normalization normalizations",
        "predict predicts predicted prediction predictions predictive",
        "measure measured measuring measurement measurements",
        "deploy deployed deployment deployments",
        "quick quickly quickness",
        "easy easily",
        "exceed exceeds exceeded exceeding",
        "status",
        "access accesses accessed",
    ],
)
def test_the_forms_of_a_word_are_one_family(words: str) -> None:
    """Plurals, verb forms and the common derivations of a word are recognised as that word."""
    assert len({family(word) for word in words.split()}) == 1


@pytest.mark.parametrize(
    "words",
    [
        *("string strong", "station state", "nation nature", "question quest", "version verse", "thing think"),
        *("session sense", "process progress", "status state", "speed spend", "bus busy", "during dune", "king kind"),
    ],
)
def test_words_that_only_look_alike_are_two_families(words: str) -> None:
    """Short words keep their endings, so that no accident makes them one."""
    one, other = words.split()
    assert family(one) != family(other)


def test_every_ending_is_there_for_a_reason() -> None:
    """No row of the table is hidden behind an earlier one."""
    for number, (ending, _, _) in enumerate(ENDINGS):
        assert not any(ending.endswith(earlier) for earlier, _, _ in ENDINGS[:number]), ending


@given(st.text(string.ascii_lowercase, min_size=1, max_size=20))
def test_a_stem_is_its_own_stem(word: str) -> None:
    """Stemming is done at once: a stem has itself for a stem, and is never empty."""
    assert family(word)
    assert family(family(word)) == family(word)


@pytest.mark.parametrize("word", ["größen", "языки", "提問", "e000005", "42s"])
def test_other_words_are_left_alone(word: str) -> None:
    """English endings are looked for in English words only."""
    assert family(word) == word


# --------------------------------------------------------------------------------------------------------------- tokens


def test_tokens_are_the_words_that_say_something() -> None:
    """Case, width and punctuation do not matter; function words, single letters and small numbers are left out."""
    text = "Whether the Client's RETRY-budget (v2) is x of 42 — or 8080; ｆｕｌｌ snake_case"
    assert tokens(text) == {"client", "retry", "budget", "v2", "8080", "full", "snake"}


def test_tokens_of_other_scripts() -> None:
    """Marks belong to their letters, and scripts without spaces are taken in pairs of characters."""
    assert tokens("हिन्दी भाषा") == {"हिन्दी", "भाषा"}
    assert tokens("Größe ГОРОД") == {"grösse", "город"}
    assert tokens("缓存大小") == {"缓存", "存大", "大小"}
    assert tokens("用 cache缓存ab") == {"用", "cache", "缓存", "ab"}


@given(st.text())
def test_tokens_of_tokens_are_the_same(text: str) -> None:
    """A set of tokens can be kept in place of the text: reading it again finds the same words."""
    assert tokens(" ".join(tokens(text))) == tokens(text)
    assert not tokens(text) & STOP_WORDS


# ------------------------------------------------------------------------------------------------------------ relevance


@pytest.mark.parametrize(
    ("question", "lesson"),
    [
        ("how the payment gateway client spends its retry budget on slow upstream timeouts", RETRIES),
        (
            "question the value in the literature before a synthesis",
            "Questioning the valuation in literatures before syntheses",
        ),
        (
            "does a retry exhaust the budget of the client when a timeout accumulates",
            "Retries exhaust budgets when timeouts accumulate",
        ),
        ("do retries exhaust budgets", "Retries exhaust budgets when timeouts accumulate\nretrying clients"),
        (
            "Whether the second cache is consulted before its size is tuned",
            "Check that the cache is consulted before tuning its size",
        ),
        ("缓存大小是否正确", "调整缓存大小之前检查"),
    ],
)
def test_related_questions_find_the_lesson(question: str, lesson: str) -> None:
    """Shared words or word families are enough, plain plurals among them."""
    assert relevance(question, lesson) >= FLOOR


@pytest.mark.parametrize(
    ("question", "lesson"),
    [
        ("which colour the garden fence should have", RETRIES),
        ("whether it is what it was before and how it should be", "what it was before is not what it should be now"),
        ("does the client of the shop like green", RETRIES),
        ("pattern", "the pattern of the pattern"),
        ("", RETRIES),
        ("", ""),
        ("x 42 7", "x 42 7"),
    ],
)
def test_unrelated_questions_find_nothing(question: str, lesson: str) -> None:
    """Function words never match, and one word in common is an accident."""
    assert relevance(question, lesson) < FLOOR


def test_the_word_itself_counts_more_than_its_family() -> None:
    """Of two lessons the one in the question's own words is nearer."""
    assert relevance("retry budget", "retry budget") == 1.0
    assert 0.5 < relevance("retry budget", "retries budgets") < 1.0


def test_a_long_lesson_is_found_by_a_short_question() -> None:
    """A lesson of thousands of characters that has all the words of a question is not drowned in its other words."""
    filler = " ".join(f"{a}{b}word" for a in string.ascii_lowercase for b in "abcdefghij")
    assert (
        relevance(
            "whether slow upstream timeouts exhaust the retry budget of the gateway", RETRIES + " exhausts " + filler
        )
        >= FLOOR
    )


WORDS = (
    "retry",
    "retries",
    "budget",
    "cache",
    "caches",
    "value",
    "the",
    "of",
    "gateway",
    "client",
    "8080",
    "größe",
    "缓存",
)
words = st.lists(st.sampled_from(WORDS), max_size=12)


@given(words.map(" ".join), words.map(" ".join))
def test_relevance_is_a_symmetric_share(one: str, other: str) -> None:
    """It lies between 0 and 1, the order does not matter, and tokens may stand for their text."""
    found = relevance(one, other)
    assert 0.0 <= found <= 1.0
    assert found == relevance(other, one) == relevance(tokens(one), other) == relevance(tokens(one), tokens(other))
    assert relevance(one, one) in (0.0, 1.0)


# --------------------------------------------------------------------------------------------------------------- select


def test_the_nearest_are_selected_ties_by_key() -> None:
    """At most ``limit`` come, the nearest first, equally near ones by their keys, none below the floor."""
    query = "retry budget of the gateway"
    candidates = [
        ("b", "retry budget"),
        ("d", "garden fence"),
        ("a", "retry budget"),
        ("c", "retry budget gateway"),
        ("e", "retries budget"),
    ]
    assert [key for key, _ in select(query, candidates)] == ["c", "a", "b"]
    assert [key for key, _ in select(query, candidates, limit=9)] == ["c", "a", "b", "e"]
    assert [key for key, _ in select(query, candidates, limit=9, floor=0.9)] == ["c"]
    assert select(query, candidates, limit=0) == select(query, []) == ()
    assert select(query, candidates, limit=-1) == ()


@given(
    words.map(" ".join), st.dictionaries(st.text("abc", max_size=3), words.map(" ".join), max_size=8), st.integers(0, 4)
)
def test_selecting_is_deterministic(query: str, found: dict[str, str], limit: int) -> None:
    """The order in which candidates come, and whether they come as text or tokens, changes nothing."""
    one = select(query, found.items(), limit)
    other = select(tokens(query), [(key, tokens(text)) for key, text in reversed(found.items())], limit)
    assert one == other
    assert len(one) <= limit
    assert all(score == relevance(query, found[key]) >= FLOOR for key, score in one)
