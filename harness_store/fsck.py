"""An independent check of a store, down to the bytes.

It shares no reading code with the store: framing, hashing, chaining and the machine block are read here a second time,
by the rules of docs/format.md.  What the records mean is the core's to say: its fold and its one list of invariants.
What release 1.2.0 left is checked by that release's rules (``legacy_fsck``), before its adoption and ever after.
Nothing is changed here; ``repair`` names what the store itself would mend.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from harness_core.adoption import adopted
from harness_core.case import Case, document
from harness_core.events import Event
from harness_core.evolution import fold
from harness_core.invariants import check_state
from harness_core.replay import audit

from . import legacy_fsck
from .fsck_bindings import check_bindings

FORMAT = 2
ZEROS = "0" * 64
LOOKS = 5
"""How often something that keeps changing is looked at."""
BEGIN, END = "<!-- EPISTEMIC-HARNESS-DATA\n", "\nEND-EPISTEMIC-HARNESS-DATA -->\n"
MEMBERS = {"event_id", "type", "timestamp", "session_id", "payload", "format", "prev_hash", "transition"}
TEXTS = ("event_id", "type", "timestamp", "session_id", "prev_hash", "hash")
_UNREADABLE = "cannot be read"
_CASE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class Verdict(StrEnum):
    """What a check came to."""

    OK = "ok"
    VIOLATED = "violated"
    NOT_CHECKABLE = "not checkable"


@frozen
class Check:
    """One check: its name, what it came to, and why, one sentence each."""

    name: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()


@frozen
class CaseReport:
    """The checks of one case, and what is ``untidy``: what a crash leaves, and whoever writes next makes good."""

    case_id: str
    checks: tuple[Check, ...]
    untidy: tuple[str, ...]
    case: Case | None = None
    old: bool = False

    @property
    def sound(self) -> bool:
        return all(check.verdict is Verdict.OK for check in self.checks)


@frozen
class StoreReport:
    """The checks of a store: each case's, those of what they have in common; what is untidy, what was moved aside."""

    cases: tuple[CaseReport, ...]
    checks: tuple[Check, ...]
    untidy: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return all(case.sound for case in self.cases) and all(check.verdict is Verdict.OK for check in self.checks)


def check_store(root: Path, only: str | None = None) -> StoreReport:
    """Check a store, or one case of it.  Reads only; raises ``OSError`` where the root itself cannot be read."""
    for _ in range(LOOKS):
        before = _store_stamp(root)
        report = _checked(root, only)
        if report.sound or _store_stamp(root) == before:
            return report
    changing = Check("bindings", Verdict.NOT_CHECKABLE, ("they are being changed; check them again",))
    return evolve(report, checks=tuple(changing if check.name == "bindings" else check for check in report.checks))


def _store_stamp(root: Path) -> tuple[object, ...]:
    cases = sorted((root / "cases").iterdir()) if (root / "cases").is_dir() else []
    files = [folder / name for folder in cases for name in ("events.jsonl", "case.md")]
    return _stamp(root / "sessions.json", root / ".store.lock", *files)


def _checked(root: Path, only: str | None) -> StoreReport:
    if not (root / "cases").is_dir():
        return StoreReport((), ())
    names = sorted(path.name for path in (root / "cases").iterdir() if path.is_dir() and not path.is_symlink())
    ids = [name for name in names if _CASE_ID.fullmatch(name)]
    cases = tuple(check_case(root / "cases" / name) for name in ids if only in (None, name))
    if only is not None:
        return StoreReport(cases, ())
    bindings, untidy = _bindings(root, cases)
    aside = tuple(name for name in names if ".quarantined-" in name)
    return StoreReport(cases, (_format(root, cases), bindings), untidy, aside)


def check_case(folder: Path) -> CaseReport:
    """Check one case folder, wherever it lies; its name up to a dot is the id of the case.

    No lock is taken: what changes while it is looked at is looked at again.
    """
    for _ in range(LOOKS):
        before = _stamp(folder / "events.jsonl", folder / "case.md")
        report = _looked_at(folder)
        if report.sound or _stamp(folder / "events.jsonl", folder / "case.md") == before:
            return report
    return _every(folder, Verdict.NOT_CHECKABLE, ("it is being written to; check it again",))


def _stamp(*paths: Path) -> tuple[object, ...]:
    """What tells whether any of these files was touched."""
    found: list[object] = []
    for path in paths:
        try:
            stat = path.lstat()
        except OSError:
            found.append(None)
        else:
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
    return tuple(found)


