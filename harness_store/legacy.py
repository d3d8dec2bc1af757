"""How release 1.2.0 wrote: its records, its states and their hashes, the journal of a transition, its intents.

Pure.  ``records`` reads its lines at the beginning of a log with this; ``legacy_case`` says what its files amount to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from harness_core.wire import canonical_json, strict_json

RELEASE = "1.2.0"
ADOPTION = "case_adopted"
"""The type of the record with which a case of that release goes on in this one's form."""
ADOPTED_LOG = "legacy_log_sha256"
"""The member of its payload that names SHA-256 over the exact bytes of all lines before it."""

STATE_HASH = "case_state_sha256"
ZERO_HASH = "0" * 64


def _text(value: object) -> bool:
    return type(value) is str


_MEMBERS: Mapping[str, Callable[[object], bool]] = {
    "event_id": _text,
    "hash": _text,
    "payload": lambda value: type(value) is dict,
    "prev_hash": _text,
    "session_id": _text,
    "timestamp": _text,
    "type": _text,
}


def parsed(data: bytes) -> dict[str, Any] | None:
    """The JSON object that UTF-8 bytes hold, or ``None``."""
    try:
        value = strict_json(data.decode("utf-8"))
    except ValueError:
        return None
    return value if type(value) is dict else None


def is_record(value: Mapping[str, Any]) -> bool:
    """Whether an object has the shape of its records: it named no format."""
    shaped = all(name in value and check(value[name]) for name, check in _MEMBERS.items())
    numbered = "seq" not in value or (type(value["seq"]) is int and value["seq"] >= 0)
    return shaped and numbered and "format" not in value


def record_hash(record: Mapping[str, Any]) -> str:
    """The hash of a record: over its canonical JSON, non-ASCII as it is, without the member ``hash``."""
    return _digest({name: value for name, value in record.items() if name != "hash"})


def state_hash(state: Mapping[str, Any]) -> str:
    """The hash of a case: over its canonical JSON, with ``integrity`` reduced to the id of the last event."""
    integrity = state.get("integrity")
    last = integrity.get("last_event_id") if isinstance(integrity, Mapping) else None
    return _digest({**state, "integrity": {"last_event_id": last}})


def ends_transition(record: Mapping[str, Any]) -> bool:
    """Whether a record is the last of its transition: that one repeats the hash of the case after it."""
    return STATE_HASH in record["payload"]


def line(record: Mapping[str, Any]) -> bytes:
    """The line of a record as that release wrote it, with its end."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii") + b"\n"


def number_of(event_id: object) -> int | None:
    """The number of a record by its id: ``E000001`` is the first."""
    if type(event_id) is not str or not event_id[1:].isdecimal() or not event_id.isascii() or len(event_id) > 19:
        return None
    number = int(event_id[1:])
    return number if number and event_id == f"E{number:06d}" else None


@frozen
class Pending:
    """A transition that was journaled: the case after it, its records, and whether that release had come to write
    them is for the log to say."""

    state: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]

    @property
    def first(self) -> int:
        """How many records lie before it."""
        return (number_of(self.records[0]["event_id"]) or 1) - 1

    @property
    def lines(self) -> bytes:
        """Its records as that release would have written them."""
        return b"".join(map(line, self.records))


def read_pending(data: bytes, case_id: str) -> Pending | str:
    """The content of ``archive/.pending-transition.json``, or what is wrong with it, as a clause for people.

    It must belong to the slot it lies in, and be whole and right in itself; whether it follows the log is not asked.
    """
    journal = parsed(data)
    if journal is None or not isinstance(journal.get("case"), Mapping) or not isinstance(journal.get("events"), list):
        return "it is no journal of a transition"
    state, records = journal["case"], journal["events"]
    if {journal.get("case_id"), state.get("case_id")} != {case_id}:
        return f"it belongs to the storage slot of case {journal.get('case_id')}"
    if not records or not all(isinstance(record, dict) and is_record(record) for record in records):
        return "its events are no records"
    first = number_of(records[0]["event_id"])
    if first is None:
        return "its events are not numbered"
    before = records[0]["prev_hash"]
    for number, record in enumerate(records, start=first):
        follows = record["prev_hash"] == before and number_of(record["event_id"]) == number
        if not follows or record["hash"] != record_hash(record):
            return f"its event {record['event_id']} does not hold"
        if ends_transition(record) != (record is records[-1]):
            return "its events are no single transition"
        before = record["hash"]
    if not names(state, records[-1]):
        return "its case is not the one that its events lead to"
    return Pending(state, records)


def names(state: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """Whether a state is the one that a record, the last of its transition, leads to, by both of their hashes."""
    integrity = state.get("integrity")
    if not isinstance(integrity, Mapping):
        return False
    digest = state_hash(state)
    return (
        integrity.get("last_event_id") == last["event_id"]
        and integrity.get("state_sha256") == digest
        and last["payload"].get(STATE_HASH) == digest
    )


def names_adopted(adoption: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """Whether the record of an adoption carries the state that the last of that release's records leads to."""
    state = adoption["payload"].get("legacy_state")
    return isinstance(state, Mapping) and names(state, last)


@frozen(kw_only=True)
class Boundary:
    """A session's compression that was prepared and never carried through: its case is to follow to the child."""

    case_id: str
    old_session_id: str
    new_session_id: str

    @property
    def name(self) -> str:
        """The name of its file under ``compression-boundaries``."""
        pair = f"{self.old_session_id}\0{self.new_session_id}"
        return hashlib.sha256(pair.encode("utf-8", "surrogatepass")).hexdigest() + ".json"


def read_boundary(data: bytes) -> Boundary | None:
    """The content of a prepared intent; ``None`` where it is none."""
    found = parsed(data) or {}
    ids = {name: found.get(name) for name in ("case_id", "old_session_id", "new_session_id")}
    if not all(type(value) is str and value for value in ids.values()):
        return None
    return Boundary(**{name: str(value) for name, value in ids.items()})


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
