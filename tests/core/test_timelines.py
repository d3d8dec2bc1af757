"""What holds of the Timeline of any session: its fold, its audit, its records, its adoption."""

from __future__ import annotations

import json

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from harness_core.adoption import decide_adopting
from harness_core.commands import LifecyclePause, Migrate
from harness_core.events import Event, event_id
from harness_core.evolution import fold
from harness_core.moment import Moment
from harness_core.replay import audit
from harness_core.testing import timelines, unfinished
from harness_core.vocabulary import CaseStatus, EventType, Lifecycle
from tests.core.oracle import Reading, hold_against

any_timeline = st.one_of(timelines(), unfinished())


@given(any_timeline)
def test_every_session_keeps_every_invariant(events: tuple[Event, ...]) -> None:
    """Whatever a model and its host do, the audit of the whole Timeline finds nothing."""
    case, found = audit(events)
    assert case == fold(events)
    assert found == ()


@given(any_timeline)
def test_a_second_reading_gives_the_same_case(events: tuple[Event, ...]) -> None:
    """Reading the records by rules that were written a second time gives the same case, and finds nothing wrong."""
    hold_against(fold(events), Reading([event.to_record() for event in events]))


@given(any_timeline, st.data())
def test_the_fold_never_refuses(events: tuple[Event, ...], data: st.DataObject) -> None:
    """Any events in any order fold to a case and can be audited; leaving one out, or doubling one, is seen."""
    shuffled = data.draw(st.permutations(events))
    fold(shuffled)
    audit(shuffled)
    if len(events) > 1:
        n = data.draw(st.integers(0, len(events) - 2))
        assert audit([*events[:n], *events[n + 1 :]])[1]
    n = data.draw(st.integers(0, len(events) - 1))
    assert audit([*events[: n + 1], *events[n:]])[1]


@given(any_timeline, st.data())
def test_a_fold_can_be_continued(events: tuple[Event, ...], data: st.DataObject) -> None:
    """Folding a Timeline in two parts, cut anywhere, gives the same case as folding it at once."""
    cut = data.draw(st.integers(0, len(events)))
    assert fold(events[cut:], fold(events[:cut])) == fold(events)


@given(any_timeline)
def test_records_round_trip(events: tuple[Event, ...]) -> None:
    """Every event survives the way to a record, to JSON and back."""

    for event in events:
        record = json.loads(json.dumps(event.to_record())) | {"transition": {"number": event.transition}}
        assert Event.from_record(record) == event


@given(any_timeline, st.data())
def test_an_adopted_case_goes_on(events: tuple[Event, ...], data: st.DataObject) -> None:
    """Whatever became of a case before, its adoption comes first and once, and what follows keeps every invariant."""
    case = fold(events)
    assert case is not None
    told = LifecyclePause(reason="r", lifecycle=Lifecycle.SESSION_RESET, auto_resumable=True)
    command = data.draw(st.sampled_from((told, Migrate(new_session_id="s9", reason="r", pristine=True))))
    session_id = "s1" if command is told else "s9"
    moment = Moment(at="2031-01-01T00:00:00+00:00", session_id=session_id, seq=99)
    going_on = decide_adopting(case, {}, "0" * 64, command, moment)
    if case.status is CaseStatus.ACTIVE:
        assert going_on[0].type is EventType.CASE_ADOPTED
        assert audit(going_on)[1] == ()
        again = evolve(going_on[0], event_id=event_id(case.event_count + 3))
        assert "adoption_comes_first" in {v.invariant for v in audit([*going_on, again])[1]}
    else:
        assert going_on == () or case.marker is not None
