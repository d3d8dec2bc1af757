"""The one list of invariants: each of them sees a Timeline, or a state, that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve

from harness_core.case import Case
from harness_core.commands import LifecyclePause
from harness_core.events import DISPOSITIONS, CaseAdopted, Event, event_id
from harness_core.evidence import Evidence
from harness_core.evolution import fold
from harness_core.invariants import INVARIANTS, STATE_INVARIANTS, STEP_INVARIANTS, check_state
from harness_core.model import Claim
from harness_core.replay import audit
from harness_core.staleness import Staleness
from harness_core.vocabulary import (
    ArgumentMatch,
    AuthorityDomain,
    Calibration,
    CaseStatus,
    EpistemicStatus,
    EventType,
    Lifecycle,
    ProbeStatus,
    TransferDecision,
)
from tests.core.desk import SOURCE, TESTIMONY, Desk, claim, grounded, step

Events = list[Event]


def rich() -> Desk:
    """A desk with one case to which almost everything happened."""
    desk = Desk()
    desk.open(
        initial_evidence=[{"id": "I1", **SOURCE, "authority_domain": "system_state"}, {"id": "I2", **TESTIMONY}],
        mechanisms=[claim("M1"), grounded("M2", "I1")],
        current_plan=[step("P1", "M1")],
    )
    desk.do("record_evidence", evidence=[{**SOURCE, "access_scope": "snippet", "limitation": "the rest"}])
    desk.commit(claim_id="M1", authority_domain="external_source")
    desk.act("raw", args={"path": "b.txt"}, displays=["shown"])
    mismatch = desk.compare(
        disposition="mismatch",
        material=True,
        belief_change="weakened",
        argument_drift_reason="a.txt was gone",
        evidence=dict(SOURCE),
    )["event"]["event_id"]
    desk.do(
        "revise", reason="r", addresses_event_ids=[mismatch], mechanisms=[grounded("M2", "E000001")], current_plan=[]
    )
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    desk.adopt_lineage("s2", ["s1", "s2"])
    desk.do("resume", "s2", case_id="c1")
    desk.commit("s2")
    desk.act(session="s2")
    desk.do("discard", "s2", reason="a mistake")
    transfer = {"decision": "explicit_user_correction", "lesson": "l", "scope": "s", "evidence_case_ids": ["c1"]}
    desk.close_case("resolved", "s2", transfer={**transfer, "evidence_event_ids": ["E000002"]})
    return desk


RICH = rich()
ALL: Events = RICH.events["c1"]


def at(type_: EventType) -> int:
    return next(n for n, event in enumerate(ALL) if event.type is type_)


def payload(type_: EventType, **changes: Any) -> Callable[[Events], None]:
    """Change fields of the payload of the first event of that type."""

    def change(events: Events) -> None:
        event = events[at(type_)]
        events[at(type_)] = evolve(event, payload=evolve(event.payload, **changes))

    return change


def member(type_: EventType, **changes: Any) -> Callable[[Events], None]:
    """Change members of the first event of that type."""

    def change(events: Events) -> None:
        events[at(type_)] = evolve(events[at(type_)], **changes)

    return change


def opened_with(made: Claim) -> Callable[[Events], None]:
    """Leave nothing but the opening, with this one claim."""

    def change(events: Events) -> None:
        event = events[at(EventType.CASE_OPENED)]
        model = evolve(event.payload.model, mechanisms=(made,))
        events[at(EventType.CASE_OPENED) :] = [evolve(event, payload=evolve(event.payload, model=model))]

    return change


def probe(**changes: Any) -> Callable[[Events], None]:
    """Change fields of the first commitment's probe."""

    def change(events: Events) -> None:
        event = events[at(EventType.PROBE_COMMITTED)]
        made = evolve(event.payload.probe, **changes)
        events[at(EventType.PROBE_COMMITTED)] = evolve(event, payload=evolve(event.payload, probe=made))

    return change


def drop(type_: EventType) -> Callable[[Events], None]:
    """Leave out the first event of that type, and number the others anew."""

    def change(events: Events) -> None:
        del events[at(type_)]
        events[:] = [evolve(event, event_id=event_id(n)) for n, event in enumerate(events, start=1)]

    return change


