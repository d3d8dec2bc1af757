"""A state machine that drives an adapter through any sequence of sound and unsound calls, and checks after every step
that the rules of the harness hold.

Point it at an implementation by a subclass (docs/testing-your-adapter.md)::

    class MyMachine(CaseMachine):
        def make_adapter(self) -> Adapter:
            return MyAdapter()

    TestMyAdapter = MyMachine.TestCase
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from harness_core.arguments import MODEL_TOOL, PROBE_TOOL, REQUESTS
from harness_core.case import Case, document
from harness_core.events import Event
from harness_core.evolution import evolve, fold
from harness_core.invariants import Step, check_state, check_step
from harness_core.model import Lesson
from harness_core.replay import report
from harness_core.testing.adapters import Adapter, Execution, SessionAdapter
from harness_core.testing.faults import broken_arguments
from harness_core.testing.memory import Memory
from harness_core.testing.requests import (
    closures,
    commits,
    comparisons,
    conclusions,
    openings,
    reasoned,
    recordings,
    repairs,
    revisions,
    sound_arguments,
)
from harness_core.testing.spoils import (
    out_of_turn,
    unsound_closures,
    unsound_commits,
    unsound_comparisons,
    unsound_recordings,
    unsound_revisions,
)
from harness_core.testing.values import JSON, SECRET, Arguments, Known, results, texts, tool_arguments
from harness_core.transfer import lesson_of
from harness_core.vocabulary import CaseStatus, Lifecycle, ProbeStatus, Provenance, ResultStatus
from harness_core.wire import canonical_json

SESSIONS = ("s1", "s2", "s3")
CASES = ("c1", "c2", "c3", "c4")


@frozen
class Seen:
    """What an adapter says of one case: its records, what they fold to, and how they look as one text."""

    records: Sequence[Mapping[str, Any]]
    events: tuple[Event, ...]
    case: Case | None
    text: str


UNSEEN = Seen((), (), None, canonical_json([]))


class CaseMachine(RuleBasedStateMachine):
    """Calls of both tools and real actions, in any order, on a few cases in a few sessions.

    After every step: every invariant of ``INVARIANTS`` holds at every event; the state shown is the fold of the
    Timeline; a Timeline only grows, and only that of the case that was acted on; a refused call, and one that only
    reads, changes nothing; records survive the way to JSON and back; no planted secret is kept; no session has two
    active cases.
    """

    def __init__(self) -> None:
        super().__init__()
        self.adapter: Adapter = self.make_adapter()
        self.seen: dict[str, Seen] = {}
        self.committed: dict[str, JSON] = {}
        self.execution: Execution | None = None
        self.executed = ""

    def make_adapter(self) -> Adapter:
        """The implementation to test, with nothing in it yet."""
        return Memory()

    def teardown(self) -> None:
        if self.execution is not None:
            self.execution.__exit__(None, None, None)
        self.adapter.close()

    # --- steps ---

    def call(self, tool: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        """Make a call and check what it did.  The answer."""
        given = copy.deepcopy(dict(arguments))  # parts of it may stand in other calls
        answer = self.adapter.tool(tool, given, session_id)
        assert canonical_json(given) == canonical_json(arguments), "the call changed its own arguments"
        changed = self.look()
        if "error" in answer:
            assert answer["error"], "a refusal without a reason"
            assert not changed, f"a refused call changed {changed} ({answer['error']})"
            for case in self.cases():
                if case.session_id == session_id:
                    self.check_shown(case.case_id)
        self.answered(arguments, answer, changed)
        return answer

    def answered(self, arguments: Mapping[str, Any], answer: Mapping[str, Any], changed: Sequence[str]) -> None:
        """Hold an accepted answer against the Timelines.  Override it to check more."""
        operation = str(arguments.get("operation", "")).strip().lower()
        if "error" in answer:
            return
        if operation in ("list", "show"):
            assert not changed, f"{operation} changed {changed}"
            return
        again = [arguments["case_id"]] if operation == "open" and arguments["case_id"] in self.seen else []
        assert changed == again or len(changed) == 1, f"{operation} changed {changed}, and not one case"
        case = self.case((changed or again)[0])
        if operation == "commit":
            self.committed[case.case_id] = arguments["tool_args"]
        if "case" in answer:
            assert answer["case"] == _json(document(case)), "the answer does not show the case as it is"
        if "replay" in answer:
            assert answer["replay"]["usable"] == report(case)["usable"], "the answer judges the case otherwise"

    def look(self) -> list[str]:
        """Read every Timeline anew and check what is new in it; the ids of the cases that changed."""
        changed = []
        for case_id in CASES:
            records = self.adapter.timeline(case_id)
            old = self.seen.get(case_id, UNSEEN)
            text = canonical_json(list(records))
            if text == old.text:
                continue
            assert list(records[: len(old.records)]) == list(old.records), f"the past of {case_id} was changed"
            self.seen[case_id] = self._checked(old, records, text)
            self.check_shown(case_id)
            changed.append(case_id)
        return changed

    def _checked(self, old: Seen, records: Sequence[Mapping[str, Any]], text: str) -> Seen:
        assert SECRET not in text, "a planted secret stands in the Timeline"
        case, found = old.case, []
        events = list(old.events)
        for record in records[len(events) :]:
            event = Event.from_record(record)
            again = _json(event.to_record())
            assert again == {name: record[name] for name in again}, f"{event.event_id} does not survive JSON"
            after = evolve(case, event)
            found += [*check_step(Step(case, event, after)), *(() if not after.case_id else check_state(after))]
            case = after
            events.append(event)
        assert not found, "\n".join(f"{v.invariant} {v.event_id}: {v.problem}" for v in found)
        assert fold(events) == case, "folding the whole Timeline gives another case"
        return Seen(records, tuple(events), case, text)

    def check_shown(self, case_id: str) -> None:
        """What ``show`` answers is the fold of the Timeline, and JSON."""
        case = self.case(case_id)
        answer = self.adapter.tool(MODEL_TOOL, {"operation": "show", "case_id": case_id}, case.session_id)
        assert answer.get("case") == _json(document(case)), f"{case_id} is shown otherwise than it folds"
        assert answer["replay"]["usable"] == report(case)["usable"], f"{case_id} is judged otherwise than it folds"

    def case(self, case_id: str) -> Case:
        """The case as its Timeline folds."""
        case = self.seen[case_id].case
        assert case is not None
        return case

    @invariant()
    def one_active_case_per_session(self) -> None:
        """No session has two active cases."""
        owners = [case.session_id for case in self.cases() if case.status is CaseStatus.ACTIVE]
        assert len(owners) == len(set(owners)), f"two active cases in one session: {owners}"

    # --- what is there to act on ---

    def cases(self) -> list[Case]:
        """All cases as their Timelines fold."""
        return [self.case(case_id) for case_id in self.seen]

    def active(self, session_id: str) -> Case | None:
        """The session's active case."""
        return next((c for c in self.cases() if c.status is CaseStatus.ACTIVE and c.session_id == session_id), None)

    def at_work(self, *wanted: ProbeStatus | None, stale: bool | None = None) -> list[Case]:
        """The active cases, or those of them whose pending probe has one of these statuses (None: no probe)."""
        return [
            case
            for session_id in SESSIONS
            if (case := self.active(session_id)) is not None
            and (not wanted or (case.pending_probe and case.pending_probe.status) in wanted)
            and stale in (None, case.stale)
        ]

    def with_status(self, *wanted: CaseStatus) -> list[str]:
        """Ids of the cases of these statuses."""
        return [case.case_id for case in self.cases() if case.status in wanted]

    def lessons(self) -> list[Lesson]:
        """What the closed cases have left for others."""
        return [lesson for case in self.cases() if (lesson := lesson_of(case)) is not None]

    def _one_of(self, data: st.DataObject, cases: Sequence[Case]) -> Case:
        return self.case(data.draw(st.sampled_from([case.case_id for case in cases]), label="case"))

    # --- rules: the tools ---

    @initialize(data=st.data())
    def begin_with_a_case(self, data: st.DataObject) -> None:
        self.call(MODEL_TOOL, data.draw(openings(CASES[0])), SESSIONS[0])

    @precondition(lambda self: len(self.seen) < len(CASES) and len(self.at_work()) < len(SESSIONS))
    @rule(data=st.data())
    def open(self, data: st.DataObject) -> None:
        free = [s for s in SESSIONS if self.active(s) is None]
        new = [case_id for case_id in CASES if case_id not in self.seen]
        priors = self.with_status(CaseStatus.CLOSED)
        self.call(MODEL_TOOL, data.draw(openings(new[0], priors)), data.draw(st.sampled_from(free)))

    @precondition(lambda self: self.at_work(None))
    @rule(data=st.data())
    def record_evidence(self, data: st.DataObject) -> None:
        case = self._one_of(data, self.at_work(None))
        self.call(MODEL_TOOL, data.draw(recordings()), case.session_id)

    @precondition(lambda self: self.at_work(None))
    @rule(data=st.data())
    def revise(self, data: st.DataObject) -> None:
        case = self._one_of(data, self.at_work(None))
        self.call(MODEL_TOOL, data.draw(revisions(Known.of(case))), case.session_id)

    @precondition(lambda self: self.at_work(None, stale=True))
    @rule(data=st.data())
    def repair(self, data: st.DataObject) -> None:
        case = self._one_of(data, self.at_work(None, stale=True))
        self.call(MODEL_TOOL, data.draw(repairs(case)), case.session_id)

    @precondition(lambda self: self.at_work(None))
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        case = self._one_of(data, self.at_work(None))
        self.call(PROBE_TOOL, data.draw(commits(Known.of(case))), case.session_id)

    @precondition(lambda self: self.execution is None and self.at_work(None, stale=False))
    @rule(
        data=st.data(),
        result=results(),
        display=results(None, None, None),
        as_committed=st.sampled_from((True, True, True, False)),
        compared=st.booleans(),
    )
    def commit_and_look(
        self, data: st.DataObject, result: Any, display: Any, as_committed: bool, compared: bool
    ) -> None:
        case = self._one_of(data, self.at_work(None, stale=False))
        answer = self.call(PROBE_TOOL, data.draw(commits(Known.of(case))), case.session_id)
        assert "error" not in answer, answer["error"]
        probe = self.case(case.case_id).pending_probe
        assert probe is not None
        args = self.committed[case.case_id] if as_committed else data.draw(tool_arguments())
        with self.adapter.execution(case.session_id, probe.tool_name, args) as execution:
            execution.observed(result)
            if display is not None:
                execution.exposed(display)
        assert self.look() == [case.case_id], "an action is recorded in its own case alone"
        self._check_drift(case.case_id, args)
        if compared:
            self._compare(data, self.case(case.case_id))

    @precondition(lambda self: self.at_work(ProbeStatus.OBSERVED))
    @rule(data=st.data())
    def compare(self, data: st.DataObject) -> None:
        self._compare(data, self._one_of(data, self.at_work(ProbeStatus.OBSERVED)))

    def _compare(self, data: st.DataObject, case: Case) -> None:
        assert case.pending_probe is not None
        answer = self.call(PROBE_TOOL, data.draw(comparisons(case, case.pending_probe)), case.session_id)
        assert "error" not in answer, answer["error"]

    @precondition(lambda self: self.at_work(None, ProbeStatus.OBSERVED))
    @rule(data=st.data())
    def call_without_ground(self, data: st.DataObject) -> None:
        """What is sound in form and not in substance is refused."""
        case = self._one_of(data, self.at_work(None, ProbeStatus.OBSERVED))
        probe, known = case.pending_probe, Known.of(case)
        if probe is not None:
            call = data.draw(unsound_comparisons(case, probe))
        elif case.stale:
            call = data.draw(unsound_revisions(case))
        else:
            closing = unsound_closures(case, self.lessons())
            call = data.draw(st.one_of(unsound_revisions(case), unsound_commits(known), unsound_recordings(), closing))
        assert "error" in self.call(_tool_of(call), call, case.session_id), f"{call} was accepted"

    @precondition(lambda self: self.at_work(*ProbeStatus) or self.at_work(stale=True))
    @rule(data=st.data())
    def call_out_of_turn(self, data: st.DataObject) -> None:
        """What the state of the probe, or a mismatch that waits, forbids is refused."""
        case = self._one_of(data, self.at_work(*ProbeStatus) + self.at_work(stale=True))
        call = data.draw(out_of_turn(case))
        assert "error" in self.call(_tool_of(call), call, case.session_id), f"{call} was accepted"

    @precondition(lambda self: self.at_work(*ProbeStatus))
    @rule(data=st.data(), operation=st.sampled_from(("discard", "recover")))
    def give_up(self, data: st.DataObject, operation: str) -> None:
        case = self._one_of(data, self.at_work(*ProbeStatus))
        self.call(PROBE_TOOL, data.draw(reasoned(operation)), case.session_id)

    @precondition(lambda self: self.at_work(None))
    @rule(data=st.data())
    def pause(self, data: st.DataObject) -> None:
        case = self._one_of(data, self.at_work(None))
        self.call(MODEL_TOOL, data.draw(reasoned("pause")), case.session_id)

    @precondition(lambda self: self.with_status(CaseStatus.PAUSED))
    @rule(data=st.data(), session_id=st.sampled_from(SESSIONS))
    def resume(self, data: st.DataObject, session_id: str) -> None:
        case_id = data.draw(st.sampled_from(self.with_status(CaseStatus.PAUSED)))
        self.call(MODEL_TOOL, {"operation": "resume", "case_id": case_id}, session_id)

    @precondition(lambda self: self.at_work(None))
    @rule(data=st.data())
    def close_case(self, data: st.DataObject) -> None:
        case = self._one_of(data, self.at_work(None))
        self.call(MODEL_TOOL, data.draw(closures(case, self.lessons())), case.session_id)

    @precondition(lambda self: self.at_work(None, stale=False))
    @rule(data=st.data())
    def conclude(self, data: st.DataObject) -> None:
        """A case ends on one claim alone, which rests on evidence of one worth."""
        case = self._one_of(data, self.at_work(None, stale=False))
        self.call(MODEL_TOOL, data.draw(conclusions(case)), case.session_id)
        case = self.case(case.case_id)
        self.call(MODEL_TOOL, data.draw(closures(case, self.lessons())), case.session_id)

    @rule(data=st.data(), session_id=st.sampled_from(SESSIONS), tool=st.sampled_from(sorted(REQUESTS)))
    def call_whatever_the_state(self, data: st.DataObject, session_id: str, tool: str) -> None:
        operation = data.draw(st.sampled_from(sorted(REQUESTS[tool])))
        arguments = data.draw(sound_arguments(operation, data.draw(st.sampled_from(CASES))))
        if operation not in ("open", "list", "show") and data.draw(st.booleans()):
            arguments["expected_case_revision"] = data.draw(st.integers(0, 30))
        case = self.active(session_id)
        answer = self.call(tool, arguments, session_id)
        expected = arguments.get("expected_case_revision")
        if operation != "resume" and case is not None and expected not in (None, case.revision):
            assert "error" in answer, "a decision on an older state was taken"

    @rule(data=st.data(), session_id=st.sampled_from(SESSIONS), tool=st.sampled_from(sorted(REQUESTS)))
    def call_unsoundly(self, data: st.DataObject, session_id: str, tool: str) -> None:
        arguments, faults = data.draw(broken_arguments(tool))
        answer = self.call(tool, arguments, session_id)
        assert "error" in answer, f"{arguments} was accepted"
        unnamed = [f.named for f in faults if not any(f.is_named_by(told["path"]) for told in answer["fields"])]
        assert not unnamed, f"the refusal does not name {unnamed}: {answer['error']}"

    # --- rules: real actions ---

    @precondition(lambda self: self.execution is None and self.at_work(ProbeStatus.COMMITTED))
    @rule(data=st.data(), as_committed=st.sampled_from((True, True, False)))
    def begin(self, data: st.DataObject, as_committed: bool) -> None:
        case = self._one_of(data, self.at_work(ProbeStatus.COMMITTED))
        probe = case.pending_probe
        assert probe is not None
        args = self.committed[case.case_id] if as_committed else data.draw(tool_arguments())
        execution = self.adapter.execution(case.session_id, probe.tool_name, args)
        assert execution.recording, "the committed action is not recorded"
        execution.__enter__()
        self.execution, self.executed = execution, case.case_id
        assert self.look() == [case.case_id], "a start is recorded in its own case alone"
        self._check_drift(case.case_id, args)

    def _check_drift(self, case_id: str, args: Mapping[str, Any]) -> None:
        probe = self.case(case_id).pending_probe
        assert probe is not None
        same = canonical_json(args) == canonical_json(self.committed[case_id])
        assert probe.execution_args_match_commitment in (same, None), "it is told wrongly whether the arguments match"

    @precondition(lambda self: self.execution is not None)
    @rule(
        result=results(),
        provenance=st.sampled_from((*[Provenance.NATIVE_HANDLER_RESULT] * 3, Provenance.UNKNOWN)),
        status=st.sampled_from((None, None, None, *ResultStatus)),
    )
    def observe(self, result: Any, provenance: Provenance, status: ResultStatus | None) -> None:
        assert self.execution is not None
        self.execution.observed(result, provenance=provenance, status=status)
        assert self.look() in ([], [self.executed]), "an observation is recorded in its own case alone"

    @precondition(lambda self: self.execution is not None and self._is_observed())
    @rule(display=results())
    def expose(self, display: Any) -> None:
        assert self.execution is not None
        self.execution.exposed(display)
        assert self.look() in ([], [self.executed]), "an exposure is recorded in its own case alone"

    def _is_observed(self) -> bool:
        probe = self.case(self.executed).pending_probe
        return probe is not None and probe.status is ProbeStatus.OBSERVED

    @precondition(lambda self: self.execution is not None)
    @rule(error=st.sampled_from((None, None, OSError("the disk is gone"))))
    def end(self, error: Exception | None) -> None:
        assert self.execution is not None
        self.execution.__exit__(None if error is None else type(error), error, None)
        self.execution = None
        assert self.look() in ([], [self.executed]), "an observation is recorded in its own case alone"
        probe = self.case(self.executed).pending_probe
        assert probe is None or probe.status is not ProbeStatus.EXECUTING, "an action ended and was not accounted for"

    @precondition(
        lambda self: self.execution is not None and not self._is_observed() and hasattr(self.adapter, "abandon")
    )
    @rule()
    def die(self) -> None:
        adapter: Any = self.adapter
        adapter.abandon(self.execution)
        self.execution = None
        assert not self.look(), "the dead wrote"

    @rule(data=st.data(), args=tool_arguments())
    def act_otherwise(self, data: st.DataObject, args: Arguments) -> None:
        """What nobody committed is neither recorded nor blocked; what was committed is never recorded twice."""
        busy = [case.session_id for case in self.at_work(*ProbeStatus)]
        session_id = data.draw(st.sampled_from(busy or SESSIONS))
        case = self.active(session_id)
        probe = None if case is None else case.pending_probe
        tool = "an_ordinary_tool"
        if probe is not None and probe.status is not ProbeStatus.COMMITTED:
            tool, args = probe.tool_name, dict(probe.tool_args)
        with self.adapter.execution(session_id, tool, args) as execution:
            assert not execution.recording, "an action that is not the committed one is recorded"
            running = probe is not None and probe.status is ProbeStatus.EXECUTING
            assert bool(execution.blocked) == running, "an action is blocked only while it may run a second time"
            execution.observed("another result")
        assert not self.look(), "an action that is not the committed one was recorded"


