"""Every durable primitive of the project, behind one small port.

``Disk`` is what the store needs of a file system; ``PosixDisk`` is the real one, and the tests bring a second one that
loses power.  Nothing else in the project opens for writing, syncs, renames, truncates or locks a file.

The primitives raise plain ``OSError``: only the caller knows whether something was already written when one fails.
It says so with ``reporting(...)``, which turns the error into ``Unavailable`` with the right ``written``.

Files are 0600 and folders 0700 whatever the umask.  Links are never followed at the last component of a path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn, Protocol, Self

from attrs import frozen

from harness_core.errors import Unavailable, Written

try:
    import fcntl
except ImportError:  # a platform without POSIX locks
    fcntl = None  # type: ignore[assignment]  # stands for "missing"; PosixDisk refuses to be built

FILE_MODE = 0o600
FOLDER_MODE = 0o700

Kind = Literal["file", "folder", "other"]

_CODES = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EACCES: "not_permitted",
    errno.EPERM: "not_permitted",
    errno.EROFS: "not_permitted",
}


@frozen
class Stat:
    """What tells one state of a file from another: equal values mean that nobody touched it in between.

    Times are nanoseconds since the epoch.  Two changes of equal size within one tick of the file system's clock
    (some milliseconds on common ones) look alike; that is the window the documentation states.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    kind: Kind

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode: the same file, whatever it holds by now."""
        return self.device, self.inode

    @property
    def stamp(self) -> Stamp:
        """The numbers alone, as ``Disk.stamps`` gives them."""
        return self.device, self.inode, self.size, self.mtime_ns, self.ctime_ns


Stamp = tuple[int, int, int, int, int]
"""Device, inode, size, modification and change time: a ``Stat`` as bare numbers."""


class Disk(Protocol):
    """The port.  ``fd`` is an open file as ``open`` or ``create`` gave it; offsets and sizes are bytes.

    Every method may raise ``OSError``.  ``stat`` alone answers ``None`` where nothing is.
    """

    def open(self, path: Path, *, write: bool = False) -> int:
        """Open a file that exists, for reading or for both.  Raises ``FileNotFoundError``."""

    def create(self, path: Path) -> int:
        """Make a new, empty file and open it for both.  Raises ``FileExistsError``."""

    def close(self, fd: int) -> None:
        """Let go of the file, and of a lock taken through this ``fd``."""

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """``size`` bytes from ``offset``, fewer only where the file ends."""

    def write(self, fd: int, data: bytes, offset: int) -> None:
        """All of ``data`` at ``offset``.  A failure may leave any part of it in the file."""

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to ``size``."""

    def start_sync(self, fd: int) -> None:
        """Have what was written so far on its way to the disk, without waiting.  A hint; it promises nothing."""

    def sync(self, fd: int) -> None:
        """Return only when content and size of the file would survive a power failure."""

    def sync_folder(self, path: Path) -> None:
        """Return only when the names in this folder would survive a power failure."""

    def replace(self, source: Path, target: Path) -> None:
        """Rename atomically, over a file that may be there."""

    def mkdir(self, path: Path) -> None:
        """Make one folder.  Raises ``FileExistsError``."""

    def unlink(self, path: Path) -> None:
        """Take away a name.  Raises ``FileNotFoundError``."""

    def stat(self, path: Path) -> Stat | None:
        """What stands at ``path``; a link is itself, not what it points to."""

    def stamps(self, *paths: str) -> tuple[Stamp | None, ...]:
        """As ``stat``, of several at once: for the looks that every tool call of a host pays for."""

    def fstat(self, fd: int) -> Stat:
        """What the open file is, whatever its path names by now."""

    def listdir(self, path: Path) -> tuple[str, ...]:
        """The names in a folder, sorted.  Raises ``FileNotFoundError``."""

    def try_lock(self, fd: int, *, shared: bool = False) -> bool:
        """``flock`` without waiting; false where another open file holds it.  Dies with the process."""

    def unlock(self, fd: int) -> None:
        """Give the ``flock`` back, also where a forked child still holds a copy of ``fd``."""


