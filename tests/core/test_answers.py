"""What a tool answers in full and in compact form."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from harness_core.answers import presented
from harness_core.vocabulary import ResponseDetail
from tests.core.desk import Desk

COMPACT, FULL = ResponseDetail.COMPACT, ResponseDetail.FULL
BODY = "a lesson of many words " * 40


def with_lesson() -> Desk:
    desk = Desk()
    desk.open("c0")
    transfer = {"decision": "candidate", "lesson": BODY, "scope": "s", "evidence_case_ids": ["c0"]}
    desk.close_case(transfer=transfer)
    return desk


def test_full_is_the_answer_itself() -> None:
    """Full, asked for or by default, is the very answer, with no mark on it."""
    answer = {"case": {}}
    assert presented(answer, FULL) is answer
    desk = with_lesson()
    assert "response_detail" not in desk.open("c1", prior_case_ids=["c0"], response_detail="full")
    assert desk.do("show")["case"]["model"]["retrieved_prior_lessons"][0]["lesson"] == BODY


def test_compact_leaves_out_the_bodies() -> None:
    """Compact leaves out the bodies of retrieved lessons where they stand, marks them, and is shorter."""
    desk = with_lesson()
    answer = desk.open("c1", prior_case_ids=["c0"], response_detail="compact")
    assert answer["response_detail"] == "compact"
    assert answer["omitted_field_paths"] == [
        "case.model.retrieved_prior_lessons[0].lesson",
        "prior_case_lessons[0].lesson",
    ]
    full = desk.do("show")
    for lesson in (answer["case"]["model"]["retrieved_prior_lessons"][0], answer["prior_case_lessons"][0]):
        whole = full["case"]["model"]["retrieved_prior_lessons"][0]
        assert lesson == {**{k: v for k, v in whole.items() if k != "lesson"}, "omitted_fields": ["lesson"]}
    assert len(json.dumps(answer)) < len(json.dumps(full))


def test_compact_says_how_to_read_it_back() -> None:
    """What was left out can be read by the exact call that the answer names."""
    desk = with_lesson()
    readback = desk.open("c1", prior_case_ids=["c0"], response_detail="compact")["readback"]
    assert readback == {
        "tool": "epistemic_model",
        "arguments": {"operation": "show", "case_id": "c1", "response_detail": "full"},
    }
    again = desk.tool(readback["tool"], readback["arguments"], "s1")
    assert again["case"]["model"]["retrieved_prior_lessons"][0]["lesson"] == BODY


def test_compact_without_lessons_leaves_out_nothing() -> None:
    """Where there is no lesson, nothing is left out and nothing is to be read back."""
    answer = Desk().open(response_detail="compact")
    assert (answer["response_detail"], answer["omitted_field_paths"]) == ("compact", [])
    assert "readback" not in answer


LESSON = {"case_id": "c0", "lesson": "l", "scope": "s", "relevance": 0.5, "provenance_note": "n"}
HAND_MADE: dict[str, Any] = {
    "case": {
        "case_id": "c1",
        "model": {"retrieved_prior_lessons": [LESSON, {"case_id": "c2"}, "text"], "prior_case_ids": [LESSON]},
        "pending_probe": {"lessons": [LESSON]},
        "closure": {"transfer": LESSON},
        "stale_claim_ids": ["M1"],
    },
    "event": {"retrieved_prior_lessons": [LESSON]},
    "probe": {"prior_case_lessons": [LESSON]},
    "replay": {"prior_case_lessons": [LESSON]},
    "prior_case_lessons": [LESSON],
}


def test_nothing_else_is_touched() -> None:
    """Receipts and every other place are left alone, a lesson's extra keys stay, and the answer is not changed."""
    before = copy.deepcopy(HAND_MADE)
    shown = presented(HAND_MADE, COMPACT)
    assert before == HAND_MADE
    assert shown["omitted_field_paths"] == [
        "case.model.retrieved_prior_lessons[0].lesson",
        "prior_case_lessons[0].lesson",
    ]
    for name in ("event", "probe", "replay"):
        assert shown[name] == HAND_MADE[name]
    for name in ("pending_probe", "closure", "stale_claim_ids"):
        assert shown["case"][name] == HAND_MADE["case"][name]
    assert shown["case"]["model"]["retrieved_prior_lessons"][1:] == [{"case_id": "c2"}, "text"]
    assert shown["prior_case_lessons"][0]["relevance"] == 0.5


@pytest.mark.parametrize("answer", [{}, {"case": None}, {"case": {"model": None}}, {"cases": []}])
def test_any_answer_has_a_compact_form(answer: dict[str, Any]) -> None:
    """An answer without a case, or without a model, is shown as it is, with the mark."""
    shown = presented(answer, COMPACT)
    assert shown == {**answer, "response_detail": "compact", "omitted_field_paths": []}


def test_lessons_without_a_case_can_be_compacted() -> None:
    """Lessons in an answer without a case are shortened too; which case to read is then unknown."""
    shown = presented({"prior_case_lessons": [LESSON]}, COMPACT)
    assert shown["readback"]["arguments"]["case_id"] is None


def test_a_probes_answer_can_be_compact() -> None:
    """The probe tool takes the detail as well, and its receipts stay whole."""
    desk = Desk()
    desk.open()
    plain = desk.commit()
    desk.do("discard", reason="r")
    compact = desk.commit(response_detail="compact")
    assert compact["response_detail"] == "compact"
    assert set(compact) - {"response_detail", "omitted_field_paths"} == set(plain)
