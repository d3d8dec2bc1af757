"""One case's Timeline on disk: appended to, projected into ``case.md``, taken over after a crash.

The ``case.md`` that is to name the new head is written aside; a transition is committed by one write of all its lines
to ``events.jsonl`` and one sync; then that ``case.md`` is put in its place, durably; only then is it acknowledged.
``Journal`` reads without a lock and shows the acknowledged prefix; ``Journal.lock`` gives a ``Writer``, which alone
repairs and appends.

A journal remembers what it has seen: a process that goes on from its own last write reads nothing again, and a reader
reads only what was added.  A holder that does not go on from its own last write first makes durable what it builds on,
because what it sees may be in the memory of the machine only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic

from attrs import evolve, frozen

from harness_core.errors import Damaged, Fault, Refused, Unavailable

from . import legacy
from .case_files import LOG, PROJECTION, CaseFiles, Codec, Examined, S, Seen, Snapshot, encode_projection, nothing_yet
from .disk import Disk, Stat, make_folder, opened, read_file, reporting, stage, unavailable, write_durably
from .heads import Head
from .locks import FileLock, Hold
from .logs import log
from .records import scan, seal
from .verdicts import Finding

__all__ = ["Codec", "Journal", "Report", "Snapshot", "Writer"]

LOCK = ".case.lock"
MARK = ".read-only"
"""A failed write could not be taken back: the case is not written to until somebody has looked at the disk."""

_SECOND_LOOK = 5.0
"""Seconds that a reader waits for the lock before it calls something damaged."""


@frozen
class Report(Generic[S]):
    """What a verification of the whole case found.  Without ``findings`` it is sound and ``snapshot`` is its
    acknowledged state; with some, ``snapshot`` is as far as it can still be read and believed."""

    snapshot: Snapshot[S]
    findings: tuple[Finding, ...]


class Journal(Generic[S]):
    """The Timeline in ``folder`` (``cases/<id>``, which need not exist yet).  Safe to share among threads."""

    def __init__(self, disk: Disk, folder: Path, codec: Codec[S]) -> None:
        self.folder = folder
        self.name = f"case {folder.name}"
        self._files = CaseFiles(disk, folder, codec)
        self._lock = FileLock(disk, folder / LOCK, self.name)
        self._mark = folder / MARK
        self._seen: Seen[S] | None = None

    def __repr__(self) -> str:
        return f"<Journal of {self.name}>"

    def read(self, as_of: int | None = None) -> Snapshot[S]:
        """The acknowledged state, without a lock and without changing a byte.

        ``as_of`` asks for an earlier one: a count of records that ends a transition (0: before the first).  A case
        that is not there, or whose first transition was never acknowledged, gives an empty ``Snapshot``.

        Raises ``Damaged`` after a second look under the lock, ``Refused(code="as_of")`` for a count that ends no
        acknowledged transition, ``Unavailable`` when the disk fails or the lock for the second look is not had.
        """
        with reporting(f"reading {self.name}"):
            before = self._seen
            seen = self._files.glance(before)
            if seen is None:
                current = _sound(self.name, self._examine_twice()).acknowledged
            else:
                current = seen.snapshot
                if self._seen is before:  # never in the way of what a writer has come to know meanwhile
                    self._seen = seen
            return current if as_of is None or as_of == current.count else self._earlier(as_of, current)

    def card(self) -> tuple[Mapping[str, Any] | None, bool]:
        """The codec's card of the acknowledged state (``None`` without one), and whether it holds while log and
        ``case.md`` look the same.  Raises as ``read``."""
        snapshot, seen = self.read(), self._seen
        card = None if snapshot.state is None else self._files.codec.card(snapshot.state)
        return card, seen is not None and not seen.position.legacy

    def verify(self) -> Report[S]:
        """Check the whole case from the first byte, whatever this process remembers of it; changes nothing.

        A finding is only reported after a second look under the lock.  Raises ``Unavailable`` like ``read``.
        """
        with reporting(f"verifying {self.name}"):
            examined = self._examine_twice()
        return Report(examined.acknowledged, examined.verdict.findings)

    def examine(self) -> Examined[S]:
        """What ``verify`` found, with the log and the judgement behind it.  Raises ``Unavailable`` like ``read``."""
        with reporting(f"examining {self.name}"):
            return self._examine_twice()

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The acknowledged records; of a damaged case, every one that holds.  Raises as ``verify``."""
        with reporting(f"reading {self.name}"):
            examined = self._examine_twice()
        found, verdict = scan(examined.data).records, examined.verdict
        return found if verdict.findings else found[: verdict.acknowledged.count]

    def stamp(self) -> tuple[Stat | None, ...]:
        """What tells one state of the files from another: while it stays equal, a verification need not be repeated.

        Raises ``Unavailable``."""
        with reporting(f"looking at {self.name}"):
            return self._files.stamp()

    def is_unfinished(self) -> bool:
        """Whether the log goes on beyond the state that was last read.  One ``stat``; may raise ``OSError``."""
        seen, found = self._seen, self._files.disk.stat(self._files.log)
        return seen is not None and found is not None and found.size > seen.position.end

    def furthest(self) -> S | None:
        """The state at the end of all that holds in the log, whatever the head says.  For caution only: what lies
        beyond the head may never have happened.  Raises ``Unavailable`` when the disk fails."""
        with reporting(f"reading {self.name}"), contextlib.suppress(Damaged):
            return self._files.fold(None, self._files.records())
        return None

    @contextlib.contextmanager
    def still(self, wait: float) -> Iterator[None]:
        """Keep writers away for the length of a block, and change nothing: without a lock file there are none."""
        try:
            hold = self._lock.acquire(wait, create=False)
        except FileNotFoundError:
            yield
            return
        with hold:
            yield

    @contextlib.contextmanager
    def lock(self, wait: float | None = None) -> Iterator[Writer[S]]:
        """Hold the case's lock for the length of a block; ``wait`` in seconds as in ``FileLock.acquire``.

        A case whose folder does not exist is not made by this: the folder comes with the first ``append``, and until
        then there is nothing to lock.  (Who opens cases holds the store's lock, so nobody else makes it meanwhile.)
        """
        try:
            hold = self._lock.acquire(wait)
        except FileNotFoundError:
            hold = None
        writer = Writer(self, self._files, hold, wait)
        try:
            yield writer
        finally:
            writer._end()

    def _earlier(self, as_of: int, current: Snapshot[S]) -> Snapshot[S]:
        earlier = self._files.earlier(as_of, current.count) if 0 <= as_of < current.count else (0, current.count)
        if isinstance(earlier, Snapshot):
            return earlier
        if earlier[-1] != current.count:  # the log is shorter than it was a moment ago
            _sound(self.name, self._examine_twice())
            raise Unavailable(f"{self.name} is changing; nothing was read, try again", code="changed")
        ends = [count for count in earlier if count]
        near = max((count for count in ends if count <= as_of), default=min(ends))
        fault = Fault("as_of", f"{as_of} is not the end of a transition", f"for example {near} or {current.count}")
        raise Refused(f"{self.name}: {fault}", code="as_of", fields=[fault])

    def _examine_twice(self) -> Examined[S]:
        """Examine without a lock, and under it before anything is called damaged.

        Where there is no lock file no writer of ours has ever been, and a reader does not make one.
        """
        examined = self._files.examine()
        while examined.verdict.findings:
            try:
                hold = self._lock.acquire(_SECOND_LOOK, create=False)
            except FileNotFoundError:
                examined = self._files.examine()
                if self._files.disk.stat(self._lock.path) is None:
                    break
            else:
                with hold:
                    examined = self._files.examine()
                break
        return examined


