"""A second implementation of the ``Disk`` port: a file system in memory that can be killed, fail and lose power.

``Volume`` is the disk with the machine's memory in front of it.  Every file and folder has what is on the platter and
a list of changes that only memory knows; ``sync`` moves these to the platter.  ``Volume.survivors`` gives the disks
that may be found after a power failure: any part of the unsynced changes of any file or folder may have been written,
writes may be torn, and a file may have grown without its bytes.

``SimulatedDisk`` is one process on a volume.  It counts its steps (the calls that change something), and can be killed
before a given step (or in the middle of a write) or have a step fail.  A failed sync marks the written bytes clean
without writing them, as Linux does: they stay readable, and a later sync succeeds without writing them either.
"""

from __future__ import annotations

import errno
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from attrs import Factory, define, evolve, frozen

from harness_store.disk import Stamp, Stat

ROOT = 1

T = TypeVar("T")


class Killed(BaseException):
    """The simulated process is dead.  Not an ``Exception``: no handler of the product may act on it."""


@frozen
class Bytes:
    """``data`` at ``offset`` of a file."""

    offset: int
    data: bytes

    def on(self, content: bytes) -> bytes:
        content = content.ljust(self.offset, b"\0")
        return content[: self.offset] + self.data + content[self.offset + len(self.data) :]


@frozen
class Cut:
    """A file cut (or grown with zeros) to ``size``."""

    size: int

    def on(self, content: bytes) -> bytes:
        return content[: self.size].ljust(self.size, b"\0")


@frozen
class Names:
    """One change of a folder's names, all or nothing: ``None`` takes a name away."""

    changes: tuple[tuple[str, int | None], ...]

    def on(self, names: Mapping[str, int]) -> dict[str, int]:
        changed = {**names, **dict(self.changes)}
        return {name: inode for name, inode in changed.items() if inode is not None}


@frozen
class File:
    """A file: on the platter, in memory, and the changes between the two."""

    platter: bytes = b""
    memory: bytes = b""
    pending: tuple[Bytes | Cut, ...] = ()
    changed: int = 0

    def after(self, change: Bytes | Cut, now: int) -> File:
        return File(self.platter, change.on(self.memory), (*self.pending, *_torn(change)), now)

    def reached(self, changes: tuple[Bytes | Cut, ...], pending: tuple[Bytes | Cut, ...]) -> File:
        platter = self.platter
        for change in changes:
            platter = change.on(platter)
        return evolve(self, platter=platter, pending=pending)

    def possible(self) -> list[File]:
        found = {self.reached(some, ()).platter: None for some in _subsets(self.pending)}
        if self.pending and isinstance(last := self.pending[-1], Bytes):
            # The size is metadata: it may be written before the bytes.
            grown = self.platter.ljust(last.offset + len(last.data), b"\0")
            found[grown] = None
        return [File(content, content, (), self.changed) for content in found]

    def written(self) -> File:
        """The file found when all that was still to be written was written."""
        platter = self.reached(self.pending, ()).platter
        return File(platter, platter, (), self.changed)


@frozen
class Folder:
    """A folder, likewise."""

    platter: Mapping[str, int] = Factory(dict)
    memory: Mapping[str, int] = Factory(dict)
    pending: tuple[Names, ...] = ()
    changed: int = 0

    def after(self, change: Names, now: int) -> Folder:
        return Folder(self.platter, change.on(self.memory), (*self.pending, change), now)

    def reached(self, changes: tuple[Names, ...], pending: tuple[Names, ...]) -> Folder:
        platter = self.platter
        for change in changes:
            platter = change.on(platter)
        return evolve(self, platter=platter, pending=pending)

    def possible(self) -> list[Folder]:
        found = {tuple(sorted(self.reached(some, ()).platter.items())): None for some in _subsets(self.pending)}
        return [Folder(dict(names), dict(names), (), self.changed) for names in found]

    def written(self) -> Folder:
        platter = self.reached(self.pending, ()).platter
        return Folder(platter, platter, (), self.changed)


