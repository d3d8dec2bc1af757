"""The two tools: what each operation does to the store, and what it answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from harness_core import bindings as rules
from harness_core.answers import presented
from harness_core.arguments import parse
from harness_core.case import document
from harness_core.cleaning import argument_secrets, cleaned
from harness_core.commands import (
    Close,
    Commit,
    Compare,
    Discard,
    List,
    Open,
    Pause,
    RecordEvidence,
    Recover,
    RecoverExecution,
    Request,
    Resume,
    Revise,
    Show,
)
from harness_core.decider import decide
from harness_core.errors import Refused
from harness_core.evolution import fold
from harness_core.model import Lesson
from harness_core.redaction import redact_text
from harness_core.structuring import is_unicode
from harness_core.vocabulary import CaseStatus

from .codec import Audited
from .executions import Executions
from .layout import no_case
from .legacy_boundaries import Boundaries
from .lessons import Lessons
from .portfolio import Portfolio, View
from .registry import Registry
from .sessions_file import Signature
from .transitions import Done, Transitions

GENERATION = "20260916-prospective-inquiry"
"""Names the generation of the code in ``list`` and in the log: an answer of an older process can be told by it."""

Answer = dict[str, Any]


class Tools:
    """``epistemic_model`` and ``epistemic_probe`` over one store.  ``create``: makes the store where it is missing."""

    def __init__(
        self,
        cases: Portfolio,
        registry: Registry,
        transitions: Transitions,
        executions: Executions,
        boundaries: Boundaries,
        create: Callable[[], None],
    ) -> None:
        self._cases = cases
        self._lessons = Lessons(cases)
        self._registry = registry
        self._transitions = transitions
        self._executions = executions
        self._boundaries = boundaries
        self._create = create

    def call(self, tool: str, args: Any, session_id: Any) -> Answer:
        """Answer one call.  Arguments are checked before anything is looked at, and redacted before anything is
        decided.  Raises ``Refused``, ``Damaged``, ``Unavailable``."""
        call = parse(tool, args)
        session = _session(session_id)
        if not _only_reads(call.request):
            self._boundaries.arrive(session, self._transitions.wait)
        return dict(presented(self._answer(call.request, session), call.detail))

    def _answer(self, request: Request, session_id: str) -> Answer:
        secrets = argument_secrets(request)
        match cleaned(request, secrets):
            case List() as clean:
                return self._list(clean)
            case Show() as clean:
                return self._show(clean, session_id)
            case Open() as clean:
                return self._open(clean, session_id)
            case Resume() as clean:
                return self._changed(self._transitions.bind(clean.case_id, clean, session_id, claims=True))
            case Pause() as clean:
                return self._changed(self._transitions.bind(self._active(session_id), clean, session_id))
            case Close() as clean:
                done = self._transitions.bind(self._active(session_id), self._with_sources(clean), session_id)
                return self._changed(done)
            case Commit() as clean:
                return self._commit(clean, request, secrets, session_id)
            case Recover() as clean:
                return self._recover(clean, session_id)
            case RecordEvidence() as clean:
                return self._evidence(self._transitions.change(self._active(session_id), clean, session_id))
            case Revise() | Compare() | Discard() as clean:
                return self._changed(self._transitions.change(self._active(session_id), clean, session_id))

    def _active(self, session_id: str) -> str:
        active = self._registry.binding(session_id, self._transitions.wait).active
        if active is None:
            raise no_active_case()
        return active

    # --- answers ---

    def _shown(self, done: Done) -> Answer:
        return _case_and_replay(self._cases.after_write(done.state))

    def _changed(self, done: Done) -> Answer:
        return {**self._shown(done), "event": dict(done.records[-1])}

    def _evidence(self, done: Done) -> Answer:
        ids = [record["event_id"] for record in done.records]
        return {**self._shown(done), "evidence_event_ids": ids, "events": [dict(record) for record in done.records]}

    # --- reading ---

    def _list(self, request: List) -> Answer:
        return {**self._cases.listing(request), "runtime": {"pid": os.getpid(), "generation": GENERATION}}

    def _show(self, request: Show, session_id: str) -> Answer:
        own = self._registry.binding(session_id, self._transitions.wait).active
        case_id = request.case_id or own
        if case_id is None:
            raise no_active_case()
        now = self._cases.view(case_id)
        _require_readable(now.document, session_id, own)
        if request.as_of is None:
            return _case_and_replay(now)
        earlier = self._cases.journal(case_id).read(request.as_of).state
        if earlier is None:
            raise no_case(case_id)
        return _case_and_replay(self._cases.after_write(earlier))

    # --- operations that need more than the case ---

    def _open(self, command: Open, session_id: str) -> Answer:
        self._create()
        wait = self._transitions.wait
        with self._registry.hold(wait) as held, self._cases.journal(command.case_id).lock(wait) as writer:
            snapshot = writer.refresh()
            if snapshot.state is not None:
                return self._opened_before(command, session_id, snapshot.state)
            rules.require_free(held.bindings, session_id, command.case_id)
            moment = self._transitions.moment(session_id, rules.of(held.bindings, session_id).seq + 1)
            events = decide(None, self._with_lessons(command, held.signature), moment)
            done = self._transitions.write_bound(writer, None, events, held, snapshot.head)
        return self._opened(done.state)

    def _opened(self, state: Audited) -> Answer:
        view = self._cases.after_write(state)
        return {**_case_and_replay(view), "prior_case_lessons": view.document["model"]["retrieved_prior_lessons"]}

    def _opened_before(self, command: Open, session_id: str, state: Audited) -> Answer:
        """Repeating an identical open, as after a crash, answers with the case; any other is refused."""
        case = state.case
        if case.revision == 1 and case.session_id == session_id and case.status is CaseStatus.ACTIVE:
            again = evolve(command, lessons=case.model.retrieved_prior_lessons)
            would = fold(decide(None, again, self._transitions.moment(session_id, 1)))
            named = command.prior_case_ids is None or tuple(command.prior_case_ids) == case.model.prior_case_ids
            if would is not None and named and (would.model, would.citations) == (case.model, case.citations):
                return self._opened(state)
        raise Refused(
            f"case_id: there is a case {command.case_id} already; send another id, or show or resume that one",
            code="case_exists",
        )

    def _with_lessons(self, command: Open, now: Signature) -> Open:
        if command.prior_case_ids is not None:
            return evolve(command, lessons=self._lessons.imported(command.prior_case_ids))
        claims = (*command.state_grounding, *command.mechanisms, *command.alternatives)
        texts = (command.top_unknown, command.decision, *(claim.text for claim in claims))
        return evolve(command, lessons=self._lessons.related("\n".join(texts), command.case_id, now))

    def _with_sources(self, command: Close) -> Close:
        named = command.transfer.evidence_case_ids or ()
        found = {case_id: self._lessons.source(case_id) for case_id in named}
        return evolve(command, sources={k: lesson for k, lesson in found.items() if isinstance(lesson, Lesson)})

    def _commit(self, clean: Commit, sent: Request, secrets: frozenset[str], session_id: str) -> Answer:
        case_id = self._active(session_id)
        args = sent.tool_args if isinstance(sent, Commit) else clean.tool_args  # the digest is of what was sent
        command = evolve(clean, commitment=self._executions.commitment(args))
        done = self._transitions.change(case_id, command, session_id)
        probe = document(done.case)["pending_probe"]
        self._executions.remember(case_id, probe["probe_id"], secrets)
        return {"probe": probe, "event": dict(done.records[-1])}

    def _recover(self, command: Recover, session_id: str) -> Answer:
        case_id = self._active(session_id)
        with self._executions.taken_over(case_id) as interrupted:
            told = RecoverExecution(
                reason=command.reason,
                case_id=command.case_id,
                expected_case_revision=command.expected_case_revision,
                result=interrupted,
            )
            done = self._transitions.change(case_id, told, session_id)
        shown = self._shown(done)
        return {"probe": shown["case"]["pending_probe"], "event": dict(done.records[-1]), "replay": shown["replay"]}


def _only_reads(request: Request) -> bool:
    """Whether a request changes no byte.  Who asks for the session's own case is to find what was prepared for it."""
    return isinstance(request, List) or (isinstance(request, Show) and request.case_id is not None)


