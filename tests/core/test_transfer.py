"""Which lesson leaves a case, and on what ground."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_core.calibration import weakest
from harness_core.replay import audit
from harness_core.transfer import lesson_of
from harness_core.vocabulary import Calibration
from tests.core.desk import SOURCE, TESTIMONY, Desk, claim, grounded

LESSON = {"lesson": "look at the cache first", "scope": "slow pages"}


def candidate(case_id: str) -> dict[str, object]:
    return {"decision": "candidate", **LESSON, "evidence_case_ids": [case_id]}


def closed(desk: Desk, case_id: str, label: str = "supported", **transfer: object) -> None:
    """A closed case of that label that left a candidate lesson."""
    scope = {"supported": "full", "provisional": "snippet", "mixed": "full", "hypothesis": "full"}[label]
    source = {**SOURCE, "access_scope": scope, "limitation": "none"}
    claims = [] if label == "hypothesis" else [grounded("S1", "I1", domain="external_source")]
    more = [claim("M1")] if label == "mixed" else []
    desk.open(case_id, initial_evidence=[{"id": "I1", **source}], state_grounding=claims, mechanisms=more)
    answer = desk.close_case(transfer={**candidate(case_id), **transfer})
    assert answer["case"]["closure"]["calibration"]["label"] == label


def test_a_candidate_cites_its_own_case() -> None:
    """A candidate lesson is recorded with its scope, its own case, and the calibration of the closure."""
    desk = Desk()
    desk.open()
    kept = desk.close_case(transfer=candidate("c1"))["case"]["closure"]["transfer"]
    assert kept == {**candidate("c1"), "calibration": "hypothesis"}


@pytest.mark.parametrize("cases", [["c2"], ["c1", "c2"]])
@pytest.mark.parametrize("decision", ["candidate", "explicit_user_correction"])
def test_no_other_case_may_be_cited(decision: str, cases: list[str]) -> None:
    """A candidate, or a correction, that cites another case than the one being closed is refused."""
    desk = Desk()
    desk.open()
    transfer = {"decision": decision, **LESSON, "evidence_case_ids": cases}
    refusal = desk.refused("close", outcome="stopped", summary="s", transfer=transfer)
    assert "case being closed" in refusal.text
    assert refusal.sends["transfer.evidence_case_ids"] == '["c1"]'


def test_a_correction_cites_what_the_user_said() -> None:
    """An explicit user correction cites user-authoritative events, and keeps their ids."""
    desk = Desk()
    desk.open(initial_evidence=[{"id": "I1", **TESTIMONY}, {"id": "I2", **SOURCE}])
    transfer = {**candidate("c1"), "decision": "explicit_user_correction"}
    assert desk.refused("close", outcome="stopped", summary="s", transfer=transfer).paths == [
        "transfer.evidence_event_ids"
    ]
    refusal = desk.refused(
        "close",
        outcome="stopped",
        summary="s",
        transfer={**transfer, "evidence_event_ids": ["E000001", "E000002", "E000003", "E000009"]},
    )
    assert refusal.paths == [f"transfer.evidence_event_ids[{n}]" for n in (1, 2, 3)]
    assert "user-authoritative" in refusal.text
    kept = desk.close_case(transfer={**transfer, "evidence_event_ids": ["E000001"]})["case"]["closure"]["transfer"]
    assert kept["evidence_event_ids"] == ["E000001"]


def test_a_pattern_needs_two_closed_cases() -> None:
    """A repeated pattern names at least two distinct closed cases with a lesson; each that is not one is named."""
    desk = Desk()
    closed(desk, "c1")
    desk.open("c2")
    transfer = {"decision": "repeated_pattern", **LESSON}
    for cases in (["c1"], ["c1", "c1"]):
        refusal = desk.refused(
            "close", outcome="stopped", summary="s", transfer={**transfer, "evidence_case_ids": cases}
        )
        assert "two distinct closed" in refusal.text
    refusal = desk.refused(
        "close", outcome="stopped", summary="s", transfer={**transfer, "evidence_case_ids": ["c1", "c2", "c9"]}
    )
    assert refusal.paths == ["transfer.evidence_case_ids[1]", "transfer.evidence_case_ids[2]"]


@given(st.lists(st.sampled_from(("c1", "c2", "c3")), min_size=1, max_size=4))
def test_a_pattern_is_repeated(cited: list[str]) -> None:
    """A repeated pattern is taken exactly where at least two distinct cases with that lesson are cited; then the audit
    finds nothing wrong with it."""
    desk = Desk()
    for case_id in ("c1", "c2", "c3"):
        desk.open(case_id)
        desk.close_case(transfer=candidate(case_id))
    desk.open("c4")
    transfer = {"decision": "repeated_pattern", **LESSON, "evidence_case_ids": cited}
    answer = desk.ask("close", outcome="stopped", summary="s", transfer=transfer)
    assert ("error" not in answer) == (len(set(cited)) > 1)
    assert audit(desk.events["c4"])[1] == ()


@pytest.mark.parametrize("other", [{"lesson": "look elsewhere"}, {"scope": "fast pages"}])
def test_a_pattern_is_one_lesson(other: dict[str, str]) -> None:
    """Sources that recorded another lesson or scope are refused."""
    desk = Desk()
    closed(desk, "c1")
    closed(desk, "c2", **other)
    desk.open("c3")
    transfer = {"decision": "repeated_pattern", **LESSON, "evidence_case_ids": ["c1", "c2"]}
    refusal = desk.refused("close", outcome="stopped", summary="s", transfer=transfer)
    assert refusal.paths == ["transfer.evidence_case_ids[1]"]
    assert "another lesson or scope" in refusal.text


@pytest.mark.parametrize(
    ("sources", "own", "expected"),
    [
        (("supported", "supported"), "supported", "supported"),
        (("supported", "provisional"), "supported", "provisional"),
        (("supported", "mixed"), "supported", "provisional"),
        (("supported", "hypothesis"), "supported", "hypothesis"),
        (("supported", "supported"), "provisional", "provisional"),
        (("supported", "supported"), "mixed", "provisional"),
        (("supported", "supported"), "hypothesis", "hypothesis"),
    ],
)
def test_a_pattern_is_no_stronger_than_its_weakest(sources: tuple[str, str], own: str, expected: str) -> None:
    """A repeated pattern carries the label of its weakest part, where mixed counts as provisional: repetition never
    makes stronger."""
    desk = Desk()
    for case_id, label in zip(("c1", "c2"), sources, strict=True):
        closed(desk, case_id, label)
    closed(desk, "c3", own, decision="repeated_pattern", evidence_case_ids=["c1", "c2", "c1"])
    transfer = desk.cases["c3"].closure.transfer
    assert transfer.calibration == expected
    assert transfer.evidence_case_ids == ("c1", "c2")


def test_the_weakest_of_labels() -> None:
    """Mixed is folded down to provisional; the rest keep their order."""
    label = Calibration
    assert weakest([label.SUPPORTED, label.SUPPORTED]) is label.SUPPORTED
    assert weakest([label.SUPPORTED, label.MIXED]) is label.PROVISIONAL
    assert weakest([label.MIXED]) is label.PROVISIONAL
    assert weakest([label.PROVISIONAL, label.HYPOTHESIS]) is label.HYPOTHESIS


@pytest.mark.parametrize("missing", ["lesson", "scope", "evidence_case_ids"])
@pytest.mark.parametrize("decision", ["candidate", "explicit_user_correction", "repeated_pattern"])
def test_a_lesson_has_its_parts(decision: str, missing: str) -> None:
    """Every decision but none needs lesson, scope and the cases behind it."""
    desk = Desk()
    desk.open()
    transfer = {"decision": decision, **LESSON, "evidence_case_ids": ["c1"]}
    del transfer[missing]
    assert f"transfer.{missing}" in desk.refused("close", outcome="stopped", summary="s", transfer=transfer).paths


def test_no_transfer_keeps_nothing() -> None:
    """With the decision none nothing of a lesson is kept, whatever was sent beside it."""
    desk = Desk()
    desk.open()
    kept = desk.close_case(transfer={**candidate("c1"), "decision": "none"})["case"]["closure"]["transfer"]
    assert kept == {"decision": "none"}
    assert lesson_of(desk.c1) is None


def test_a_long_lesson_is_kept_whole() -> None:
    """A lesson of several thousand characters is recorded, imported and shown as it was told."""
    told = "read the file twice; " * 400
    desk = Desk()
    closed(desk, "c1", lesson=told)
    assert desk.do("show", case_id="c1")["case"]["closure"]["transfer"]["lesson"] == told
    lessons = desk.open("c2", prior_case_ids=["c1"])["prior_case_lessons"]
    assert [lesson["lesson"] for lesson in lessons] == [told]


def test_a_sent_calibration_is_derived_anew() -> None:
    """A calibration sent with the review is not believed."""
    desk = Desk()
    desk.open()
    kept = desk.close_case(transfer={**candidate("c1"), "calibration": "supported"})["case"]["closure"]["transfer"]
    assert kept["calibration"] == "hypothesis"


def test_only_a_closed_case_leaves_a_lesson() -> None:
    """A lesson is what a closed case recorded; an open case has none."""
    desk = Desk()
    desk.open()
    assert lesson_of(desk.c1) is None
    desk.close_case(transfer=candidate("c1"))
    lesson = lesson_of(desk.c1)
    assert lesson is not None
    assert (lesson.case_id, lesson.lesson, lesson.scope, lesson.relevance) == ("c1", *LESSON.values(), None)


def test_an_imported_lesson_keeps_its_provenance() -> None:
    """Named closed cases give their lessons to a new one, with provenance and calibration; nothing is applied."""
    desk = Desk()
    closed(desk, "c1")
    answer = desk.open("c2", prior_case_ids=["c1"])
    told = {"case_id": "c1", **candidate("c1"), "calibration": "supported"}
    assert answer["prior_case_lessons"] == [told]
    model = answer["case"]["model"]
    assert model["retrieved_prior_lessons"] == [told]
    assert (model["prior_case_ids"], model["applied_prior_lessons"]) == (["c1"], [])


def test_a_retrieved_lesson_grounds_nothing() -> None:
    """A retrieved lesson is no event that a claim could cite."""
    desk = Desk()
    closed(desk, "c1")
    desk.open("c2", prior_case_ids=["c1"])
    assert not desk.cases["c2"].citations
