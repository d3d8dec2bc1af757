"""The files of one case, read and judged: no lock, no memory, no writing.

``CaseFiles.glance`` is the quick way of a reader, which gives up as soon as anything is odd.  ``CaseFiles.examine`` is
the thorough one: everything is read and verified, and what is wrong is said.  Both go on from what the caller has seen
before; ``journal`` decides when to use which, and under which lock.

A case of release 1.2.0 that was not written to since is read here as it lies (see ``legacy_case``).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from attrs import evolve, field, frozen

from harness_core.errors import Damaged

from . import legacy, legacy_case
from .disk import Disk, Stat, opened, read_file
from .heads import NO_HEAD, Block, Head, read_block
from .legacy_case import JOURNAL, LegacyCase
from .logs import log
from .receipts import Index, Receipt, Receipts
from .records import START, Position, Scan, is_legacy, scan
from .verdicts import Finding, Verdict, judge

LOG = "events.jsonl"
PROJECTION = "case.md"

S = TypeVar("S")


class Codec(Protocol[S]):
    """What the store needs to know of the domain.  Pure; states are values and are never changed in place."""

    def fold(self, state: S | None, records: Sequence[Mapping[str, Any]]) -> S:
        """Continue a fold (from ``None``: begin one) by ``records``, which are not empty.

        Raises ``Damaged`` for records whose hashes hold and which nevertheless mean nothing.
        """

    def adopt(self, case_id: str, state: Mapping[str, Any], records: Sequence[Mapping[str, Any]], at: Position) -> S:
        """The state of a case of release 1.2.0 before its adoption: of that release's ``state`` and its ``records``,
        which end at ``at``.  Raises ``Damaged`` for what is no case."""

    def admit(self, before: S | None, after: S) -> None:
        """Refuse a state that may not be written, by ``AssertionError``: whoever decided it is at fault."""

    def project(self, state: S, head: Head) -> str:
        """The whole text of ``case.md``, with a machine block that names ``head`` (see ``heads.render_block``)."""

    def matches(self, state: S, block: Mapping[str, Any]) -> bool:
        """Whether ``block``, the content of a machine block, is the projection of ``state``."""

    def card(self, state: S) -> Mapping[str, Any]:
        """What a list shows of a state, as a JSON object."""

    def rest(self, state: S) -> Mapping[str, Any] | None:
        """What of a state ``recall`` needs beside machine block and lines, as a JSON object; ``None`` where the state
        is to be had from the records alone."""

    def lines(self, state: S, records: Sequence[Mapping[str, Any]] | None) -> bytes:
        """The lines that ``recall`` needs more after ``records`` (``None``: all of them), which led to ``state``."""

    def recall(self, block: Mapping[str, Any], rest: Mapping[str, Any], lines: bytes) -> S:
        """The state of which machine block, ``rest`` and ``lines`` say what they say.  Raises whatever tells that they
        say none."""


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
class Seen(Generic[S]):
    """What a process knows of a case: the state at ``position``, a running SHA-256 of the log up to there, and the
    files as they were then.  ``durable``: this process wrote it, or made it durable, under the lock.

    Of a case of release 1.2.0 there is also its ``journal``, and the ``pending`` bytes before the position: they are to
    be written with whatever comes next, whether or not the log has them already.

    A state that was recalled (see ``receipts``) has no ``digest``: the log was not read.  ``index`` is how far the
    index beside it goes, ``None`` where it has to be made anew."""

    snapshot: Snapshot[S]
    position: Position
    digest: Any = field(repr=False)
    log: Stat | None
    projection: Stat | None
    durable: bool = False
    index: Index | None = None
    journal: Stat | None = None
    pending: bytes = field(default=b"", repr=False)

    @property
    def written(self) -> int:
        """Where in the log the next bytes go."""
        return self.position.end - len(self.pending)


def nothing_yet(log: Stat | None = None, *, durable: bool = False) -> Seen[Any]:
    """A case before its first transition: without files, or with an empty ``log``."""
    return Seen(Snapshot(), START, hashlib.sha256(), log, None, durable)


@frozen
class Examined(Generic[S]):
    """A whole case, read and judged: the states at the verdict's two positions, the log, and what to remember.

    Of the bytes before the acknowledged position, the last ``pending`` have only a journal of release 1.2.0 to vouch
    for them; ``inserted`` of these are not in the log."""

    verdict: Verdict
    acknowledged: Snapshot[S]
    sound: Snapshot[S]
    data: bytes = field(repr=False)
    seen: Seen[S]
    pending: int = 0
    inserted: int = 0


class CaseFiles(Generic[S]):
    """The files in ``folder``, which need not exist.  Every method may raise ``OSError``."""

    def __init__(self, disk: Disk, folder: Path, codec: Codec[S]) -> None:
        self.disk = disk
        self.folder = folder
        self.codec = codec
        self.log = folder / LOG
        self.projection = folder / PROJECTION
        self.receipts = Receipts(disk, folder)
        self.journal = folder / "archive" / JOURNAL
        """Only release 1.2.0 ever left one."""

    def stamp(self) -> tuple[Stat | None, ...]:
        """Equal ones mean that nobody touched the files of the Timeline in between."""
        return tuple(self.disk.stat(path) for path in (self.log, self.projection, self.journal))

    def unchanged(self, seen: Seen[S]) -> bool:
        """Whether the files are as they were.  Two ``stat``s."""
        same = self.disk.stat(self.log) == seen.log and self.disk.stat(self.projection) == seen.projection
        return same and (not seen.position.legacy or self.disk.stat(self.journal) == seen.journal)

    def receipt(self) -> Receipt | None:
        """What the last writer left, while the files are as it left them."""
        found = self.receipts.read()
        same = found and (found.log, found.projection) == (self.disk.stat(self.log), self.disk.stat(self.projection))
        return found if same else None

    def recall(self) -> Seen[S] | None:
        """The case as its last writer left it, without reading the log; ``None`` where it must be read."""
        receipt = self.receipt()
        if receipt is None or self.disk.stat(self.journal) is not None:
            return None
        projection, lines = read_file(self.disk, self.projection), self.receipts.lines(receipt.index)
        block = _block_of(projection[0]) if projection else None
        head = Head(receipt.position.count, receipt.position.hash)
        if projection is None or lines is None or not isinstance(block, Block):
            return None
        if projection[1] != receipt.projection or block.head != head:
            return None
        try:
            state = self.codec.recall(block.content, receipt.rest, lines)
        except Exception:  # noqa: BLE001  # whatever it is, the log says it better
            return None
        return Seen(
            snapshot=_snapshot(state, receipt.position),
            position=receipt.position,
            digest=None,
            log=receipt.log,
            projection=receipt.projection,
            durable=True,  # a receipt follows the acknowledgement
            index=receipt.index,
        )

    def leave(
        self,
        state: S,
        position: Position,
        files: tuple[Stat | None, Stat | None],
        index: Index | None,
        records: Sequence[Mapping[str, Any]],
    ) -> Index | None:
        """Leave a receipt for a transition that was acknowledged, made of ``records``, and how far the index goes now.

        ``files``: log and ``case.md`` as they are since.  It is never needed, so a failure is only told.
        """
        log_now, projected = files
        rest = self.codec.rest(state)
        if rest is None or log_now is None or projected is None:
            return None
        try:
            index = self.receipts.add(index, self.codec.lines(state, None if index is None else records))
            card = self.codec.card(state)
            self.receipts.write(Receipt(log_now, projected, position, index, rest, card))
        except OSError as error:
            log.info("no_receipt", case=self.folder.name, error=str(error))
            return None
        return index

    def glance(self, seen: Seen[S] | None) -> Seen[S] | None:
        """The acknowledged prefix, reading only what ``seen`` does not cover; ``None`` where something is odd."""
        projection, log = self.disk.stat(self.projection), self.disk.stat(self.log)
        if projection is None:
            empty = log is None or (log.kind == "file" and log.size == 0)
            empty = empty and self.disk.stat(self.journal) is None
            return nothing_yet(log) if empty else None
        if log is None or log.kind != "file":
            return None
        if seen is not None and seen.position.legacy:
            if self.unchanged(seen):
                return seen
            seen = None
        if seen is None and (recalled := self.recall()) is not None:
            return recalled
        if seen is None or seen.log is None or log.identity != seen.log.identity:
            seen = None  # another log than the one that was seen
        elif log.size < seen.position.end:
            return None
        elif (log, projection) == (seen.log, seen.projection):
            return seen
        with contextlib.suppress(Damaged, IsADirectoryError, FileNotFoundError):
            # A log that alone is another has grown beyond the head, or somebody has changed what was seen of it.
            still = seen is None or projection != seen.projection or self._still_there(seen)
            return self._read_on(seen if still else None)
        return None

    def _still_there(self, seen: Seen[S]) -> bool:
        """Whether the log begins with the bytes that were seen."""
        if seen.digest is None:
            return False
        with opened(self.disk, self.log) as fd:
            data = self.disk.read(fd, seen.position.end, 0)
        return hashlib.sha256(data).digest() == bytes(seen.digest.digest())

    def _read_on(self, seen: Seen[S] | None) -> Seen[S] | None:
        projection = read_file(self.disk, self.projection)
        block = _block_of(projection[0]) if projection else None
        if projection is None or not isinstance(block, Block):
            return None
        if block.head is None:
            examined = self.examine()
            plain = not examined.verdict.findings and examined.sound == examined.acknowledged
            return examined.seen if plain else None
        head = block.head
        if seen is not None and seen.position.count > head.count:
            seen = None
        start, state = (seen.position, seen.snapshot.state) if seen else (START, None)
        with opened(self.disk, self.log) as fd:
            log = self.disk.fstat(fd)
            data = self.disk.read(fd, max(0, log.size - start.end), start.end)
        found = scan(data, start)
        position = next((place for place in found.positions if place.count == head.count), None)
        if position is None or position.hash != head.hash or found.end.transition > position.transition + 1:
            return None
        state = self.fold(state, found.records[: head.count - start.count])
        if not self._is_of(state, block):
            return None
        digest = seen.digest.copy() if seen and seen.digest else None if seen else hashlib.sha256()
        if digest is not None:
            digest.update(data[: position.end - start.end])
        return Seen(_snapshot(state, position), position, digest, log, projection[1])

    def examine(self, known: Seen[S] | None = None) -> Examined[S]:
        """Read and verify everything.  What ``known`` covers is verified by one digest, and not folded again."""
        findings: list[Finding] = []
        projection, log = self._content(self.projection, findings), self._content(self.log, findings)
        data = log[0] if log else b""
        block = _block_of(projection[0]) if projection else None
        if isinstance(block, str):
            findings.append(Finding("projection_unreadable", PROJECTION, block))
        head = block.head if isinstance(block, Block) else NO_HEAD if projection is None and not findings else None
        journal = self.disk.stat(self.journal) if projection is None or (block and head is None) else None
        old = self._legacy(block, data, journal) if not findings else None
        if old is not None:
            head, data = old.head, old.data
            findings += [old.finding] if old.finding else []
        if head is not None and head.count and log is None and not (findings or data):
            problem = f"it is missing, yet case.md acknowledges {head.count} records"
            findings.append(Finding("log_missing", LOG, problem))

        start, state, digest = START, None, hashlib.sha256()
        continues = known is not None and known.digest is not None and not known.position.legacy and old is None
        if known is not None and continues and (head is None or known.position.count <= head.count):
            prefix = hashlib.sha256(memoryview(data)[: known.position.end])
            if prefix.digest() == known.digest.digest():
                start, state, digest = known.position, known.snapshot.state, prefix
        unseen = data[start.end :]
        found = scan(unseen, start)
        # Without a head to judge by, what can be read is what holds.
        verdict = judge(found, unseen, head or Head(found.end.count, found.end.hash))
        if findings:
            verdict = evolve(verdict, findings=(*findings, *(verdict.findings if log else ())))

        acknowledged, sound, unfolded = self._states(found, verdict, state, old)
        if unfolded is not None:
            verdict = evolve(verdict, findings=(*verdict.findings, unfolded))
        elif not verdict.findings and isinstance(block, Block) and not (old or self._is_of(acknowledged.state, block)):
            foreign = Finding("projection_foreign", PROJECTION, "it is no state of this Timeline: other content")
            verdict = evolve(verdict, findings=(foreign,))
        digest.update(data[start.end : verdict.sound.end])
        seen = Seen(sound, verdict.sound, digest, log[1] if log else None, projection[1] if projection else None)
        if old is not None and verdict.sound.legacy:
            seen = evolve(seen, journal=journal, pending=old.pending)
        laid_over = (len(old.pending), old.inserted) if old else (0, 0)
        return Examined(verdict, acknowledged, sound, data, seen, *laid_over)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """The records of the log that hold, acknowledged or not."""
        return scan(self.examine().data).records

    def _legacy(self, block: Block | str | None, data: bytes, journal: Stat | None) -> LegacyCase | None:
        """The files as release 1.2.0 left them, where they are that release's."""
        if isinstance(block, str) or (block is not None and block.head is not None):
            return None
        found = read_file(self.disk, self.journal) if journal is not None else None
        if block is None and found is None:
            return None
        return legacy_case.read(self.folder.name, data, block.content if block else None, found[0] if found else None)

    def earlier(self, as_of: int, known: int) -> Snapshot[S] | tuple[int, ...]:
        """The state after ``as_of`` records, or else the counts between 0 and ``known`` at which transitions end.

        Raises ``Damaged`` from the codec.
        """
        found = read_file(self.disk, self.log)
        whole = scan(found[0] if found else b"")
        for position in whole.positions:
            if position.count == as_of and not position.legacy:
                return _snapshot(self.fold(None, whole.records[:as_of]), position)
        if whole.end.legacy:
            return 0, known
        return tuple(place.count for place in whole.positions if place.count <= known and not place.legacy)

    def fold(self, state: S | None, records: Sequence[Mapping[str, Any]]) -> S | None:
        """``codec.fold``, also over no records.  What release 1.2.0 wrote is in the adoption that follows it."""
        own = [record for record in records if not is_legacy(record)]
        if own and len(own) < len(records) and not legacy.names_adopted(own[0], records[len(records) - len(own) - 1]):
            where = f"{LOG}, {own[0]['event_id']}"
            raise Damaged(f"{where}: it adopts another case", code="record_meaningless", where=where)
        return self.codec.fold(state, own) if own else state

    def _states(
        self, found: Scan, verdict: Verdict, state: S | None, old: LegacyCase | None
    ) -> tuple[Snapshot[S], Snapshot[S], Finding | None]:
        snapshots, done = [], 0
        for position in (verdict.acknowledged, verdict.sound):
            upto = position.count - found.positions[0].count
            try:
                if not position.legacy:
                    state = self.fold(state, found.records[done:upto])
                elif verdict.findings:
                    pass  # what a broken case.md says is not believed
                elif old is not None and old.state is not None and old.head.count == position.count:
                    state = self.codec.adopt(self.folder.name, old.state, found.records[:upto], position)
                else:
                    return Snapshot(), Snapshot(), Finding("projection_lost", PROJECTION, _NOWHERE_ELSE)
            except Damaged as error:
                return Snapshot(), Snapshot(), Finding(error.code, error.where or LOG, str(error))
            snapshots.append(_snapshot(state, position))
            done = upto
        return snapshots[0], snapshots[1], None

    def _is_of(self, state: S | None, block: Block) -> bool:
        return state is not None and self.codec.matches(state, block.content)

    def _content(self, path: Path, findings: list[Finding]) -> tuple[bytes, Stat] | None:
        try:
            return read_file(self.disk, path)
        except IsADirectoryError:
            findings.append(Finding("not_a_file", path.name, "it is not a regular file"))
            return None


_NOWHERE_ELSE = "the log goes on beyond it, and release 1.2.0 kept the case nowhere else"


def encode_projection(text: str) -> bytes:
    """The bytes of a ``case.md``: UTF-8.  A lone surrogate, which anybody's JSON can hold, becomes ``\\udXXX``."""
    return text.encode("utf-8", "backslashreplace")


def _block_of(projection: bytes) -> Block | str:
    # The block is ASCII; what stands around it is for people and may be edited into anything.
    return read_block(projection.decode("utf-8", "replace"))


def _snapshot(state: S | None, position: Position) -> Snapshot[S]:
    return Snapshot(state, Head(position.count, position.hash), position.transition)