def close(**changes: Any) -> Callable[[Events], None]:
    """Change fields of the transfer that the case was closed with."""

    def change(events: Events) -> None:
        closed = events[-1].payload
        events[-1] = evolve(events[-1], payload=evolve(closed, transfer=evolve(closed.transfer, **changes)))

    return change


def mislabel(events: Events) -> None:
    closed = events[-1].payload
    events[-1] = evolve(events[-1], payload=evolve(closed, calibration=evolve(closed.calibration, language="proven")))


def adopt_twice(events: Events) -> None:
    case = fold(events[:5])
    assert case is not None
    made = CaseAdopted(release="1.2.0", legacy_state={}, legacy_log_sha256="0" * 64, case=evolve(case, case_id="c2"))
    events[5] = evolve(events[5], payload=made, seq=None)


SNAPSHOT = ALL[at(EventType.PROBE_COMMITTED)].payload.probe.claim_snapshot
M1 = RICH.events["c1"][at(EventType.CASE_OPENED)].payload.model.mechanisms[0]
EXTERNAL = Evidence(summary="s", source_ref="r", authority_domain=AuthorityDomain.EXTERNAL_SOURCE)
TOLD = Evidence(summary="s", source_ref="r", authority_domain=AuthorityDomain.USER_INTENT)

