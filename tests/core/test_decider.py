"""What ``decide`` promises over any case and any command."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_core.arguments import MODEL_TOOL, PROBE_TOOL, REQUESTS, parse
from harness_core.case import Case
from harness_core.commands import (
    AutoResume,
    Commit,
    Expose,
    LifecyclePause,
    List,
    Migrate,
    Observe,
    Open,
    Recover,
    RecoverExecution,
    Resume,
    Show,
    Start,
)
from harness_core.decider import ANY_SESSION, OWN_CASE, Moment, decide
from harness_core.errors import Refused
from harness_core.events import DISPOSITIONS, Event
from harness_core.evolution import evolve, fold
from harness_core.invariants import Step, check_state, check_step
from harness_core.probes import Commitment, Correlation
from harness_core.testing import sound_arguments, timelines, unfinished
from harness_core.testing.memory import stored
from harness_core.testing.spoils import (
    out_of_turn,
    unsound_closures,
    unsound_commits,
    unsound_comparisons,
    unsound_recordings,
    unsound_revisions,
)
from harness_core.testing.values import Known, claims
from harness_core.vocabulary import (
    Boundary,
    CaseStatus,
    Lifecycle,
    ModelOperation,
    ProbeStatus,
    Provenance,
    ResultStatus,
    Section,
)

SENT = Commitment(sha256="0" * 64)
RESULT = stored("a result")
OK = ResultStatus.OK


def of_tools() -> st.SearchStrategy[object]:
    """Commands as the two tools make them, for a case of which nothing is known."""
    reading = (ModelOperation.LIST, ModelOperation.SHOW)
    names = [(tool, str(o)) for tool in (MODEL_TOOL, PROBE_TOOL) for o in REQUESTS[tool] if o not in reading]

    return st.sampled_from(names).flatmap(
        lambda name: sound_arguments(name[1]).map(lambda sent: completed(name[0], sent))
    )


def completed(tool: str, arguments: dict[str, Any]) -> Any:
    """The command that a call makes, with what only the store adds."""
    request = parse(tool, arguments).request
    if isinstance(request, Commit):
        return attrs.evolve(request, commitment=SENT)
    return RecoverExecution(**fields_of(request), result=RESULT) if isinstance(request, Recover) else request


def fields_of(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}


def of_hosts(probe_id: str, event_id: str) -> st.SearchStrategy[object]:
    """Commands as a host reports them."""
    told = {"probe_id": probe_id, "result": RESULT, "display_status": OK, "boundary": Boundary.POST_TOOL_CALL}
    return st.sampled_from(
        [
            Start(probe_id=probe_id, tool_name="read_file", actual=SENT, correlation=Correlation()),
            Observe(**told, status=OK, provenance=Provenance.NATIVE_HANDLER_RESULT),
            Expose(**told, observation_event_id=event_id),
            LifecyclePause(reason="r", lifecycle=Lifecycle.SESSION_RESET, auto_resumable=True),
            AutoResume(),
            Migrate(new_session_id="s1", reason="r", pristine=True),
        ]
    )


@given(timelines(), st.data())
def test_whatever_is_decided_keeps_every_invariant(events: tuple[Event, ...], data: st.DataObject) -> None:
    """Any command on any case is refused, or makes events that keep every invariant and that no fold refuses."""
    case = fold(events)
    assert case is not None
    probe = case.pending_probe
    host = of_hosts(probe.probe_id if probe else "PR000001", (probe and probe.observation_event_id) or "E000001")
    command = data.draw(st.one_of(of_tools(), host))
    moment = Moment(at="2031-01-01T00:00:00+00:00", session_id=data.draw(st.sampled_from(("s1", "s9"))), seq=99)
    before = repr(case)
    decided: tuple[Event, ...] = ()
    with contextlib.suppress(Refused):
        decided = decide(case, command, moment)
    assert repr(case) == before
    if not isinstance(command, Migrate) or moment.session_id == command.new_session_id:
        for event in decided:
            after = evolve(case, event)
            assert not check_step(Step(case, event, after))
            case = after
        assert not check_state(case)


@given(timelines(), st.data())
def test_only_the_owner_decides(events: tuple[Event, ...], data: st.DataObject) -> None:
    """What a model asks of a case, but to resume it, is refused to every session that does not own it."""
    case = fold(events)
    assert case is not None
    command = data.draw(of_tools().filter(lambda made: not isinstance(made, Open | Resume)))
    with pytest.raises(Refused) as refusal:
        decide(case, command, Moment(at="2031-01-01T00:00:00+00:00", session_id="s9", seq=1))
    assert refusal.value.code in ("other_session", "other_case", "revision_conflict")


@given(timelines(longest=6), st.data())
def test_nothing_follows_the_end(events: tuple[Event, ...], data: st.DataObject) -> None:
    """Whatever became of a case before, once it is closed every command on it is refused or concerns nothing."""
    case = fold(events)
    assert case is not None
    closed = attrs.evolve(case, status=CaseStatus.CLOSED, pending_probe=None, staleness=None)
    command = data.draw(st.one_of(of_tools(), st.just(Resume(case_id=case.case_id)), of_hosts("PR000001", "E000001")))
    with contextlib.suppress(Refused):
        moment = Moment(at="2031-01-01T00:00:00+00:00", session_id=data.draw(st.sampled_from(("s1", "s9"))), seq=99)
        assert decide(closed, command, moment) == ()


in_any_state = st.one_of(unfinished(), unfinished(), timelines(longest=6))


def left_at(events: tuple[Event, ...]) -> Case:
    """The case as it was left, active; a look that was not yet made is forgotten, since it forbids whatever follows."""
    case = fold(events)
    assert case is not None
    probe = case.pending_probe
    seen = probe is not None and probe.status is ProbeStatus.OBSERVED
    return attrs.evolve(case, status=CaseStatus.ACTIVE, closure=None, pending_probe=probe if seen else None)


def refuses(case: Case, call: dict[str, Any]) -> None:
    """The case refuses this call, which is sound in form."""
    tool = next(tool for tool, operations in REQUESTS.items() if call["operation"] in operations)
    with pytest.raises(Refused):
        decide(case, completed(tool, call), Moment(at="2031-01-01", session_id=case.session_id, seq=99))


@given(in_any_state, st.data())
def test_beliefs_without_ground_are_refused(events: tuple[Event, ...], data: st.DataObject) -> None:
    """A revision to beliefs that cite or rest on what they cannot, that changes nothing, or that repairs nothing while
    something is stale, is refused."""
    case = attrs.evolve(left_at(events), pending_probe=None)
    refuses(case, data.draw(unsound_revisions(case)))


@given(unfinished().map(left_at).filter(lambda case: case.pending_probe), st.data())
def test_comparisons_without_ground_are_refused(case: Case, data: st.DataObject) -> None:
    """A comparison that leaves out what its probe needs said, or says what it cannot be, is refused."""
    assert case.pending_probe is not None
    refuses(case, data.draw(unsound_comparisons(case, case.pending_probe)))


@given(in_any_state, st.data())
def test_what_lacks_its_ground_is_refused(events: tuple[Event, ...], data: st.DataObject) -> None:
    """What is recorded, predicted or concluded without what it needs is refused, whatever the case holds."""
    case = attrs.evolve(left_at(events), pending_probe=None, staleness=None)
    unsound = st.one_of(unsound_commits(Known.of(case)), unsound_recordings(), unsound_closures(case))
    refuses(case, data.draw(unsound))


@given(in_any_state, st.data())
def test_claims_on_what_may_be_cited_are_taken(events: tuple[Event, ...], data: st.DataObject) -> None:
    """Claims that cite any evidence of their case, of the one class that they declare, are taken and cite just that."""
    free = attrs.evolve(left_at(events), pending_probe=None, staleness=None)
    sent = data.draw(claims(Known.of(free), ("X1", "X2"), cited=True))
    empty: dict[str, Any] = {str(array): [] for array in (*Section, "current_plan")}
    call = {"operation": "revise", "reason": "r", "updates": {**empty, "mechanisms": sent}}
    for event in decide(free, completed(MODEL_TOOL, call), Moment(at="2031-01-01", session_id=free.session_id, seq=99)):
        free = evolve(free, event)
    cited = [tuple(dict.fromkeys(claim.get("evidence_event_ids", ()))) for claim in sent]
    assert [claim.evidence_event_ids for claim in free.model.mechanisms] == cited


@given(unfinished(), st.data())
def test_what_is_out_of_turn_is_refused(events: tuple[Event, ...], data: st.DataObject) -> None:
    """What a pending probe forbids, at each of its stages, is refused, and so is what a waiting mismatch forbids, and
    what there is nothing for."""
    case = fold(events)
    assert case is not None
    refuses(case, data.draw(out_of_turn(case)))


@given(timelines(longest=5), st.data(), st.integers(0, 20))
def test_a_decision_on_another_state_is_refused(events: tuple[Event, ...], data: st.DataObject, revision: int) -> None:
    """A command that says which state of the case it was made for is refused in every other, whatever it asks."""
    case = fold(events)
    assert case is not None
    command = data.draw(of_tools().filter(lambda made: not isinstance(made, Open)))
    made = attrs.evolve(command, case_id=case.case_id, expected_case_revision=revision)
    code = ""
    try:
        decide(case, made, Moment(at="2031-01-01T00:00:00+00:00", session_id="s1", seq=99))
    except Refused as refusal:
        code = refusal.code
    assert (code == "revision_conflict") == (revision != case.revision)


@given(timelines())
def test_events_of_one_decision_belong_together(events: tuple[Event, ...]) -> None:
    """Events are numbered on, those of one decision share transition, time and session, and dispositions are
    numbered."""
    assert [event.event_id for event in events] == [f"E{n:06d}" for n in range(1, len(events) + 1)]
    for one, other in itertools.pairwise(events):
        assert other.transition - one.transition in (0, 1)
        if one.transition == other.transition:
            assert (one.timestamp, one.session_id) == (other.timestamp, other.session_id)
    assert all((event.seq is not None) == (event.type in DISPOSITIONS) for event in events)


def test_every_command_is_decided() -> None:
    """Every operation that changes something, and every report of a host, has its decision; there is no other."""
    requests = {kind for tool in REQUESTS.values() for kind in tool.values()}
    decided = {Open, *OWN_CASE, *ANY_SESSION}
    assert requests - decided == {List, Show, Recover}  # recovery is decided with the text the store keeps for it
    assert decided - requests == {Start, Observe, Expose, RecoverExecution, LifecyclePause, AutoResume, Migrate}
