"""When each event may happen, and what a host's session events do."""

from __future__ import annotations

from itertools import product

import pytest
from attrs import evolve

from harness_core.commands import AutoResume, LifecyclePause, Migrate, Pause, Resume
from harness_core.decider import Moment, decide
from harness_core.errors import Refused
from harness_core.events import CasePaused, CaseResumed, Event, SessionMigrated
from harness_core.evolution import evolve as evolve_case
from harness_core.evolution import fold
from harness_core.lifecycle import STOPPED_EARLY, reason_text, rule_for
from harness_core.rules import ALLOWED, PAUSE_ON_REQUEST, objection
from harness_core.staleness import Staleness
from harness_core.vocabulary import CaseStatus, EventType, Lifecycle, ProbeStatus
from tests.core.desk import PREDICTION, SOURCE, Desk, claim
from tests.core.oracle import WHEN

STATES = list(product(CaseStatus, (None, *ProbeStatus), (False, True)))


def in_state(status: CaseStatus, probe: ProbeStatus | None, stale: bool) -> Desk:
    """A desk whose case c1 was put into that state."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    desk.commit()
    case = desk.c1
    pending = case.pending_probe
    assert pending is not None
    desk.cases["c1"] = evolve(
        case,
        status=status,
        pending_probe=None if probe is None else evolve(pending, status=probe),
        staleness=Staleness("E000001", ("M1",)) if stale else None,
    )
    return desk


@pytest.mark.parametrize(("status", "probe", "stale"), STATES)
def test_the_table_says_when(status: CaseStatus, probe: ProbeStatus | None, stale: bool) -> None:
    """Every event is allowed in exactly the states that the rules name: case status, pending probe, staleness."""
    case = in_state(status, probe, stale).c1
    for event, (statuses, probes, while_stale) in WHEN.items():
        expected = (
            status.value in statuses.split()
            and (probe.value if probe else "-") in probes.split()
            and (while_stale or not stale)
        )
        assert (objection(case, ALLOWED[EventType(event)]) is None) == expected, event
    on_request = status is CaseStatus.ACTIVE and probe is None and not stale
    assert (objection(case, PAUSE_ON_REQUEST) is None) == on_request


def test_the_table_is_whole() -> None:
    """Every event but those that begin a case has its rule."""
    beginnings = {EventType.INITIAL_OBSERVATION, EventType.CASE_OPENED, EventType.CASE_ADOPTED}
    assert set(ALLOWED) == set(EventType) - beginnings == {EventType(event) for event in WHEN}


@pytest.mark.parametrize(("status", "probe", "stale"), STATES)
def test_an_objection_says_the_way_out(status: CaseStatus, probe: ProbeStatus | None, stale: bool) -> None:
    """What is forbidden is refused with a code, the reason and what to do."""
    case = in_state(status, probe, stale).c1
    for rule in (*ALLOWED.values(), PAUSE_ON_REQUEST):
        found = objection(case, rule)
        if found is not None:
            code, text = found
            assert code in (
                "case_closed",
                "case_paused",
                "case_active",
                "stale",
                "no_probe",
                *(f"probe_{p}" for p in ProbeStatus),
            )
            assert len(text) > 20 or code == "case_active"


# --- pause and resume ---


def test_a_case_is_laid_aside_and_taken_up() -> None:
    """A paused case leaves its session free; resumed, it is active again, and the answer says whether it is sound."""
    desk = Desk()
    desk.open()
    assert desk.do("pause", reason="later")["case"]["status"] == "paused"
    assert desk.refused("pause", reason="again").code == "no_active_case"
    answer = desk.do("resume", case_id="c1")
    assert (answer["case"]["status"], answer["replay"]["usable"]) == ("active", True)
    assert desk.types()[-2:] == ["case_paused", "case_resumed"]


def test_another_session_may_take_a_paused_case() -> None:
    """A paused case may be resumed anywhere; it then belongs there, and its former owners are remembered in order."""
    desk = Desk()
    desk.open()
    desk.do("pause", reason="later")
    case = desk.do("resume", "s2", case_id="c1")["case"]
    assert (case["session_id"], case["session_ids"]) == ("s2", ["s1", "s2"])
    assert desk.refused("revise", reason="r", decision="d").code == "no_active_case"


def test_an_active_case_is_not_taken_over() -> None:
    """A case that is active elsewhere is neither resumed nor shown; one's own active case is active already."""
    desk = Desk()
    desk.open()
    assert desk.refused("resume", "s2", case_id="c1").code == "other_session"
    assert "bound to another session" in desk.refused("show", "s2", case_id="c1").text
    moment = Moment(at="2030-01-01T00:00:00+00:00", session_id="s1", seq=9)
    with pytest.raises(Refused) as refusal:
        decide(desk.c1, Resume(case_id="c1"), moment)
    assert refusal.value.code == "case_active"


