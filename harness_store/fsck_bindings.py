"""The checker's own look at what the cases of a store have in common (see ``fsck``, which it is a part of).

``sessions.json`` is held against what the Timelines say.  An intent that was not carried through yet explains that the
sessions which it names are bound as before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from harness_core.bindings import Binding, rebuilt
from harness_core.case import Case
from harness_core.vocabulary import CaseStatus

from .fsck_bytes import read, unsealed


@frozen
class Found:
    """What is wrong with the bindings, what is only left to be settled, and what could not be told and why."""

    faults: list[str] = field(factory=list)
    untidy: list[str] = field(factory=list)
    unknown: list[str] = field(factory=list)


def check_bindings(root: Path, sessions: bytes | None, cases: Sequence[Case], unread: Collection[str]) -> Found:
    """Hold ``sessions.json`` (``None``: missing) against the folded ``cases``; those ``unread`` keep their sessions.

    High-waters may be above what the Timelines say, never below.
    """
    found = Found()
    owners = [case.session_id for case in cases if case.status is CaseStatus.ACTIVE]
    twice = sorted({session for session in owners if owners.count(session) > 1})
    found.faults.extend(f"session {session} has two active cases" for session in twice)
    pending = _pending(root, sessions or b"")
    if sessions is None and pending is None:
        if cases or unread:
            found.unknown.append("sessions.json is missing; it is made anew from the Timelines")
        return found
    held = _mapping(sessions) if sessions is not None else {"sessions": {}}
    if held is None:
        found.faults.append("sessions.json holds no bindings")
        return found
    if held.get("schema_version") == 1:
        return found  # numbers of release 1.2.0; the Timelines say the rest
    if unread:
        found.unknown.append(f"of {', '.join(sorted(unread))} it cannot be told")
    wanted = rebuilt(cases)
    for session in sorted({*wanted, *held["sessions"]}):
        have = held["sessions"].get(session, {})
        if have.get("active") in unread or have.get("marked") in unread:
            continue
        said = _disagreement(session, wanted.get(session, Binding()), have)
        (found.untidy if session in (pending or ()) else found.faults).extend(said)
    return found


def _disagreement(session: str, want: Binding, have: Mapping[str, Any]) -> list[str]:
    faults = []
    number = have.get("seq", 0)
    if have.get("active") != want.active:
        faults.append(f"session {session} is bound to {have.get('active')}, by the Timelines to {want.active}")
    if number < want.seq:
        faults.append(f"session {session} has high-water {number}, by the Timelines {want.seq}")
    if have.get("marked") != want.marked and number == want.seq:
        faults.append(f"session {session} may revive {have.get('marked')}, by the Timelines {want.marked}")
    return faults


def _mapping(data: bytes) -> dict[str, Any] | None:
    try:
        held = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(held, dict) or not isinstance(held.get("sessions"), dict):
        return None
    rows = held["sessions"].values()
    if held.get("schema_version") != 1 and not all(
        isinstance(row, dict) and type(row.get("seq", 0)) is int for row in rows
    ):
        return None
    return held


def _pending(root: Path, sessions: bytes) -> tuple[str, ...] | None:
    """The sessions of an intent that ``sessions.json`` does not show yet; ``None`` where there is no such intent."""
    slot = read(root / ".store.lock")
    intent = unsealed(slot.partition(b"\n")[0]) if isinstance(slot, bytes) else None
    digest = hashlib.sha256(sessions).hexdigest()
    try:
        if intent is not None and digest == intent["before_sha256"] != intent["after_sha256"]:
            return tuple(map(str, intent["sessions"]))
    except (KeyError, TypeError):
        return None
    return None
