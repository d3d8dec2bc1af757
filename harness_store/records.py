"""Lines of a Timeline: how a record becomes bytes, and how far bytes can be believed.

A line is the record as compact, sorted ASCII JSON with ``"hash"`` as its last member, ended by LF.  The hash is SHA-256
over the exact bytes of the line without ``,"hash":"..."``, so checking one needs no re-serialising.  Each record names
the hash before it, and its place in its transition; a transition is there when all its lines are, or it never happened.

A log may begin with lines of release 1.2.0 (see ``legacy``), which end where the case is adopted: the first record of
this form then names the SHA-256 of all their bytes, so that from there on they too count to the byte.

Everything here is pure: ``seal`` makes lines, ``scan`` believes as many as hold and says where and why it stops.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from attrs import frozen

from harness_core.wire import strict_json

from . import legacy

FORMAT = 2
ZERO_HASH = "0" * 64

_OPENING = b',"hash":"'
_CLOSING = b'"}'
_TRAILER = len(_OPENING) + len(ZERO_HASH) + len(_CLOSING)


# The members of a record as a caller gives it, and those that sealing adds; ``seq`` alone may be missing.
_GIVEN_KINDS: Mapping[str, type] = {
    "event_id": str,
    "type": str,
    "timestamp": str,
    "session_id": str,
    "payload": dict,
    "seq": int,
}
_SEALED_KINDS: Mapping[str, type] = {**_GIVEN_KINDS, "format": int, "prev_hash": str, "transition": dict}
Members = tuple[frozenset[str], Mapping[str, type]]
"""The members that a record must have, and all that it may have, each with what its value is."""

_OPTIONAL = frozenset({"seq"})
_GIVEN: Members = frozenset(_GIVEN_KINDS) - _OPTIONAL, _GIVEN_KINDS
_SEALED: Members = frozenset(_SEALED_KINDS) - _OPTIONAL, _SEALED_KINDS
_PLACE = frozenset({"number", "position", "size"})


class Reason(StrEnum):
    """Why a scan stops."""

    NO_LINE_END = "the line has no end"
    NO_HASH = "the line does not end with its hash"
    WRONG_HASH = "the line's bytes do not give its hash"
    NOT_JSON = "the line is not strict JSON"
    WRONG_MEMBERS = "the record lacks a member, has one too many, or one of the wrong type"
    WRONG_CHAIN = "the record does not name the hash of the record before it"
    WRONG_ID = "the record's event id does not follow the one before it"
    WRONG_TRANSITION = "the record is out of place in its transition"
    INCOMPLETE = "the last transition lacks its remaining lines"
    NEWER = "the record was written by a newer release"
    NOT_ADOPTED = "between the records of release 1.2.0 and those of this one an adoption of exactly those is missing"


TORN = frozenset({Reason.NO_LINE_END, Reason.INCOMPLETE})
"""Reasons that say no more than that the bytes end too early."""


@frozen
class Position:
    """A point between two transitions: ``count`` records and ``transition`` transitions lie before it, the last record
    has ``hash``, the next line begins at byte ``end``.  ``legacy`` is set where all of them are of release 1.2.0: the
    SHA-256 of all bytes before it, which an adoption names."""

    count: int = 0
    hash: str = ZERO_HASH
    transition: int = 0
    end: int = 0
    legacy: str = ""


START = Position()


@frozen
class Stop:
    """Where believing ends: the line (from 1), the offset of its first byte, and why."""

    line: int
    offset: int
    reason: Reason


@frozen
class Scan:
    """What a stretch of a log holds: the records of its whole transitions, the position after each of these, and
    where and why the scan stopped (``None`` at the end of the bytes).  ``positions`` starts with where it began."""

    records: tuple[Mapping[str, Any], ...]
    positions: tuple[Position, ...]
    stop: Stop | None

    @property
    def end(self) -> Position:
        """The position after the last whole transition."""
        return self.positions[-1]


@frozen
class Sealed:
    """One transition ready to be written: its bytes, its records as a reader will find them, the position after it."""

    data: bytes
    records: tuple[Mapping[str, Any], ...]
    position: Position


class _UnbelievedError(Exception):
    def __init__(self, reason: Reason) -> None:
        self.reason = reason


def event_id(number: int) -> str:
    """The id of a Timeline's record by its number from 1: ``E000001``, ``E000002``, ..."""
    return f"E{number:06d}"


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical_json(value: object) -> str:
    """Compact, sorted ASCII JSON.  Raises ``ValueError`` or ``TypeError`` for what has no such form."""
    try:
        return _canonical(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def frame(value: Mapping[str, Any]) -> tuple[bytes, str]:
    """One line for a JSON object (not empty, without a ``hash`` of its own), and its hash."""
    body = canonical_json(value).encode("ascii")
    digest = hashlib.sha256(body).hexdigest()
    return body[:-1] + _OPENING + digest.encode("ascii") + _CLOSING + b"\n", digest


def unframe(line: bytes) -> tuple[dict[str, Any], str] | Reason:
    """The JSON object of a line (given without its LF) and its hash, or why it cannot be believed."""
    if len(line) <= _TRAILER or not line.endswith(_CLOSING) or line[-_TRAILER:][: len(_OPENING)] != _OPENING:
        return Reason.NO_HASH
    body = line[:-_TRAILER] + b"}"
    digest = hashlib.sha256(body).hexdigest()
    if line[-_TRAILER + len(_OPENING) : -len(_CLOSING)] != digest.encode("ascii"):
        return Reason.WRONG_HASH
    try:
        value = strict_json(body.decode("ascii"))
    except ValueError:
        return Reason.NOT_JSON
    return (value, digest) if type(value) is dict else Reason.WRONG_MEMBERS


def seal(records: Sequence[Mapping[str, Any]], after: Position) -> Sealed:
    """Make one transition of ``records``, to be written at ``after.end``.

    Each record has ``event_id``, ``type``, ``timestamp``, ``session_id``, ``payload`` (a JSON object) and maybe
    ``seq``; event ids go on from ``after``, and after records of release 1.2.0 the first is their adoption.  Raises
    ``ValueError`` for anything else: that is a fault of the program.
    """
    if not records:
        raise ValueError("a transition has at least one record")
    if not _adopts(records[0], after):
        raise ValueError(Reason.NOT_ADOPTED)
    lines, found, hash_ = [], [], after.hash
    for place, record in enumerate(records, start=1):
        if not _has(record, _GIVEN):
            raise ValueError(f"not a record: its members are {sorted(map(str, record))}")
        if record["event_id"] != event_id(after.count + place):
            raise ValueError(f"event id {record['event_id']!r} where {event_id(after.count + place)!r} follows")
        place_in = {"number": after.transition + 1, "position": place, "size": len(records)}
        line, digest = frame({**record, "format": FORMAT, "prev_hash": hash_, "transition": place_in})
        lines.append(line)
        # What a reader will find, not what was given (a tuple becomes a list): all states come of the same values.
        found.append(_read_back(line))
        hash_ = digest
    data = b"".join(lines)
    position = Position(after.count + len(records), hash_, after.transition + 1, after.end + len(data))
    return Sealed(data, tuple(found), position)


def _read_back(line: bytes) -> Mapping[str, Any]:
    """The record of a line that was framed a moment ago, and so holds."""
    try:
        record: dict[str, Any] = json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return record


def scan(data: bytes, start: Position = START) -> Scan:
    """Believe ``data``, the bytes of a log from ``start.end`` on, as far as they hold.

    After a ``start`` within the records of release 1.2.0 no more of those are believed: begin at ``START`` instead.
    """
    records: list[Mapping[str, Any]] = []
    positions = [start]
    pending: list[Mapping[str, Any]] = []
    here = start  # after the last whole transition; ``pending`` are the believed lines of the next one
    offset = 0
    old_lines = hashlib.sha256()

    def stopped(reason: Reason) -> Scan:
        stop = Stop(here.count + len(pending) + 1, start.end + offset, reason)
        return Scan(tuple(records), tuple(positions), stop)

    while offset < len(data):
        line_end = data.find(b"\n", offset)
        if line_end < 0:
            return stopped(Reason.NO_LINE_END)
        try:
            record = _believe(data[offset:line_end], here, pending, old=not start.count)
        except _UnbelievedError as error:
            return stopped(error.reason)
        old = is_legacy(record)
        if old:
            old_lines.update(data[offset : line_end + 1])
        offset = line_end + 1
        pending.append(record)
        if legacy.ends_transition(record) if old else len(pending) == record["transition"]["size"]:
            here = Position(
                count=here.count + len(pending),
                hash=record["hash"],
                transition=here.transition + 1,
                end=start.end + offset,
                legacy=old_lines.hexdigest() if old else "",
            )
            records += pending
            positions.append(here)
            pending = []
    return stopped(Reason.INCOMPLETE) if pending else Scan(tuple(records), tuple(positions), None)


def later_transition(data: bytes, after: int) -> int | None:
    """The number of a transition beyond ``after`` of which ``data`` holds an unharmed line, wherever it stands.

    A transition is only ever written once the one before it was acknowledged.  An unharmed line of a later one in a
    broken tail therefore says that the break is no crash.
    """
    for line in data.split(b"\n"):
        found = unframe(line)
        if not isinstance(found, Reason) and _is_sealed(found[0]) and found[0]["transition"]["number"] > after:
            return int(found[0]["transition"]["number"])
    return None


def is_legacy(record: Mapping[str, Any]) -> bool:
    """Whether a record that was believed is one of release 1.2.0."""
    return "format" not in record


def _believe(line: bytes, here: Position, pending: Sequence[Mapping[str, Any]], *, old: bool) -> Mapping[str, Any]:
    """The record of a line; ``old``: where all before it are of release 1.2.0 it may be one more."""
    old = old and (is_legacy(pending[0]) if pending else here.legacy != "" or here.count == 0)
    count, last_hash = here.count + len(pending), pending[-1]["hash"] if pending else here.hash
    found = unframe(line)
    if isinstance(found, Reason):
        if not old:
            raise _UnbelievedError(found)
        return _believe_old(line, count, last_hash, found)
    record, digest = found
    number = record.get("format")
    if type(number) is int and number >= 1 and number != FORMAT:
        # Only asked of a line whose own hash holds: a flipped byte must not look like a newer release.
        raise _UnbelievedError(Reason.NEWER)
    if not _is_sealed(record):
        raise _UnbelievedError(Reason.WRONG_MEMBERS)
    if record["prev_hash"] != last_hash:
        raise _UnbelievedError(Reason.WRONG_CHAIN)
    if record["event_id"] != event_id(count + 1):
        raise _UnbelievedError(Reason.WRONG_ID)
    if pending and is_legacy(pending[0]):
        raise _UnbelievedError(Reason.WRONG_TRANSITION)
    place, size = record["transition"], (pending or [record])[0]["transition"]["size"]
    if (place["number"], place["position"], place["size"]) != (here.transition + 1, len(pending) + 1, size):
        raise _UnbelievedError(Reason.WRONG_TRANSITION)
    if not pending and not _adopts(record, here):
        raise _UnbelievedError(Reason.NOT_ADOPTED)
    record["hash"] = digest
    return record


def _believe_old(line: bytes, count: int, last_hash: str, otherwise: Reason) -> Mapping[str, Any]:
    """A record of release 1.2.0, by that release's rules.  ``otherwise``: why the line is none of this one."""
    record = legacy.parsed(line)
    if record is None or not legacy.is_record(record):
        raise _UnbelievedError(Reason.NOT_JSON if count and record is None else otherwise)
    if record["hash"] != legacy.record_hash(record):
        raise _UnbelievedError(Reason.WRONG_HASH)
    if record["prev_hash"] != last_hash:
        raise _UnbelievedError(Reason.WRONG_CHAIN)
    if record["event_id"] != event_id(count + 1):
        raise _UnbelievedError(Reason.WRONG_ID)
    return record


def _adopts(record: Mapping[str, Any], after: Position) -> bool:
    """Whether the first record of a transition adopts the records of release 1.2.0 before it, if there are any."""
    if record.get("type") != legacy.ADOPTION:
        return not after.legacy
    payload = record.get("payload")
    return after.legacy != "" and isinstance(payload, dict) and payload.get(legacy.ADOPTED_LOG) == after.legacy


def _is_sealed(record: Mapping[str, Any]) -> bool:
    if not _has(record, _SEALED) or record["format"] < 1:
        return False
    place = record["transition"]
    return (
        place.keys() == _PLACE
        and {int} == {*map(type, place.values())}
        and 1 <= place["position"] <= place["size"]
        and place["number"] >= 1
    )


def _has(record: Mapping[str, Any], members: Members) -> bool:
    needed, known = members
    if not needed <= record.keys() <= known.keys():
        return False
    for name, value in record.items():  # asked of every member of every record
        if type(value) is not known[name]:
            return False
    return "seq" not in record or bool(record["seq"] >= 1)
