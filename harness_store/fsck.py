"""An independent check of a store, down to the bytes.

It shares no reading code with the store: framing, hashing, chaining and the machine block are read here a second time,
by the rules of docs/format.md.  What the records mean is the core's to say: its fold and its one list of invariants.
What release 1.2.0 left is checked by that release's rules (``legacy_fsck``), before its adoption and ever after.
Nothing is changed here; ``repair`` names what the store itself would mend.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from harness_core.adoption import adopted
from harness_core.case import Case
from harness_core.invariants import check_state

from . import legacy_fsck
from .fsck_bindings import check_bindings
from .fsck_bytes import (
    FORMAT,
    UNREADABLE,
    Head,
    check_chain,
    check_framing,
    check_head,
    head_of,
    lines_of,
    parse,
    read,
    record_on,
)
from .fsck_meaning import check_artifacts, check_invariants, check_projections, events_of
from .fsck_verdicts import Check, Verdict, verdict_of

__all__ = ["CaseReport", "Check", "StoreReport", "Verdict", "check_case", "check_store"]

LOOKS = 5
"""How often something that keeps changing is looked at."""
_CASE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


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
    log = read(folder / "events.jsonl")
    contents = (log, read(folder / "case.md"))
    closed = tuple(found for found in contents if isinstance(found, str) and UNREADABLE in found)
    if closed:
        return _every(folder, Verdict.NOT_CHECKABLE, closed)
    lines, tail = lines_of(log if isinstance(log, bytes) else b"")
    head, block, block_fault = head_of(folder / "case.md")
    journal = _journal(folder)
    if journal is not None and (head is None or head.state):
        lines, head, block, block_fault = _settled(journal, lines, head, block, block_fault)
        log = b"" if journal.lines and isinstance(log, str) else log
    framed = [record_on(line) for line in lines]
    if head is None and journal is None and _never_opened(framed, block_fault):
        return _every(folder, Verdict.OK, (), "an open was begun and never acknowledged")
    framing = check_framing(framed, tail, head)
    chain = check_chain(lines, framed, head)
    head_check, untidy = check_head(framed, tail, head, block_fault, log)
    if (folder / ".read-only").exists():
        untidy = (*untidy, ".read-only: a write failed and could not be taken back; the case is not written to")
    if journal is not None:
        untidy = (*untidy, "a journal of release 1.2.0 was not settled")
    records = [record for record in framed if isinstance(record, dict)][: head.count if head else None]
    old = [record for record in records if legacy_fsck.is_old(record)]
    held = framing.verdict is Verdict.OK and chain.verdict is Verdict.OK
    broken = "the chain does not hold, so its records are not interpreted"
    events, meaning = events_of(records[len(old) :]) if held else ((), broken)
    if held and old and not events and not meaning:
        case, invariants = _unadopted(folder.name, block, old)
    else:
        case, invariants = check_invariants(events, meaning, folder.name.partition(".")[0])
    projections, torn = check_projections(case, block, folder, events, old)
    return CaseReport(
        folder.name,
        (framing, chain, head_check, projections, check_artifacts(case, folder), invariants),
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
    data = read(folder / "archive" / ".pending-transition.json")
    if isinstance(data, str):
        return None
    try:
        return legacy_fsck.read_journal(folder.name, parse(data.decode("utf-8")))
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
    return case, verdict_of("invariants", [f"{v.invariant}: {v.problem}" for v in check_state(case)])


# --- what cases have in common ---


def _format(root: Path, cases: Sequence[CaseReport]) -> Check:
    data = read(root / "format.json")
    if isinstance(data, str) and (not cases or any(report.old for report in cases)):
        return Check("format", Verdict.OK, ("it names none, as release 1.2.0 did",) if cases else ())
    if isinstance(data, str):
        return Check("format", Verdict.NOT_CHECKABLE, (data,))
    try:
        number = parse(data.decode("utf-8"))["format"]
    except (UnicodeDecodeError, ValueError, KeyError, TypeError):
        return Check("format", Verdict.VIOLATED, ("format.json says no format",))
    return verdict_of("format", [] if number == FORMAT else [f"the store has format {number}"])


def _bindings(root: Path, cases: Sequence[CaseReport]) -> tuple[Check, tuple[str, ...]]:
    decisive = {"framing", "chain", "head", "invariants"}
    unread = {r.case_id for r in cases if any(c.name in decisive and c.verdict is not Verdict.OK for c in r.checks)}
    folded = [report.case for report in cases if report.case is not None and report.case_id not in unread]
    data = read(root / "sessions.json")
    found = check_bindings(root, data if isinstance(data, bytes) else None, folded, unread)
    verdict = Verdict.VIOLATED if found.faults else Verdict.NOT_CHECKABLE if found.unknown else Verdict.OK
    return Check("bindings", verdict, (*found.faults, *found.unknown)), tuple(found.untidy)