def _looked_at(folder: Path) -> CaseReport:
    log = _read(folder / "events.jsonl")
    closed = [str(read) for read in (log, _read(folder / "case.md")) if isinstance(read, str) and _UNREADABLE in read]
    if closed:
        return _every(folder, Verdict.NOT_CHECKABLE, tuple(closed))
    lines, tail = _lines(log if isinstance(log, bytes) else b"")
    head, block, block_fault = _head(folder / "case.md")
    journal = _journal(folder)
    if journal is not None and (head is None or head.state):
        lines, head, block, block_fault = _settled(journal, lines, head, block, block_fault)
        log = b"" if journal.lines and isinstance(log, str) else log
    framed = [_record(line) for line in lines]
    if head is None and journal is None and _never_opened(framed, block_fault):
        return _every(folder, Verdict.OK, (), "an open was begun and never acknowledged")
    framing = _framing(framed, tail, head)
    chain = _chain(lines, framed, head)
    head_check, untidy = _head_check(framed, tail, head, block_fault, log)
    if (folder / ".read-only").exists():
        untidy = (*untidy, ".read-only: a write failed and could not be taken back; the case is not written to")
    if journal is not None:
        untidy = (*untidy, "a journal of release 1.2.0 was not settled")
    records = [record for record in framed if isinstance(record, dict)][: head.count if head else None]
    old = [record for record in records if legacy_fsck.is_old(record)]
    held = framing.verdict is Verdict.OK and chain.verdict is Verdict.OK
    broken = "the chain does not hold, so its records are not interpreted"
    events, meaning = _events(records[len(old) :]) if held else ((), broken)
    if held and old and not events and not meaning:
        case, invariants = _unadopted(folder.name, block, old)
    else:
        case, invariants = _invariants(events, meaning, folder.name.partition(".")[0])
    projections, torn = _projection(case, block, folder, events, old)
    return CaseReport(
        folder.name,
        (
            framing,
            chain,
            head_check,
            projections,
            _artifacts(case, folder),
            invariants,
        ),
        (*untidy, *torn),
        case,
        bool(old),
    )


def _never_opened(framed: Sequence[dict[str, Any] | str], fault: str) -> bool:
    """No ``case.md``, and in the log nothing that a later transition than the first has left."""
    if "missing" not in fault:
        return False
    numbers = [0 if isinstance(r, str) else 2 if legacy_fsck.is_old(r) else r["transition"]["number"] for r in framed]
    return max(numbers, default=0) <= 1


def _every(folder: Path, verdict: Verdict, reasons: tuple[str, ...], *untidy: str) -> CaseReport:
    """A report in which every check comes to the same."""
    names = ("framing", "chain", "head", "projections", "artifacts", "invariants")
    return CaseReport(folder.name, tuple(Check(name, verdict, reasons) for name in names), untidy)


def _journal(folder: Path) -> legacy_fsck.Journal | None:
    data = _read(folder / "archive" / ".pending-transition.json")
    if isinstance(data, str):
        return None
    try:
        return legacy_fsck.read_journal(folder.name, _parse(data.decode("utf-8")))
    except (UnicodeDecodeError, ValueError, RecursionError):
        return legacy_fsck.Journal({}, (), "the journal is no JSON")


def _settled(
    journal: legacy_fsck.Journal, lines: list[bytes], head: Head | None, block: dict[str, Any] | None, fault: str
) -> tuple[list[bytes], Head | None, dict[str, Any] | None, str]:
    """Lines, head and block as release 1.2.0 would have completed them."""
    if journal.fault or (head is None and "missing" not in fault):
        return lines, None, block, journal.fault or fault
    integrity = journal.state["integrity"]
    after = Head(int(integrity["last_event_id"][1:]), "", integrity["state_sha256"])
    first = after.count - len(journal.lines)
    if head == after:
        return lines, head, block, fault
    found = legacy_fsck.laid_over(lines, journal, first)
    if isinstance(found, str) or (head.count if head else 0) != first:
        return lines, None, block, "the journal does not follow where case.md stands"
    return found, after, dict(journal.state), ""


def _unadopted(
    case_id: str, block: Mapping[str, Any] | None, old: Sequence[Mapping[str, Any]]
) -> tuple[Case | None, Check]:
    """A case as release 1.2.0 left it: its state is asked for what every state is asked for."""
    transitions = sum(legacy_fsck.STATE in record["payload"] for record in old)
    try:
        case = adopted(case_id, block or {}, old, transitions)
    except Exception as error:  # noqa: BLE001 - whatever structuring raises, the state means nothing
        return None, Check("invariants", Verdict.VIOLATED, (f"case.md is no case ({type(error).__name__})",))
    return case, _check("invariants", [f"{v.invariant}: {v.problem}" for v in check_state(case)])


# --- bytes ---


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


def _read(path: Path) -> bytes | str:
    """The bytes of a file, or why there are none."""
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else f"{path.name} is missing or no file"
    except OSError as error:
        return f"{path.name} {_UNREADABLE}: {error.strerror}"


def _lines(data: bytes) -> tuple[list[bytes], bytes]:
    """Whole lines, and the bytes after the last line end."""
    *lines, tail = data.split(b"\n")
    return lines, tail


