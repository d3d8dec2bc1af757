"""What a turn may rely on when it is told about the active case: it fits, it is whole, and it says what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness_core.injection import (
    DEFAULT_CEILING,
    POINTER,
    SHOW,
    STEPS,
    SUPPRESSED,
    Composition,
    compose,
    effective_ceiling,
)

LOREM = "lorem ipsum dolor sit amet " * 40
REPLAY = {
    "usable": True,
    "reason": "nothing is wrong",
    "timeline": {"valid": True, "events": 3},
    "case_snapshot": {"valid": True},
    "accounting": {"uncompared_observation_event_ids": []},
}


def case(**model: Any) -> dict[str, Any]:
    """The document of a small active case, with these fields of its model, and ``pending_probe`` beside it."""
    probe = model.pop("pending_probe", None)
    empty = ("state_grounding", "mechanisms", "alternatives", "current_plan", "prior_case_ids")
    return {
        "schema_version": 2,
        "case_id": "c1",
        "session_id": "s1",
        "session_ids": ["s1"],
        "status": "active",
        "version": 1,
        "runtime_revision": 4,
        "event_count": 4,
        "created_at": "2026-11-30T10:45:53+00:00",
        "updated_at": "2026-11-30T10:45:53+00:00",
        "model": {
            "top_unknown": "whether die Größe stimmt",
            "decision": "none",
            "stopping_condition": "Answer it",
            "retrieved_prior_lessons": [],
            "applied_prior_lessons": [],
            **{name: [] for name in empty},
            **model,
        },
        "stale": False,
        "pending_probe": probe,
    }


def told(composition: Composition) -> dict[str, Any]:
    """The JSON of a composition."""
    assert composition.text is not None
    marker = "Current case:\n" if "Current case:\n" in composition.text else "read it.\n"
    return dict(json.loads(composition.text.partition(marker)[2]))


lessons = [{"case_id": f"l{n}", "lesson": f"lesson {n} " + LOREM * 4, "scope": "s"} for n in range(3)]
probe = {"probe_id": "PR000001", "status": "committed", "tool_name": "read_file", "tool_args": {"x": "ü" * 12_000}}

# ------------------------------------------------------------------------------------------------------------ the text


def test_a_small_case_is_told_whole() -> None:
    """Header, one sentence, the rules, and the flattened case with sorted keys, two spaces and letters as they are."""
    composition = compose(
        case(mechanisms=[{"id": "M1", "text": "x"}], pending_probe={"status": "observed"}), REPLAY, 9000
    )
    assert composition.steps == ()
    text = composition.text or ""
    assert text.startswith("[ACTIVE EPISTEMIC CASE c1]\n")
    document = told(composition)
    assert text.endswith("Current case:\n" + json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False))
    assert "Größe" in text
    assert document["mechanisms"] == [{"id": "M1", "text": "x"}]
    assert document["pending_probe"] == {"status": "observed"}
    assert document["replay"] == REPLAY
    assert (document["case_id"], document["status"], document["version"], document["stale"]) == (
        "c1",
        "active",
        1,
        False,
    )
    assert not {"model", "schema_version", "integrity", "event_count", "created_at"} & document.keys()


def test_the_rules_that_a_model_needs_are_told() -> None:
    """Ordinary tools stay free, the probe's order, what stale asks for, and how to read the whole case."""
    text = compose(case(), REPLAY, 9000).text or ""
    rules = text.partition("Current case:")[0]
    assert "Ordinary tools (search, recall, reading" in rules
    assert "remain available" in rules
    order = [rules.index(word) for word in ("(commit)", "call that tool by itself", "(compare)", "(revise)")]
    assert order == sorted(order)
    assert "stale: true" in rules
    assert SHOW in rules
    assert len(rules) < 800


def test_what_the_case_says_of_itself_counts_more_than_its_model() -> None:
    """A field of the model cannot pass for the status of the case."""
    assert told(compose(case(status="closed", stale=True), REPLAY, 9000))["status"] == "active"


# --------------------------------------------------------------------------------------------------------- the shedding


def test_the_steps_are_taken_in_the_seeds_order() -> None:
    """Indentation goes first, then prior lessons, replay detail, applied lessons and the ends of fields."""
    assert [name for name, _, _ in STEPS] == [
        *("indentation", "retrieved_prior_lessons", "replay_detail", "applied_prior_lessons", "fields", "fields_more")
    ]
    everything = case(
        retrieved_prior_lessons=lessons,
        applied_prior_lessons=[LOREM * 2] * 2,
        state_grounding=[{"id": f"S{n}", "text": LOREM * 3} for n in range(8)],
    )
    names = [name for name, _, _ in STEPS]
    seen: tuple[str, ...] = ()
    for ceiling in range(60_000, 0, -250):
        steps = compose(everything, REPLAY, ceiling).steps
        assert steps[: len(seen)] == seen or steps[-1] in (POINTER, SUPPRESSED)
        assert [name for name in steps if name in names] == names[: len([name for name in steps if name in names])]
        seen = tuple(name for name in steps if name in names)
    assert seen == tuple(names)


