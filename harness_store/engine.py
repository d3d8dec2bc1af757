"""``Harness``: the one object that an embedder needs.

It ties the pure core to the disk: arguments become a request, the request is redacted, the case is read under its lock,
the core decides, the journal writes, and the answer is made of what then stands.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from attrs import evolve, frozen

from harness_core import bindings as rules
from harness_core import lifecycle
from harness_core.answers import presented
from harness_core.arguments import MODEL_TOOL, PROBE_TOOL, parse
from harness_core.bindings import Bindings
from harness_core.case import Case, document
from harness_core.cleaning import cleaned
from harness_core.commands import (
    AutoResume,
    Close,
    Command,
    Commit,
    Compare,
    Discard,
    Expose,
    LifecyclePause,
    List,
    Migrate,
    Observe,
    Open,
    Pause,
    RecordEvidence,
    Recover,
    RecoverExecution,
    Request,
    Resume,
    Revise,
    Show,
    Start,
)
from harness_core.decider import Moment, decide
from harness_core.errors import HarnessError, Refused, Unavailable
from harness_core.events import Event
from harness_core.evolution import fold
from harness_core.injection import compose
from harness_core.model import Lesson
from harness_core.probes import Correlation, Probe, StoredResult
from harness_core.redaction import redact_text, secret_values
from harness_core.vocabulary import CaseStatus, Lifecycle, ProbeStatus

from . import observations
from .codec import Audited, audited
from .commitments import CommitmentKey
from .disk import PosixDisk
from .execution import DORMANT, Blocked, Execution, Recording
from .heads import Head
from .journal import Writer
from .layout import Layout, create_store, read_format
from .locks import Lease
from .logs import log
from .portfolio import Portfolio, no_case, raise_findings
from .registry import Held, Registry
from .sessions_file import SessionsFile

GENERATION = "20260916-prospective-inquiry"
"""Names the generation of the code in ``list`` and in the log, so that an answer can be told from an older process's."""

TOOL_WAIT = 10.0
"""Seconds that a tool call waits for a lock before it answers ``Unavailable``."""
HOST_WAIT = 2.0
"""Seconds that the start of a host's committed action waits; all later bookkeeping of a host does not wait."""

INTERRUPTED_TEXT = "The execution was cut off; the action may or may not have completed."


@frozen
class Done:
    """A transition that was made: its events as records, and the state after it."""

    records: Sequence[Mapping[str, Any]]
    state: Audited

    @property
    def case(self) -> Case:
        return self.state.case


