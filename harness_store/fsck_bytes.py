"""The checker's own reading of a case's bytes: framing, chain and head (see ``fsck``, which this is a part of).

Written a second time, by the rules of docs/format.md, and sharing nothing with the reading that the store itself does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from . import legacy_fsck
from .fsck_verdicts import Check, Verdict, verdict_of

FORMAT = 2
ZEROS = "0" * 64
TRAILER = len(',"hash":""}') + 64
BEGIN, END = "<!-- EPISTEMIC-HARNESS-DATA\n", "\nEND-EPISTEMIC-HARNESS-DATA -->\n"
MEMBERS = {"event_id", "type", "timestamp", "session_id", "payload", "format", "prev_hash", "transition"}
TEXTS = ("event_id", "type", "timestamp", "session_id", "prev_hash", "hash")
UNREADABLE = "cannot be read"


@frozen
class Head:
    """How many records ``case.md`` acknowledges, and the hash of the last; of release 1.2.0, that of its state."""

    count: int
    hash: str
    state: str = ""

    def is_at(self, record: Mapping[str, Any]) -> bool:
        if self.state:
            return legacy_fsck.is_old(record) and record["payload"].get(legacy_fsck.STATE) == self.state
        return bool(record["hash"] == self.hash)


def read(path: Path) -> bytes | str:
    """The bytes of a file, or why there are none."""
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else f"{path.name} is missing or no file"
    except OSError as error:
        return f"{path.name} {UNREADABLE}: {error.strerror}"


def lines_of(data: bytes) -> tuple[list[bytes], bytes]:
    """Whole lines, and the bytes after the last line end."""
    *lines, tail = data.split(b"\n")
    return lines, tail


def parse(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(names) != len(set(names)):
            raise ValueError("a key stands twice")
        return dict(pairs)

    def never(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=never)


def unsealed(line: bytes) -> dict[str, Any] | None:
    """The object on a line that ends with the hash of the rest; ``None`` where it does not hold."""
    body, trailer = line[:-TRAILER] + b"}", line[-TRAILER:]
    if trailer != b',"hash":"%s"}' % hashlib.sha256(body).hexdigest().encode("ascii"):
        return None
    try:
        found = parse(body.decode("ascii"))
    except (UnicodeDecodeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def record_on(line: bytes) -> dict[str, Any] | str:
    """The record on a line, with its hash, or what is wrong with the line."""
    try:
        record = parse(line.decode("utf-8"))
        if legacy_fsck.is_old(record):
            return dict(record)
        line.decode("ascii")
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        return f"is no strict ASCII JSON ({type(error).__name__})"
    if not isinstance(record, dict) or list(record)[-1:] != ["hash"]:
        return "does not end with its hash"
    plain = {name: value for name, value in record.items() if name != "hash"}
    if not MEMBERS <= plain.keys() <= MEMBERS | {"seq"}:
        return f"has members {sorted(plain)}"
    if plain["format"] != FORMAT:
        return f"has format {plain['format']}; this release knows {FORMAT}"
    place = plain["transition"]
    shaped = isinstance(place, dict) and all(type(place.get(name)) is int for name in ("number", "position", "size"))
    if not shaped or type(plain["payload"]) is not dict or not all(type(record[name]) is str for name in TEXTS):
        return "has a member of the wrong type"
    spelled = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    if line.decode("ascii") != f'{spelled[:-1]},"hash":"{record["hash"]}"}}':
        return "is not spelled as compact sorted JSON with its hash last"
    return record


def head_of(path: Path) -> tuple[Head | None, dict[str, Any] | None, str]:
    """The head that ``case.md`` names, its block, and why there is none."""
    data = read(path)
    if isinstance(data, str):
        return None, None, data
    try:
        text = data.decode("utf-8")
        begin = text.index(BEGIN) + len(BEGIN)
        block = parse(text[begin : text.index(END, begin)])
        integrity = block["integrity"]
        if legacy_fsck.is_old_block(block):
            if legacy_fsck.state_digest(block) != integrity["state_sha256"]:
                return None, block, "the content of case.md does not give the hash that it names"
            return Head(int(integrity["last_event_id"][1:]), "", integrity["state_sha256"]), block, ""
        count, last = integrity["event_count"], integrity["last_hash"]
        if type(count) is not int or count < 1 or type(last) is not str:
            raise ValueError("no head")
        if integrity != {"event_count": count, "last_event_id": f"E{count:06d}", "last_hash": last}:
            raise ValueError("not one head")
        return Head(count, last), block, ""
    except (UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return None, None, f"{path.name} has no readable machine block ({type(error).__name__})"


def check_framing(framed: Sequence[dict[str, Any] | str], tail: bytes, head: Head | None) -> Check:
    """Every line is a record.  Only what lies beyond the head may be broken: that was never acknowledged."""
    upto = head.count if head else len(framed)
    faults = [f"events.jsonl, line {n}: {found}" for n, found in enumerate(framed[:upto], 1) if isinstance(found, str)]
    if tail and (head is None or len(framed) < head.count):
        faults.append(f"events.jsonl, line {len(framed) + 1}: has no line end")
    return verdict_of("framing", faults)


def check_chain(lines: Sequence[bytes], framed: Sequence[dict[str, Any] | str], head: Head | None) -> Check:
    faults, before = [], ZEROS
    number, position, size = 0, 0, 0
    old = True
    for n, record in enumerate(framed[: head.count if head else None], 1):
        if isinstance(record, str):
            return Check("chain", Verdict.NOT_CHECKABLE, (f"events.jsonl, line {n}: is no record",))
        if legacy_fsck.is_old(record):
            faults += [] if old else [f"events.jsonl, line {n}: is of release 1.2.0, after one that is not"]
            faults += (
                []
                if legacy_fsck.own_hash_holds(record)
                else [f"events.jsonl, line {n}: its content does not give the hash"]
            )
            if record["prev_hash"] != before or record["event_id"] != f"E{n:06d}":
                faults.append(f"events.jsonl, line {n}: it does not follow the record before")
            number, position, size = number + (position == size), 0, int(legacy_fsck.STATE not in record["payload"])
            before = record["hash"]
            continue
        if (n > 1 and old) != (record["type"] == "case_adopted"):
            faults.append(
                f"events.jsonl, line {n}: an adoption belongs between the records of release 1.2.0 and the others"
            )
        elif n > 1 and old:
            faults += _adoption_faults(lines[: n - 1], framed[n - 2], record)
        old = False
        plain = {name: value for name, value in record.items() if name != "hash"}
        body = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")
        if hashlib.sha256(body).hexdigest() != record["hash"]:
            faults.append(f"events.jsonl, line {n}: the bytes do not give the hash")
        if record["prev_hash"] != before:
            faults.append(f"events.jsonl, line {n}: prev_hash does not name the record before")
        if record["event_id"] != f"E{n:06d}":
            faults.append(f"events.jsonl, line {n}: event id {record['event_id']}")
        if position == size:
            number, position, size = number + 1, 0, record["transition"].get("size", 0)
        position += 1
        if record["transition"] != {"number": number, "position": position, "size": size}:
            faults.append(f"events.jsonl, line {n}: out of place in its transition")
            number, position, size = record["transition"].get("number", 0), 0, 0
        before = record["hash"]
    if position != size:
        faults.append(f"transition {number} lacks {size - position} of its lines")
    return verdict_of("chain", faults)


def check_head(
    framed: Sequence[dict[str, Any] | str], tail: bytes, head: Head | None, fault: str, log: bytes | str
) -> tuple[Check, tuple[str, ...]]:
    if head is None:
        return Check("head", Verdict.VIOLATED, (fault,)), ()
    if isinstance(log, str):
        return Check("head", Verdict.VIOLATED, (f"{log}, and case.md acknowledges {head.count} records",)), ()
    if len(framed) < head.count:
        reason = f"case.md acknowledges {head.count} records and the log has {len(framed)} lines: records were lost"
        return Check("head", Verdict.VIOLATED, (reason,)), ()
    last = framed[head.count - 1] if head.count else None
    if not isinstance(last, dict) or not head.is_at(last):
        return Check("head", Verdict.VIOLATED, (f"case.md: record {head.count} has another hash than it names",)), ()
    place = _place(framed[: head.count])
    if place.get("position") != place.get("size"):
        return Check("head", Verdict.VIOLATED, ("case.md: its head lies in the middle of a transition",)), ()
    beyond = framed[head.count :]
    whole = [r for r in beyond if isinstance(r, dict)]
    new = [r for r in whole if not legacy_fsck.is_old(r)]
    later = {r["transition"].get("number") for r in new} - {place.get("number", 0) + 1}
    if later or any(legacy_fsck.STATE in r["payload"] for r in whole if r not in new):
        return Check(
            "head",
            Verdict.VIOLATED,
            (f"case.md is old: it names record {head.count}, the log goes on by more than one transition",),
        ), ()
    untidy = ["a transition beyond the head was not acknowledged"] if beyond or tail else []
    return Check("head", Verdict.OK), tuple(untidy)


def _adoption_faults(lines: Sequence[bytes], last: dict[str, Any] | str, adoption: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with an adoption: it names the bytes of all lines before it and carries the state they led to."""
    payload = adoption["payload"]
    if payload.get("legacy_log_sha256") != hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest():
        yield f"{adoption['event_id']}: the lines of release 1.2.0 are not those that were adopted"
    try:
        faults = legacy_fsck.state_faults(payload["legacy_state"], last if isinstance(last, dict) else {})
    except (KeyError, TypeError, AttributeError):
        faults = ["it is none"]
    yield from (f"{adoption['event_id']}: its legacy state: {fault}" for fault in faults)


def _place(framed: Sequence[dict[str, Any] | str]) -> Mapping[str, Any]:
    """The place of the last record in its transition."""
    last = framed[-1]
    if not isinstance(last, dict) or not legacy_fsck.is_old(last):
        return last["transition"] if isinstance(last, dict) else {}
    number = sum(isinstance(r, dict) and legacy_fsck.STATE in r["payload"] for r in framed)
    return {"number": number, "position": 1, "size": 1 if legacy_fsck.STATE in last["payload"] else 2}
