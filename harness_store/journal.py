"""One case's Timeline on disk: appended to, projected into ``case.md``, taken over after a crash.

A transition is committed by one write of all its lines to ``events.jsonl`` and one sync; then ``case.md``, written
durably, names the new head; only then is it acknowledged.  ``Journal`` reads without a lock and shows the acknowledged
prefix; ``Journal.lock`` gives a ``Writer``, which alone repairs and appends.

A journal remembers what it has seen: a process that goes on from its own last write reads nothing again, and a reader
reads only what was added.  A holder that does not go on from its own last write first makes durable what it builds on,
because what it sees may only be in the memory of the machine.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from attrs import evolve, field, frozen

from harness_core.errors import Damaged, Fault, Refused, Unavailable

from .disk import Disk, Stat, make_folder, opened, read_file, reporting, unavailable, write_durably
from .heads import NO_HEAD, Block, Head, read_block
from .locks import FileLock, Hold
from .logs import log
from .records import START, Position, Scan, scan, seal
from .verdicts import Finding, Verdict, judge

LOG = "events.jsonl"
PROJECTION = "case.md"
LOCK = ".case.lock"
MARK = ".read-only"
"""A failed write could not be taken back: the case is not written to until somebody has looked at the disk."""

_SECOND_LOOK = 5.0
"""Seconds that a reader waits for the lock before it calls something damaged."""

S = TypeVar("S")


class Codec(Protocol[S]):
    """What the journal needs to know of the domain.  Pure; states are values and are never changed in place."""

    def fold(self, state: S | None, records: Sequence[Mapping[str, Any]]) -> S:
        """Continue a fold (from ``None``: begin one) by ``records``, which are not empty.

        Raises ``Damaged`` for records whose hashes hold and which nevertheless mean nothing.
        """

    def project(self, state: S, head: Head) -> str:
        """The whole text of ``case.md``, with a machine block that names ``head`` (see ``heads.render_block``)."""

    def matches(self, state: S, block: Mapping[str, Any]) -> bool:
        """Whether ``block``, the content of a machine block, is the projection of ``state``."""


@frozen
class Snapshot(Generic[S]):
    """A case at the end of a transition.  ``state`` is ``None`` before the first; ``transition`` counts them."""

    state: S | None = None
    head: Head = NO_HEAD
    transition: int = 0

    @property
    def count(self) -> int:
        """How many records lie before this point."""
        return self.head.count


@frozen
class Report(Generic[S]):
    """What a verification of the whole case found.  Without ``findings`` it is sound and ``snapshot`` is its
    acknowledged state; with some, ``snapshot`` is as far as it can still be read and believed."""

    snapshot: Snapshot[S]
    findings: tuple[Finding, ...]


@frozen
class _Seen(Generic[S]):
    """What this process knows of the case, and the files as they were then."""

    snapshot: Snapshot[S]
    position: Position
    digest: Any = field(repr=False)  # a running SHA-256 of the log up to ``position``
    log: Stat | None
    projection: Stat | None
    durable: bool  # made so, or written, by this process under the lock


@frozen
class _Examined(Generic[S]):
    """The case read from disk and judged."""

    verdict: Verdict
    acknowledged: Snapshot[S]
    sound: Snapshot[S]
    data: bytes = field(repr=False)
    seen: _Seen[S]  # ``sound``, remembered


class Journal(Generic[S]):
    """The Timeline in ``folder`` (``cases/<id>``, which need not exist yet).  Safe to share among threads."""

    def __init__(self, disk: Disk, folder: Path, codec: Codec[S]) -> None:
        self.folder = folder
        self.name = f"case {folder.name}"
        self._disk = disk
        self._codec = codec
        self._log = folder / LOG
        self._projection = folder / PROJECTION
        self._mark = folder / MARK
        self._lock = FileLock(disk, folder / LOCK, self.name)
        self._seen: _Seen[S] | None = None

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
            current = self._glance() or self._sound(self._examine_twice()).acknowledged
            if as_of is None or as_of == current.count:
                return current
            return self._earlier(as_of, current)

    def verify(self) -> Report[S]:
        """Check the whole case from the first byte, whatever this process remembers of it; changes nothing.

        A finding is only reported after a second look under the lock.  Raises ``Unavailable`` like ``read``.
        """
        with reporting(f"verifying {self.name}"):
            examined = self._examine_twice()
        return Report(examined.acknowledged, examined.verdict.findings)

    @contextlib.contextmanager
    def lock(self, wait: float | None = None) -> Iterator[Writer[S]]:
        """Hold the case's lock for the length of a block; ``wait`` in seconds as in ``FileLock.acquire``.

        A case whose folder does not exist is not made by this: the folder comes with the first ``append``, and until
        then there is nothing to lock.  (Who opens cases holds the store's lock, so nobody else makes it meanwhile.)
        """
        writer = Writer(self, wait)
        try:
            writer._begin(make=False)
            yield writer
        finally:
            writer._end()

    # -- reading ------------------------------------------------------------------------------------------------

    def _glance(self) -> Snapshot[S] | None:
        """The acknowledged state as far as it can be had without a lock; ``None``: something is odd, look again."""
        seen = self._seen
        found = self._disk.stat(self._projection)
        if found is None:
            log = self._disk.stat(self._log)
            return Snapshot() if log is None or (log.kind == "file" and log.size == 0) else None
        if seen is not None and seen.projection == found and self._continues(seen, self._disk.stat(self._log)):
            return seen.snapshot
        with contextlib.suppress(Damaged, IsADirectoryError):
            return self._read_on(seen)
        return None

    def _read_on(self, seen: _Seen[S] | None) -> Snapshot[S] | None:
        projection = read_file(self._disk, self._projection)
        block = None if projection is None else _block_of(projection[0])
        if projection is None or not isinstance(block, Block) or block.head is None:
            return None
        head, log, before = block.head, self._disk.stat(self._log), seen
        if log is None or log.kind != "file":
            return None
        if seen is None or not self._continues(seen, log) or seen.position.count > head.count:
            seen = None
        start, state = (seen.position, seen.snapshot.state) if seen else (START, None)
        with opened(self._disk, self._log) as fd:
            log = self._disk.fstat(fd)
            data = self._disk.read(fd, max(0, log.size - start.end), start.end)
        found = scan(data, start)
        position = next((place for place in found.positions if place.count == head.count), None)
        if position is None or position.hash != head.hash:
            return None
        state = self._fold(state, found.records[: head.count - start.count])
        if state is None or not self._is_of(state, block):
            return None
        digest = seen.digest.copy() if seen else hashlib.sha256()
        digest.update(data[: position.end - start.end])
        snapshot = Snapshot(state, head, position.transition)
        if self._seen is before:  # never in the way of what a writer has come to know meanwhile
            self._seen = _Seen(snapshot, position, digest, log, projection[1], durable=False)
        return snapshot

    @staticmethod
    def _continues(seen: _Seen[S], log: Stat | None) -> bool:
        if log is None or seen.log is None:
            return False
        return log.identity == seen.log.identity and log.size >= seen.position.end

    def _earlier(self, as_of: int, current: Snapshot[S]) -> Snapshot[S]:
        found = read_file(self._disk, self._log)
        positions = [place for place in scan(found[0] if found else b"").positions if place.count <= current.count]
        position = next((place for place in positions if place.count == as_of), None)
        if position is None and positions[-1].count != current.count:
            self._sound(self._examine_twice())
            return self.read(as_of)
        if position is None:
            near = max((place.count for place in positions if place.count < as_of), default=0)
            fault = Fault("as_of", f"{as_of} is not the end of a transition", f"for example {near} or {current.count}")
            raise Refused(f"{self.name}: {fault}", code="as_of", fields=[fault])
        assert found is not None or as_of == 0
        records = scan(found[0]).records[:as_of] if found else ()
        return Snapshot(self._fold(None, records), Head(position.count, position.hash), position.transition)

    def _fold(self, state: S | None, records: Sequence[Mapping[str, Any]]) -> S | None:
        return self._codec.fold(state, records) if records else state

    # -- looking closely ----------------------------------------------------------------------------------------

    def _examine(self, known: _Seen[S] | None) -> _Examined[S]:
        """Read and judge the whole case.  What ``known`` covers is checked by one digest and not folded again."""
        findings: list[Finding] = []
        projection, log = self._content(self._projection, findings), self._content(self._log, findings)
        data = log[0] if log else b""
        block = _block_of(projection[0]) if projection else None
        head = block.head if isinstance(block, Block) else NO_HEAD if projection is None else None
        if head is not None and head.count and log is None:
            problem = f"it is missing, yet case.md acknowledges {head.count} records"
            findings.append(Finding("log_missing", LOG, problem))
        if isinstance(block, str):
            findings.append(Finding("projection_unreadable", PROJECTION, block))
        elif isinstance(block, Block) and block.head is None:
            findings.append(Finding("legacy_format", PROJECTION, "it was written by release 1.2.0"))

        start, state, digest = START, None, hashlib.sha256()
        if known is not None and (head is None or known.position.count <= head.count):
            prefix = hashlib.sha256(memoryview(data)[: known.position.end])
            if prefix.digest() == known.digest.digest():
                start, state, digest = known.position, known.snapshot.state, prefix
        found = scan(data[start.end :], start)
        if head is None:  # no head to be had: what can be read is what holds
            head = Head(found.end.count, found.end.hash)
        verdict = judge(found, data[start.end :], head)
        if findings and not (verdict.findings and verdict.findings[0].code == "legacy_format"):
            verdict = evolve(verdict, findings=tuple(findings) if log is None else (*findings, *verdict.findings))

        acknowledged, sound, unfolded = self._states(found, verdict, state)
        if unfolded is not None:
            verdict = evolve(verdict, findings=(*verdict.findings, unfolded))
        elif not verdict.findings and isinstance(block, Block) and not self._is_of(acknowledged.state, block):
            foreign = Finding("projection_foreign", PROJECTION, "it is no state of this Timeline: other content")
            verdict = evolve(verdict, findings=(foreign,))
        digest.update(data[start.end : verdict.sound.end])
        seen = _Seen(
            sound, verdict.sound, digest, log[1] if log else None, projection[1] if projection else None, durable=False
        )
        return _Examined(verdict, acknowledged, sound, data, seen)

    def _states(
        self, found: Scan, verdict: Verdict, state: S | None
    ) -> tuple[Snapshot[S], Snapshot[S], Finding | None]:
        """The states at the verdict's two positions."""
        snapshots, done = [], 0
        for position in (verdict.acknowledged, verdict.sound):
            upto = position.count - found.positions[0].count
            try:
                state = self._fold(state, found.records[done:upto])
            except Damaged as error:
                return Snapshot(), Snapshot(), Finding(error.code, error.where or LOG, str(error))
            snapshots.append(Snapshot(state, Head(position.count, position.hash), position.transition))
            done = upto
        return snapshots[0], snapshots[1], None

    def _is_of(self, state: S | None, block: Block) -> bool:
        return state is not None and self._codec.matches(state, block.content)

    def _content(self, path: Path, findings: list[Finding]) -> tuple[bytes, Stat] | None:
        try:
            return read_file(self._disk, path)
        except IsADirectoryError:
            findings.append(Finding("not_a_file", path.name, "it is not a regular file"))
            return None

    def _examine_twice(self) -> _Examined[S]:
        """Examine without a lock, and under it before anything is called damaged.

        Where there is no lock file no writer of ours has ever been, and a reader does not make one.
        """
        examined = self._examine(None)
        while examined.verdict.findings:
            try:
                hold = self._lock.acquire(_SECOND_LOOK, create=False)
            except FileNotFoundError:
                examined = self._examine(None)
                if self._disk.stat(self._lock.path) is None:
                    break
            else:
                with hold:
                    examined = self._examine(None)
                break
        return examined

    def _sound(self, examined: _Examined[S]) -> _Examined[S]:
        if examined.verdict.findings:
            raise self._damaged(examined.verdict.findings)
        return examined

    def _damaged(self, findings: Sequence[Finding]) -> Damaged:
        first = findings[0]
        newer = first.code == "newer_format"
        works = (
            "the release that wrote it, or a later one, reads and continues it; other cases are not concerned"
            if newer
            else f"the first {first.line - 1} records can be read; other cases are not concerned"
            if first.line is not None
            else "other cases are not concerned"
        )
        text = f"{self.name}: {'; '.join(map(str, findings))}. Nothing was changed; {works}."
        return Damaged(text, code=first.code, where=str(first), works=works)


def _block_of(data: bytes) -> Block | str:
    try:
        return read_block(data.decode("utf-8"))
    except UnicodeDecodeError:
        return "it is not UTF-8"


class Writer(Generic[S]):
    """A case under its lock, as ``Journal.lock`` gives it.  Of no use after the block."""

    def __init__(self, journal: Journal[S], wait: float | None) -> None:
        self._journal = journal
        self._disk = journal._disk
        self._wait = wait
        self._hold: Hold | None = None
        self._open = True

    def refresh(self) -> Snapshot[S]:
        """The state to decide on: what stands, made durable and projected, with whatever never happened cut off.

        Costs two ``stat``s when the files are as this process left them; otherwise everything is read and verified.
        A tail that was never acknowledged is kept as ``events.jsonl.broken-N``.

        Raises ``Damaged`` (nothing was changed), ``Unavailable(code="read_only")`` where a failed write could not be
        taken back, ``Unavailable`` when the disk fails.
        """
        return self._current().snapshot

    def verify(self) -> Report[S]:
        """``Journal.verify`` under the lock."""
        self._check_open()
        with reporting(f"verifying {self._journal.name}"):
            examined = self._journal._examine(None)
        return Report(examined.acknowledged, examined.verdict.findings)

    def append(self, records: Sequence[Mapping[str, Any]]) -> Snapshot[S]:
        """Write one transition and return when it is acknowledged.

        ``records`` as ``records.seal`` wants them; event ids go on from ``refresh().count``.  The first transition
        makes the folder.

        Raises ``Damaged`` and ``Unavailable(written="no")`` as ``refresh`` does.  ``Unavailable`` after the write:
        ``no`` when it was taken back, ``yes`` when it is committed and only its acknowledgement failed, ``unknown``
        when taking back failed too.  ``ValueError`` for records or a projection that are not what they should be.
        """
        journal, disk, name = self._journal, self._disk, self._journal.name
        anew = self._hold is None
        with reporting(f"opening {name}"):
            self._begin(make=True)
        seen = self._current()
        if anew and seen.position.count:
            raise Unavailable(f"{name} was opened by somebody else meanwhile; nothing was written", code="changed")
        sealed = seal(records, seen.position)
        # Everything that can go wrong in the domain goes wrong before the first byte is written.
        state = journal._codec.fold(seen.snapshot.state, sealed.records)
        head = Head(sealed.position.count, sealed.position.hash)
        projection = _encoded(journal._codec.project(state, head))
        block = _block_of(projection)
        if isinstance(block, str) or block.head != head:
            raise ValueError("the projection does not name its head")

        journal._seen = None  # until it is acknowledged this process knows nothing for certain
        with reporting(f"writing to {name}"):
            self._commit(sealed.data, seen.position.end)
        with reporting(f"acknowledging a transition of {name}", written="yes"):
            if seen.position.count == 0:
                disk.sync_folder(journal.folder)
            write_durably(disk, journal._projection, projection)
            log, found = disk.stat(journal._log), disk.stat(journal._projection)
        digest = seen.digest.copy()
        digest.update(sealed.data)
        snapshot = Snapshot(state, head, sealed.position.transition)
        journal._seen = _Seen(snapshot, sealed.position, digest, log, found, durable=True)
        return snapshot

    def lift_read_only(self) -> bool:
        """Take away the mark of a write that could not be taken back; whether there was one.  For repair only."""
        self._check_open()
        with reporting(f"lifting the mark of {self._journal.name}"):
            if self._disk.stat(self._journal._mark) is None:
                return False
            self._disk.unlink(self._journal._mark)
            self._disk.sync_folder(self._journal.folder)
        return True

    # -- the lock -----------------------------------------------------------------------------------------------

    def _begin(self, *, make: bool) -> None:
        self._check_open()
        if self._hold is not None:
            return
        if make:
            make_folder(self._disk, self._journal.folder)
        try:
            self._hold = self._journal._lock.acquire(self._wait)
        except FileNotFoundError:
            if make:
                raise

    def _end(self) -> None:
        self._open = False
        if self._hold is not None:
            self._hold.release()

    def _check_open(self) -> None:
        if not self._open:
            raise RuntimeError("the case's lock is no longer held")

    # -- the state on disk --------------------------------------------------------------------------------------

    def _current(self) -> _Seen[S]:
        self._check_open()
        journal = self._journal
        with reporting(f"reading {journal.name}"):
            seen = journal._seen
            if (
                seen is not None
                and seen.durable
                and self._disk.stat(journal._log) == seen.log
                and self._disk.stat(journal._projection) == seen.projection
            ):
                return seen
            if self._disk.stat(journal._mark) is not None:
                raise Unavailable(
                    f"{journal.name} is read-only: an earlier write failed and could not be taken back. "
                    f"When the disk is sound again, remove {MARK} from its folder.",
                    code="read_only",
                )
            examined = journal._sound(journal._examine(seen))
        if self._hold is None:  # no folder: nothing to make durable
            return examined.seen
        with reporting(f"taking over {journal.name}"):
            journal._seen = self._take_over(examined)
        return journal._seen

    def _take_over(self, examined: _Examined[S]) -> _Seen[S]:
        """Make durable what will be built on.

        The lines beyond the head are written again, in place: after a failed sync elsewhere a plain sync may succeed
        without writing anything.
        """
        journal, disk = self._journal, self._disk
        acknowledged, sound = examined.verdict.acknowledged, examined.verdict.sound
        if examined.verdict.tail:
            self._keep(examined.data[sound.end :])
        if examined.seen.log is not None:
            with opened(disk, journal._log, write=True) as fd:
                if examined.verdict.tail:
                    disk.truncate(fd, sound.end)
                if sound.end > acknowledged.end:
                    disk.write(fd, examined.data[acknowledged.end : sound.end], acknowledged.end)
                disk.sync(fd)
        disk.sync_folder(journal.folder)
        disk.sync_folder(journal.folder.parent)
        state = examined.sound.state
        if sound != acknowledged and state is not None:
            write_durably(disk, journal._projection, _encoded(journal._codec.project(state, examined.sound.head)))
            log.warning("completed", case=journal.folder.name, records=sound.count - acknowledged.count)
        return evolve(
            examined.seen, log=disk.stat(journal._log), projection=disk.stat(journal._projection), durable=True
        )

    def _keep(self, tail: bytes) -> None:
        """Keep a tail that never happened beside the log, durably, before it is cut."""
        number = 1
        while True:
            path = self._journal.folder / f"{LOG}.broken-{number}"
            try:
                fd = self._disk.create(path)
            except FileExistsError:
                number += 1
                continue
            try:
                self._disk.write(fd, tail, 0)
                self._disk.sync(fd)
            finally:
                self._disk.close(fd)
            self._disk.sync_folder(self._journal.folder)
            log.warning("tail_cut", case=self._journal.folder.name, bytes=len(tail), kept=path.name)
            return

    def _commit(self, data: bytes, end: int) -> None:
        """Put ``data`` at the ``end`` of the log, durably, or leave the log as it was."""
        with opened(self._disk, self._journal._log, create=True) as fd:
            try:
                self._disk.write(fd, data, end)
                self._disk.sync(fd)
            except OSError as error:
                back = self._take_back(fd, end)
                raise unavailable(error, f"writing to {self._journal.name}", "no" if back else "unknown") from error

    def _take_back(self, fd: int, end: int) -> bool:
        name = self._journal.folder.name
        try:
            self._disk.truncate(fd, end)
            self._disk.sync(fd)
        except OSError as error:
            log.error("cut_failed", case=name, error=str(error))
        else:
            return True
        try:
            text = "A write to this case failed and could not be taken back. Look at the disk, then remove this file.\n"
            write_durably(self._disk, self._journal._mark, text.encode())
        except OSError as error:
            log.error("mark_failed", case=name, error=str(error))
        return False


def _encoded(text: str) -> bytes:
    # A lone surrogate can come out of anybody's JSON; it stays readable and does not stop the write.
    return text.encode("utf-8", "backslashreplace")