def test_another_sessions_case_is_not_touched() -> None:
    """The decider refuses what another session than the owner wants of a case."""
    desk = Desk()
    desk.open()
    with pytest.raises(Refused) as refusal:
        desk.settle("c1", Pause(reason="r", case_id="c1"), "s2")
    assert refusal.value.code == "other_session"


def test_nothing_is_left_hanging_on_request() -> None:
    """A pause that is asked for is refused with a probe pending, and while stale."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    desk.commit()
    assert desk.refused("pause", reason="r").code == "probe_committed"
    desk.act()
    desk.compare(disposition="mismatch", material=True, affected_claim_ids=["M1"])
    assert desk.refused("pause", reason="r").code == "stale"


def test_without_a_case_nothing_is_decided() -> None:
    """A command on a case that is not there is refused."""
    with pytest.raises(Refused) as refusal:
        decide(None, Resume(case_id="c1"), Moment(at="2030-01-01T00:00:00+00:00", session_id="s1", seq=1))
    assert refusal.value.code == "no_case"


@pytest.mark.parametrize("operation", ["revise", "pause", "close", "record_evidence", "commit", "resume"])
def test_a_decision_on_an_older_state_is_refused(operation: str) -> None:
    """expected_case_revision is held against the case wherever it is given; the right one is accepted."""
    fields = {
        "revise": {"reason": "r", "decision": "d"},
        "pause": {"reason": "r"},
        "close": {"outcome": "stopped", "summary": "s", "transfer": {"decision": "none"}},
        "record_evidence": {"evidence": [SOURCE]},
        "commit": PREDICTION,
        "resume": {"case_id": "c1"},
    }[operation]
    desk = Desk()
    desk.open()
    if operation == "resume":
        desk.do("pause", reason="r")
    now = desk.c1.revision
    for wrong in (now - 1, now + 1, 99):
        refusal = desk.refused(operation, expected_case_revision=wrong, **fields)
        assert refusal.code == "revision_conflict"
        assert str(now) in refusal.text
    assert desk.do(operation, expected_case_revision=now, **fields)["case"]["runtime_revision"] == now + 1


# --- what a host's sessions do ---

FINALIZE = Lifecycle.SESSION_FINALIZE


@pytest.mark.parametrize(
    ("kind", "reason", "pauses", "marker"),
    [
        (FINALIZE, "session_boundary", True, True),
        (FINALIZE, "", True, True),
        (FINALIZE, "whatever comes", True, True),
        (FINALIZE, "session_expired", True, False),
        (FINALIZE, " session_expired ", True, False),
        (FINALIZE, "new_session", False, False),
        (FINALIZE, "shutdown", False, False),
        (Lifecycle.SESSION_RESET, "new_session", True, True),
        (Lifecycle.SESSION_RESET, "", True, True),
        (Lifecycle.SUBAGENT_STOP, "", True, False),
        (Lifecycle.SUBAGENT_STOP, "shutdown", True, False),
    ],
)
def test_what_ends_a_session_pauses_its_case(kind: Lifecycle, reason: str, pauses: bool, marker: bool) -> None:
    """Each way in which a session ends pauses its case or not, and leaves the marker of a possible return or not."""
    rule = rule_for(kind, reason)
    assert (rule.pauses, rule.auto_resumable) == (pauses, marker)
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", kind.value, reason)
    assert (desk.c1.status is CaseStatus.PAUSED) == pauses
    assert (desk.c1.marker is not None) == marker
    assert ("auto_resume_pending" in desk.do("show", case_id="c1")["case"]) == marker


def test_the_reason_is_told() -> None:
    """The pause tells what ended the session, and the host's reason where there is one."""
    assert reason_text(FINALIZE, " session_boundary ") == "session finalize (session_boundary)"
    assert reason_text(Lifecycle.SESSION_RESET, " ") == "session reset"
    assert reason_text(Lifecycle.SUBAGENT_STOP, "anything") == STOPPED_EARLY