BROKEN: Sequence[tuple[str, Callable[[Events], None]]] = [
    ("events_are_numbered", member(EventType.MODEL_REVISED, event_id="E000099")),
    ("events_are_numbered", lambda events: events.pop(3)),
    ("events_are_numbered", lambda events: events.insert(3, events[3])),
    ("transitions_count_up", member(EventType.MODEL_REVISED, transition=99)),
    ("transitions_count_up", member(EventType.INITIAL_OBSERVATION, transition=0)),
    ("first_comes_opening", drop(EventType.CASE_OPENED)),
    ("first_comes_opening", lambda events: events.append(events[at(EventType.CASE_OPENED)])),
    ("adoption_comes_first", adopt_twice),
    ("events_are_allowed", drop(EventType.CASE_RESUMED)),
    ("events_are_allowed", drop(EventType.PROBE_COMPARED)),
    ("events_are_allowed", lambda events: events.append(events[at(EventType.EVIDENCE_RECORDED)])),
    ("dispositions_are_sequenced", member(EventType.CASE_RESUMED, seq=None)),
    ("dispositions_are_sequenced", member(EventType.MODEL_REVISED, seq=9)),
    ("dispositions_are_sequenced", member(EventType.CASE_PAUSED, seq=1)),
    ("only_the_owner_acts", member(EventType.EVIDENCE_RECORDED, session_id="s9")),
    ("migration_names_the_owner", payload(EventType.SESSION_MIGRATED, old_session_id="s9")),
    ("migration_names_the_owner", payload(EventType.SESSION_MIGRATED, new_session_id="s9")),
    ("models_are_versioned", payload(EventType.MODEL_REVISED, model_version=7)),
    ("models_are_versioned", payload(EventType.MODEL_REVISED, addresses_event_ids=("E000099",))),
    ("models_are_versioned", payload(EventType.MODEL_REVISED, changes=evolve(
        ALL[at(EventType.MODEL_REVISED)].payload.changes,
        mechanisms=None, current_plan=None))),
    ("repair_is_substantive", payload(EventType.MODEL_REVISED, repaired_mismatch_event_id=None)),
    ("repair_is_substantive", payload(EventType.MODEL_REVISED, addresses_event_ids=())),
    ("repair_is_substantive", payload(EventType.MODEL_REVISED, changes=evolve(
        ALL[at(EventType.MODEL_REVISED)].payload.changes, mechanisms=None))),
    ("mismatch_spreads", payload(EventType.PROBE_COMPARED, stale_item_ids=("M1",))),
    ("mismatch_spreads", payload(EventType.PROBE_COMPARED, material=False)),
    ("probes_keep_their_identity", payload(EventType.PROBE_STARTED, probe_id="PR000009")),
    ("probes_keep_their_identity", payload(EventType.PROBE_COMPARED, observation_event_id="E000001")),
    ("probes_keep_their_identity", payload(EventType.PROBE_EXPOSED, supersedes_event_id="E000001")),
    ("probes_keep_their_identity", payload(EventType.PROBE_DISCARDED, probe_id="PR000009")),
    ("probes_keep_their_identity", payload(EventType.PROBE_DISCARDED, observation_event_id="E000001")),
    ("probes_keep_their_identity", probe(probe_id="PR000009")),
    ("bound_claims_are_as_committed", probe(claim_snapshot=evolve(SNAPSHOT, text="another"))),
    ("bound_claims_are_as_committed", probe(model_version=7)),
    ("bound_claims_are_as_committed", payload(EventType.PROBE_COMPARED, model_version=7)),
    ("bound_claims_are_as_committed", payload(EventType.PROBE_COMPARED, belief_change=None)),
    ("drift_is_explained", payload(EventType.PROBE_COMPARED, argument_drift_reason=None)),
    ("drift_is_explained", payload(EventType.PROBE_COMPARED, execution_args_match_commitment=True)),
    ("drift_is_explained", payload(EventType.PROBE_COMPARED, argument_match_status=ArgumentMatch.MATCHED)),
    ("drift_is_explained", payload(EventType.PROBE_OBSERVED, argument_match_status=ArgumentMatch.MATCHED)),
    ("drift_is_explained", payload(EventType.PROBE_OBSERVED, argument_match_status=ArgumentMatch.MISMATCHED,
                                   args_sha256=ALL[at(EventType.PROBE_COMMITTED)].payload.args_sha256)),
    ("predictions_are_whole", probe(predicted_outcomes=())),
    ("predictions_are_whole", probe(would_change_belief="")),
    ("predictions_are_whole", probe(tool_name="delegate_task")),
    ("predictions_are_whole", probe(tool_name="epistemic_model")),
    ("predictions_are_whole", probe(tool_name="clarify")),
    ("sources_are_described", payload(EventType.EVIDENCE_RECORDED, source_role=None)),
    ("sources_are_described", payload(EventType.EVIDENCE_RECORDED, limitation=None)),
    ("sources_are_described", payload(EventType.PROBE_COMPARED, evidence=EXTERNAL)),
    ("comparisons_keep_authority", payload(EventType.PROBE_COMPARED, authority_domain=AuthorityDomain.SYSTEM_STATE)),
    ("comparisons_keep_authority", payload(EventType.PROBE_COMPARED, evidence=TOLD)),
    ("calibration_is_derived", mislabel),
    ("lessons_have_their_ground", close(lesson=None)),
    ("lessons_have_their_ground", close(evidence_case_ids=("c2",))),
    ("lessons_have_their_ground", close(evidence_event_ids=("E000001",))),
    ("lessons_have_their_ground", close(evidence_event_ids=None)),
    ("lessons_have_their_ground", close(evidence_event_ids=("E000099",))),
    ("lessons_have_their_ground", close(decision=TransferDecision.REPEATED_PATTERN)),
    ("citations_exist", opened_with(evolve(M1, evidence_event_ids=("E000003",)))),
    ("grounded_means_cited", opened_with(evolve(M1, epistemic_status=EpistemicStatus.GROUNDED))),
]  # fmt: skip


def test_the_whole_is_sound() -> None:
    """The Timeline that the tests below break keeps every invariant."""
    assert audit(ALL)[1] == ()


@pytest.mark.parametrize(("invariant", "how"), BROKEN, ids=[f"{n}-{name}" for n, (name, _) in enumerate(BROKEN)])
def test_a_broken_step_is_seen(invariant: str, how: Callable[[Events], None]) -> None:
    """A Timeline that breaks an invariant is said to break that very one."""
    events = list(ALL)
    how(events)
    _, found = audit(events)
    assert invariant in {violation.invariant for violation in found}, found
    assert all(violation.problem for violation in found)


@pytest.mark.parametrize(
    ("told", "digest"),
    [(ArgumentMatch.MATCHED, "committed"), (ArgumentMatch.MISMATCHED, "f" * 64), (ArgumentMatch.UNKNOWN, None)],
)
def test_an_observation_may_tell_the_arguments_anew(told: ArgumentMatch, digest: str | None) -> None:
    """What is told of the arguments once they were seen to run is no fault where it fits their digest."""
    events = ALL[: at(EventType.PROBE_OBSERVED) + 1]
    committed = events[at(EventType.PROBE_COMMITTED)].payload.probe.tool_args_sha256
    seen = committed if digest == "committed" else digest
    payload(EventType.PROBE_OBSERVED, argument_match_status=told, args_sha256=seen)(events)
    assert not audit(events)[1]