def _parse(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(names) != len(set(names)):
            raise ValueError("a key stands twice")
        return dict(pairs)

    def never(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=never)


def _record(line: bytes) -> dict[str, Any] | str:
    """The record on a line, with its hash, or what is wrong with the line."""
    try:
        record = _parse(line.decode("utf-8"))
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


def _head(path: Path) -> tuple[Head | None, dict[str, Any] | None, str]:
    """The head that ``case.md`` names, its block, and why there is none."""
    data = _read(path)
    if isinstance(data, str):
        return None, None, data
    try:
        text = data.decode("utf-8")
        begin = text.index(BEGIN) + len(BEGIN)
        block = _parse(text[begin : text.index(END, begin)])
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


def _framing(framed: Sequence[dict[str, Any] | str], tail: bytes, head: Head | None) -> Check:
    """Every line is a record.  Only what lies beyond the head may be broken: that was never acknowledged."""
    upto = head.count if head else len(framed)
    faults = [f"events.jsonl, line {n}: {found}" for n, found in enumerate(framed[:upto], 1) if isinstance(found, str)]
    if tail and (head is None or len(framed) < head.count):
        faults.append(f"events.jsonl, line {len(framed) + 1}: has no line end")
    return _check("framing", faults)


def _chain(lines: Sequence[bytes], framed: Sequence[dict[str, Any] | str], head: Head | None) -> Check:
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
    return _check("chain", faults)


def _head_check(
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


# --- meaning ---


def _events(records: Iterable[Mapping[str, Any]]) -> tuple[tuple[Event, ...], str]:
    events = []
    for record in records:
        try:
            events.append(Event.from_record(record))
        except Exception as error:  # noqa: BLE001 - whatever structuring raises, the record means nothing
            return tuple(events), f"{record['event_id']} is no event this release knows ({type(error).__name__})"
    return tuple(events), ""


def _invariants(events: Sequence[Event], meaning: str, case_id: str) -> tuple[Case | None, Check]:
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
    return case, _check("invariants", faults)


def _projection(
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
        head, content, unreadable = _head(path)
        if head is None or content is None:
            # Archive snapshots are not synced: the Timeline has it all, and losing power may tear one.
            torn.append(f"archive/{unreadable}")
        else:
            faults += [f"archive/{path.name}: {fault}" for fault in _snapshot_faults(head, content, events, old)]
    if not old:
        kept = {path.name for path in (folder / "archive").glob("case-v*.md")}
        names = [f"case-v{version:04d}.md" for version in range(1, case.version + 1)]
        torn += [f"archive/{name} is missing" for name in names if name not in kept]
    return _check("projections", faults), tuple(torn)


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


def _artifacts(case: Case | None, folder: Path) -> Check:
    if case is None:
        return Check("artifacts", Verdict.NOT_CHECKABLE, ("there is no state that names them",))
    faults = []
    for event_id, kept in sorted(case.artifacts.items()):
        if kept.path != f"archive/artifacts/{kept.sha256}.txt":
            faults.append(f"{event_id}: {kept.path} is no artifact path")
            continue
        data = _read(folder / kept.path)
        if isinstance(data, str):
            faults.append(f"{event_id}: archive/artifacts/{data}")
        elif len(data) != kept.bytes or hashlib.sha256(data).hexdigest() != kept.sha256:
            faults.append(f"{event_id}: {kept.path} has other content than was recorded")
    return _check("artifacts", faults)


# --- what cases have in common ---


def _format(root: Path, cases: Sequence[CaseReport]) -> Check:
    data = _read(root / "format.json")
    if isinstance(data, str) and (not cases or any(report.old for report in cases)):
        return Check("format", Verdict.OK, ("it names none, as release 1.2.0 did",) if cases else ())
    if isinstance(data, str):
        return Check("format", Verdict.NOT_CHECKABLE, (data,))
    try:
        number = _parse(data.decode("utf-8"))["format"]
    except (UnicodeDecodeError, ValueError, KeyError, TypeError):
        return Check("format", Verdict.VIOLATED, ("format.json says no format",))
    return _check("format", [] if number == FORMAT else [f"the store has format {number}"])


def _bindings(root: Path, cases: Sequence[CaseReport]) -> tuple[Check, tuple[str, ...]]:
    decisive = {"framing", "chain", "head", "invariants"}
    unread = {r.case_id for r in cases if any(c.name in decisive and c.verdict is not Verdict.OK for c in r.checks)}
    folded = [report.case for report in cases if report.case is not None and report.case_id not in unread]
    data = _read(root / "sessions.json")
    found = check_bindings(root, data if isinstance(data, bytes) else None, folded, unread)
    verdict = Verdict.VIOLATED if found.faults else Verdict.NOT_CHECKABLE if found.unknown else Verdict.OK
    return Check("bindings", verdict, (*found.faults, *found.unknown)), tuple(found.untidy)


def _check(name: str, faults: Sequence[str]) -> Check:
    return Check(name, Verdict.VIOLATED if faults else Verdict.OK, tuple(faults))