class SessionMachine(CaseMachine):
    """``CaseMachine`` with a host whose sessions end, come to life again and are compressed."""

    def make_adapter(self) -> SessionAdapter:
        return Memory()

    @property
    def host(self) -> SessionAdapter:
        adapter: Any = self.adapter
        return adapter  # type: ignore[no-any-return]  # make_adapter has made one

    @precondition(lambda self: self.at_work())
    @rule(
        session_id=st.sampled_from(SESSIONS),
        kind=st.sampled_from(Lifecycle),
        reason=st.sampled_from(("", "session_boundary", "session_expired", "new_session", "shutdown")) | texts(),
    )
    def leave(self, session_id: str, kind: Lifecycle, reason: str) -> None:
        active = self.active(session_id)
        self.host.pause_for_lifecycle(session_id, kind.value, reason)
        assert self.look() in ([], [] if active is None else [active.case_id]), "the pause hit another case"

    @precondition(lambda self: any(case.marker for case in self.cases()))
    @rule(session_id=st.sampled_from(SESSIONS))
    def return_to(self, session_id: str) -> None:
        self.host.proof_of_life(session_id)
        changed = self.look()
        if changed:
            assert [self.active(session_id)] == [self.case(changed[0])], "proof of life did not resume a case"
            assert len(changed) == 1
        self.host.proof_of_life(session_id)
        assert not self.look(), "a second sign of life did something"

    @precondition(lambda self: self.with_status(CaseStatus.ACTIVE, CaseStatus.PAUSED))
    @rule(lineage=st.permutations(SESSIONS), at=st.integers(0, 2))
    def compress(self, lineage: Sequence[str], at: int) -> None:
        before = {case.case_id: case.session_id for case in self.cases()}
        self.host.adopt_lineage(lineage[at], lineage)
        for case_id in self.look():
            assert before[case_id] in lineage[:at], "a case came from no ancestor"
            assert self.case(case_id).session_id == lineage[at]


def _tool_of(call: Mapping[str, Any]) -> str:
    return PROBE_TOOL if call["operation"] in REQUESTS[PROBE_TOOL] else MODEL_TOOL


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value))