class Writer(Generic[S]):
    """A case under its lock, as ``Journal.lock`` gives it.  Of no use after the block."""

    def __init__(self, journal: Journal[S], files: CaseFiles[S], hold: Hold | None, wait: float | None) -> None:
        self._journal = journal
        self._files = files
        self._disk = files.disk
        self._hold = hold  # None: the case has no folder yet
        self._wait = wait
        self._ended = False
        self._fresh: Seen[S] | None = None  # what stands, looked at under this lock and since its last write
        self.projected = b""
        """``case.md`` as the last ``append`` wrote it."""

    def refresh(self) -> Snapshot[S]:
        """The state to decide on: what stands, made durable and projected, with whatever never happened cut off.

        Costs three ``stat``s when the files are as this process left them, and little more when another process of ours
        left them so (see ``receipts``); otherwise everything is read and verified.
        A tail that was never acknowledged is kept as ``events.jsonl.broken-N``.

        Raises ``Damaged`` (nothing was changed), ``Unavailable(code="read_only")`` where a failed write could not be
        taken back, ``Unavailable`` when the disk fails.
        """
        return self._current().snapshot

    def verify(self) -> Report[S]:
        """``Journal.verify`` under the lock."""
        examined = self.examine()
        return Report(examined.acknowledged, examined.verdict.findings)

    def examine(self) -> Examined[S]:
        """``Journal.examine`` under the lock."""
        self._check()
        with reporting(f"examining {self._journal.name}"):
            return self._files.examine()

    def append(self, records: Sequence[Mapping[str, Any]]) -> Snapshot[S]:
        """Write one transition and return when it is acknowledged.

        ``records`` as ``records.seal`` wants them; event ids go on from ``refresh().count``.  The first transition
        makes the folder.

        Raises ``Damaged`` and ``Unavailable(written="no")`` as ``refresh`` does.  ``Unavailable`` after the write:
        ``no`` when it was taken back, ``yes`` when it is committed and only its acknowledgement failed, ``unknown``
        when taking back failed too.  ``ValueError`` for records or a projection that are not what they should be.
        """
        files, name = self._files, self._journal.name
        self._check()
        if self._hold is None:
            self._open()
        seen = self._current()
        sealed = seal(records, seen.position)
        # Everything that can go wrong in the domain goes wrong before the first byte is written.
        state = files.codec.fold(seen.snapshot.state, sealed.records)
        files.codec.admit(seen.snapshot.state, state)
        head = Head(sealed.position.count, sealed.position.hash)
        projection = encode_projection(files.codec.project(state, head))
        if head.hash.encode("ascii") not in projection:
            raise ValueError("the projection does not name its head")

        self._journal._seen = self._fresh = None  # until it is acknowledged this process knows nothing for certain
        if seen.log is None:
            self._make_log()
        with reporting(f"writing to {name}"):
            staged = stage(self._disk, files.projection, projection)
        with staged:  # what is full or broken shows before the first byte of the log; the log's sync takes it along
            self._commit(seen.pending + sealed.data, seen.written)
            with reporting(f"acknowledging a transition of {name}", written="yes"):
                staged.publish()
        with reporting(f"acknowledging a transition of {name}", written="yes"):
            if seen.journal is not None:
                self._drop_journal()
            left = self._disk.stat(files.log), self._disk.stat(files.projection)
        digest = seen.digest.copy() if seen.digest else None
        if digest is not None:
            digest.update(sealed.data)
        snapshot = Snapshot(state, head, sealed.position.transition)
        index = files.leave(state, sealed.position, left, seen.index, sealed.records)
        self._journal._seen = Seen(snapshot, sealed.position, digest, *left, durable=True, index=index)
        self.projected = projection
        return snapshot

    def lift_read_only(self) -> bool:
        """Take away the mark of a write that could not be taken back; whether there was one.  For repair only."""
        self._check()
        with reporting(f"lifting the mark of {self._journal.name}"):
            if self._disk.stat(self._journal._mark) is None:
                return False
            self._disk.unlink(self._journal._mark)
            self._fresh = None
            self._disk.sync_folder(self._files.folder)
        return True

    def replace_projection(self, data: bytes) -> None:
        """Put ``data`` in the place of ``case.md``, and keep what is there as ``case.md.replaced-N``.  For repair only.

        Raises ``Unavailable``.
        """
        self._check()
        with reporting(f"making the projection of {self._journal.name} anew"):
            found = read_file(self._disk, self._files.projection)
            if found is not None:
                self._keep(f"{PROJECTION}.replaced", found[0])
            write_durably(self._disk, self._files.projection, data)
        self._journal._seen = self._fresh = None

    def _check(self) -> None:
        if self._ended:
            raise RuntimeError("the case's lock is no longer held")

    def _end(self) -> None:
        self._ended = True
        if self._hold is not None:
            self._hold.release()

    def _open(self) -> None:
        # The intent to open was made durable first, and with it the names beside it: that of the folder of all cases.
        with reporting(f"opening {self._journal.name}"):
            made = make_folder(self._disk, self._files.folder, durable_above=True)
            self._hold = self._journal._lock.acquire(self._wait)
            self._fresh = None
            if made:
                self._journal._seen = nothing_yet(durable=True)
        if self._current().position.count:
            raise Unavailable(f"{self._journal.name} was opened by somebody else; nothing was written", code="changed")

    def _current(self) -> Seen[S]:
        self._check()
        if self._fresh is None:
            self._fresh = self._look()
        return self._fresh

    def _look(self) -> Seen[S]:
        name = self._journal.name
        with reporting(f"reading {name}"):
            seen = self._journal._seen
            if self._disk.stat(self._journal._mark) is not None:
                raise Unavailable(
                    f"{name} is read-only: an earlier write failed and could not be taken back. "
                    f"When the disk is sound again, remove {MARK} from its folder.",
                    code="read_only",
                )
            if seen is not None and seen.durable and self._files.unchanged(seen):
                return seen
            recalled = self._files.recall() if self._hold is not None else None
            if recalled is not None:
                self._journal._seen = recalled
                return recalled
            examined = _sound(name, self._files.examine(seen))
        if self._hold is None:
            return examined.seen
        with reporting(f"taking over {name}"):
            seen = self._take_over(examined)
        self._journal._seen = seen
        return seen

    def _take_over(self, examined: Examined[S]) -> Seen[S]:
        """Make durable what will be built on.

        The lines beyond the head are written again, in place: after a failed sync elsewhere a plain sync may succeed
        without writing anything.
        """
        files, disk = self._files, self._disk
        acknowledged, sound = examined.verdict.acknowledged, examined.verdict.sound
        if examined.verdict.tail:
            kept = self._keep(f"{LOG}.broken", tail := examined.data[sound.end :])
            log.warning("tail_cut", case=files.folder.name, bytes=len(tail), kept=kept)
        if examined.seen.log is not None:
            with opened(disk, files.log, write=True) as fd:
                if examined.verdict.tail:
                    disk.truncate(fd, sound.end - examined.inserted)
                if sound.end > acknowledged.end:
                    begin = acknowledged.end - examined.pending
                    disk.write(fd, examined.data[begin : sound.end], begin)
                disk.sync(fd)
        disk.sync_folder(files.folder)
        disk.sync_folder(files.folder.parent)
        state = examined.sound.state
        if sound != acknowledged and state is not None:
            write_durably(disk, files.projection, encode_projection(files.codec.project(state, examined.sound.head)))
            log.warning("completed", case=files.folder.name, records=sound.count - acknowledged.count)
        if not sound.legacy:
            self._drop_settled(examined.data)
        return evolve(examined.seen, log=disk.stat(files.log), projection=disk.stat(files.projection), durable=True)

    def _drop_settled(self, data: bytes) -> None:
        """Take away a journal of release 1.2.0 whose records are in the log."""
        found = read_file(self._disk, self._files.journal)
        if found is None:
            return
        pending = legacy.read_pending(found[0], self._files.folder.name)
        if isinstance(pending, legacy.Pending) and pending.records[-1]["hash"].encode() in data:
            self._drop_journal()

    def _drop_journal(self) -> None:
        self._disk.unlink(self._files.journal)
        self._disk.sync_folder(self._files.journal.parent)

    def _keep(self, name: str, data: bytes) -> str:
        """Keep bytes beside the log under a fresh name, durably, before they are cut or replaced; the name."""
        number, fd = 0, None
        while fd is None:
            number += 1
            path = self._files.folder / f"{name}-{number}"
            with contextlib.suppress(FileExistsError):
                fd = self._disk.create(path)
        try:
            self._disk.write(fd, data, 0)
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)
        self._disk.sync_folder(self._files.folder)
        return path.name

    def _make_log(self) -> None:
        # Its name is durable before its first bytes are: then the sync of the log alone commits, here as always.
        with reporting(f"opening {self._journal.name}"):
            with opened(self._disk, self._files.log, create=True):
                pass
            self._disk.sync_folder(self._files.folder)

    def _commit(self, data: bytes, end: int) -> None:
        """Put ``data`` at the ``end`` of the log, durably, or leave the log as it was."""
        doing = f"writing to {self._journal.name}"
        with reporting(doing), opened(self._disk, self._files.log, write=True) as fd:
            try:
                self._disk.write(fd, data, end)
                self._disk.sync(fd)
            except OSError as error:
                back = self._take_back(fd, end)
                raise unavailable(error, doing, "no" if back else "unknown") from error

    def _take_back(self, fd: int, end: int) -> bool:
        name = self._files.folder.name
        try:
            self._disk.truncate(fd, end)
            self._disk.sync(fd)
        except OSError as error:
            log.error("cut_failed", case=name, error=str(error))
        else:
            return True
        text = "A write to this case failed and could not be taken back. Look at the disk, then remove this file.\n"
        try:
            write_durably(self._disk, self._journal._mark, text.encode())
        except OSError as error:
            log.error("mark_failed", case=name, error=str(error))
        return False


def _sound(name: str, examined: Examined[S]) -> Examined[S]:
    """What was examined, or ``Damaged`` with everything that is wrong."""
    findings = examined.verdict.findings
    if not findings:
        return examined
    others = "other cases are not concerned"
    if findings[0].code == "newer_format":
        works = f"the release that wrote it, or a later one, reads and continues it; {others}"
    else:
        works = f"the first {examined.acknowledged.count} records can still be read; {others}"
    text = f"{name}: {'; '.join(map(str, findings))}. Nothing was changed; {works}."
    raise Damaged(text, code=findings[0].code, where=str(findings[0]), works=works)
