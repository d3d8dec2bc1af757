"""The audit as the tools answer it: everything that is wrong, not only the first thing."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given

from harness_core.evolution import fold
from harness_core.invariants import Violation, check_state
from harness_core.replay import AWAITS_COMPARISON, INCOMPLETE, SOUND, SOUND_BYTES, STALE, Findings, audit, report
from harness_core.testing import timelines
from tests.core.desk import Desk, claim, grounded


def test_a_sound_case_is_usable() -> None:
    """A sound case is usable, says so in words, and each check by itself is valid."""
    desk = Desk()
    desk.open()
    told = report(desk.c1)
    assert (told["usable"], told["reason"], told["problems"], told["violations"]) == (True, SOUND, [], [])
    assert told["timeline"] == {"valid": True, "event_count": 1}
    assert told["case_snapshot"] == {"valid": True}
    assert told["artifacts"] == {"valid": True, "errors": []}
    assert not any(told["accounting"].values())


def test_everything_that_is_wrong_is_said() -> None:
    """Broken bytes, broken invariants and what is left hanging are all told, each also in its own place."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    desk.commit()
    desk.act()
    bytes_found = Findings(timeline="line 3 is cut", snapshot="case.md is another", artifacts=("a gone", "b short"))
    told = report(desk.c1, [Violation("some_rule", "E000002", "is broken")], bytes_found)
    assert told["usable"] is False
    assert told["reason"] == "Timeline integrity failure: line 3 is cut"
    assert told["problems"][1:] == [
        "case snapshot integrity failure: case.md is another",
        "artifact integrity failure: a gone; b short",
        "some_rule at E000002: is broken",
        AWAITS_COMPARISON,
    ]
    assert told["timeline"] == {"valid": False, "event_count": 4, "error": "line 3 is cut"}
    assert told["case_snapshot"] == {"valid": False, "error": "case.md is another"}
    assert told["artifacts"]["errors"] == ["a gone", "b short"]
    assert told["violations"] == [{"invariant": "some_rule", "event_id": "E000002", "problem": "is broken"}]


def test_what_is_left_hanging_has_its_words() -> None:
    """An execution under way, an observation that waits, and a mismatch that waits have the documented reasons."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    desk.commit(claim_id="M1")
    assert report(desk.c1)["usable"]
    with desk.execution("s1", "read_file", {"path": "a.txt"}) as execution:
        assert report(desk.c1)["reason"] == INCOMPLETE == "probe execution is incomplete"
        execution.observed("41")
    told = report(desk.c1)
    assert told["reason"] == AWAITS_COMPARISON == "probe result awaits comparison"
    assert told["accounting"]["uncompared_observation_event_ids"] == [desk.observation()]
    mismatch = desk.compare(disposition="mismatch", material=True, belief_change="weakened")["event"]["event_id"]
    told = report(desk.c1)
    assert told["reason"] == STALE == "material mismatch requires consequential revision"
    assert told["accounting"]["unaddressed_material_mismatch_event_ids"] == [mismatch]
    assert told["accounting"]["uncompared_observation_event_ids"] == []


def test_invalid_citations_are_counted() -> None:
    """Ids that a claim cites and that are no evidence of the case are told, whatever put them there."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    seen, _ = desk.look()
    desk.do("revise", reason="r", mechanisms=[grounded("M1", seen)])
    case = evolve(desk.c1, citations=desk.c1.citations.remove(seen))
    told = report(case)
    assert told["accounting"]["invalid_model_event_ids"] == [seen]
    assert told["usable"] is False
    assert "citations_exist" in told["reason"]


def test_an_empty_timeline_amounts_to_nothing() -> None:
    """No events are no case, and nothing is wrong with them."""
    assert audit([]) == (None, ())
    assert fold([]) is None
    assert Findings() == SOUND_BYTES


@given(timelines())
def test_a_report_is_usable_exactly_when_nothing_is_wrong(events: tuple) -> None:
    """A case may be built on exactly when no invariant is broken, nothing executes, waits or is stale."""
    case, found = audit(events)
    assert case is not None
    told = report(case, found)
    hanging = case.stale or (case.pending_probe is not None and case.pending_probe.status != "committed")
    assert told["usable"] == (not found and not check_state(case) and not hanging) == (told["problems"] == [])