# --- states that no Timeline of ours amounts to ---


def pending() -> Case:
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    desk.commit(claim_id="M1")
    return desk.c1


def with_probe(**changes: Any) -> Case:
    case = pending()
    assert case.pending_probe is not None
    return evolve(case, pending_probe=evolve(case.pending_probe, **changes))


CLOSED = RICH.c1
CROSSED = evolve(CLOSED.model.mechanisms[0], authority_domain=AuthorityDomain.USER_INTENT)
UNDECLARED = evolve(CROSSED, authority_domain=None)
STATES: Sequence[tuple[str, Case]] = [
    ("model_is_well_formed", evolve(CLOSED, model=evolve(CLOSED.model, alternatives=CLOSED.model.mechanisms))),
    ("citations_exist", evolve(CLOSED, citations=CLOSED.citations.remove("E000001"))),
    ("authority_is_kept", evolve(CLOSED, model=evolve(CLOSED.model, mechanisms=(CROSSED,)))),
    ("authority_is_kept", evolve(CLOSED, model=evolve(CLOSED.model, mechanisms=(UNDECLARED,)))),
    ("observations_are_accounted_for", evolve(CLOSED, unaccounted=("E000007",))),
    ("observations_are_accounted_for", evolve(pending(), unaccounted=("E000007",))),
    ("pending_probe_is_coherent", with_probe(commit_event_id=None)),
    ("pending_probe_is_coherent", with_probe(status=ProbeStatus.EXECUTING)),
    ("pending_probe_is_coherent", with_probe(observation_event_id="E000001")),
    ("pending_probe_is_coherent", with_probe(claim_snapshot=None)),
    ("staleness_is_coherent", evolve(pending(), staleness=Staleness("E000001", ("M1",)))),
    ("staleness_is_coherent", evolve(pending(), staleness=Staleness("E000099", ()))),
    ("closed_is_final", evolve(CLOSED, closure=None)),
    ("closed_is_final", evolve(CLOSED, status=CaseStatus.ACTIVE)),
    ("closed_is_final", evolve(CLOSED, staleness=Staleness("E000009", ("M1",)))),
    ("closed_is_final", evolve(CLOSED, closure=evolve(CLOSED.closure, calibration=evolve(
        CLOSED.closure.calibration, label=Calibration.HYPOTHESIS)))),
]  # fmt: skip


@pytest.mark.parametrize(("invariant", "case"), STATES, ids=[f"{n}-{name}" for n, (name, _) in enumerate(STATES)])
def test_a_broken_state_is_seen(invariant: str, case: Case) -> None:
    """A state that breaks an invariant is said to break that very one."""
    assert invariant in {violation.invariant for violation in check_state(case)}


def test_a_marker_needs_a_pause() -> None:
    """A marker on a case that is not paused is seen."""
    desk = Desk()
    desk.open()
    pause = LifecyclePause(reason="r", lifecycle=Lifecycle.SESSION_RESET, auto_resumable=True)
    desk.settle("c1", pause, "s1")
    found = check_state(evolve(desk.c1, status=CaseStatus.ACTIVE))
    assert [violation.invariant for violation in found] == ["marker_means_paused"]


def test_every_invariant_is_seen_broken() -> None:
    """There is no invariant that the tests above do not break, each has a statement, and names are not used twice."""
    names = [check.__name__ for check in INVARIANTS]
    assert {*(name for name, _ in BROKEN), *(name for name, _ in STATES), "marker_means_paused"} == set(names)
    assert len(names) == len(set(names))
    assert all(check.__doc__ for check in INVARIANTS)
    assert (*STATE_INVARIANTS, *STEP_INVARIANTS) == INVARIANTS


def test_dispositions_are_what_binds() -> None:
    """The events that carry a number are those that change which session has which case."""
    bound = {"case_opened", "case_paused", "case_resumed", "session_migrated", "case_closed"}
    assert {type_.value for type_ in DISPOSITIONS} == bound