def test_a_lifecycle_pause_keeps_the_probe() -> None:
    """A host's pause leaves a pending probe as it is, and its event tells how far it was."""
    desk = Desk()
    desk.open()
    desk.commit()
    desk.pause_for_lifecycle("s1", "subagent_stop", "")
    assert (desk.last()["lifecycle"], desk.last()["pending_probe_status"]) == ("subagent_stop", "committed")
    desk.do("resume", "s2", case_id="c1")
    desk.act(session="s2")
    desk.compare("s2")


def test_a_pause_tells_its_circumstances() -> None:
    """Platform and the child's status are kept where the host tells them; the marker carries the platform."""
    desk = Desk()
    desk.open()
    pause = LifecyclePause(reason="r", lifecycle=FINALIZE, auto_resumable=True, child_status="failed", platform="tui")
    desk.settle("c1", pause, "s1")
    assert (desk.last()["platform"], desk.last()["child_status"]) == ("tui", "failed")
    assert desk.do("show", case_id="c1")["case"]["auto_resume_pending"]["platform"] == "tui"


def test_proof_of_life_is_used_once() -> None:
    """The session's next sign of life resumes its case, tells which pause it undid, and then does nothing more."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    paused = desk.timeline("c1")[-1]["event_id"]
    desk.proof_of_life("s1")
    assert desk.c1.status is CaseStatus.ACTIVE
    assert desk.last() == {"reason": "proof of life", "consumed_pause_event_id": paused}
    desk.proof_of_life("s1")
    assert len(desk.types()) == 3
    assert desk.settle("c1", AutoResume(), "s1") == ()


@pytest.mark.parametrize("then", ["open another", "open and close another", "resume elsewhere", "pause on request"])
def test_a_deliberate_disposition_kills_older_markers(then: str) -> None:
    """After the session disposed of a case deliberately, an older marker of it revives nothing."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    if then == "resume elsewhere":
        desk.do("resume", "s2", case_id="c1")
        desk.do("pause", "s2", reason="r")
    elif then == "pause on request":
        desk.do("resume", case_id="c1")
        desk.do("pause", reason="r")
    else:
        desk.open("c2")
        if then == "open and close another":
            desk.close_case()
        else:
            desk.do("pause", reason="r")
    desk.proof_of_life("s1")
    assert desk.c1.status is CaseStatus.PAUSED
    assert desk.settle("c1", AutoResume(), "s1") == ()