def test_a_case_that_fills_half_of_its_room_is_told_on_one_line() -> None:
    """Indentation is for small cases: what is told stays in the transcript for good."""
    some = case(mechanisms=[{"id": f"M{n}", "text": "a mechanism of no great length"} for n in range(36)])
    whole = compose(some, REPLAY, 90_000).text or ""
    assert '\n  "alternatives": []' in whole
    composition = compose(some, REPLAY, len(whole) + 1)
    assert composition.steps == ("indentation",)
    assert told(composition) == told(compose(some, REPLAY, 90_000))
    assert '"alternatives":[]' in (composition.text or "")


def test_lessons_go_before_the_replays_detail() -> None:
    """Three huge lessons become a count and a hint while the replay stays whole."""
    composition = compose(case(retrieved_prior_lessons=lessons), REPLAY, 9000)
    document = told(composition)
    assert document["retrieved_prior_lessons"] == {"shed_for_budget": True, "count": 3, "retrieve": SHOW}
    assert document["replay"] == REPLAY


def test_the_replay_keeps_its_verdict() -> None:
    """Without its detail a replay still tells whether the case is usable and why not."""
    replay = {"usable": False, "reason": "probe result awaits comparison", "accounting": [LOREM] * 9}
    document = told(compose(case(), replay, 4000))
    assert document["replay"] == {
        "usable": False,
        "reason": "probe result awaits comparison",
        "shed_for_budget": True,
        "retrieve": SHOW,
    }


def test_a_mark_longer_than_what_it_stands_for_is_not_set() -> None:
    """A short list is no use to shed, so it stays."""
    some = case(applied_prior_lessons=["a"], retrieved_prior_lessons=["b"], top_unknown=LOREM * 20)
    document = told(compose(some, {"usable": True}, 4000))
    assert (document["applied_prior_lessons"], document["retrieved_prior_lessons"]) == (["a"], ["b"])
    assert document["replay"] == {"usable": True}


def test_long_texts_are_cut_visibly() -> None:
    """A cut text says that it was cut and how long it was, also when it is cut again."""
    some = case(state_grounding=[{"id": f"S{n}", "text": LOREM * 3} for n in range(8)])
    texts = [claim["text"] for claim in told(compose(some, REPLAY, 9000))["state_grounding"]]
    assert all(text.endswith(f"[truncated-for-budget: {len(LOREM) * 3} characters]") for text in texts)
    assert texts[0].startswith(LOREM[:600])
    closer = [claim["text"] for claim in told(compose(some, REPLAY, 5000))["state_grounding"]]
    assert all(text.endswith(f"[truncated-for-budget: {len(LOREM) * 3} characters]") for text in closer)
    assert len(closer[0]) < len(texts[0])


def test_long_lists_are_cut_visibly() -> None:
    """What is left out of a list is counted in its place."""
    some = case(mechanisms=[{"id": f"M{n}", "text": "short"} for n in range(300)])
    mechanisms = told(compose(some, REPLAY, 5000))["mechanisms"]
    assert [claim["id"] for claim in mechanisms[:-1]] == [f"M{n}" for n in range(60)]
    assert mechanisms[-1] == {"shed_for_budget": True, "count": 240, "retrieve": SHOW}


def test_large_arguments_are_counted_and_located() -> None:
    """Of huge committed arguments stay the tool's name, their size in bytes and where they can be read."""
    kept = told(compose(case(pending_probe=probe), REPLAY, 9000))["pending_probe"]
    assert kept["tool_name"] == "read_file"
    assert kept["tool_args_bytes"] > 20_000
    assert "epistemic_model" in kept["tool_args_location"]
    assert "tool_args" not in kept


def test_small_arguments_stay() -> None:
    """Arguments that are no burden are told although other fields are cut."""
    some = case(pending_probe={**probe, "tool_args": {"path": "a"}}, top_unknown=LOREM * 20)
    composition = compose(some, REPLAY, 5000)
    assert "fields" in composition.steps
    assert told(composition)["pending_probe"]["tool_args"] == {"path": "a"}


HUGE = case(
    retrieved_prior_lessons=lessons,
    applied_prior_lessons=[LOREM] * 9,
    pending_probe=probe,
    state_grounding=[{"id": f"S{n}", "text": LOREM} for n in range(40)],
)


def test_what_no_step_makes_fit_becomes_a_pointer() -> None:
    """The pointer names the case, says that the room was too small, and how to read the case."""
    composition = compose(HUGE, REPLAY, 1200)
    text = composition.text or ""
    assert composition.steps[-1] == POINTER
    assert text.startswith("[ACTIVE EPISTEMIC CASE c1]\n")
    assert '"budget_exceeded": true' in text
    assert f"use {SHOW}" in text
    assert "remain available" in text
    assert "Current case:" not in text
    assert told(composition) == {
        "budget_exceeded": True,
        "case_id": "c1",
        "stale": False,
        "pending_probe": "committed",
        "retrieve": SHOW,
    }
    assert told(compose(case(top_unknown=LOREM), REPLAY, 300))["pending_probe"] is None