def _case_and_replay(view: View) -> Answer:
    return {"case": dict(view.document), "replay": dict(view.replay)}


def _session(session_id: Any) -> str:
    """The session id, as the host gave it; it is kept as it is, so it must be writable and no secret."""
    if not isinstance(session_id, str) or not session_id.strip():
        raise Refused("the host gave no session id, and a case belongs to a session", code="no_session")
    if not is_unicode(session_id) or redact_text(session_id) != session_id:
        raise Refused("the session id looks like a secret or is no text that can be written", code="bad_session")
    return session_id


def no_active_case() -> Refused:
    """The session has none."""
    return Refused(
        'this session has no active case; epistemic_model(operation="open", case_id=..., top_unknown=...) begins one,'
        ' epistemic_model(operation="resume", case_id=...) takes a paused one up',
        code="no_active_case",
    )


def _require_readable(shown: Mapping[str, Any], session_id: str, own: str | None) -> None:
    """An active case of another session is not shown; a paused or closed one is, whoever owns it."""
    elsewhere = shown.get("status") == CaseStatus.ACTIVE.value and shown.get("session_id") != session_id
    if elsewhere and shown.get("case_id") != own:
        raise Refused(
            f"case {shown.get('case_id')} is bound to another session, where it is active; it can be shown once it is"
            " paused or closed",
            code="other_session",
        )
