"""What may be relied on when secrets are taken out: they are gone, and ordinary text is not."""

from __future__ import annotations

import json
import re
import string
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness_core import redaction, secret_tables
from harness_core.redaction import MARK, Known, redact_text, redact_value, secret_values
from harness_core.secret_kinds import KINDS
from harness_core.secret_names import Guess, secret_name
from tests.core.pattern_steps import Steps
from tests.core.secret_examples import ALNUM, BY_NAME, BY_SHAPE, CLEAN, JWT

# ---------------------------------------------------------------------------------------------------- by shape and name


def test_every_kind_has_an_example_here_and_there_are_more_than_forty() -> None:
    """Each row of the table is tried below."""
    assert {kind.name for kind in KINDS} == set(BY_SHAPE)
    assert len(KINDS) == len(BY_SHAPE) > 40


EXAMPLES = [(name, *parts) for name, examples in BY_SHAPE.items() for parts in examples]
around = st.sampled_from(["", " ", "\n", "'", '"', "(", "see: ", "x=", "\\n", "%3D", "日本", "/", "_"])
after = st.sampled_from(["", " ", "\n", "'", '"', ")", ", ", ". So", "\\n", "\\", "日本", "&x=1", "</a>"])


@given(st.sampled_from(EXAMPLES), around, after)
def test_a_secret_of_a_known_kind_is_gone_wherever_it_stands(
    case: tuple[str, str, str, str], left: str, right: str
) -> None:
    """A secret of any kind in the table leaves neither itself nor half of itself behind."""
    _, before, secret, behind = case
    if before and not behind:
        right = "\n" + right  # there the secret goes on as far as its line or its word
    text = left + before + secret + behind + right
    clean = redact_text(text)
    assert MARK in clean
    assert not (pieces(secret) - pieces(before)) & pieces(clean)


def pieces(text: str, size: int = 5) -> set[str]:
    """All runs of five characters of a text, less those of the mark."""
    text = text.replace(MARK, "\0")
    return {text[i : i + size] for i in range(len(text) - size + 1) if "\0" not in text[i : i + size]}


@pytest.mark.parametrize(("name", "before", "secret", "behind"), EXAMPLES)
def test_each_kind_is_recognised_and_only_the_secret_is_taken(name: str, before: str, secret: str, behind: str) -> None:
    """What surrounds a secret stays readable."""
    pattern = next(kind.pattern for kind in KINDS if kind.name == name)
    assert pattern.search(before + secret + behind)
    assert redact_text(f"> {before}{secret}{behind}") == f"> {before}{MARK}{behind}"


@pytest.mark.parametrize(("before", "secret", "behind"), BY_NAME)
def test_a_name_in_text_gives_its_value_away(before: str, secret: str, behind: str) -> None:
    """Assignments, headers, flags, JSON in text, XML: the value behind a secret's name is gone, the rest stays."""
    assert redact_text(before + secret + behind) == before + (MARK if secret else "") + behind


