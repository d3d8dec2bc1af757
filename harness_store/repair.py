"""Putting a store in order: what could be made good is named first, and then exactly that is done.

Nothing is made good that would hide a loss: a log that is broken or shorter than its head stays as it is, and its case
can be moved aside.  What can be made good is what the Timelines themselves say: a transition that was written and never
acknowledged, a tail that never happened, a ``case.md`` or an archive snapshot beside a whole log, the bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from attrs import frozen

from harness_core.errors import Damaged

from .case_files import PROJECTION, Examined, encode_projection
from .codec import Audited, CaseCodec
from .disk import Disk, make_folder, read_file, reporting, write_undurably
from .fsck_receipt import receipt_faults
from .heads import Block, Head, read_block
from .journal import MARK
from .layout import Layout
from .portfolio import Portfolio
from .receipts import RECEIPT
from .records import scan
from .registry import Registry


class Kind(StrEnum):
    """What a repair does."""

    UNMARK = "unmark"
    SETTLE = "settle"
    PROJECT = "project"
    ARCHIVE = "archive"
    FORGET = "forget"
    BINDINGS = "bindings"


@frozen
class Repair:
    """One thing that would be done: to which case (``None``: to the store), to which file, and what, as a sentence."""

    kind: Kind
    case_id: str | None
    file: str
    does: str


class Repairs:
    """The repairs of one store."""

    def __init__(self, disk: Disk, layout: Layout, cases: Portfolio, registry: Registry) -> None:
        self._disk = disk
        self._layout = layout
        self._cases = cases
        self._registry = registry

    def plan(self, only: str | None = None) -> tuple[Repair, ...]:
        """What could be made good, in the store or in one case of it.  Changes nothing.  Raises ``Unavailable``."""
        ids = [case_id for case_id in self._cases.ids() if only in (None, case_id)]
        found = [repair for case_id in ids for repair in self._of_case(case_id)]
        return (*found, *(self._of_store(ids) if only is None else ()))

    def carry_out(self, repair: Repair, wait: float) -> bool:
        """Do one repair of a plan, and nothing else; false where it is no longer called for.

        Raises ``Damaged`` and ``Unavailable``.
        """
        steps: Mapping[Kind, Callable[[Repair, float], None]] = {
            Kind.UNMARK: self._unmark,
            Kind.SETTLE: self._settle,
            Kind.PROJECT: self._project,
            Kind.ARCHIVE: self._archive,
            Kind.FORGET: self._forget,
            Kind.BINDINGS: lambda _, budget: self._registry.rebuild(budget),
        }
        if repair not in self.plan(repair.case_id):
            return False
        steps[repair.kind](repair, wait)
        return True

    def _of_case(self, case_id: str) -> Iterator[Repair]:
        folder = self._layout.case(case_id)
        with reporting(f"looking at case {case_id}"):
            marked = self._disk.stat(folder / MARK) is not None
        if marked:
            yield Repair(Kind.UNMARK, case_id, MARK, "let the case be written to again; the disk must be sound by now")
        examined = self._cases.journal(case_id).examine()
        verdict = examined.verdict
        if not verdict.findings:
            beyond = verdict.sound.count - verdict.acknowledged.count
            done = [f"acknowledge {beyond} records that were written and not acknowledged"] if beyond else []
            done += [f"keep {verdict.tail} bytes that never happened beside the log and cut them"] * bool(verdict.tail)
            if done:
                yield Repair(Kind.SETTLE, case_id, "events.jsonl", "; ".join(done))
            yield from self._of_archive(case_id, folder)
            state = examined.acknowledged.state
            if state is not None and any(receipt_faults(state.case, folder)):
                yield Repair(Kind.FORGET, case_id, RECEIPT, "take it away; the next writer leaves a right one")
        elif all(finding.where == PROJECTION for finding in verdict.findings):
            count = self._whole(case_id, examined).count
            if count:
                why = "; ".join(finding.problem for finding in verdict.findings)
                does = f"make it anew from the {count} records of the log, which all hold; keep what is there ({why})"
                yield Repair(Kind.PROJECT, case_id, PROJECTION, does)

    def _whole(self, case_id: str, examined: Examined[Audited]) -> Head:
        """The head at the end of a log that holds to its last byte; an empty one where it does not."""
        found = scan(examined.data)
        means = self._cases.journal(case_id).furthest() is not None
        if found.stop is not None or found.end.legacy or not means:
            return Head()
        return Head(found.end.count, found.end.hash)

    def _of_archive(self, case_id: str, folder: Path) -> Iterator[Repair]:
        for name, text in self._snapshots(case_id).items():
            with reporting(f"looking at the archive of case {case_id}"):
                try:
                    found = read_file(self._disk, folder / "archive" / name)
                except IsADirectoryError:
                    continue
            have = read_block(found[0].decode("utf-8", "replace")) if found else None
            want = read_block(text)
            if not (isinstance(have, Block) and isinstance(want, Block) and have.content == want.content):
                yield Repair(Kind.ARCHIVE, case_id, f"archive/{name}", "make it anew from the Timeline")

    def _snapshots(self, case_id: str) -> Mapping[str, str]:
        """The archive that the acknowledged Timeline amounts to: one text for each version of the model."""
        found = scan(self._cases.journal(case_id).examine().data)
        codec, state, done, texts = CaseCodec(case_id), None, 0, dict[str, str]()
        own = [position for position in found.positions[1:] if not position.legacy]
        if len(own) < len(found.positions) - 1:
            return {}  # adopted from release 1.2.0, which archived otherwise
        for position in own:
            state = codec.fold(state, found.records[done : position.count])
            done = position.count
            name = f"case-v{state.case.version:04d}.md"
            if name not in texts:
                texts[name] = codec.project(state, Head(position.count, position.hash))
        return texts

    def _of_store(self, ids: list[str]) -> Iterator[Repair]:
        if any(self._cases.journal(case_id).examine().verdict.findings for case_id in ids):
            return  # a damaged case keeps its sessions; it is dealt with first
        if self._registry.differs():
            yield Repair(Kind.BINDINGS, None, "sessions.json", "make it anew from the Timelines")

    # --- doing it ---

    def _unmark(self, repair: Repair, wait: float) -> None:
        with self._cases.journal(_case_of(repair)).lock(wait) as writer:
            writer.lift_read_only()

    def _settle(self, repair: Repair, wait: float) -> None:
        self._registry.bindings(wait)  # what a dead process had intended for this case is settled with it
        self._cases.now(_case_of(repair), wait)

    def _project(self, repair: Repair, wait: float) -> None:
        case_id = _case_of(repair)
        journal = self._cases.journal(case_id)
        with journal.lock(wait) as writer:
            head, state = self._whole(case_id, writer.examine()), journal.furthest()
            if not head.count or state is None:
                raise Damaged(f"case {case_id}: the log does not hold", code="record_broken", where="events.jsonl")
            writer.replace_projection(encode_projection(CaseCodec(case_id).project(state, head)))

    def _archive(self, repair: Repair, wait: float) -> None:
        case_id = _case_of(repair)
        path = self._layout.case(case_id) / repair.file
        text = self._snapshots(case_id)[path.name]
        with self._cases.journal(case_id).lock(wait), reporting(f"archiving case {case_id}"):
            make_folder(self._disk, path.parent)
            write_undurably(self._disk, path, encode_projection(text))

    def _forget(self, repair: Repair, wait: float) -> None:
        case_id = _case_of(repair)
        with self._cases.journal(case_id).lock(wait), reporting(f"taking away the receipt of case {case_id}"):
            self._disk.unlink(self._layout.case(case_id) / repair.file)


def _case_of(repair: Repair) -> str:
    if repair.case_id is None:
        raise ValueError("this repair is about the store")
    return repair.case_id
