"""``fsck``, ``case quarantine`` and ``case export``: checking a store down to its bytes, and putting it in order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import asdict
from rich.text import Text

from harness_core.errors import HarnessError
from harness_store import Harness
from harness_store.disk import PosixDisk, reporting
from harness_store.export import unpacked
from harness_store.fsck import Check, StoreReport, Verdict, check_case, check_store
from harness_store.repair import Repair

from .cases import CaseId
from .output import AsJson, Root, answer, console, errors, fail, root_of

PARTS = ("cases", "sessions.json", "format.json", ".store.lock")
"""What tells a store, however little is left of it."""
COLOURS = {Verdict.OK: "green", Verdict.VIOLATED: "red", Verdict.NOT_CHECKABLE: "yellow"}

OneCase = Annotated[str | None, typer.Option("--case", help="Check only this case.", show_default=False)]
Mend = Annotated[bool, typer.Option("--repair", help="Say what could be made good, and then do exactly that.")]
Archive = Annotated[
    Path | None, typer.Option("--export", help="Check a file that `case export` wrote instead.", show_default=False)
]


def fsck(
    case: OneCase = None, repair: Mend = False, export: Archive = None, root: Root = None, as_json: AsJson = False
) -> None:
    """Check a store down to its bytes, with code of its own: one verdict for each of framing, chain, head, projections,
    artifacts, invariants and bindings.

    Without --repair nothing is changed and what could be made good is only named.  Exit status 1 where anything is
    violated or could not be checked.
    """
    if export is not None and (case is not None or repair):
        fail("--export goes with neither --case nor --repair", as_json, "usage")
    where, plan, done = root_of(root), tuple[Repair, ...](), list[Repair]()
    if root is not None and export is None and not any((where / name).exists() for name in PARTS):
        fail(f"there is no store at {where}", as_json, "no_store")
    with errors(as_json, OSError, ValueError):
        found = check_store(where, case) if export is None else _of_export(export)
        if case is not None and not found.cases:
            fail(f"there is no case {case} in {where}", as_json, "no_case")
        if export is None and found.cases:
            plan = _planned(where, case, strict=repair)
        if not as_json:
            _show(found, plan)
        if repair and plan:
            done.extend(_carried_out(where, plan))
            found = check_store(where, case)
    rows = [{**asdict(planned), "done": planned in done} for planned in plan]
    value = {**_as_json(found), "repairs": rows, "sound": found.sound}
    answer(value, as_json, lambda: _conclude(found, plan, done, repair))
    if not found.sound:
        raise typer.Exit(1)


def _planned(root: Path, case: str | None, *, strict: bool) -> tuple[Repair, ...]:
    """What could be made good.  A store that cannot be opened is checked all the same, unless it is to be repaired."""
    try:
        return Harness(root, read_only=True).repairs(case)
    except HarnessError:
        if strict:
            raise
        return ()


def _of_export(archive: Path) -> StoreReport:
    with tempfile.TemporaryDirectory() as scratch:
        return StoreReport((check_case(unpacked(PosixDisk(), archive, Path(scratch))),), ())


def _carried_out(root: Path, plan: Sequence[Repair]) -> Iterator[Repair]:
    harness = Harness(root)
    for planned in plan:
        if harness.repair(planned):
            yield planned


def _as_json(found: StoreReport) -> dict[str, Any]:
    return {
        "cases": [
            {
                "case_id": report.case_id,
                "sound": report.sound,
                "checks": [asdict(check) for check in report.checks],
                "untidy": report.untidy,
            }
            for report in found.cases
        ],
        "checks": [asdict(check) for check in found.checks],
        "untidy": found.untidy,
        "quarantined": found.aside,
    }


def _show(found: StoreReport, plan: Sequence[Repair]) -> None:
    for report in found.cases:
        _show_checks(report.case_id, report.checks, report.untidy)
    _show_checks("store", found.checks, found.untidy)
    for name in found.aside:
        console.print(f"{name}: moved aside, not checked")
    for planned in plan:
        console.print(f"can be repaired: {_line(planned)}")


def _conclude(found: StoreReport, plan: Sequence[Repair], done: Sequence[Repair], repair: bool) -> None:
    if repair:
        for planned in plan:
            console.print(f"{'repaired' if planned in done else 'no longer needed'}: {_line(planned)}")
    console.print("everything holds" if found.sound else "not everything holds")


def _line(planned: Repair) -> str:
    return f"{planned.case_id or 'store'}, {planned.file}: {planned.does}"


def _show_checks(name: str, checks: Sequence[Check], untidy: Iterable[str]) -> None:
    """One line for a case that holds; for one that does not, each check with its reasons."""
    if all(check.verdict is Verdict.OK for check in checks):
        console.print(Text.assemble(f"{name}  ", (Verdict.OK.value, COLOURS[Verdict.OK])))
    else:
        for check in checks:
            verdict = (f"{check.verdict.value:<14}", COLOURS[check.verdict])
            console.print(Text.assemble(f"{name}  ", verdict, check.name))
            for reason in check.reasons:
                console.print(f"    {reason}")
    for remark in untidy:
        console.print(f"{name}  untidy: {remark}")


def quarantine(case_id: CaseId, root: Root = None, as_json: AsJson = False) -> None:
    """Move a case aside and free its session.  Every byte of it stays, under another name beside the other cases."""
    with errors(as_json):
        moved = Harness(root_of(root)).quarantine(case_id)
    freed = ", ".join(moved["freed"]) or "none"
    answer(moved, as_json, lambda: console.print(f"{case_id} is now cases/{moved['folder']}; sessions freed: {freed}"))


def export(
    case_id: CaseId,
    file: Annotated[Path, typer.Argument(help="The tar file to write; it must not be there yet.", show_default=False)],
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Write one case, sound or damaged, into one file that `fsck --export` verifies anywhere."""
    with errors(as_json):
        data = Harness(root_of(root), read_only=True).export(case_id)
        disk = PosixDisk()
        with reporting(f"writing {file}"):
            fd = disk.create(file)
            try:
                disk.write(fd, data, 0)
                disk.sync(fd)
            finally:
                disk.close(fd)
    value = {"case_id": case_id, "file": str(file), "bytes": len(data)}
    answer(value, as_json, lambda: console.print(f"{case_id}: {len(data)} bytes in {file}"))
