"""Ill-formed calls: every fault is named with its path, all at once, and nothing changes.

The faults are made from the request classes, so a new field is covered the day it is added.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_core.arguments import MODEL_TOOL, PROBE_TOOL, REQUESTS
from harness_core.testing import Breakage, breakages, broken, broken_arguments, sound_arguments
from tests.core.desk import PREDICTION, SOURCE, Desk, claim, grounded, step

CLAIM = {**grounded("M1", "I1", domain="external_source"), "epistemic_status": "grounded"}
MODEL = {
    "top_unknown": "q",
    "decision": "d",
    "stopping_condition": "s",
    "state_grounding": [{**CLAIM, "id": "S1"}],
    "mechanisms": [CLAIM],
    "alternatives": [claim("A1")],
    "current_plan": [step("P1", "M1")],
    "applied_prior_lessons": ["l"],
}
EVIDENCE = {**SOURCE, "locator": "p. 1", "limitation": "none"}
ON_CASE = {"case_id": "c1", "expected_case_revision": 1}
# A sound call of each operation with every field that it knows, so that each of them can be broken.
WHOLE: dict[str, dict[str, Any]] = {
    "open": {**MODEL, "case_id": "c1", "initial_evidence": [{**EVIDENCE, "id": "I1"}], "prior_case_ids": ["c0"]},
    "list": {"status_filter": "active", "session_id_filter": "s1", "limit": 5},
    "show": {"case_id": "c1", "as_of": 1},
    "record_evidence": {**ON_CASE, "evidence": [EVIDENCE, {**EVIDENCE, "access_scope": "abstract"}]},
    "revise": {**ON_CASE, "reason": "r", "updates": MODEL, "addresses_event_ids": ["E000001"]},
    "pause": {**ON_CASE, "reason": "r"},
    "resume": {"case_id": "c1", "expected_case_revision": 1},
    "close": {
        **ON_CASE,
        "outcome": "stopped",
        "summary": "s",
        "transfer": {
            "decision": "explicit_user_correction",
            "lesson": "l",
            "scope": "s",
            "evidence_case_ids": ["c1"],
            "evidence_event_ids": ["E000001"],
            "calibration": "hypothesis",
        },
    },
    "commit": {**ON_CASE, **PREDICTION, "claim_id": "M1"},
    "compare": {
        **ON_CASE,
        "disposition": "mismatch",
        "rationale": "r",
        "belief_change": "weakened",
        "material": True,
        "affected_claim_ids": ["M1"],
        "argument_drift_reason": "d",
        "evidence": EVIDENCE,
    },
    "recover": {**ON_CASE, "reason": "r"},
    "discard": {**ON_CASE, "reason": "r"},
}
KINDS = {str(name): kind for operations in REQUESTS.values() for name, kind in operations.items()}
OPERATIONS = sorted(KINDS)


def tool_of(operation: str) -> str:
    return MODEL_TOOL if operation in REQUESTS[MODEL_TOOL] else PROBE_TOOL


def faults(operation: str) -> list[Breakage]:
    return list(breakages(KINDS[operation], WHOLE[operation]))


def check(operation: str, *chosen: Breakage) -> None:
    """The call with these faults in it is refused, each named with its path, its problem and what to send."""
    desk = Desk()
    answer = desk.ask(operation, **broken(WHOLE[operation], chosen))
    assert answer.get("code") == "invalid_arguments", (chosen, answer)
    for fault in chosen:
        told = [f for f in answer["fields"] if fault.is_named_by(f["path"])]
        assert told, (fault.named, answer["error"])
        assert len({f["path"] for f in told}) == len(told), told
        assert all(f["problem"] and f["send"] for f in told)
        assert all(f["path"] in answer["error"] for f in told)
    unasked = [f["path"] for f in answer["fields"] if not any(fault.is_named_by(f["path"]) for fault in chosen)]
    assert not unasked, (chosen, unasked)
    assert not desk.events


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_field_can_be_broken(operation: str) -> None:
    """The sound call has every field its operation knows, so that none is left out below."""
    known = {f.name for f in attrs.fields(KINDS[operation]) if not f.metadata.get("server")}
    assert set(WHOLE[operation]) == known
    assert {fault.path[0] for fault in faults(operation)} >= known


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_sound_call_has_no_fault_of_form(operation: str) -> None:
    """Without a fault in it the call is not refused for its form."""
    assert Desk().ask(operation, **WHOLE[operation]).get("code") in (
        "no_active_case",
        "no_case",
        "invalid_arguments",
        None,
    )
    answer = Desk().ask(operation, **WHOLE[operation])
    assert [f["path"] for f in answer.get("fields", ())] in ([], ["prior_case_ids"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_fault_alone(operation: str) -> None:
    """Each missing, mistyped or unknown field, at any depth, is named with its path and what is allowed there."""
    for fault in faults(operation):
        check(operation, fault)


def pairs(operation: str) -> Iterator[tuple[Breakage, Breakage]]:
    """Every pair of places, each with the kinds of fault it can have; of mistyped values one, taken in turn."""
    by_place: dict[tuple[Any, ...], list[Breakage]] = {}
    for fault in faults(operation):
        by_place.setdefault((fault.path, fault.kind), []).append(fault)
    for n, (one, other) in enumerate(combinations(by_place.values(), 2)):
        first, second = one[n % len(one)], other[n % len(other)]
        if first.apart_from(second):
            yield first, second


@pytest.mark.parametrize("operation", OPERATIONS)
def test_faults_in_pairs(operation: str) -> None:
    """Two faults in one call are both named in one answer."""
    for one, other in pairs(operation):
        check(operation, one, other)


@given(st.data(), st.sampled_from(sorted(REQUESTS)))
def test_any_number_of_faults(data: st.DataObject, tool: str) -> None:
    """Any sound call with any faults in it is refused with all of them."""
    arguments, chosen = data.draw(broken_arguments(tool))
    answer = Desk().tool(tool, arguments, "s1")
    for fault in chosen:
        assert any(fault.is_named_by(told["path"]) for told in answer["fields"]), (fault, answer)


@given(st.sampled_from(OPERATIONS).flatmap(lambda o: st.tuples(st.just(o), sound_arguments(o))))
def test_sound_calls_are_sound(call: tuple[str, dict[str, Any]]) -> None:
    """What the strategies call sound is never refused for its form."""
    operation, arguments = call
    answer = Desk().tool(tool_of(operation), arguments, "s1")
    assert answer.get("code") in (None, "no_active_case", "no_case")


def test_rules_across_fields_are_told_with_the_rest() -> None:
    """What is missing because of another field is named in the same answer as whatever else is wrong."""
    item = {"summary": 5, "source_ref": "r", "access_scope": "snippet", "authority_domain": "external_source"}
    assert sorted(Desk().refused("open", case_id="c1", top_unknown="q", initial_evidence=[item]).paths) == [
        f"initial_evidence[0].{name}" for name in ("id", "limitation", "source_role", "summary")
    ]
    assert Desk().refused("record_evidence", evidence=[], bogus=1).paths == ["bogus", "evidence"]
    assert Desk().refused("list", limit=0, bogus=1).paths == ["bogus", "limit"]


# --- the operation itself ---


@pytest.mark.parametrize(("tool", "example"), [(MODEL_TOOL, "open"), (PROBE_TOOL, "commit")])
@pytest.mark.parametrize(
    "sent",
    [{}, {"operation": None}, {"operation": ""}, {"operation": "opened"}, {"operation": 5}, {"operation": ["open"]}],
)
def test_an_operation_is_always_needed(tool: str, example: str, sent: dict[str, Any]) -> None:
    """A missing or unknown operation is refused before anything is touched, with the valid ones and an example."""
    answer = Desk().tool(tool, {**sent, "case_id": "c1"}, "s1")
    assert answer["code"] == "invalid_operation"
    assert [f["path"] for f in answer["fields"]] == ["operation"]
    assert all(str(name) in answer["error"] for name in REQUESTS[tool])
    assert f'"operation": "{example}"' in answer["error"]


@pytest.mark.parametrize("word", ["OPEN", " open ", "Open\n"])
def test_an_operation_is_trimmed_and_lowered(word: str) -> None:
    """Blanks and letter case do not make another operation."""
    assert "error" not in Desk().tool(MODEL_TOOL, {"operation": word, "case_id": "c1", "top_unknown": "q"}, "s1")


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_arguments_are_an_object(value: Any) -> None:
    """Arguments that are no JSON object are refused with an example of one."""
    answer = Desk().tool(MODEL_TOOL, value, "s1")
    assert answer["code"] == "invalid_arguments"
    assert "operation" in answer["fields"][0]["send"]


def test_there_are_two_tools() -> None:
    """A call of any other tool is refused with the names of those there are."""
    answer = Desk().tool("epistemic_mode", {"operation": "list"}, "s1")
    assert answer["code"] == "no_tool"
    assert answer["fields"][0]["send"] == "epistemic_model or epistemic_probe"


BOTTOMLESS: Any = functools.reduce(lambda deep, _: [deep], range(100_000), 1)


@pytest.mark.parametrize("value", [{("a",): 1}, 10**5000, BOTTOMLESS], ids=["key", "digits", "nesting"])
def test_arguments_are_what_json_can_say(value: Any) -> None:
    """What an embedder hands over and no JSON text could hold is refused before anything of it is looked at."""
    answer = Desk().tool(MODEL_TOOL, {"operation": "open", "case_id": "c1", "top_unknown": value}, "s1")
    assert answer["code"] == "invalid_arguments"
    assert [f["path"] for f in answer["fields"]] == ["arguments"]


def test_a_number_is_exact() -> None:
    """A whole number that JSON readers would round is refused where it stands."""
    assert Desk().refused("show", case_id="c1", as_of=2**53 + 1).paths == ["as_of"]


@pytest.mark.parametrize("tool", sorted(REQUESTS))
@pytest.mark.parametrize("value", ["verbose", None, 5, ["full"], {}])
def test_the_detail_is_a_word(tool: str, value: Any) -> None:
    """Another response_detail than full or compact is refused, beside whatever else is wrong."""
    operation = "list" if tool == MODEL_TOOL else "discard"
    answer = Desk().tool(tool, {"operation": operation, "response_detail": value, "bogus": 1}, "s1")
    assert {"response_detail", "bogus"} <= {f["path"] for f in answer["fields"]}


@pytest.mark.parametrize("limit", [0, 201, -1, True, 1.5, "50", None])
def test_the_limit_is_a_number_in_range(limit: Any) -> None:
    """list takes 1 to 200; true and fractions are no whole numbers here."""
    assert Desk().refused("list", limit=limit).paths == ["limit"]


@pytest.mark.parametrize("as_of", [0, -1, True, "3"])
def test_a_reading_point_is_a_number(as_of: Any) -> None:
    """show takes a number of events from 1."""
    assert Desk().refused("show", case_id="c1", as_of=as_of).paths == ["as_of"]


@pytest.mark.parametrize(
    "case_id", ["", "C1", "c 1", "../c1", "c_1", "-c1", "c1/", "é", "c" * 65, ".", "..", "c\n", "c\x00", "a.b"]
)
def test_a_case_id_names_a_folder(case_id: str) -> None:
    """Only short lower-case ids of letters, digits and hyphens are taken; nothing that could name another path."""
    assert Desk().refused("open", case_id=case_id, top_unknown="q").paths == ["case_id"]


@pytest.mark.parametrize("case_id", ["c", "1", "a-b", "c-", "c" * 64])
def test_a_case_id_may_be(case_id: str) -> None:
    """Ids at the edges of what is allowed open a case."""
    Desk().open(case_id)


@pytest.mark.parametrize("text", ["half \ud800 a character", "\udfff"])
def test_text_is_unicode(text: str) -> None:
    """Half a surrogate pair cannot be written as text anywhere, and is refused where it stands."""
    refusal = Desk().refused("open", case_id="c1", top_unknown=text, mechanisms=[claim(text, text)])
    assert refusal.paths == ["top_unknown", "mechanisms[0].id", "mechanisms[0].text"]
    assert refusal.text.encode()


def test_an_unknown_name_is_shown_safely() -> None:
    """The name of an unknown field is told in a form that can be written anywhere, however it was sent."""
    refusal = Desk().refused("open", case_id="c1", top_unknown="q", **{"bad\ud800\n" + "x" * 500: 1})
    assert refusal.paths[0].startswith("bad??xxx")
    assert len(refusal.paths[0]) == 80


@pytest.mark.parametrize("text", ["\u2028", "a\rb", "a\u0000b", "a\u200bb"])
def test_an_id_is_one_printable_line(text: str) -> None:
    """Ids with hidden characters or line breaks of any kind are refused."""
    assert Desk().refused("open", case_id="c1", top_unknown="q", mechanisms=[claim(f"M{text}1")]).paths == [
        "mechanisms[0].id"
    ]


def test_a_missing_word_names_the_words() -> None:
    """Where a word of a closed vocabulary is missing, all of them are named."""
    sent = {name: value for name, value in PREDICTION.items() if name not in ("purpose", "authority_domain")}
    sends = Desk().refused("commit", **sent).sends
    assert sends["purpose"].startswith("one of learn, advance")
    assert "user_testimony" in sends["authority_domain"]