@pytest.mark.parametrize("text", CLEAN)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Prose, counts, ids, digests, paths, versions, stand-ins and code lose nothing."""
    assert redact_text(text) == text
    assert redact_text(f"First, {text}\nThen more.") == f"First, {text}\nThen more."


harmless = st.one_of(
    st.uuids().map(str),
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.binary(min_size=20, max_size=20).map(bytes.hex),
    st.binary(min_size=20, max_size=20).map(lambda b: b.hex()[:7]),
    st.integers(0, 10**12).map(str),
    st.floats(allow_nan=False).map(str),
    st.datetimes().map(str),
    st.integers(1, 999999).map("E{:06d}".format),
    st.tuples(*[st.integers(0, 99)] * 3).map(lambda v: "{}.{}.{}".format(*v)),
    st.lists(st.text(string.ascii_lowercase, min_size=1, max_size=9), min_size=1, max_size=4).map("/".join),
    st.text(string.ascii_letters, min_size=1, max_size=15).filter(lambda word: word.lower() != "bearer"),
    st.sampled_from(["the", "token", "password", "secret", "key", "authority", "cookie", "session", "auth"]),
)


@given(
    st.sampled_from([" ", "\n", ",", "\t", " | "]).flatmap(
        lambda sign: st.lists(harmless, min_size=1, max_size=30).map(sign.join)
    )
)
def test_identifiers_digests_and_words_are_no_secrets(text: str) -> None:
    """UUIDs, SHA-1 and SHA-256 digests, event ids, numbers, dates, paths and words are never redacted, whatever stands
    between them."""
    assert redact_text(text) == text


def test_the_names_of_our_own_records_are_no_secret_names() -> None:
    """Nothing the harness itself writes under its own names is lost."""
    for name in (
        *(
            "authority_domain",
            "tool_args_sha256",
            "tool_args_commitment_scheme",
            "prev_hash",
            "event_id",
            "session_id",
            "case_id",
        ),
        *(
            "execution_args_match_commitment",
            "grounding_authority_domains",
            "api_request_id",
            "tool_call_id",
            "result_sha256",
        ),
    ):
        assert secret_name(name) is None


@pytest.mark.parametrize(
    ("names", "guess"),
    [
        (
            "password passwd dbPassword DB_PASSWORD db-password2 user_password_hash mypassword smtp_pass pass otp",
            Guess.HUMAN,
        ),
        (
            "token api_key apiKey APIKey X-Api-Key api_keys secret client_secret clientsecret credentials cookie",
            Guess.MACHINE,
        ),
        (
            "Authorization access_token auth_tokens session_token private_key aws_secret_access_key tokenValue",
            Guess.MACHINE,
        ),
        ("AccountKey connection_string conn_str auth basic_auth jwt bearer secret_base64 accesstoken", Guess.MACHINE),
        ("max_tokens token_count num_tokens tokens keyboard monkey author authority authority_domain key", None),
        (
            "primary_key session_key tokenizer next_page_token eos_token access_key_id token_type secret_name",
            None,
        ),
        ("passwordless token_pass bypass string value text oauth compass password_policy", None),
        ("", None),
    ],
)
def test_a_name_counts_by_its_last_word(names: str, guess: Guess | None) -> None:
    """Names of secrets in every spelling are known; counts, other keys and longer words are not taken for them."""
    for name in names.split() or [""]:
        assert secret_name(name) is guess, name


# ----------------------------------------------------------------------------------------------------- repeated secrets


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.text(string.ascii_letters + string.digits + '-/"\\ü&=', min_size=8, max_size=30).filter(
        lambda s: s == s.strip()
    ),
    st.sampled_from([lambda s: s, lambda s: json.dumps(s)[1:-1], lambda s: json.dumps(s, ensure_ascii=False)[1:-1]]),
)
@example("", "", "pa/ss&w=rd", lambda s: "pa%2Fss%26w%3Drd")
def test_a_known_secret_is_found_anywhere(left: str, right: str, secret: str, written: Callable[[str], str]) -> None:
    """A secret of eight characters is found inside of words too, and as JSON or a URL would write it."""
    clean = redact_text(left + written(secret) + right, frozenset({secret}))
    assert written(secret) not in clean.replace(MARK, "")
    assert MARK in clean


def test_secrets_that_overlap_leave_nothing_between_them() -> None:
    """Two secrets that share characters are both gone, with what joins them."""
    assert redact_text("abcdefghijkl", frozenset({"abcdefgh", "efghijkl"})) == MARK
    assert redact_text("abcdefgh12345678", frozenset({"abcdefgh", "12345678"})) == MARK
    assert redact_text("abcdefgh and more", frozenset({"abcdefgh", "abcdefgh and"})) == f"{MARK} more"


def test_a_short_secret_is_looked_for_as_a_word_only() -> None:
    """A password like ``abc123`` does not tear digests apart."""
    known = frozenset({"abc123"})
    assert redact_text("abc123, xabc123 deadabc12345", known) == f"{MARK}, xabc123 deadabc12345"
    assert redact_text("nothing to see", frozenset({"", "   "})) == "nothing to see"


CALL = {
    "url": "u",
    "password": "hunter2-zebra",
    "nested": {"api_key": "kilo-lima-99", "retries": 3, "verify": False, "note": "hunter2-zebra again"},
    "deep": [{"token": "tango-77", "f": 1.5, "none": None}],
}


def test_the_secrets_of_a_call_are_known_for_the_rest_of_it() -> None:
    """A password without a recognisable form is scrubbed from the reasons given beside it, and from its neighbours."""
    known = secret_values(CALL)
    assert known == {"hunter2-zebra", "kilo-lima-99", "tango-77"}
    assert redact_text("log in with hunter2-zebra", known) == f"log in with {MARK}"
    assert redact_value(CALL) == {
        "url": "u",
        "password": MARK,
        "nested": {"api_key": MARK, "retries": 3, "verify": False, "note": f"{MARK} again"},
        "deep": [{"token": MARK, "f": 1.5, "none": None}],
    }


def test_what_says_nothing_or_is_too_short_is_not_looked_for() -> None:
    """``required``, ``<token>`` or ``abc`` under a secret's name do not blot the rest of the call."""
    words = {"password": "required", "token": "function", "secret": "a sentence of words", "api_key": "<your key>"}
    assert secret_values(words | {"pwd": "abc", "passwd": "password", "passphrase": "my_password"}) == frozenset()
    assert secret_values({"password": "quokka"}) == {"quokka"}


