"""What an embedder may rely on when it says how an action ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness_store import Harness, Provenance, Refused, ResultStatus

PROBE = {
    "operation": "commit",
    "purpose": "learn",
    "unknown_or_goal": "g",
    "tool_name": "look",
    "tool_args": {"at": "it"},
    "predicted_outcomes": ["42"],
    "would_change_belief": "w",
    "why_this_action": "y",
    "authority_domain": "system_state",
}


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    harness = Harness(tmp_path / "store")
    harness.model({"operation": "open", "case_id": "c1", "top_unknown": "u"}, session_id="s1")
    harness.probe(PROBE, session_id="s1")
    return harness


@pytest.mark.parametrize(("status", "provenance"), [("error", "unknown"), (ResultStatus.ERROR, Provenance.UNKNOWN)])
def test_words_are_taken_as_text_or_as_members(harness: Harness, status: str, provenance: str) -> None:
    """Status and provenance may be given as plain words or as the vocabulary's members."""
    with harness.execution(session_id="s1", tool_name="look", args={"at": "it"}) as execution:
        record = execution.observed("gone", status=status, provenance=provenance)
    assert record is not None
    assert record["payload"]["result_status"] == "error"
    assert record["payload"]["raw_result_provenance"] == "unknown"


def test_a_word_that_is_none_is_refused_and_the_observation_can_still_be_made(harness: Harness) -> None:
    """An unknown status names the allowed ones, and takes nothing of the one observation."""
    with harness.execution(session_id="s1", tool_name="look", args={"at": "it"}) as execution:
        with pytest.raises(Refused, match="one of ok, tool_error, error, blocked, interrupted, unknown"):
            execution.observed("42", status="fine")
        assert execution.observed("42", status="ok") is not None


def test_damage_that_is_found_at_the_start_blocks_the_action(harness: Harness) -> None:
    """A record altered under a running harness blocks its committed action as it does in a new process."""
    log = harness.root / "cases" / "c1" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"learn"', b'"learm"'))
    for process in (harness, Harness(harness.root)):
        with process.execution(session_id="s1", tool_name="look", args={"at": "it"}) as execution:
            assert not execution.recording
            assert execution.blocked is not None
            assert "damaged" in execution.blocked


def test_the_arguments_that_ran_are_told_by_whoever_saw_them(harness: Harness) -> None:
    """Arguments changed on the way are recorded as mismatched, and a secret among them is gone from the result."""
    with harness.execution(session_id="s1", tool_name="look", args={"at": "it"}) as execution:
        record = execution.observed("seen hunter2hunter2", args={"token": "hunter2hunter2"})
    assert record is not None
    assert record["payload"]["argument_match_status"] == "mismatched"
    assert "hunter2" not in str(record)
