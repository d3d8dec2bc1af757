"""The checker's own reading of what release 1.2.0 wrote (see ``fsck``, which it is a part of).

Written a second time, by the rules of docs/format.md, and sharing nothing with the reading that the store itself does.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

MEMBERS = {"event_id", "hash", "payload", "prev_hash", "session_id", "timestamp", "type"}
TEXTS = MEMBERS - {"payload"}
STATE = "case_state_sha256"


def digest(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def state_digest(state: Mapping[str, Any]) -> str:
    return digest({**state, "integrity": {"last_event_id": state["integrity"]["last_event_id"]}})


def is_old(record: object) -> bool:
    """Whether a JSON value has the shape of that release's records."""
    return (
        isinstance(record, dict)
        and record.keys() >= MEMBERS
        and "format" not in record
        and isinstance(record["payload"], dict)
        and all(isinstance(record[name], str) for name in TEXTS)
    )


def own_hash_holds(record: Mapping[str, Any]) -> bool:
    plain = {name: value for name, value in record.items() if name != "hash"}
    return bool(digest(plain) == record["hash"])


def is_old_block(block: Mapping[str, Any]) -> bool:
    integrity = block.get("integrity")
    return isinstance(integrity, dict) and integrity.keys() == {"last_event_id", "state_sha256"}


def state_faults(state: Mapping[str, Any], last: Mapping[str, Any]) -> list[str]:
    """What is wrong with a state that is to be the one that a record leads to."""
    faults = []
    if state["integrity"]["last_event_id"] != last["event_id"]:
        faults.append(f"it names {state['integrity']['last_event_id']} and not {last['event_id']}")
    if state["integrity"].get("state_sha256") != state_digest(state):
        faults.append("its content does not give the hash that it names")
    if last["payload"].get(STATE) != state_digest(state):
        faults.append(f"{last['event_id']} leads to another state")
    return faults


@frozen
class Journal:
    """The journal of a transition: its case and the lines of its events, or what is wrong with it."""

    state: Mapping[str, Any]
    lines: tuple[bytes, ...]
    fault: str = ""


def read_journal(case_id: str, value: Any) -> Journal:
    """A parsed ``.pending-transition.json``."""
    try:
        state, events = value["case"], value["events"]
        lines = tuple(json.dumps(e, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() for e in events)
        if value["case_id"] != case_id or state["case_id"] != case_id:
            return Journal({}, (), f"the journal belongs to case {value['case_id']}")
        held = all(is_old(event) and own_hash_holds(event) for event in events)
        chained = all(after["prev_hash"] == before["hash"] for before, after in itertools.pairwise(events))
        faults = state_faults(state, events[-1])
        if not held or not chained or faults:
            return Journal({}, (), f"the journal does not hold: {'; '.join(faults) or 'its events are broken'}")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return Journal({}, (), f"the journal is none ({type(error).__name__})")
    return Journal(state, lines)


def laid_over(lines: Sequence[bytes], journal: Journal, first: int) -> list[bytes] | str:
    """The lines of a log as that release would have completed them after its first ``first`` ones."""
    if first < 0 or len(lines) < first:
        return "the journal does not follow the log"
    if len(lines) == first or list(lines[first : first + len(journal.lines)]) == list(journal.lines):
        return [*lines[:first], *journal.lines, *lines[first + len(journal.lines) :]]
    return [*lines[:first], *journal.lines, *lines[first:]]