def test_a_credential_is_known_without_its_scheme_too() -> None:
    """What stands behind ``Bearer`` is found where it is repeated alone."""
    assert "emu-1234567" in secret_values({"Authorization": "Bearer emu-1234567"})


def test_secrets_inside_of_texts_are_known_as_well() -> None:
    """A command line's password or a key in a text is found again elsewhere."""
    assert secret_values({"command": "login --password=swordfish", "n": [f"see {JWT}"]}) == {"swordfish", JWT}


# ---------------------------------------------------------------------------------------------------------- JSON values


def test_what_stands_under_a_secret_name_is_hidden_whatever_its_type() -> None:
    """Texts and long numbers go, booleans, null, short numbers and empty texts stay, containers keep their form."""
    value = {
        "Authorization": "Bearer emu-1234567",
        "cookie": "e",
        "secret": {"inner": "emu-10", "n": 3, "list": ["a", None, True, 2.5]},
        "tokens": ["emu-11"],
        "max_tokens": 5,
        "password": None,
        "session_token": 16,
        "db_password": 12345678,
        "passcode": -4711,
        "api_key": 1234567,
        "passphrase": "",
        "ok_password": False,
    }
    assert redact_value(value) == {
        **value,
        "Authorization": MARK,
        "cookie": MARK,
        "secret": {"inner": MARK, "n": 3, "list": [MARK, None, True, 2.5]},
        "db_password": MARK,
        "passcode": MARK,
    }


def test_a_name_beside_its_value_and_a_flag_before_its_value_count() -> None:
    """``{"name": ..., "value": ...}`` and ``["--password", ...]`` give a value away as a key does."""
    value = [
        {"name": "DB_PASSWORD", "value": "swordfish", "n": 1},
        {"name": "HOME", "value": "/root"},
        ["login", "--password", "quokka", "--token", "--user", "ann", "--password", 7],
    ]
    assert redact_value(value) == [
        {"name": "DB_PASSWORD", "value": MARK, "n": 1},
        {"name": "HOME", "value": "/root"},
        ["login", "--password", MARK, "--token", "--user", "ann", "--password", 7],
    ]


def test_secret_keys_are_redacted_and_stay_apart() -> None:
    """A secret used as a key is gone, and no member is lost by it."""
    one, two = "sk-" + ALNUM[:40], "sk-" + ALNUM[1:41]
    assert redact_value({one: 1, two: 2, 3: "x"}) == {MARK: 1, f"{MARK} 2": 2, 3: "x"}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('{"credentials": {"user": "walrus"}, "n": "x"}', '{"credentials": {"user": "M"}, "n": "x"}'),
        ('{"api_keys": ["a", "b\\"c", {"d": "e"}], "n": ["x"]}', '{"api_keys": ["M", "M", {"d": "M"}], "n": ["x"]}'),
        ('{"auth": "dXNlcjpwYXNz", "pass": "quokka", "n": "5"}', '{"auth": "M", "pass": "M", "n": "5"}'),
        ('[{"secret": {"a": {"b": "x"}}}, "y"]', '[{"secret": {"a": {"b": "M"}}}, "y"]'),
        ('{"token": "a"}\n{"token": "b", "n": ""}', '{"token": "M"}\n{"token": "M", "n": ""}'),
        (' {"token": "a", "secret": ["b", "c', ' {"token": "M", "secret": ["M", "M'),
        ('{"token": null, "secret": true, "passwords": ["", 1, {}]}', None),
        ('{"n": "x', None),
        ('{"n": "x\\', None),
    ],
)  # fmt: skip
def test_a_text_that_is_json_is_read_as_json(text: str, clean: str | None) -> None:
    """In a result that is JSON, or its beginning, a name gives away what lies deep below it, however short."""
    assert redact_text(text) == (clean or text).replace("M", MARK)


