"""Which lessons of closed cases a new case is offered by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness_store import Harness

QUESTION = "why does the queue consumer stall behind the broker"


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    """A harness whose closed case "first" taught something about queue consumers."""
    harness = Harness(tmp_path / "store")
    harness.model({"operation": "open", "case_id": "first", "top_unknown": QUESTION}, session_id="s1")
    harness.model(
        {
            "operation": "close",
            "outcome": "unresolved",
            "summary": "open",
            "transfer": {
                "decision": "candidate",
                "lesson": "A queue consumer may stall behind the broker: look at the consumer before it",
                "scope": "queues with one broker",
                "evidence_case_ids": ["first"],
            },
        },
        session_id="s1",
    )
    return harness


def offered(harness: Harness, case_id: str) -> list[str]:
    """The cases whose lessons a new case about the same question is given."""
    answer: dict[str, Any] = harness.model(
        {"operation": "open", "case_id": case_id, "top_unknown": QUESTION}, session_id=f"session-{case_id}"
    )
    return [lesson["case_id"] for lesson in answer["case"]["model"]["retrieved_prior_lessons"]]


def test_a_lesson_is_offered_each_time_while_its_case_holds(harness: Harness) -> None:
    """A related new case is given the lesson, and so is the next one."""
    assert offered(harness, "second") == ["first"]
    assert offered(harness, "third") == ["first"]


@pytest.mark.parametrize("name", ["events.jsonl", "case.md"])
def test_a_case_that_was_altered_after_it_taught_teaches_no_more(harness: Harness, name: str) -> None:
    """One byte changed in place after the lesson was offered, and it is not offered again."""
    assert offered(harness, "second") == ["first"]
    path = harness.root / "cases" / "first" / name
    data = path.read_bytes()
    at = data.index(b"candidate")
    path.write_bytes(data[:at] + b"C" + data[at + 1 :])
    assert offered(harness, "third") == []


def test_an_answer_may_be_changed_without_changing_the_next(harness: Harness) -> None:
    """Whoever alters a list that he was given alters his copy."""
    first = harness.model({"operation": "list"}, session_id="s1")
    first["cases"][0]["session_ids"].clear()
    first["cases"][0]["status"] = "gone"
    again = harness.model({"operation": "list"}, session_id="s1")
    assert (again["cases"][0]["session_ids"], again["cases"][0]["status"]) == (["s1"], "closed")


def taught(harness: Harness, case_id: str, session_id: str) -> None:
    """Close the session's case with a lesson about the question."""
    lesson = f"A queue consumer may stall behind the broker, as {case_id} saw"
    transfer = {"decision": "candidate", "lesson": lesson, "scope": "brokers", "evidence_case_ids": [case_id]}
    close = {"operation": "close", "outcome": "unresolved", "summary": "open", "transfer": transfer}
    harness.model(close, session_id=session_id)


def test_lessons_come_from_this_process_and_from_others_as_soon_as_a_case_is_closed(harness: Harness) -> None:
    """However often this process has looked before, and whoever closed the case."""
    assert offered(harness, "second") == ["first"]
    taught(harness, "second", "session-second")
    assert sorted(offered(harness, "third")) == ["first", "second"]
    other = Harness(harness.root)
    taught(other, "third", "session-third")
    assert sorted(offered(harness, "fourth")) == ["first", "second", "third"]
    assert sorted(offered(other, "fifth")) == ["first", "second", "third"]


def test_a_case_that_is_moved_aside_teaches_no_more(harness: Harness) -> None:
    """By this process or another."""
    assert offered(harness, "second") == ["first"]
    Harness(harness.root).quarantine("first")
    assert offered(harness, "third") == []


def test_a_case_that_is_put_back_from_a_backup_teaches_again(harness: Harness, tmp_path: Path) -> None:
    """A folder that appears beside the others is a case like them."""
    (harness.root / "cases" / "first").rename(tmp_path / "first")
    assert offered(harness, "second") == []
    (tmp_path / "first").rename(harness.root / "cases" / "first")
    assert offered(harness, "third") == ["first"]