def _torn(change: Bytes | Cut) -> tuple[Bytes | Cut, ...]:
    """A write as the three parts that may reach the platter without each other; the seams are inside lines."""
    if isinstance(change, Cut) or len(change.data) < 3:
        return (change,)
    seams = (0, len(change.data) // 3, len(change.data) * 2 // 3, len(change.data))
    return tuple(Bytes(change.offset + start, change.data[start:end]) for start, end in itertools.pairwise(seams))


def _subsets(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    if len(items) > 8:  # enough to be thorough with; more would only be slow
        yield from ((), items, items[:-1], items[1:])
        return
    for keep in itertools.product((False, True), repeat=len(items)):
        yield tuple(item for item, kept in zip(items, keep, strict=True) if kept)


@define
class Volume:
    """A disk and the memory in front of it.  Values inside are frozen, so ``copy`` is cheap."""

    nodes: dict[int, File | Folder] = Factory(lambda: {ROOT: Folder()})
    next: int = ROOT + 1
    clock: int = 0
    locks: dict[int, dict[tuple[int, int], bool]] = Factory(dict)

    def copy(self) -> Volume:
        """The same disk and memory on a machine where no process runs."""
        return Volume(dict(self.nodes), self.next, self.clock, {})

    def survivors(self, most: int, seed: int = 0) -> Iterator[Volume]:
        """Disks that may be found after a power failure: all of them if they are at most ``most``, else a sample that
        holds the two extremes (nothing unsynced survived, everything did)."""
        choices: dict[int, Sequence[File | Folder]] = {
            inode: self.nodes[inode].possible() for inode in self._reachable()
        }
        count = 1
        for possible in choices.values():
            count *= len(possible)
        if count <= most:
            picks: Iterator[tuple[File | Folder, ...]] = itertools.product(*choices.values())
        else:
            draw = random.Random(seed)
            nothing: tuple[File | Folder, ...] = tuple(possible[0] for possible in choices.values())
            everything = tuple(self.nodes[inode].written() for inode in choices)
            some = (tuple(draw.choice(possible) for possible in choices.values()) for _ in range(most - 2))
            picks = itertools.chain((nothing, everything), some)
        for nodes in picks:
            yield Volume(dict(zip(choices, nodes, strict=True)), self.next, self.clock, {})

    def _reachable(self) -> list[int]:
        found, todo = [], [ROOT]
        while todo:
            inode = todo.pop()
            if inode in found:
                continue
            found.append(inode)
            node = self.nodes[inode]
            if isinstance(node, Folder):
                todo += [*node.platter.values(), *node.memory.values()]
                todo += [target for names in node.pending for _, target in names.changes if target is not None]
        return found

    def files(self) -> dict[str, bytes]:
        """Every file by its path, as a process would read it: for comparing two states."""
        return dict(self._walk("", ROOT))

    def shape(self) -> frozenset[tuple[str, bytes | None]]:
        """Every file and folder by its path: what tells one found disk from another."""
        return frozenset(self._walk("", ROOT, folders=True))

    def _walk(self, path: str, inode: int, folders: bool = False) -> Iterator[tuple[str, Any]]:
        node = self.nodes[inode]
        if isinstance(node, File):
            yield path, node.memory
        else:
            if folders:
                yield path, None
            for name, child in sorted(node.memory.items()):
                yield from self._walk(f"{path}/{name}", child, folders)


SyncFailure = Literal["nothing", "half", "all"]


@frozen
class Failure:
    """Which step fails, and how much of what a failing ``sync`` had to write reached the platter all the same.
    Every step before ``until`` fails as well (``None``: only the one)."""

    step: int
    reached: SyncFailure = "nothing"
    until: int | None = None


@define
class SimulatedDisk:
    """One process.  ``kill_at`` and ``failure`` count its steps from 1; ``torn`` kills in the middle of a write."""

    volume: Volume
    kill_at: int | None = None
    torn: bool = False
    failure: Failure | None = None
    steps: int = 0
    trace: list[str] = Factory(list)
    dead: bool = False
    _fds: dict[int, int] = Factory(dict)
    _numbers: Iterator[int] = Factory(lambda: itertools.count(3))

    # -- the port -----------------------------------------------------------------------------------------------

    def open(self, path: Path, *, write: bool = False) -> int:
        self._alive()
        return self._opened(self._file_at(path))

    def create(self, path: Path) -> int:
        folder = self._parent(path)
        if path.name in self._folder(folder).memory:
            raise FileExistsError(errno.EEXIST, "exists", str(path))
        self._step(f"create {path.name}")
        inode = self._add(File(changed=self._now()))
        self._change(folder, Names(((path.name, inode),)))
        return self._opened(inode)

    def close(self, fd: int) -> None:
        if self.dead:
            return
        self.unlock(fd)
        del self._fds[fd]

    def read(self, fd: int, size: int, offset: int) -> bytes:
        self._alive()
        return self._file(self._fds[fd]).memory[offset : offset + size]

    def write(self, fd: int, data: bytes, offset: int) -> None:
        half = Bytes(offset, data[: len(data) // 2])
        try:
            self._step("write")
        except Killed:
            if self.torn:
                self._change(self._fds[fd], half)
            raise
        except OSError:
            self._change(self._fds[fd], half)
            raise OSError(errno.ENOSPC, "No space left on device") from None
        self._change(self._fds[fd], Bytes(offset, data))

    def truncate(self, fd: int, size: int) -> None:
        self._step("truncate")
        self._change(self._fds[fd], Cut(size))

    def start_sync(self, fd: int) -> None:
        self._alive()

    def sync(self, fd: int) -> None:
        inode = self._fds[fd]
        file = self._file(inode)
        try:
            self._step("sync")
        except OSError:
            # Bytes are marked clean whether they were written or not; a changed size stays to be written.
            kept = tuple(change for change in file.pending if isinstance(change, Cut))
            self.volume.nodes[inode] = file.reached(self._some(file.pending), kept)
            raise
        self.volume.nodes[inode] = file.reached(file.pending, ())

    def sync_folder(self, path: Path) -> None:
        inode = self._at(path)
        folder = self._folder(inode)
        try:
            self._step(f"sync_folder {path.name}")
        except OSError:
            self.volume.nodes[inode] = folder.reached(self._some(folder.pending), folder.pending)
            raise
        self.volume.nodes[inode] = folder.reached(folder.pending, ())

    def replace(self, source: Path, target: Path) -> None:
        inode, folder = self._at(source), self._parent(source)
        assert folder == self._parent(target), "the store only renames within one folder"
        self._step(f"replace {target.name}")
        self._change(folder, Names(((source.name, None), (target.name, inode))))

    def mkdir(self, path: Path) -> None:
        folder = self._parent(path)
        if path.name in self._folder(folder).memory:
            raise FileExistsError(errno.EEXIST, "exists", str(path))
        self._step(f"mkdir {path.name}")
        self._change(folder, Names(((path.name, self._add(Folder(changed=self._now()))),)))

    def unlink(self, path: Path) -> None:
        self._at(path)
        self._step(f"unlink {path.name}")
        self._change(self._parent(path), Names(((path.name, None),)))

    def stat(self, path: Path) -> Stat | None:
        self._alive()
        try:
            return self._stat(self._at(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def stamps(self, *paths: str) -> tuple[Stamp | None, ...]:
        found = [self.stat(Path(path)) for path in paths]
        return tuple(stat.stamp if stat else None for stat in found)

    def fstat(self, fd: int) -> Stat:
        self._alive()
        return self._stat(self._fds[fd])

    def listdir(self, path: Path) -> tuple[str, ...]:
        self._alive()
        return tuple(sorted(self._folder(self._at(path)).memory))

    def try_lock(self, fd: int, *, shared: bool = False) -> bool:
        self._alive()
        holders = self.volume.locks.setdefault(self._fds[fd], {})
        others = [held_shared for holder, held_shared in holders.items() if holder != (id(self), fd)]
        if any(not (shared and held_shared) for held_shared in others):
            return False
        holders[id(self), fd] = shared
        return True

    def unlock(self, fd: int) -> None:
        if self.dead:  # asked by a destructor: the operating system has let go of it already
            return
        self.volume.locks.get(self._fds[fd], {}).pop((id(self), fd), None)

    # -- dying and failing --------------------------------------------------------------------------------------

    def _alive(self) -> None:
        if self.dead:
            raise Killed

    def _step(self, what: str) -> None:
        self._alive()
        self.steps += 1
        if self.steps == self.kill_at:
            self.dead = True
            for holders in self.volume.locks.values():
                for holder in [holder for holder in holders if holder[0] == id(self)]:
                    del holders[holder]
            raise Killed
        self.trace.append(what)
        failure = self.failure
        if failure and failure.step <= self.steps < (failure.until or failure.step + 1):
            raise OSError(errno.EIO, "Input/output error")

    def _some(self, pending: tuple[T, ...]) -> tuple[T, ...]:
        assert self.failure is not None
        return {"nothing": (), "half": pending[: (len(pending) + 1) // 2], "all": pending}[self.failure.reached]

    # -- nodes --------------------------------------------------------------------------------------------------

    def _now(self) -> int:
        self.volume.clock += 1
        return self.volume.clock

    def _add(self, node: File | Folder) -> int:
        inode = self.volume.next
        self.volume.next += 1
        self.volume.nodes[inode] = node
        return inode

    def _change(self, inode: int, change: Bytes | Cut | Names) -> None:
        node = self.volume.nodes[inode]
        self.volume.nodes[inode] = node.after(change, self._now())  # type: ignore[arg-type]  # callers pair them

    def _opened(self, inode: int) -> int:
        fd = next(self._numbers)
        self._fds[fd] = inode
        return fd

    def _at(self, path: Path) -> int:
        self._alive()
        inode = ROOT
        for part in path.parts[1:]:
            node = self.volume.nodes[inode]
            if isinstance(node, File):
                raise NotADirectoryError(errno.ENOTDIR, "not a folder", str(path))
            if part not in node.memory:
                raise FileNotFoundError(errno.ENOENT, "missing", str(path))
            inode = node.memory[part]
        return inode

    def _parent(self, path: Path) -> int:
        return self._at(path.parent)

    def _file_at(self, path: Path) -> int:
        inode = self._at(path)
        if isinstance(self.volume.nodes[inode], Folder):
            raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
        return inode

    def _file(self, inode: int) -> File:
        node = self.volume.nodes[inode]
        assert isinstance(node, File)
        return node

    def _folder(self, inode: int) -> Folder:
        node = self.volume.nodes[inode]
        assert isinstance(node, Folder)
        return node

    def _stat(self, inode: int) -> Stat:
        node = self.volume.nodes[inode]
        size = len(node.memory) if isinstance(node, File) else 0
        kind: Literal["file", "folder"] = "file" if isinstance(node, File) else "folder"
        return Stat(1, inode, size, node.changed, node.changed, kind)
