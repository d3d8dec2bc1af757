"""What a case's records mean, and whether its other files are what they say (see ``fsck``, which this is a part of).

The fold and the invariants are the core's own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness_core.case import Case, document
from harness_core.events import Event
from harness_core.evolution import fold
from harness_core.replay import audit

from . import legacy_fsck
from .fsck_bytes import Head, head_of, read
from .fsck_receipt import receipt_faults
from .fsck_verdicts import Check, Verdict, verdict_of


def events_of(records: Iterable[Mapping[str, Any]]) -> tuple[tuple[Event, ...], str]:
    events = []
    for record in records:
        try:
            events.append(Event.from_record(record))
        except Exception as error:  # noqa: BLE001 - whatever structuring raises, the record means nothing
            return tuple(events), f"{record['event_id']} is no event this release knows ({type(error).__name__})"
    return tuple(events), ""


def check_invariants(events: Sequence[Event], meaning: str, case_id: str) -> tuple[Case | None, Check]:
    if meaning:
        verdict = Verdict.VIOLATED if events or "no event" in meaning else Verdict.NOT_CHECKABLE
        return None, Check("invariants", verdict, (meaning,))
    try:
        case, violations = audit(events)
    except Exception as error:  # noqa: BLE001 - the fold is for Timelines that were decided; this one is not
        return None, Check("invariants", Verdict.VIOLATED, (f"its events cannot be folded ({type(error).__name__})",))
    faults = [f"{v.invariant} at {v.event_id or 'the end'}: {v.problem}" for v in violations]
    if case is not None and case.case_id != case_id:
        faults.append(f"identity: events.jsonl is that of case {case.case_id}")
    return case, verdict_of("invariants", faults)


def check_projections(
    case: Case | None,
    block: Mapping[str, Any] | None,
    folder: Path,
    events: Sequence[Event],
    old: Sequence[Mapping[str, Any]],
) -> tuple[Check, tuple[str, ...]]:
    if case is None:
        return Check("projections", Verdict.NOT_CHECKABLE, ("there is no state to hold them against",)), ()
    faults, torn = [], []
    if block is not None and legacy_fsck.is_old_block(block):
        faults += [f"case.md: {fault}" for fault in legacy_fsck.state_faults(block, old[-1])]
    elif block is not None and _plain(block) != _as_json(document(case)):
        faults.append("case.md is no state of this Timeline")
    for path in sorted((folder / "archive").glob("case-v*.md")):
        head, content, unreadable = head_of(path)
        if head is None or content is None:
            # Archive snapshots are not synced: the Timeline has it all, and losing power may tear one.
            torn.append(f"archive/{unreadable}")
        else:
            faults += [f"archive/{path.name}: {fault}" for fault in _snapshot_faults(head, content, events, old)]
    if not old:
        kept = {path.name for path in (folder / "archive").glob("case-v*.md")}
        names = [f"case-v{version:04d}.md" for version in range(1, case.version + 1)]
        torn += [f"archive/{name} is missing" for name in names if name not in kept]
    faults += receipt_faults(case, folder)
    return verdict_of("projections", faults), tuple(torn)


def _snapshot_faults(
    head: Head, content: Mapping[str, Any], events: Sequence[Event], old: Sequence[Mapping[str, Any]]
) -> Iterable[str]:
    """An archive snapshot is right where it is the state after as many events as it says."""
    if head.state:
        at = old[head.count - 1] if 0 < head.count <= len(old) else {"event_id": "", "payload": {}}
        yield from legacy_fsck.state_faults(content, at)
        return
    own = head.count - len(old)
    case = fold(events[: max(0, own)])
    if own > len(events):
        yield f"it names record {head.count}, and {len(old) + len(events)} are acknowledged"
    elif case is None or _plain(content) != _as_json(document(case)):
        yield "it is no state of this Timeline"


def _plain(block: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "integrity"}


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def check_artifacts(case: Case | None, folder: Path) -> Check:
    if case is None:
        return Check("artifacts", Verdict.NOT_CHECKABLE, ("there is no state that names them",))
    faults = []
    for event_id, kept in sorted(case.artifacts.items()):
        if kept.path != f"archive/artifacts/{kept.sha256}.txt":
            faults.append(f"{event_id}: {kept.path} is no artifact path")
            continue
        data = read(folder / kept.path)
        if isinstance(data, str):
            faults.append(f"{event_id}: archive/artifacts/{data}")
        elif len(data) != kept.bytes or hashlib.sha256(data).hexdigest() != kept.sha256:
            faults.append(f"{event_id}: {kept.path} has other content than was recorded")
    return verdict_of("artifacts", faults)