def test_the_newest_pause_is_the_one_that_returns() -> None:
    """Of two cases paused one after the other in one session, only the later is revived."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    desk.open("c2")
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    desk.proof_of_life("s1")
    assert (desk.cases["c2"].status, desk.c1.status) == (CaseStatus.ACTIVE, CaseStatus.PAUSED)


def test_evidence_does_not_kill_a_marker() -> None:
    """An event that disposes of nothing does not count against a marker."""
    desk = Desk()
    desk.open()
    desk.commit()
    with desk.execution("s1", "read_file", {"path": "a.txt"}) as execution:
        desk.pause_for_lifecycle("s1", "session_finalize", "")
        execution.observed("42")
    desk.proof_of_life("s1")
    assert desk.c1.status is CaseStatus.ACTIVE


def test_a_host_report_that_concerns_nothing_does_nothing() -> None:
    """A pause of a case that is paused, or of another session's, and a return without a marker, are no events."""
    desk = Desk()
    desk.open()
    pause = LifecyclePause(reason="r", lifecycle=FINALIZE, auto_resumable=True)
    assert desk.settle("c1", pause, "s2") == ()
    assert desk.settle("c1", AutoResume(), "s1") == ()
    desk.settle("c1", pause, "s1")
    assert desk.settle("c1", pause, "s1") == ()
    assert desk.settle("c1", AutoResume(), "s2") == ()


# --- compression ---


def test_an_active_case_follows_its_session() -> None:
    """A compression child takes over the active case with its pending probe; the parent has none any more."""
    desk = Desk()
    desk.open()
    desk.commit()
    desk.adopt_lineage("s2", ["s1", "s2"])
    assert desk.types()[-1] == "session_migrated"
    assert desk.bindings["s1"].active is None
    desk.act(session="s2")
    desk.compare("s2")
    assert desk.c1.session_ids == ("s1", "s2")


def test_a_marked_pause_follows_a_pristine_child() -> None:
    """A lifecycle-paused case moves to a child that disposed of nothing, and its marker goes on there."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    pause = desk.timeline("c1")[-1]["event_id"]
    desk.adopt_lineage("s2", ["s1", "s2"])
    assert (desk.c1.status, desk.c1.session_id) == (CaseStatus.PAUSED, "s2")
    assert (desk.c1.marker.pause_event_id, desk.c1.marker.seq_at_pause) == (pause, 1)
    desk.proof_of_life("s1")
    assert desk.c1.status is CaseStatus.PAUSED
    desk.proof_of_life("s2")
    assert desk.c1.status is CaseStatus.ACTIVE


def test_a_child_with_a_history_gets_no_marker() -> None:
    """A child that disposed of a case itself takes the paused one over without its marker."""
    desk = Desk()
    desk.open("c2", "s2")
    desk.close_case(session="s2")
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    desk.adopt_lineage("s2", ["s1", "s2"])
    assert (desk.c1.session_id, desk.c1.marker) == ("s2", None)


def test_what_is_settled_does_not_move() -> None:
    """A closed case, and one that was paused deliberately, stay where they are."""
    desk = Desk()
    desk.open()
    desk.do("pause", reason="r")
    move = Migrate(new_session_id="s2", reason="compression", pristine=True)
    assert desk.settle("c1", move, "s2") == ()
    desk.do("resume", case_id="c1")
    desk.close_case()
    assert desk.settle("c1", move, "s2") == ()


def test_an_event_without_its_number_is_folded_all_the_same() -> None:
    """The fold never refuses: a pause or migration that lacks its number leaves a marker that is dead."""
    desk = Desk()
    desk.open()
    events = desk.events["c1"]

    def more(payload: object, session: str = "s1") -> Event:
        return Event(
            event_id=f"E{len(events) + 1:06d}",
            timestamp="2030-01-01T00:00:00+00:00",
            session_id=session,
            transition=2,
            payload=payload,
        )

    paused = evolve_case(fold(events), more(CasePaused(reason="r", auto_resumable=True)))
    assert paused.marker is not None
    assert paused.marker.seq_at_pause == 0
    moved = SessionMigrated(old_session_id="s1", new_session_id="s1", reason="r", marker_kept=True)
    assert evolve_case(paused, more(moved)).marker.seq_at_pause == 0
    assert evolve_case(paused, more(CaseResumed())).session_ids == ("s1",)
