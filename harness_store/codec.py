"""What the journal needs to know of the domain: how records fold into a case, and how a case becomes ``case.md``.

The folded state carries its audit along: each step is checked once, when it is folded, so that a verification from the
first record to the last says everything that is wrong with the whole Timeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from harness_core.adoption import adopted
from harness_core.case import Case, document, summary
from harness_core.errors import Damaged
from harness_core.events import Event
from harness_core.evolution import evolve
from harness_core.invariants import Step, Violation, check_step
from harness_core.transfer import lesson_of

from .heads import Head
from .projection import render
from .recall import lines_of, recalled, rest_of, touched
from .records import Position


@frozen
class Legacy:
    """What the adoption of a case of release 1.2.0 records: its state as it was left, SHA-256 over its lines."""

    state: Mapping[str, Any]
    log_sha256: str


@frozen
class Audited:
    """A case as its Timeline gives it, and every invariant that some step of the Timeline broke.

    ``legacy`` is there as long as the case is as release 1.2.0 left it: its first transition here adopts it."""

    case: Case
    violations: tuple[Violation, ...] = ()
    legacy: Legacy | None = None


def audited(state: Audited | None, events: Iterable[Event]) -> Audited | None:
    """Continue a state by events, checking each step."""
    case = None if state is None else state.case
    violations = [] if state is None else [*state.violations]
    for event in events:
        after = evolve(case, event)
        violations += check_step(Step(case, event, after))
        case = after
    return state if case is None or (state and case is state.case) else Audited(case, tuple(violations))


@frozen
class CaseCodec:
    """The journal's codec for the case of this id (see ``case_files.Codec``)."""

    case_id: str

    def fold(self, state: Audited | None, records: Sequence[Mapping[str, Any]]) -> Audited:
        folded = audited(state, map(_event, records))
        if folded is None:
            raise ValueError("a fold goes over at least one record")
        if folded.case.case_id != self.case_id:
            # Whole and valid, and in the wrong folder: believed, it would be two cases at once.
            raise Damaged(
                f"identity: events.jsonl is that of case {folded.case.case_id}", code="identity", where="events.jsonl"
            )
        return folded

    def adopt(
        self, case_id: str, state: Mapping[str, Any], records: Sequence[Mapping[str, Any]], at: Position
    ) -> Audited:
        try:
            if state["case_id"] != case_id:
                raise ValueError("another case")
            case = adopted(case_id, state, records, at.transition)
        except Exception as error:  # whatever structuring raises, its meaning is lost and its hashes hold
            raise Damaged(
                f"case.md: its hashes hold and it is no case this release knows ({type(error).__name__})",
                code="legacy_meaningless",
                where="case.md",
            ) from error
        return Audited(case, legacy=Legacy(state, at.legacy))

    def admit(self, before: Audited | None, after: Audited) -> None:
        known = 0 if before is None else len(before.violations)
        if len(after.violations) > known:
            raise AssertionError(f"a decision breaks an invariant: {after.violations[known:]}")

    def project(self, state: Audited, head: Head) -> str:
        return render(document(state.case), head)

    def card(self, state: Audited) -> dict[str, Any]:
        lesson = lesson_of(state.case)
        return {"summary": summary(state.case), "taught": f"{lesson.lesson}\n{lesson.scope}" if lesson else ""}

    def rest(self, state: Audited) -> Mapping[str, Any] | None:
        # What an audit found is said by who reads the records, and by nobody else.
        return rest_of(state.case) if not state.violations and state.legacy is None else None

    def lines(self, state: Audited, records: Sequence[Mapping[str, Any]] | None) -> bytes:
        case = state.case
        events = (
            sorted({*case.citations, *case.artifacts}) if records is None else dict.fromkeys(touched(case, records))
        )
        return lines_of(case, events)

    def recall(self, block: Mapping[str, Any], rest: Mapping[str, Any], lines: bytes) -> Audited:
        return Audited(recalled(block, rest, lines))

    def matches(self, state: Audited, block: Mapping[str, Any]) -> bool:
        return {name: value for name, value in block.items() if name != "integrity"} == document(state.case)


def _event(record: Mapping[str, Any]) -> Event:
    try:
        return Event.from_record(record)
    except Exception as error:  # whatever structuring raises, the record's meaning is lost and its bytes are intact
        where = f"events.jsonl, {record.get('event_id')}"
        raise Damaged(
            f"{where}: its hash holds and it is no event this release knows ({type(error).__name__})",
            code="record_meaningless",
            where=where,
        ) from error