class PosixDisk:
    """``Disk`` on Linux and macOS."""

    def __init__(self) -> None:
        if fcntl is None:
            raise Unavailable(
                "this platform has no fcntl: without POSIX file locks two processes could write one case at once. "
                "Run the harness on Linux or macOS (on Windows: in WSL).",
                code="platform",
            )

    def open(self, path: Path, *, write: bool = False) -> int:
        # A pipe in a file's place must not hold us up; regular files know no waiting.
        flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        return os.open(path, (os.O_RDWR if write else os.O_RDONLY) | flags)

    def create(self, path: Path) -> int:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            os.fchmod(fd, FILE_MODE)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def close(self, fd: int) -> None:
        os.close(fd)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        parts = []
        while size > 0 and (part := os.pread(fd, size, offset)):
            parts.append(part)
            size -= len(part)
            offset += len(part)
        return b"".join(parts)

    def write(self, fd: int, data: bytes, offset: int) -> None:
        view = memoryview(data)
        while view:
            done = os.pwrite(fd, view, offset)
            view = view[done:]
            offset += done

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def start_sync(self, fd: int) -> None:
        if sys.platform == "linux":  # there this advice begins to write; a file system that knows none of it says so
            with contextlib.suppress(OSError):
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self, fd: int) -> None:
        if sys.platform == "darwin":
            # There fsync only reaches the drive's own cache.  File systems that lack the stronger call say so.
            try:
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            except OSError as error:
                if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                    raise
            else:
                return
        os.fsync(fd)

    def sync_folder(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sync(fd)
        finally:
            os.close(fd)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)  # noqa: PTH105  # without a third path made

    def mkdir(self, path: Path) -> None:
        path.mkdir(FOLDER_MODE)
        path.chmod(FOLDER_MODE)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def stat(self, path: Path) -> Stat | None:
        try:
            return _stat_of(os.lstat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def stamps(self, *paths: str) -> tuple[Stamp | None, ...]:
        found: list[Stamp | None] = []
        for path in paths:
            try:
                at = os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                found.append(None)
            else:
                found.append((at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns))
        return tuple(found)

    def fstat(self, fd: int) -> Stat:
        return _stat_of(os.fstat(fd))

    def listdir(self, path: Path) -> tuple[str, ...]:
        return tuple(sorted(os.listdir(path)))  # noqa: PTH208  # names, without a path made of each

    def try_lock(self, fd: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(self, fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


class ReadOnlyDisk:
    """Another disk, of which no byte is changed: whatever would is refused before it comes there.

    Locks on files that are there can be had: they keep writers away while one looks a second time.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.close = disk.close
        self.read = disk.read
        self.stat = disk.stat
        self.stamps = disk.stamps
        self.fstat = disk.fstat
        self.listdir = disk.listdir
        self.try_lock = disk.try_lock
        self.unlock = disk.unlock

    def open(self, path: Path, *, write: bool = False) -> int:
        return self._refuse(path) if write else self._disk.open(path)

    def create(self, path: Path) -> int:
        return self._refuse(path)

    def write(self, fd: int, data: bytes, offset: int) -> None:
        self._refuse()

    def truncate(self, fd: int, size: int) -> None:
        self._refuse()

    def start_sync(self, fd: int) -> None:
        self._refuse()

    def sync(self, fd: int) -> None:
        self._refuse()

    def sync_folder(self, path: Path) -> None:
        self._refuse(path)

    def replace(self, source: Path, target: Path) -> None:
        self._refuse(target)

    def mkdir(self, path: Path) -> None:
        self._refuse(path)

    def unlink(self, path: Path) -> None:
        self._refuse(path)

    def _refuse(self, path: Path | None = None) -> NoReturn:
        raise OSError(errno.EROFS, "The store was opened read-only", str(path or ""))


def _stat_of(raw: os.stat_result) -> Stat:
    kind: Kind = "file" if stat.S_ISREG(raw.st_mode) else "folder" if stat.S_ISDIR(raw.st_mode) else "other"
    return Stat(raw.st_dev, raw.st_ino, raw.st_size, raw.st_mtime_ns, raw.st_ctime_ns, kind)


def unavailable(error: OSError, doing: str, written: Written = "no") -> Unavailable:
    """The ``Unavailable`` for a failed system call.

    ``doing`` completes "while ..."; ``code`` is ``disk_full``, ``not_permitted`` or ``io_error``.
    """
    cause = error.strerror or type(error).__name__
    stands = {
        "no": "nothing was written",
        "yes": "the change is written and stands; what failed came after it",
        "unknown": "whether the change stands is not known",
    }[written]
    code = _CODES.get(error.errno or 0, "io_error")
    return Unavailable(f"{cause} while {doing}; {stands}", code=code, written=written)


class reporting:  # noqa: N801  # used as a function is; a class, since one of a generator takes five times as long
    """Turn an ``OSError`` of the block into ``Unavailable``, saying what was being done and whether it stands."""

    __slots__ = ("_doing", "_written")

    def __init__(self, doing: str, written: Written = "no") -> None:
        self._doing = doing
        self._written: Written = written

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, OSError):
            raise unavailable(error, self._doing, self._written) from error


class opened:  # noqa: N801  # as above
    """An open file for the length of a block.  ``create`` makes it where it is missing (and implies ``write``)."""

    __slots__ = ("_disk", "_fd")

    def __init__(self, disk: Disk, path: Path, *, write: bool = False, create: bool = False) -> None:
        self._disk = disk
        self._fd = open_or_create(disk, path) if create else disk.open(path, write=write)

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._disk.close(self._fd)


def open_or_create(disk: Disk, path: Path) -> int:
    """Open for both, making the file where it is missing; never empties one that is there."""
    while True:
        try:
            return disk.open(path, write=True)
        except FileNotFoundError:
            # Somebody else may make it in between; then it is there to be opened.
            with contextlib.suppress(FileExistsError):
                return disk.create(path)


def read_file(disk: Disk, path: Path) -> tuple[bytes, Stat] | None:
    """The content of a file and the ``Stat`` it was read under; ``None`` where it is missing.

    Raises ``OSError``, and ``IsADirectoryError`` for whatever is no regular file (a pipe would block for ever).
    """
    found = disk.stat(path)
    if found is None:
        return None
    if found.kind != "file":
        raise IsADirectoryError(errno.EISDIR, "not a regular file", str(path))
    try:
        with opened(disk, path) as fd:
            before = disk.fstat(fd)
            return disk.read(fd, before.size, 0), before
    except FileNotFoundError:
        return None


class Staged:
    """A file that is written aside and on its way to the disk: ``publish`` makes it the content of ``path``.

    Whatever is synced between ``stage`` and ``publish`` mostly takes this file's bytes along, so that the publishing
    waits for little.  One that is not published is taken away at the end of a ``with`` block.
    """

    def __init__(self, disk: Disk, fd: int, temporary: Path, path: Path) -> None:
        self._disk = disk
        self._fd: int | None = fd
        self._temporary = temporary
        self._path = path

    def publish(self) -> None:
        """Sync, rename, sync of the folder: a reader, and a power failure at any moment, finds the old content of the
        path or the new one.  Raises ``OSError``."""
        if self._fd is None:
            raise RuntimeError("it was published or taken away")
        self._disk.sync(self._fd)
        self._close()
        self._disk.replace(self._temporary, self._path)
        self._disk.sync_folder(self._path.parent)

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            self._disk.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._fd is not None:
            self._close()
            with contextlib.suppress(OSError):  # who writes there next takes it away
                self._disk.unlink(self._temporary)


def stage(disk: Disk, path: Path, data: bytes, *, temporary: Path | None = None) -> Staged:
    """Write ``data`` aside, to be published at ``path``.

    The caller holds a lock that keeps others from the same ``temporary`` (by default ``.<name>.tmp`` beside ``path``).
    Raises ``OSError``.
    """
    temporary = temporary or _temporary(path)
    fd = _create_afresh(disk, temporary)
    with contextlib.ExitStack() as unless_written:
        unless_written.push(staged := Staged(disk, fd, temporary, path))
        disk.write(fd, data, 0)
        disk.start_sync(fd)
        unless_written.pop_all()
    return staged


def write_durably(disk: Disk, path: Path, data: bytes, *, temporary: Path | None = None) -> None:
    """Put ``data`` at ``path``, whatever happens: the old content or the new one (``stage`` and ``publish``, two
    syncs).  Raises ``OSError``."""
    with stage(disk, path, data, temporary=temporary) as staged:
        staged.publish()


def write_undurably(disk: Disk, path: Path, data: bytes) -> None:
    """As ``write_durably`` without the syncs, for what can be made again: a reader finds the old content or the new."""
    temporary = _temporary(path)
    fd = _create_afresh(disk, temporary)
    try:
        disk.write(fd, data, 0)
    finally:
        disk.close(fd)
    disk.replace(temporary, path)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def _create_afresh(disk: Disk, path: Path) -> int:
    # A leftover of a killed process is taken away, not emptied: its inode may have become another name's by then.
    while True:
        try:
            return disk.create(path)
        except FileExistsError:
            disk.unlink(path)


def make_folder(disk: Disk, path: Path, *, durable_above: bool = False) -> bool:
    """Make a folder and whatever is missing above it, each synced into its parent; whether it was missing.

    A folder that is there is left alone: who finds one and builds on it uses ``sync_name``.  Whatever is above it is
    durable then, since a folder's own name is synced before anything is made in it; ``durable_above`` says that the
    caller knows this of a parent that is there.  Raises ``OSError``.
    """
    if disk.stat(path) is not None:
        return False
    if disk.stat(path.parent) is None:
        make_folder(disk, path.parent)
    elif not durable_above:
        sync_name(disk, path.parent)
    made = True
    try:
        disk.mkdir(path)
    except FileExistsError:  # somebody else did meanwhile
        made = False
    disk.sync_folder(path.parent)
    return made


def sync_name(disk: Disk, path: Path) -> None:
    """Make the name of a folder durable that is there, but whose maker may have been killed before its sync."""
    # A folder above the user's own may be closed to us; then nobody of ours has made anything in it.
    with contextlib.suppress(PermissionError):
        disk.sync_folder(path.parent)