@pytest.mark.parametrize("ceiling", [10, 0, -1])
def test_where_even_the_pointer_is_too_long_nothing_is_told(ceiling: int) -> None:
    """No text is cut to fit: the caller learns that it was suppressed."""
    composition = compose(HUGE, REPLAY, ceiling)
    assert composition.text is None
    assert composition.steps[-1] == SUPPRESSED


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30) | st.integers(1, 300).map(lambda n: "lorem ü " * n),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip
fields = st.sampled_from(
    [*case()["model"], *case(), "stale_claim_ids", "tool_args", "status", "usable", "reason", "accounting"]
)
objects = st.dictionaries(fields, values, max_size=12)
ceilings = st.integers(0, 12_000)


@given(objects, objects, objects, objects, ceilings)
@example({}, {}, {}, {"tool_args": "\ud800"}, 9000)
def test_no_case_passes_its_ceiling(
    own: dict[str, Any], model: dict[str, Any], replay: dict[str, Any], pending: dict[str, Any], ceiling: int
) -> None:
    """Whatever the case, what is told fits, holds whole JSON, and can be sent as UTF-8."""
    composition = compose({**own, "model": model, "pending_probe": pending}, replay, ceiling)
    if composition.text is None:
        assert composition.steps[-1] == SUPPRESSED
        return
    assert len(composition.text) <= ceiling
    assert composition.text.startswith("[ACTIVE EPISTEMIC CASE")
    assert isinstance(told(composition), dict)
    composition.text.encode("utf-8")


@given(objects, objects, ceilings)
def test_whatever_is_shed_leaves_a_mark(model: dict[str, Any], replay: dict[str, Any], ceiling: int) -> None:
    """Each field of the case is told, or something says that it, or a part of it, is not."""
    before = case(**model)
    composition = compose(before, replay, ceiling)
    if composition.text is None or POINTER in composition.steps:
        return
    after = told(composition)
    whole = told(compose(before, replay, 10**9))
    assert after.keys() == whole.keys()
    assert_marked(whole, after)


def assert_marked(before: Any, after: Any) -> None:
    """Fail where ``after`` lacks something of ``before`` without saying so."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        missing = before.keys() - after.keys()
        assert (
            not missing or "shed_for_budget" in after or (missing == {"tool_args"} and after["tool_args_bytes"] > 200)
        )
        for key in before.keys() & after.keys() - {"shed_for_budget", "retrieve"}:
            assert_marked(before[key], after[key])
    elif isinstance(before, list):
        mark = after if isinstance(after, Mapping) else after[-1]
        if isinstance(after, list) and len(after) == len(before):
            for one, other in zip(before, after, strict=True):
                assert_marked(one, other)
        else:
            assert mark["shed_for_budget"] is True
            assert mark["count"] == (len(before) if mark is after else len(before) - len(after) + 1)
    else:
        assert "truncated-for-budget" in after
        assert str(len(before)) in after


# ---------------------------------------------------------------------------------------------------------- the ceiling


@pytest.mark.parametrize(
    ("setting", "ceiling"),
    [
        (4000, 4000), ("777", 777), (12.7, 12), (20_000, 20_000),
        ("a lot", 9000), (None, 9000), ([], 9000), (0, 9000), (-5, 9000), (float("inf"), 9000), (float("nan"), 9000),
        (True, 9000), (False, 9000), ("", 9000),
    ],
)  # fmt: skip
def test_a_setting_that_is_no_number_means_the_default(setting: object, ceiling: int) -> None:
    """The plugin's own limit is a whole number above zero, or 9000."""
    assert DEFAULT_CEILING == 9000
    assert effective_ceiling(setting, None) == ceiling


@pytest.mark.parametrize(
    ("spill", "ceiling"),
    [
        ({"enabled": True, "max_chars": 2000}, 1000), ({"enabled": True, "max_chars": 3000}, 2000),
        ({"enabled": True, "max_chars": 10_000}, 9000), ({"enabled": True, "max_chars": 99_000}, 9000),
        ({"enabled": False, "max_chars": 100}, 9000), ({"enabled": 0, "max_chars": 100}, 9000),
        ({}, 9000), ({"max_chars": None}, 9000), ({"max_chars": "abc"}, 9000), ({"max_chars": -5}, 9000),
        ({"max_chars": "1777"}, 777), ({"enabled": None, "max_chars": 1500.9}, 500),
        ({"max_chars": True}, 0), ({"max_chars": 999}, 0),
    ],
)  # fmt: skip
def test_the_hosts_limit_for_hooks_tightens_ours(spill: dict[str, object], ceiling: int) -> None:
    """A thousand characters below what the host would spill, with the host's own defaults and coercions."""
    assert effective_ceiling(9000, spill) == ceiling


@given(
    st.one_of(values, st.integers(), st.floats()),
    st.none() | st.dictionaries(st.sampled_from(["enabled", "max_chars"]), values),
)
def test_a_ceiling_is_always_a_number(setting: Any, spill: dict[str, Any] | None) -> None:
    """No setting, however odd, raises or gives less than nothing."""
    assert effective_ceiling(setting, spill) >= 0