class Harness:
    """The harness over one state root.  Safe to share among threads; any number of processes may share a root.

    ``root``: the folder of the store; nothing is made there before the first write.  ``wait``: seconds that a tool call
    waits for a lock.  ``clock``: gives the time, ISO 8601 with an offset.

    Raises ``Unavailable(code="platform")`` where POSIX file locks are missing, ``Damaged(code="newer_format")`` for a
    store that a newer release wrote.
    """

    def __init__(
        self, root: str | os.PathLike[str], *, wait: float = TOOL_WAIT, clock: Callable[[], str] | None = None
    ) -> None:
        self.root = Path(root)
        self._wait = wait
        self._clock = clock or _utc_now
        self._disk = PosixDisk()
        self._layout = Layout(self.root)
        read_format(self._disk, self.root)
        self._cases = Portfolio(self._disk, self._layout)
        self._registry = Registry(SessionsFile(self._disk, self.root), self._cases.now, self._cases.readable)
        self._key = CommitmentKey(self._disk, self.root)

    def __repr__(self) -> str:
        return f"<Harness at {self.root.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the harness.  It holds no file open between calls, so this only marks the end of its use."""

    # --- the two tools ------------------------------------------------------------------------------------------------

    def model(self, args: Mapping[str, Any], *, session_id: str) -> dict[str, Any]:
        """``epistemic_model``: open, list, show, record_evidence, revise, pause, resume, close.

        ``args`` is the JSON object of the call.  Answers the JSON object described in docs/tools; raises ``Refused``,
        ``Damaged`` or ``Unavailable``.
        """
        return self._call(MODEL_TOOL, args, session_id)

    def probe(self, args: Mapping[str, Any], *, session_id: str) -> dict[str, Any]:
        """``epistemic_probe``: commit, compare, recover, discard.  As ``model``."""
        return self._call(PROBE_TOOL, args, session_id)

    def tool(self, name: str, args: Any, *, session_id: str) -> str:
        """A tool as JSON text, as a host or an MCP server needs it: refusals too are answers and never raised.

        ``name``: ``epistemic_model`` or ``epistemic_probe``.
        """
        try:
            answer: Mapping[str, Any] = self._call(name, args, session_id)
        except HarnessError as error:
            answer = error.answer()
        except Exception as error:  # a fault of ours is told apart from a refusal, and never thrown into a host
            log.exception("tool_failed", tool=name)
            text = f"internal fault ({type(error).__name__}); nothing is known to be lost, the case can be shown"
            answer = {"error": text, "code": "internal", "fields": []}
        return json.dumps(answer, ensure_ascii=False)

    def _call(self, tool: str, args: Any, session_id: str) -> dict[str, Any]:
        call = parse(tool, args)
        session = session_id.strip() if isinstance(session_id, str) else ""
        if not session:
            raise Refused("the host gave no session id, and a case belongs to a session", code="no_session")
        answer = self._answer(call.request, session)
        return dict(presented(answer, call.detail))

    def _answer(self, request: Request, session_id: str) -> dict[str, Any]:
        if isinstance(request, List):
            return self._list(request)
        if isinstance(request, Show):
            return self._show(request, session_id)
        clean = cleaned(request)
        if isinstance(clean, Open):
            return self._open(clean, session_id)
        if isinstance(clean, Resume):
            return self._changed(self._bind(clean.case_id, clean, session_id, claims=True))
        if isinstance(clean, Pause | Close):
            return self._changed(self._bind(self._active(session_id), self._enriched(clean), session_id))
        if isinstance(clean, Commit) and isinstance(request, Commit):
            return self._commit(clean, request, session_id)
        if isinstance(clean, Recover):
            return self._recover(clean, session_id)
        if isinstance(clean, RecordEvidence):
            done = self._change(self._active(session_id), clean, session_id)
            ids = [record["event_id"] for record in done.records]
            events = [dict(record) for record in done.records]
            return {**self._shown(done), "evidence_event_ids": ids, "events": events}
        if isinstance(clean, Revise | Compare | Discard):
            return self._changed(self._change(self._active(session_id), clean, session_id))
        raise AssertionError(f"no operation answers {type(clean).__name__}")

    # --- reading ------------------------------------------------------------------------------------------------------

    def _list(self, request: List) -> dict[str, Any]:
        return {**self._cases.listing(request), "runtime": {"pid": os.getpid(), "generation": GENERATION}}

    def _show(self, request: Show, session_id: str) -> dict[str, Any]:
        own = self._registry.binding(session_id, self._wait).active
        case_id = request.case_id or own
        if case_id is None:
            raise _no_active_case()
        if request.as_of is not None:
            return self._shown_as_of(case_id, request.as_of, session_id)
        view = self._cases.view(case_id)
        _readable_by(view.document, session_id, own)
        return {"case": dict(view.document), "replay": dict(view.replay)}

    def _shown_as_of(self, case_id: str, as_of: int, session_id: str) -> dict[str, Any]:
        journal = self._cases.journal(case_id)
        now = journal.read().state
        if now is None:
            raise no_case(case_id)
        _readable_by(document(now.case), session_id, None)
        state = journal.read(as_of).state
        if state is None:
            raise no_case(case_id)
        view = self._cases.after_write(state)
        return {"case": dict(view.document), "replay": dict(view.replay)}

    def replay(self, case_id: str) -> dict[str, Any]:
        """Verify a case from its first byte to its last: the ``replay`` object with everything that is wrong.

        Changes nothing.  Raises ``Refused(code="no_case")``, ``Damaged`` where nothing can be read, ``Unavailable``.
        """
        return dict(self._cases.view(case_id).replay)

    def timeline(self, case_id: str) -> list[dict[str, Any]]:
        """The records of a case's log, as far as they can be believed, oldest first."""
        return [dict(record) for record in self._cases.records(case_id)]

    def _shown(self, done: Done) -> dict[str, Any]:
        view = self._cases.after_write(done.state)
        return {"case": dict(view.document), "replay": dict(view.replay)}

    def _changed(self, done: Done) -> dict[str, Any]:
        return {**self._shown(done), "event": dict(done.records[-1])}

    # --- transitions on a case ----------------------------------------------------------------------------------------

    def _active(self, session_id: str) -> str:
        active = self._registry.binding(session_id, self._wait).active
        if active is None:
            raise _no_active_case()
        return active

    def _moment(self, session_id: str, seq: int) -> Moment:
        return Moment(at=self._clock(), session_id=session_id, seq=seq)

    def _change(self, case_id: str, command: Command, session_id: str, wait: float | None = None) -> Done:
        """A transition that leaves the bindings alone: the case's lock is enough."""
        with self._cases.journal(case_id).lock(self._wait if wait is None else wait) as writer:
            state = _present(case_id, writer.refresh().state)
            self._sound(state, command)
            return self._written(writer, state, decide(state.case, command, self._moment(session_id, 0)))

    def _sound(self, state: Audited, command: Command) -> None:
        """Refuse what would be built on a case whose record does not hold (commit and close alone; see docs)."""
        if not isinstance(command, Commit | Close | Start):
            return
        faults = self._cases.artifact_faults(state.case)
        if faults:
            raise Refused(f"replay is not usable: artifact integrity failure: {'; '.join(faults)}", code="not_usable")
        if state.violations:
            broken = "; ".join(f"{v.invariant} at {v.event_id}: {v.problem}" for v in state.violations)
            raise Refused(f"replay is not usable: {broken}", code="not_usable")

    def _bind(
        self,
        case_id: str,
        command: Command,
        session_id: str,
        *,
        claims: bool = False,
        wait: float | None = None,
    ) -> Done:
        """A transition that changes bindings: the store's lock, then the case's.  Raises where nothing happens."""
        done = self._bind_if(case_id, command, session_id, claims=claims, wait=wait)
        if done is None:
            raise Refused("there was nothing to do", code="nothing_to_do")
        return done

    def _bind_if(
        self,
        case_id: str,
        command: Command,
        session_id: str,
        *,
        claims: bool = False,
        wait: float | None = None,
        held: Held | None = None,
    ) -> Done | None:
        patience = self._wait if wait is None else wait
        if held is None:
            self._cases.require(case_id)
            with self._registry.hold(patience) as mine:
                return self._bind_if(case_id, command, session_id, claims=claims, wait=wait, held=mine)
        if claims:
            rules.require_free(held.bindings, session_id, case_id)
        with self._cases.journal(case_id).lock(patience) as writer:
            snapshot = writer.refresh()
            state = _present(case_id, snapshot.state)
            self._sound(state, command)
            if isinstance(command, Close):
                raise_findings(case_id, writer.verify())
            seq = rules.of(held.bindings, session_id).seq + 1
            events = decide(state.case, command, self._moment(session_id, seq))
            if not events:
                return None
            return self._write_bound(writer, state, events, held, snapshot.head)

    def _write_bound(
        self, writer: Writer[Audited], state: Audited | None, events: Sequence[Event], held: Held, base: Head
    ) -> Done:
        after = fold(events, None if state is None else state.case)
        if after is None:
            raise AssertionError("a transition has events")
        bindings: Bindings = rules.settled(held.bindings, after)
        held.intend(bindings, after.case_id, after.session_ids, base)
        done = self._written(writer, state, events)
        held.change(bindings)
        return done

    def _written(self, writer: Writer[Audited], state: Audited | None, events: Sequence[Event]) -> Done:
        """Append a decision.  One that broke an invariant would be a fault of ours, and is not written."""
        after = audited(state, events)
        known = 0 if state is None else len(state.violations)
        if after is None or len(after.violations) > known:
            broken = "nothing was decided" if after is None else str(after.violations[known:])
            raise AssertionError(f"a decision breaks an invariant: {broken}")
        records = [event.to_record() for event in events]
        writer.append(records)
        if state is None or after.case.version != state.case.version:
            self._snapshot(after.case)
        return Done(records, after)

    def _snapshot(self, case: Case) -> None:
        """Keep the model's version for people.  A projection: its loss is reported and costs nothing."""
        try:
            self._cases.archive(case)
        except Unavailable as error:
            log.warning("archive_not_written", case=case.case_id, version=case.version, error=str(error))

    # --- the operations that need more than the case ------------------------------------------------------------------

    def _open(self, command: Open, session_id: str) -> dict[str, Any]:
        create_store(self._disk, self.root, f"epistemic-harness {GENERATION}", self._wait)
        with self._registry.hold(self._wait) as held:
            journal = self._cases.journal(command.case_id)
            with journal.lock(self._wait) as writer:
                snapshot = writer.refresh()
                if snapshot.state is not None:
                    return self._opened_before(command, session_id, snapshot.state)
                rules.require_free(held.bindings, session_id, command.case_id)
                seq = rules.of(held.bindings, session_id).seq + 1
                moment = self._moment(session_id, seq)
                events = decide(None, self._with_lessons(command, moment), moment)
                done = self._write_bound(writer, None, events, held, snapshot.head)
        return self._opened(done.state)

    def _opened(self, state: Audited) -> dict[str, Any]:
        view = self._cases.after_write(state)
        lessons = view.document["model"]["retrieved_prior_lessons"]
        return {"case": dict(view.document), "replay": dict(view.replay), "prior_case_lessons": lessons}

    def _opened_before(self, command: Open, session_id: str, state: Audited) -> dict[str, Any]:
        """Repeating an identical open, as after a crash, answers with the case; any other is refused."""
        case = state.case
        if case.revision == 1 and case.session_id == session_id and case.status is CaseStatus.ACTIVE:
            lessons = case.model.retrieved_prior_lessons
            again = decide(None, evolve(command, lessons=lessons), self._moment(session_id, 1))
            would = fold(again)
            named = command.prior_case_ids is None or tuple(command.prior_case_ids) == case.model.prior_case_ids
            if would is not None and named and (would.model, would.citations) == (case.model, case.citations):
                return self._opened(state)
        raise Refused(
            f"case_id: there is a case {command.case_id} already; send another id, or show or resume that one",
            code="case_exists",
        )

    def _with_lessons(self, command: Open, moment: Moment) -> Open:
        if command.prior_case_ids is not None:
            return evolve(command, lessons=self._cases.imported(command.prior_case_ids))
        draft = fold(decide(None, command, moment))
        if draft is None:
            raise AssertionError("an opening has events")
        return evolve(command, lessons=self._cases.related(draft.model, command.case_id))

    def _enriched(self, command: Pause | Close) -> Pause | Close:
        if not isinstance(command, Close) or not command.transfer.evidence_case_ids:
            return command
        found = {case_id: self._cases.source(case_id) for case_id in command.transfer.evidence_case_ids}
        return evolve(command, sources={k: lesson for k, lesson in found.items() if isinstance(lesson, Lesson)})

    def _commit(self, clean: Commit, raw: Commit, session_id: str) -> dict[str, Any]:
        command = evolve(clean, commitment=self._key.commit(raw.tool_args))
        done = self._change(self._active(session_id), command, session_id)
        return {"probe": document(done.case)["pending_probe"], "event": dict(done.records[-1])}

    def _recover(self, command: Recover, session_id: str) -> dict[str, Any]:
        case_id = self._active(session_id)
        lease = self._lease(case_id)
        hold = lease.try_acquire()
        if hold is None:
            raise Refused(
                "the probe's execution is still running; wait for it (its result will be recorded)", code="still_running"
            )
        with hold:
            told = RecoverExecution(
                reason=command.reason,
                case_id=command.case_id,
                expected_case_revision=command.expected_case_revision,
                result=self.keep(case_id, INTERRUPTED_TEXT),
            )
            done = self._change(case_id, told, session_id)
        shown = self._shown(done)
        return {"probe": shown["case"]["pending_probe"], "event": dict(done.records[-1]), "replay": shown["replay"]}

    # --- real actions -------------------------------------------------------------------------------------------------

    def execution(
        self,
        *,
        session_id: str,
        tool_name: str,
        args: Mapping[str, Any],
        task_id: str = "",
        tool_call_id: str = "",
        turn_id: str = "",
        api_request_id: str = "",
        wait: float | None = None,
        host: bool = False,
    ) -> Execution:
        """Bracket one real action: ``with harness.execution(...) as execution: ... execution.observed(result)``.

        ``args``: the actual arguments (a JSON object).  The ids are the host's, empty where it has none.  The object is
        dormant unless the session's active case has a committed probe for ``tool_name``; it is ``blocked`` where the
        call would run a committed action a second time, or on a damaged case.

        ``host``: nothing of ours ever raises and no bookkeeping waits for a lock.  ``wait``: seconds for locks (by
        default the harness's own, or none for a host).  Raises ``Damaged`` or ``Unavailable`` (not for a host).
        """
        if not session_id:
            return DORMANT
        try:
            active = self._registry.binding(session_id, 0.0 if host else self._wait).active
            if active is None:
                return DORMANT
            ids = Correlation(
                task_id=task_id or "",
                tool_call_id=tool_call_id or "",
                turn_id=turn_id or "",
                api_request_id=api_request_id or "",
            )
            return self._begin(active, session_id, tool_name, args, ids, wait, host)
        except HarnessError as error:
            if not host:
                raise
            log.warning("execution_not_recorded", tool=tool_name, error=str(error))
        except Exception:  # a host is never harmed by a fault of ours
            if not host:
                raise
            log.exception("execution_failed", tool=tool_name)
        return DORMANT

    def _begin(
        self,
        case_id: str,
        session_id: str,
        tool_name: str,
        args: Mapping[str, Any],
        ids: Correlation,
        wait: float | None,
        host: bool,
    ) -> Execution:
        state, damage = self._cases.believed(case_id)
        probe = None if state is None else state.case.pending_probe
        if probe is None or probe.tool_name != tool_name or probe.status is ProbeStatus.OBSERVED:
            return DORMANT
        if state is None or state.case.session_id != session_id or state.case.status is not CaseStatus.ACTIVE:
            return DORMANT
        if damage:
            return Blocked(f"the record of case {case_id} is damaged, so {tool_name} was not run: {damage}")
        if probe.status is ProbeStatus.EXECUTING:
            return Blocked(self._executing(case_id, probe))
        lease = self._lease(case_id).try_acquire()
        if lease is None:
            return Blocked(self._executing(case_id, probe))
        try:
            patience = wait if wait is not None else HOST_WAIT if host else self._wait
            start = Start(
                probe_id=probe.probe_id, tool_name=tool_name, actual=self._key.commit(args), correlation=ids
            )
            self._change(case_id, start, session_id, patience)
        except Refused as refusal:
            lease.release()
            return Blocked(f"the probe was already claimed, changed or cannot be built on, so it did not run: {refusal}")
        except BaseException:
            lease.release()
            raise
        return Recording(
            self,
            case_id=case_id,
            probe_id=probe.probe_id,
            session_id=session_id,
            lease=lease,
            secrets=secret_values(dict(args)),
            wait=wait if wait is not None else 0.0 if host else self._wait,
            host=host,
        )

    def _executing(self, case_id: str, probe: Probe) -> str:
        if self._lease(case_id).is_held():
            return f"another invocation runs the committed {probe.tool_name} (pending probe {probe.probe_id}) right now"
        return (
            f"the pending probe {probe.probe_id} has an incomplete execution that nobody holds any more; it is never"
            ' retried by itself: epistemic_probe(operation="recover", reason=...) first'
        )

    def _lease(self, case_id: str) -> Lease:
        return Lease(self._disk, self._layout.lease(case_id), f"the execution of case {case_id}")

    def keep(self, case_id: str, text: str) -> StoredResult:
        """Keep a redacted text for a case, inline or as an artifact.  Raises ``Unavailable(written="no")``."""
        return observations.keep(self._disk, self._layout.case(case_id), text)

    def report(self, case_id: str, seen: Observe | Expose, session_id: str, wait: float | None) -> dict[str, Any]:
        """Record what an execution's holder saw, whatever has become of the case meanwhile; the last record."""
        return dict(self._change(case_id, seen, session_id, wait).records[-1])

    # --- what a host's sessions do ------------------------------------------------------------------------------------

    def context(self, session_id: str, ceiling: int) -> str | None:
        """What to tell the model about the session's active case, at most ``ceiling`` characters; ``None`` without one.

        Raises ``Damaged`` where nothing of the case can be read, ``Unavailable``.
        """
        active = self._registry.binding(session_id, 0.0).active if session_id else None
        if active is None:
            return None
        view = self._cases.glance(active)
        composed = compose(view.document, view.replay, ceiling)
        if composed.text is None:
            log.warning("injection_suppressed", case=active, ceiling=ceiling)
        return composed.text

    def is_bound(self, session_id: str) -> bool:
        """Whether the session has an active case or a lifecycle-paused one that proof of life may resume."""
        binding = self._registry.binding(session_id, 0.0)
        return binding.active is not None or binding.marked is not None

    def proof_of_life(self, session_id: str, wait: float = 0.25) -> bool:
        """Resume the session's lifecycle-paused case where its marker is still alive; whether that happened."""
        if not session_id:
            return False
        marked = self._registry.binding(session_id, wait).marked
        if marked is None:
            return False
        done = self._bind_if(marked, AutoResume(), session_id, claims=True, wait=wait)
        return done is not None

    def adopt_lineage(self, session_id: str, lineage: Sequence[str], wait: float = 0.25) -> str | None:
        """Let a compression child take over its ancestors' case; the id of the case that moved, or ``None``.

        ``lineage``: session ids from root to tip, as the host's store gives them.
        """
        if rules.heir_of(self._registry.bindings(wait), lineage, session_id) is None:
            return None
        with self._registry.hold(wait) as held:
            case_id = rules.heir_of(held.bindings, lineage, session_id)
            if case_id is None:
                return None
            pristine = rules.of(held.bindings, session_id).seq == 0
            move = Migrate(new_session_id=session_id, reason="compression lineage", pristine=pristine)
            done = self._bind_if(case_id, move, session_id, wait=wait, held=held)
        return None if done is None else case_id

    def pause_for_lifecycle(
        self,
        session_id: str,
        *,
        kind: Lifecycle | str,
        reason: str = "",
        child_status: str = "",
        platform: str = "",
        wait: float = 0.25,
    ) -> bool:
        """Pause the session's active case because its session ended or was left; whether one was paused.

        ``kind`` and ``reason`` decide by the table ``harness_core.lifecycle`` whether there is a pause at all, and
        whether it leaves the marker that proof of life may use once.  ``wait`` is the budget for locks in all, in
        seconds.  Raises ``Unavailable(code="locked")`` when it is spent; nothing is retried later.
        """
        event = Lifecycle(kind)
        rule = lifecycle.rule_for(event, reason)
        if not session_id or not rule.pauses:
            return False
        active = self._registry.binding(session_id, wait).active
        if active is None:
            return False
        command = LifecyclePause(
            reason=redact_text(lifecycle.reason_text(event, reason)),
            lifecycle=event,
            auto_resumable=rule.auto_resumable,
            child_status=redact_text(child_status) or None,
            platform=redact_text(platform) or None,
        )
        return self._bind_if(active, command, session_id, wait=wait / 2) is not None


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _no_active_case() -> Refused:
    return Refused(
        'this session has no active case; epistemic_model(operation="open", case_id=..., top_unknown=...) begins one,'
        ' epistemic_model(operation="resume", case_id=...) takes a paused one up',
        code="no_active_case",
    )


def _readable_by(shown: Mapping[str, Any], session_id: str, own: str | None) -> None:
    other = shown.get("status") == CaseStatus.ACTIVE.value and shown.get("session_id") != session_id
    if other and shown.get("case_id") != own:
        raise Refused(
            f"case {shown.get('case_id')} is bound to another session, where it is active; it can be shown once it is"
            " paused or closed",
            code="other_session",
        )


def _present(case_id: str, state: Audited | None) -> Audited:
    if state is None:
        raise no_case(case_id)
    return state
