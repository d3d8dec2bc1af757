"""All cases of a store: their journals, and what they look like to a reader.

Reading never changes a byte.  A damaged case concerns nobody but those who ask for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from attrs import frozen

from harness_core.adoption import outlined
from harness_core.case import Artifact, Case, document
from harness_core.commands import List
from harness_core.errors import Damaged, Unavailable
from harness_core.replay import Findings, report
from harness_core.structuring import is_case_id
from harness_core.vocabulary import ProbeStatus

from . import artifacts
from .case_files import PROJECTION
from .catalogue import Catalogue
from .codec import Audited, CaseCodec
from .disk import Disk, Stat, read_file, reporting, write_undurably
from .export import export
from .heads import Block, read_block
from .journal import Journal, Report
from .layout import Layout, no_case

EXPORT_WAIT = 10.0
"""Seconds that an export waits for a writer of its case."""


@frozen
class View:
    """A case as a reader gets it: its document, its audit, and the state behind them where there is one."""

    document: Mapping[str, Any]
    replay: Mapping[str, Any]
    case: Case | None


class Portfolio:
    """The cases under ``layout``.  Safe to share among threads."""

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout
        self._journals: dict[str, Journal[Audited]] = {}
        self._checked: dict[Path, Stat] = {}  # artifacts as they were when their content was last found right
        self.catalogue = Catalogue(disk, layout, self.journal)

    def journal(self, case_id: str) -> Journal[Audited]:
        """The journal of a case, which need not exist yet."""
        found = self._journals.get(case_id)
        if found is None:
            made: Journal[Audited] = Journal(self._disk, self._layout.case(case_id), CaseCodec(case_id))
            found = self._journals.setdefault(case_id, made)
        return found

    def ids(self) -> Sequence[str]:
        """The ids of everything that looks like a case, sorted."""
        with reporting("listing the cases"):
            if self._disk.stat(self._layout.cases) is None:
                return ()
            names = self._disk.listdir(self._layout.cases)
            return tuple(
                name
                for name in names
                if is_case_id(name) and (found := self._disk.stat(self.journal(name).folder)) and found.kind == "folder"
            )

    def now(self, case_id: str, wait: float | None = None) -> Case | None:
        """The case as its Timeline now gives it, taken over under its lock; ``None`` where it was never opened.

        Raises ``Damaged`` and ``Unavailable``."""
        with self.journal(case_id).lock(wait) as writer:
            state = writer.refresh().state
        return None if state is None else state.case

    def every(self) -> Iterator[Case]:
        """Every case as far as it can be believed; of a damaged one that is the part before the damage.

        Raises ``Unavailable`` where one cannot be read now: that does not make it a case that is not there.
        """
        for case_id in self.ids():
            case = self._believable(case_id)
            if case is not None:
                yield case

    def _believable(self, case_id: str) -> Case | None:
        state = self._readable(case_id)
        return self._outlined(case_id) if state is None else state.case

    def _outlined(self, case_id: str) -> Case | None:
        """Of a damaged case of release 1.2.0, which kept its state in ``case.md`` alone, what its records still say."""
        block = self._block(case_id)
        return outlined(case_id, self.journal(case_id).records(), None if block is None else block.content)

    def _readable(self, case_id: str) -> Audited | None:
        try:
            return self.journal(case_id).read().state
        except Damaged:
            return self.journal(case_id).verify().snapshot.state

    def require(self, case_id: str) -> None:
        """Refuse an id that no case has."""
        with reporting(f"looking for case {case_id}"):
            if self._disk.stat(self._layout.case(case_id)) is None:
                raise no_case(case_id)

    def is_unfinished(self, case_id: str) -> bool:
        """Whether the log, as far as it was last read, goes on beyond what is acknowledged.  One ``stat``."""
        with reporting(f"looking at case {case_id}"):
            return self.journal(case_id).is_unfinished()

    def taken_over(self, case_id: str, wait: float) -> Audited | None:
        """The state with everything that stands, acknowledged under the case's lock.  Raises as ``Writer.refresh``."""
        with self.journal(case_id).lock(wait) as writer:
            return writer.refresh().state

    def claimed_tools(self, case_id: str, session_id: str) -> frozenset[str]:
        """The tools of a damaged case's pending probe by whatever of it can still be read, head or no head.

        To be careful by, never to build on: what ran under a commitment must not run again because its record broke.
        """
        tools = set()
        furthest = self.journal(case_id).furthest()
        for shown in (None if furthest is None else document(furthest.case), self._content(case_id)):
            probe = None if shown is None or shown.get("session_id") != session_id else shown.get("pending_probe")
            if isinstance(probe, Mapping) and probe.get("status") != ProbeStatus.OBSERVED.value:
                tools.add(str(probe.get("tool_name")))
        return frozenset(tools)

    def _content(self, case_id: str) -> Mapping[str, Any] | None:
        block = self._block(case_id)
        return None if block is None else block.content

    def believed(self, case_id: str) -> tuple[Audited | None, str]:
        """The case as far as it can be believed, and what is wrong with the rest (empty where nothing is)."""
        try:
            return self.journal(case_id).read().state, ""
        except Damaged as error:
            return self.journal(case_id).verify().snapshot.state, str(error)

    def records(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        """The acknowledged records of a case; of a damaged one, every one that holds.

        Raises ``Refused(code="no_case")``, ``Unavailable``."""
        self.require(case_id)
        return self.journal(case_id).records()

    def archive(self, case_id: str, version: int, projection: bytes) -> None:
        """Keep ``projection``, which is ``case.md`` now, as that of a version of the model, for people.

        Under the case's lock.  Not synced: the Timeline has it all.  Raises ``Unavailable``.
        """
        folder = self._layout.case(case_id) / "archive"
        with reporting(f"archiving version {version} of case {case_id}"):
            with contextlib.suppress(FileExistsError):
                self._disk.mkdir(folder)  # unsynced as well: whoever keeps an artifact there syncs its name
            write_undurably(self._disk, folder / f"case-v{version:04d}.md", projection)

    # --- one case, as a reader gets it ---

    def glance(self, case_id: str) -> View:
        """The acknowledged case, verified as far as this process has not seen it; the whole of it where something is
        odd.  Raises ``Refused(code="no_case")``, ``Damaged`` where nothing can be read, ``Unavailable``."""
        try:
            state = self.journal(case_id).read().state
        except Damaged:
            return self.view(case_id)
        if state is None:
            raise no_case(case_id)
        return self.after_write(state)

    def after_write(self, state: Audited) -> View:
        """The view of a state whose bytes this process has just written or verified; of its artifacts those are looked
        into that do not look as they did."""
        try:
            faults = self.artifact_faults(state.case, thorough=False)
        except Unavailable as error:  # what was written stands, whether or not its artifacts can be looked at now
            faults = (f"the artifacts could not be looked at ({error.code})",)
        marks = Findings(artifacts=faults)
        return View(document(state.case), report(state.case, state.violations, marks), state.case)

    def view(self, case_id: str) -> View:
        """The case verified from its first byte to its last, with everything that is wrong said in ``replay``.

        Raises ``Refused(code="no_case")``, ``Damaged`` where nothing of it can be read, ``Unavailable``.
        """
        found = self.journal(case_id).verify()
        state = found.snapshot.state
        if found.findings:
            self._require_identity(case_id)
        if state is None:
            return self._unverified(case_id, found)
        marks = findings_of(found, self.artifact_faults(state.case))
        return View(document(state.case), report(state.case, state.violations, marks), state.case)

    def _require_identity(self, case_id: str) -> None:
        """A ``case.md`` that belongs to another case is no damage to be looked past: who asked has the wrong case."""
        block = self._block(case_id)
        named = case_id if block is None else block.content.get("case_id")
        if named != case_id:
            raise Damaged(
                f"case {case_id}: identity: case.md is that of case {named}; its Timeline is untouched",
                code="identity",
                where=f"cases/{case_id}/case.md",
                works="the Timeline holds the case; put its own case.md back, or quarantine it",
            )

    def _unverified(self, case_id: str, found: Report[Audited]) -> View:
        """What ``case.md`` says, where no state can be believed, named as what it is."""
        if not found.findings:
            raise no_case(case_id)
        marks = findings_of(found, ())
        block = self._block(case_id)
        if block is None:
            raise damaged(case_id, found)
        shown = {name: value for name, value in block.content.items() if name != "integrity"}
        lost = "no record is left to hold it against"
        timeline = {"valid": False, "event_count": 0, "error": marks.timeline}
        reason = f"Timeline integrity failure: {marks.timeline}"
        if not marks.timeline:  # of release 1.2.0, which kept the case nowhere else
            timeline = {"valid": True, "event_count": found.snapshot.count}
            reason = f"case snapshot integrity failure: {marks.snapshot}"
        replay = {
            "usable": False,
            "reason": reason,
            "problems": [reason],
            "timeline": timeline,
            "case_snapshot": {"valid": False, "error": marks.snapshot or lost},
            "artifacts": {"valid": True, "errors": []},
            "accounting": {},
            "violations": [],
        }
        return View(shown, replay, None)

    def _block(self, case_id: str) -> Block | None:
        with reporting(f"reading case {case_id}"):
            try:
                found = read_file(self._disk, self._layout.case(case_id) / PROJECTION)
            except IsADirectoryError:
                return None
        read = read_block(found[0].decode("utf-8", "replace")) if found else None
        return read if isinstance(read, Block) else None

    def export(self, case_id: str) -> bytes:
        """The case as a tar file (see ``export``), while its writers are kept away.  Raises ``Unavailable``."""
        self.require(case_id)
        with reporting(f"exporting case {case_id}"), self.journal(case_id).still(EXPORT_WAIT):
            return export(self._disk, self._layout.case(case_id), case_id)

    def artifact_faults(self, case: Case, *, thorough: bool = True) -> tuple[str, ...]:
        """What is wrong with the kept observations of a case, one sentence each.

        ``thorough`` reads them all; otherwise those whose content was found right before, and that look as they did
        then, cost one ``stat``.
        """
        faults = []
        for event_id, kept in sorted(case.artifacts.items()):
            wrong = self._artifact_fault(self.journal(case.case_id).folder, kept, thorough)
            if wrong is not None:
                faults.append(f"{kept.path} of {event_id}: {wrong}")
        return tuple(faults)

    def _artifact_fault(self, folder: Path, kept: Artifact, thorough: bool) -> str | None:
        path = folder / kept.path
        with reporting("looking at an artifact"):
            now = self._disk.stat(path)
        if not thorough and now is not None and self._checked.get(path) == now:
            return None
        wrong = artifacts.check_artifact(self._disk, folder, artifacts.Artifact(kept.path, kept.sha256, kept.bytes))
        if wrong is None and now is not None:
            self._checked[path] = now
        return wrong

    # --- all of them ---

    def listing(self, request: List) -> dict[str, Any]:
        """The ``list`` answer, less ``runtime``: newest update first, damaged cases by id under ``case_errors``."""
        found = self.catalogue.look()
        errors = {case_id: entry.error for case_id, entry in found.items() if entry.error}
        matching = _matching((entry.card.summary for entry in found.values() if entry.card), request)
        # They come in the order of their ids, and sorting keeps that among updates of one time.
        shown = sorted(matching, key=itemgetter("updated_at"))[::-1][: request.limit]
        return {
            "returned": len(shown),
            "total_matching": len(matching),
            "filters": {
                "status": None if request.status_filter is None else request.status_filter.value,
                "session_id": (request.session_id_filter or "").strip() or None,
                "limit": request.limit,
            },
            "cases": [{**entry, "session_ids": [*entry["session_ids"]]} for entry in shown],
            "case_errors": errors,
        }


def _matching(entries: Iterable[Mapping[str, Any]], request: List) -> Sequence[Mapping[str, Any]]:
    status, wanted = request.status_filter, (request.session_id_filter or "").strip()
    if status is not None:
        entries = [entry for entry in entries if entry["status"] == status.value]
    return [entry for entry in entries if wanted in entry["session_ids"]] if wanted else [*entries]


def findings_of(found: Report[Audited], artifact_faults: Sequence[str]) -> Findings:
    """What the journal found, told apart by the file it concerns."""
    projection = [str(f) for f in found.findings if f.where == PROJECTION]
    rest = [str(f) for f in found.findings if f.where != PROJECTION]
    return Findings(timeline="; ".join(rest), snapshot="; ".join(projection), artifacts=tuple(artifact_faults))


def damaged(case_id: str, found: Report[Audited]) -> Damaged:
    """What a verification found, as an error."""
    first = found.findings[0]
    text = f"case {case_id}: {'; '.join(map(str, found.findings))}"
    return Damaged(text, code=first.code, where=str(first), works="other cases are not concerned")


def raise_findings(case_id: str, found: Report[Audited]) -> None:
    """Raise ``Damaged`` for what a verification found; nothing where it found nothing."""
    if found.findings:
        raise damaged(case_id, found)
