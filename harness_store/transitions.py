"""Transitions on a case: read under the lock, decide in the core, write, and keep the bindings in step.

A transition that leaves the bindings alone takes the case's lock; one that changes them takes the store's, then the
case's, and says in the intent slot what it is about to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from attrs import frozen

from harness_core import bindings as rules
from harness_core.adoption import decide_adopting
from harness_core.case import Case
from harness_core.commands import Close, Command, Commit, Start
from harness_core.decider import Moment, decide
from harness_core.errors import Refused, Unavailable
from harness_core.events import Event
from harness_core.evolution import fold

from .codec import Audited
from .heads import Head
from .journal import Writer
from .layout import no_case
from .legacy import ADOPTION
from .logs import log
from .portfolio import Portfolio, raise_findings
from .registry import Held, Registry


@frozen
class Done:
    """A transition that was made: its events as records (less the members that chain them, and without an adoption),
    and the state after it."""

    records: Sequence[Mapping[str, Any]]
    state: Audited

    @property
    def case(self) -> Case:
        return self.state.case


class Transitions:
    """Makes transitions.  ``wait``: seconds that a tool's call waits for a lock.  Safe to share among threads.

    ``name_format``: says in a store of release 1.2.0, under its lock, that it is this one's from now on.
    """

    def __init__(
        self,
        cases: Portfolio,
        registry: Registry,
        clock: Callable[[], str],
        wait: float,
        name_format: Callable[[], None],
    ) -> None:
        self._cases = cases
        self._name_format = name_format
        self._registry = registry
        self._clock = clock
        self.wait = wait

    def moment(self, session_id: str, seq: int = 0) -> Moment:
        """Now, for a decision; ``seq`` is the session's next high-water number where that matters.

        Raises ``ValueError`` for a clock that gives something else than a time.
        """
        at = self._clock()
        if not _is_time(at):
            send = "ISO 8601 text with an offset, such as 2026-12-01T09:30:00+00:00"
            raise ValueError(f"the harness's clock gave {at!r}, and must give {send}; nothing was recorded")
        return Moment(at=at, session_id=session_id, seq=seq)

    def change(self, case_id: str, command: Command, session_id: str, wait: float | None = None) -> Done:
        """A transition that leaves the bindings alone.  Raises what ``decide`` and ``Writer`` raise."""
        wait = self.wait if wait is None else wait
        with self._cases.journal(case_id).lock(wait) as writer:
            state = _present(case_id, writer.refresh().state)
            if state.legacy is None:
                self._require_sound(state, command)
                return self._written(writer, state, decide(state.case, command, self.moment(session_id)))
        # Release 1.2.0 took the store's lock for every transition, so its case is adopted under that.
        return self.bind(case_id, command, session_id, wait=wait)

    def bind(
        self, case_id: str, command: Command, session_id: str, *, claims: bool = False, wait: float | None = None
    ) -> Done:
        """A transition that changes bindings.  ``claims``: it makes the case the session's active one."""
        wait = self.wait if wait is None else wait
        self._cases.require(case_id)
        with self._registry.hold(wait) as held:
            done = self.bind_held(held, case_id, command, session_id, claims=claims, wait=wait)
        if done is None:
            raise Refused("there was nothing to do", code="nothing_to_do")
        return done

    def bind_if(self, case_id: str, command: Command, session_id: str, *, claims: bool, wait: float) -> Done | None:
        """A host's report that may concern nothing: then ``None``."""
        with self._registry.hold(wait) as held:
            return self.bind_held(held, case_id, command, session_id, claims=claims, wait=wait)

    def bind_held(
        self, held: Held, case_id: str, command: Command, session_id: str, *, claims: bool, wait: float
    ) -> Done | None:
        """As ``bind_if``, under the store's lock."""
        if claims:
            rules.require_free(held.bindings, session_id, case_id)
        with self._cases.journal(case_id).lock(wait) as writer:
            snapshot = writer.refresh()
            state = _present(case_id, snapshot.state)
            self._require_sound(state, command)
            if isinstance(command, Close):  # what is concluded is verified from the first byte
                raise_findings(case_id, writer.verify())
            seq = rules.of(held.bindings, session_id).seq + 1
            events = _decided(state, command, self.moment(session_id, seq))
            return self.write_bound(writer, state, events, held, snapshot.head) if events else None

    def write_bound(
        self, writer: Writer[Audited], state: Audited | None, events: Sequence[Event], held: Held, base: Head
    ) -> Done:
        """Write a decided transition that changes bindings: intent, Timeline, bindings."""
        after = fold(events, None if state is None else state.case)
        if after is None:
            raise AssertionError("a transition has events")
        if state is not None and state.legacy is not None:
            self._name_format()
        with held.intend(rules.moved(held.bindings, after), after.case_id, after.session_ids, base) as change:
            done = self._written(writer, state, events)
            now = change.make()
        self._cases.catalogue.follow(after.case_id, held.signature, now, opened=state is None)
        return done

    def _require_sound(self, state: Audited, command: Command) -> None:
        """Refuse what would rely on a record that does not hold: a commitment, its execution, a closure.  Recording
        more is not refused; a damaged Timeline or ``case.md`` stops every write before it comes here."""
        if not isinstance(command, Commit | Close | Start):
            return
        faults = self._cases.artifact_faults(state.case)
        broken = [f"{v.invariant} at {v.event_id}: {v.problem}" for v in state.violations]
        if faults or broken:
            what = f"artifact integrity failure: {'; '.join(faults)}" if faults else "; ".join(broken)
            raise Refused(f"replay is not usable: {what}", code="not_usable")

    def _written(self, writer: Writer[Audited], state: Audited | None, events: Sequence[Event]) -> Done:
        """Append a decision.  One that broke an invariant would be a fault of ours, and is not written
        (``CaseCodec.admit``)."""
        records = [event.to_record() for event in events]
        after = writer.append(records).state
        if after is None:
            raise AssertionError("an append leaves a state")
        if state is None or after.case.version != state.case.version:
            self._archive(after.case, writer.projected)
        return Done([record for record in records if record["type"] != ADOPTION], after)

    def _archive(self, case: Case, projection: bytes) -> None:
        """Keep this version of the model for people.  A projection: its loss is reported and costs nothing."""
        try:
            self._cases.archive(case.case_id, case.version, projection)
        except Unavailable as error:
            log.warning("archive_not_written", case=case.case_id, version=case.version, error=str(error))


def _decided(state: Audited, command: Command, moment: Moment) -> Sequence[Event]:
    """What the command makes happen; to a case of release 1.2.0 first of all its adoption."""
    if state.legacy is None:
        return decide(state.case, command, moment)
    return decide_adopting(state.case, state.legacy.state, state.legacy.log_sha256, command, moment)


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).utcoffset() is not None
    except ValueError:
        return False


def _present(case_id: str, state: Audited | None) -> Audited:
    if state is None:
        raise no_case(case_id)
    return state
