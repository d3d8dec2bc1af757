"""Which session has which case: the one-active-case rule and the high-water rule, as pure decisions.

A session's binding is a projection of the Timelines.  ``settled`` brings it up to one case as that case now is, so it
can be applied any number of times and after any crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import evolve as replaced
from attrs import frozen

from harness_core.case import Case
from harness_core.errors import Refused
from harness_core.vocabulary import CaseStatus
from harness_core.wire import from_json

SCHEMA_VERSION = 2


@frozen(kw_only=True)
class Binding:
    """What a session has.

    ``seq`` is the highest number of its disposition events and never falls; ``active`` is its active case; ``marked``
    is the paused case that proof of life may resume, which is alive only until the session's next disposition.
    """

    seq: int = 0
    active: str | None = None
    marked: str | None = None


Bindings = Mapping[str, Binding]
UNBOUND = Binding()


def of(bindings: Bindings, session_id: str) -> Binding:
    """The session's binding; an empty one where it never disposed of a case."""
    return bindings.get(session_id, UNBOUND)


def require_free(bindings: Bindings, session_id: str, case_id: str) -> None:
    """Refuse to bind a case to a session that has an active one (seed: one active case per session)."""
    active = of(bindings, session_id).active
    if active is not None:
        way = "go on with it" if active == case_id else "go on with it, or close or pause it first"
        raise Refused(
            f"this session already has the active case {active}: {way}",
            code="session_has_case",
        )


def settled(bindings: Bindings, case: Case) -> dict[str, Binding]:
    """The bindings with everything that follows from ``case`` as it now is.  Idempotent; high-waters never fall."""
    return {**bindings, **moved(bindings, case)}


def moved(bindings: Bindings, case: Case) -> dict[str, Binding]:
    """What ``settled`` makes of the sessions that the case concerns, and of them alone."""
    after = {}
    for session_id in {*case.session_ids, *case.high_waters}:
        before = of(bindings, session_id)
        seq = max(before.seq, case.high_waters.get(session_id) or 0)
        owner = case.session_id == session_id
        active = before.active
        if owner and case.status is CaseStatus.ACTIVE:
            active = case.case_id
        elif active == case.case_id:
            active = None
        marked = before.marked if seq == before.seq and before.marked != case.case_id else None
        if owner and _marker_alive(case, seq):
            marked = case.case_id
        after[session_id] = Binding(seq=seq, active=active, marked=marked)
    return after


def freed(bindings: Bindings, case_id: str) -> dict[str, Binding]:
    """The bindings without a case that is gone.  Idempotent; high-waters stay."""
    return {**bindings, **released(bindings, case_id)}


def released(bindings: Bindings, case_id: str) -> dict[str, Binding]:
    """What ``freed`` makes of the sessions that had the case, and of them alone."""
    return {
        session_id: replaced(
            binding,
            active=None if binding.active == case_id else binding.active,
            marked=None if binding.marked == case_id else binding.marked,
        )
        for session_id, binding in bindings.items()
        if case_id in (binding.active, binding.marked)
    }


def rebuilt(cases: Iterable[Case], least: Mapping[str, int] = MappingProxyType({})) -> dict[str, Binding]:
    """The bindings that a whole portfolio amounts to, whatever the order of its cases.

    ``least``: high-water numbers that are known from elsewhere, and never fall.
    """
    every = tuple(cases)
    after = {session_id: Binding(seq=seq) for session_id, seq in least.items()}
    for case in every:
        for session_id, seq in case.high_waters.items():
            before = after.get(session_id, UNBOUND)
            after[session_id] = replaced(before, seq=max(before.seq, seq))
    for case in every:
        before = after.get(case.session_id, UNBOUND)
        if case.status is CaseStatus.ACTIVE:
            after[case.session_id] = replaced(before, active=case.case_id)
        elif _marker_alive(case, before.seq):
            after[case.session_id] = replaced(before, marked=case.case_id)
    return after


def _marker_alive(case: Case, seq: int) -> bool:
    return case.status is CaseStatus.PAUSED and case.marker is not None and case.marker.seq_at_pause == seq


def heir_of(bindings: Bindings, lineage: Sequence[str], session_id: str) -> str | None:
    """The case that a compression child takes over from its ancestors, or None.

    ``lineage`` runs from root to tip and may go on past the session: a descendant's case is never taken.  An active
    ancestor goes first, then the nearest one with a live lifecycle pause.
    """
    if session_id not in lineage or of(bindings, session_id).active is not None:
        return None
    ancestors = [of(bindings, s) for s in reversed(lineage[: lineage.index(session_id)])]
    active = (b.active for b in ancestors if b.active is not None)
    marked = (b.marked for b in ancestors if b.marked is not None)
    return next(active, None) or next(marked, None)


def from_mapping(mapping: Mapping[str, Any]) -> dict[str, Binding] | None:
    """The bindings of a ``sessions.json``; None where it holds none of this schema and must be rebuilt."""
    if mapping.get("schema_version") != SCHEMA_VERSION:
        return None
    return {session_id: from_json(entry, Binding) for session_id, entry in mapping["sessions"].items()}


def legacy_numbers(mapping: Mapping[str, Any] | None) -> dict[str, int]:
    """The high-water numbers of a ``sessions.json`` of release 1.2.0, which held nothing else; empty for any other."""
    sessions = mapping.get("sessions") if mapping is not None and mapping.get("schema_version") == 1 else None
    entries = sessions.items() if isinstance(sessions, dict) else ()
    return {session_id: seq for session_id, seq in entries if type(seq) is int and seq >= 0}