@pytest.mark.parametrize("text", ["[" * 100_000, "]" * 100_000, '{"a":' * 50_000, ":" * 9 + "{"])
def test_odd_json_is_only_text(text: str) -> None:
    """What never ends, or ends too often, is no trouble."""
    assert redact_text(text) == redact_text("{" + text)[1:] == text


def test_tuples_become_lists_and_the_argument_is_left_alone() -> None:
    """Redaction answers with JSON of its own and changes nothing that was given to it."""
    value = {"a": ({"password": "swordfish"},)}
    assert redact_value(value) == {"a": [{"password": MARK}]}
    assert value == {"a": ({"password": "swordfish"},)}


names = st.sampled_from(["password", "api_key", "n", "note", "max_tokens", "token", "auth", "name", "value"])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
trees = st.recursive(
    scalars | st.sampled_from(["hunter2-zebra", "sk-" + ALNUM[:30], "password=quokka-1", "--password"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names | st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


def shape(value: Any) -> Any:
    """A value with its texts and long numbers blanked."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return value if isinstance(value, bool | float | None) else "text or number"


@given(trees)
def test_redacting_a_value_keeps_its_form_and_is_done_once(value: Any) -> None:
    """Only texts, numbers under secret names and keys change, and a second time changes nothing."""
    clean = redact_value(value)
    assert shape(clean) == shape(value)
    assert redact_value(clean) == clean


@given(trees, st.text(min_size=8, max_size=20, alphabet=string.ascii_lowercase + string.digits))
def test_a_password_is_nowhere_in_what_is_kept(value: Any, password: str) -> None:
    """Whatever else a call holds, its password stands nowhere in the redacted call."""
    password += "-7"
    call = {"login": {"password": password}, "rest": value, "why": f"because{password}works", password: 1}
    assert password not in json.dumps(redact_value(call))


# -------------------------------------------------------------------------------------------------------- idempotence

fragments = st.sampled_from(
    [
        *(
            "password",
            "token",
            "=",
            ": ",
            " ",
            "\n",
            '"',
            "'",
            "\\",
            "\\n",
            "&",
            ";",
            ",",
            "{",
            "}",
            "[",
            "]",
            "--",
            "`",
            "%3D",
            "<",
            ">",
        ),
        *(
            MARK,
            "[REDACTED",
            "sk-",
            ALNUM[:20],
            "hunter2",
            "Bearer ",
            "Authorization: ",
            "cookie: a=b",
            "://",
            "@",
            "eyJ",
            "x",
            "1",
            ".",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "name: ",
            "value: ",
            "secret",
            "name",
            "user",
            "session=",
        ),
    ]
)


@given(st.lists(fragments | st.text(max_size=3), max_size=25).map("".join), st.frozensets(fragments, max_size=2))
def test_redacting_twice_changes_nothing_more(text: str, secrets: frozenset[str]) -> None:
    """Redaction is idempotent, whatever the text."""
    clean = redact_text(text, secrets)
    assert redact_text(clean, secrets) == clean


# ------------------------------------------------------------------------------------------------ the number of steps

# Tried at one place only, on a value that was found before.
ANCHORED = (
    "_STAND_IN",
    "_CODE",
    "_NAME_LIKE",
    "_NUMERIC",
    "_WORDS",
    "_QUOTED",
    "_BARE_HEAD",
    "_BARE_REST",
    "_LAST",
    "_LONE_FLAG",
    "_HEADINGS",
)


def all_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for kind in KINDS:
        yield kind.name, kind.pattern
    for name, value in [*vars(redaction).items(), *vars(secret_tables).items()]:
        several = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
        for pattern in several:
            if isinstance(pattern, re.Pattern):
                yield name, pattern


PATTERNS = list(all_patterns())


def is_anchored(name: str) -> bool:
    return name in ANCHORED or name == "_MADE"


def nasty(pattern: re.Pattern[str]) -> Iterator[str]:
    """Pieces of which long runs are hard for a careless pattern: what it looks for, half of it, and what it skips."""
    hints = next((kind.hints for kind in KINDS if kind.pattern is pattern), ("password", "name", "<name>", "--token "))
    for hint in {*hints[:2], hints[0].upper()}:
        yield from (hint, hint + "a", hint + "-", hint + ":a", hint + " ", hint + "=a1")
    yield from ("a", "A1", "-", "a.", "a-1", " ", "\\", "'", '\\"', "/a", ":a", "a b", "<a>")


@pytest.fixture
def deep() -> Iterator[None]:
    """The step counter calls itself for each repetition of a group."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("deep")
@pytest.mark.parametrize(("name", "pattern"), PATTERNS, ids=[name for name, _ in PATTERNS])
def test_no_text_makes_a_pattern_backtrack_out_of_hand(name: str, pattern: re.Pattern[str]) -> None:
    """Twice the text takes about twice the steps (four times would be quadratic), however the text is made."""
    for piece in nasty(pattern):
        counts = []
        for size in (300, 600):
            text = (piece * (size // len(piece) + 1))[:size] + "\n"
            counts.append(Steps(pattern, text, anchored=is_anchored(name)).count)
        assert counts[1] <= 3 * counts[0] + 500, (piece, counts)


@given(
    st.sampled_from([p for name, p in PATTERNS if not is_anchored(name)]),
    st.sampled_from(EXAMPLES),
    st.text("ab1 -.:='/", max_size=9),
)
def test_the_step_counter_finds_what_re_finds(pattern: re.Pattern[str], case: tuple[str, ...], more: str) -> None:
    """The counts above are of a matcher that agrees with the real one."""
    text = more + "".join(case[1:])[:300] + more
    assert Steps(pattern, text).matches == [found.span() for found in pattern.finditer(text)]


def test_the_step_counter_sees_a_careless_pattern() -> None:
    """A pattern that would be tried again from every character of a long word is caught by the check above."""
    once, twice = (Steps(re.compile(r"[\w-]*password="), "a" * size).count for size in (300, 600))
    assert twice > 3.5 * once


@pytest.mark.parametrize(
    "piece", ["password=", "token: ", "--password ", "password='", "sk-", "a=b;", MARK, "{", '"token":']
)
def test_a_long_hostile_text_is_finished(piece: str) -> None:
    """A result of half a megabyte made of beginnings of secrets is redacted like any other."""
    clean = redact_text(piece * (500_000 // len(piece)))
    assert redact_text(clean) == clean


def test_very_many_secrets_are_taken_out() -> None:
    """Twenty thousand secret keys, and two thousand secrets of which each begins the next, take no longer than other
    values and texts of their size: what is tried for each of them is not tried for all of them."""
    keys = {f"sk-{ALNUM}{n:06d}": n for n in range(20_000)}
    clean = redact_value(keys)
    assert isinstance(clean, dict)
    assert sorted(clean.values()) == list(range(20_000))
    assert all(key.startswith(MARK) for key in clean)
    nested = frozenset("n" * size for size in range(8, 2_000))
    assert redact_text("n" * 100_000 + " and " + "n" * 7, nested) == f"{MARK} and {'n' * 7}"


def test_one_arrangement_of_secrets_serves_many_texts() -> None:
    """What is known from elsewhere can be arranged once, and gives the same texts as the secrets themselves."""
    secrets = frozenset(f"hunter-{n}-zebra" for n in range(2_000))
    known = Known(secrets)
    for n in range(0, 20_000, 100):
        text = f"log in with hunter-{n}-zebra"
        assert redact_text(text, known) == (f"log in with {MARK}" if n < 2_000 else text)
    assert redact_text("hunter-7-zebra", known) == redact_text("hunter-7-zebra", secrets) == MARK
