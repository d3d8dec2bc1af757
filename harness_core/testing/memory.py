"""The whole harness in memory, over ``decide`` and ``evolve``: the shortest adapter there is.

It keeps nothing and locks nothing.  It is what the machine tests by default, and a pattern for adapters that keep their
cases elsewhere.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

import attrs

from harness_core import bindings as rules
from harness_core.answers import presented
from harness_core.arguments import parse
from harness_core.bindings import Binding
from harness_core.case import Case, document, summary
from harness_core.cleaning import argument_secrets, cleaned
from harness_core.commands import (
    AutoResume,
    Close,
    Command,
    Commit,
    Expose,
    LifecyclePause,
    List,
    Migrate,
    Observe,
    Open,
    Recover,
    RecoverExecution,
    Request,
    Resume,
    Show,
    Start,
)
from harness_core.decider import Moment, decide
from harness_core.errors import Fault, HarnessError, Refused, refused
from harness_core.events import Event
from harness_core.evolution import evolve
from harness_core.lifecycle import reason_text, rule_for
from harness_core.model import Lesson
from harness_core.probes import Commitment, Correlation, StoredResult
from harness_core.redaction import redact_text, secret_values
from harness_core.replay import report
from harness_core.transfer import lesson_of
from harness_core.vocabulary import Boundary, CaseStatus, Lifecycle, ProbeStatus, Provenance, ResultStatus, Storage
from harness_core.wire import canonical_json

Answer = dict[str, Any]
INLINE_CHARACTERS = 200
"""Longer results are described as artifacts, so that both kinds occur."""


class Memory:
    """An adapter (see ``adapters``) that keeps its cases in a dictionary.

    ``decide`` can be replaced, to see what the machine makes of another decider.
    """

    def __init__(self, decide: Callable[[Case | None, Command, Moment], tuple[Event, ...]] = decide) -> None:
        self.decide = decide
        self.events: dict[str, list[Event]] = {}
        self.cases: dict[str, Case] = {}
        self.bindings: dict[str, Binding] = {}
        self.running: set[str] = set()
        self.key_id = "key-1"
        self._ticks = itertools.count()

    # --- what an adapter offers ---

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        try:
            call = parse(name, arguments)
            return presented(self._answer(call.request, session_id), call.detail)
        except HarnessError as error:
            return error.answer()

    def execution(self, session_id: str, tool_name: str, args: Mapping[str, Any]) -> MemoryExecution:
        active = self._binding(session_id).active
        probe = None if active is None else self.cases[active].pending_probe
        if active is None or probe is None or probe.tool_name != tool_name or probe.status is ProbeStatus.OBSERVED:
            return MemoryExecution(self, session_id)
        if probe.status is ProbeStatus.EXECUTING:
            return MemoryExecution(self, session_id, blocked=f"the committed {tool_name} was started already")
        start = Start(
            probe_id=probe.probe_id, tool_name=tool_name, actual=self._commitment(args), correlation=Correlation()
        )
        self.settle(active, start, session_id)
        return MemoryExecution(self, session_id, active, probe.probe_id, secret_values(dict(args)))

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        events = self.events.get(case_id, [])
        return [{**e.to_record(), "transition": {"number": e.transition}} for e in events]

    def pause_for_lifecycle(self, session_id: str, kind: str, reason: str) -> None:
        event, active = Lifecycle(kind), self._binding(session_id).active
        rule = rule_for(event, reason)
        if active is not None and rule.pauses:
            text = redact_text(reason_text(event, reason))
            self.settle(
                active, LifecyclePause(reason=text, lifecycle=event, auto_resumable=rule.auto_resumable), session_id
            )

    def proof_of_life(self, session_id: str) -> None:
        binding = self._binding(session_id)
        if binding.marked is not None and binding.active is None:
            self.settle(binding.marked, AutoResume(), session_id)

    def adopt_lineage(self, session_id: str, lineage: Sequence[str]) -> None:
        heir = rules.heir_of(self.bindings, lineage, session_id)
        if heir is not None:
            pristine = self._binding(session_id).seq == 0
            self.settle(heir, Migrate(new_session_id=session_id, reason="compression", pristine=pristine), session_id)

    def abandon(self, execution: MemoryExecution) -> None:
        """The process that ran the action died."""
        execution.forget()

    def close(self) -> None:
        """There is nothing to let go of."""

    # --- how it works ---

    def _binding(self, session_id: str) -> Binding:
        return rules.of(self.bindings, session_id)

    def settle(self, case_id: str, command: Command, session_id: str) -> tuple[Event, ...]:
        """Decide, and keep what was decided."""
        at = datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=next(self._ticks))
        moment = Moment(at=at.isoformat(), session_id=session_id, seq=self._binding(session_id).seq + 1)
        case = self.cases.get(case_id)
        events = self.decide(case, command, moment)
        for event in events:
            case = evolve(case, event)
        if case is not None and events:
            self.events.setdefault(case_id, []).extend(events)
            self.cases[case_id] = case
            self.bindings = rules.settled(self.bindings, case)
        return events

    def _answer(self, request: Request, session_id: str) -> Answer:
        if isinstance(request, List):
            return self._list(request)
        if isinstance(request, Show):
            return self._show(request, session_id)
        clean = cleaned(request, argument_secrets(request))
        if isinstance(clean, Open):
            return self._open(clean, session_id)
        if isinstance(clean, Resume):
            self._known(clean.case_id)
            rules.require_free(self.bindings, session_id, clean.case_id)
            return self._changed(clean.case_id, self.settle(clean.case_id, clean, session_id))
        active = self._active(session_id)
        return self._changed(active, self.settle(active, self._completed(active, clean, request), session_id))

    def _active(self, session_id: str) -> str:
        active = self._binding(session_id).active
        if active is None:
            raise Refused("this session has no active case", code="no_active_case")
        return active

    def _known(self, case_id: str) -> Case:
        if case_id not in self.cases:
            raise Refused("there is no such case", code="no_case")
        return self.cases[case_id]

    def _completed(self, case_id: str, command: Any, sent: Request) -> Command:
        """The command with what only the keeper of the cases can add."""
        made: Command = command
        if isinstance(command, Commit) and isinstance(sent, Commit):
            made = attrs.evolve(command, commitment=self._commitment(sent.tool_args))
        if isinstance(command, Close):
            named = command.transfer.evidence_case_ids or ()
            made = attrs.evolve(command, sources={i: found for i in named if (found := self._lesson(i)) is not None})
        if isinstance(command, Recover):
            if case_id in self.running:
                raise Refused("the probe's execution is still running", code="still_running")
            given = {f.name: getattr(command, f.name) for f in attrs.fields(Recover)}
            made = RecoverExecution(**given, result=stored("the action may or may not have completed"))
        return made

    def _open(self, command: Open, session_id: str) -> Answer:
        if command.case_id in self.cases:
            return self._opened_again(command, session_id)
        rules.require_free(self.bindings, session_id, command.case_id)
        named = tuple(dict.fromkeys(command.prior_case_ids or ()))
        lessons = tuple(found for case_id in named if (found := self._lesson(case_id)) is not None)
        if len(lessons) < len(named):
            raise refused("invalid_arguments", Fault("prior_case_ids", "not all are closed with a lesson", "others"))
        self.settle(command.case_id, attrs.evolve(command, lessons=lessons), session_id)
        return self._opened(self.cases[command.case_id])

    def _opened_again(self, command: Open, session_id: str) -> Answer:
        """An identical opening, as after a crash, is answered with the case."""
        case = self.cases[command.case_id]
        told = attrs.evolve(command, lessons=case.model.retrieved_prior_lessons)
        moment = Moment(at=case.created_at, session_id=session_id, seq=1)
        named = command.prior_case_ids is None or command.prior_case_ids == case.model.prior_case_ids
        again = [event.payload for event in self.decide(None, told, moment)]
        if named and case.session_id == session_id and again == [e.payload for e in self.events[command.case_id]]:
            return self._opened(case)
        raise refused("case_exists", Fault("case_id", f"there is a case {command.case_id} already", "another id"))

    def _opened(self, case: Case) -> Answer:
        shown = document(case)
        lessons_shown = shown["model"]["retrieved_prior_lessons"]
        return {"case": shown, "replay": report(case), "prior_case_lessons": lessons_shown}

    def _lesson(self, case_id: str) -> Lesson | None:
        return lesson_of(self.cases[case_id]) if case_id in self.cases else None

    def _list(self, request: List) -> Answer:
        entries = [summary(case) for case in self.cases.values()]
        wanted, owner = request.status_filter, (request.session_id_filter or "").strip()
        found = [e for e in entries if wanted in (None, e["status"]) and (not owner or owner in e["session_ids"])]
        found.sort(key=lambda entry: entry["updated_at"], reverse=True)
        return {"returned": len(found[: request.limit]), "total_matching": len(found), "cases": found[: request.limit]}

    def _show(self, request: Show, session_id: str) -> Answer:
        case = self._known(request.case_id or self._active(session_id))
        if case.status is CaseStatus.ACTIVE and case.session_id != session_id:
            raise Refused(f"case {case.case_id} is bound to another session", code="other_session")
        return {"case": document(case), "replay": report(case)}

    def _changed(self, case_id: str, events: Sequence[Event]) -> Answer:
        case = self.cases[case_id]
        records = [event.to_record() for event in events]
        shown = document(case)
        return {
            "case": shown,
            "replay": report(case),
            "event": records[-1],
            "events": records,
            "probe": shown["pending_probe"],
            "evidence_event_ids": [record["event_id"] for record in records],
        }

    def _commitment(self, args: Mapping[str, Any]) -> Commitment:
        text = f"{self.key_id} {canonical_json(args)}"
        return Commitment(sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), key_id=self.key_id)


class MemoryExecution:
    """One real action (see ``adapters.Execution``); dormant where it is none that was committed."""

    def __init__(
        self,
        memory: Memory,
        session_id: str,
        case_id: str = "",
        probe_id: str = "",
        secrets: frozenset[str] = frozenset(),
        blocked: str | None = None,
    ) -> None:
        self._memory = memory
        self._session_id = session_id
        self._case_id = case_id
        self._probe_id = probe_id
        self._secrets = secrets
        self._observation = ""
        self.recording = bool(case_id)
        self.blocked = blocked
        if case_id:
            memory.running.add(case_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            self.observed(f"{type(error).__name__}: {error}", status=ResultStatus.ERROR)
        self.observed("it was not reported", provenance=Provenance.UNKNOWN, status=ResultStatus.UNKNOWN)
        self.forget()

    def forget(self) -> None:
        """End without a word."""
        self.recording = False
        self._memory.running.discard(self._case_id)

    def observed(
        self,
        result: Any,
        *,
        provenance: Provenance = Provenance.NATIVE_HANDLER_RESULT,
        status: ResultStatus | None = None,
    ) -> None:
        if not self.recording or self._observation:
            return
        known = status or reads_as(result)
        seen = Observe(
            probe_id=self._probe_id,
            result=stored(redact_text(str(result), self._secrets)),
            status=known,
            display_status=known if known is not ResultStatus.OK else reads_as(result),
            provenance=provenance,
            boundary=Boundary.LIBRARY_EXECUTION,
        )
        self._observation = self._memory.settle(self._case_id, seen, self._session_id)[-1].event_id

    def exposed(self, display: Any) -> None:
        if not self.recording or not self._observation:
            return
        shown = Expose(
            probe_id=self._probe_id,
            observation_event_id=self._observation,
            result=stored(redact_text(str(display), self._secrets)),
            display_status=reads_as(display),
            boundary=Boundary.MIDDLEWARE_RETURN,
        )
        for event in self._memory.settle(self._case_id, shown, self._session_id):
            self._observation = event.event_id


def reads_as(result: Any) -> ResultStatus:
    """``tool_error`` for an object with an ``error``, else ``ok``."""
    return ResultStatus.TOOL_ERROR if isinstance(result, Mapping) and result.get("error") else ResultStatus.OK


def stored(text: str) -> StoredResult:
    """A redacted text as the Timeline describes it."""
    raw = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(raw).hexdigest()
    if len(text) <= INLINE_CHARACTERS:
        return StoredResult(storage=Storage.INLINE, result_sha256=digest, result=text)
    return StoredResult(
        storage=Storage.ARTIFACT,
        result_sha256=digest,
        artifact_path=f"archive/artifacts/{digest}.txt",
        artifact_sha256=digest,
        artifact_bytes=len(raw),
    )
