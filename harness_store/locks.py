"""Locks among processes and threads: ``flock`` on files that are never replaced.

A ``flock`` belongs to an open file, so every acquisition opens its own: two threads of one process exclude each other
like two processes do, and the operating system frees the lock of a holder that dies.

A lock file can be moved away between opening and locking it (a case is quarantined with its folder).  Therefore the
descriptor is compared with the path after every ``flock``; if they differ the lock is worth nothing and is tried again.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from harness_core.errors import Unavailable

from .disk import Disk, open_or_create, reporting, unavailable

_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.02


class Hold:
    """A lock that is held, until ``release`` (from any thread), the end of a ``with`` block, or the holder's death."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self._fds = [fd]
        self._pid = os.getpid()

    def release(self) -> None:
        """Give the lock back.  A second call does nothing."""
        try:
            fd = self._fds.pop()  # atomic: of two threads one gets it
        except IndexError:
            return
        # A forked child shares the lock: it closes its copy of the descriptor and leaves the lock to its parent.
        # A parent unlocks, so that a copy in a child does not keep the lock alive.
        with contextlib.suppress(OSError):
            if os.getpid() == self._pid:
                self._disk.unlock(fd)
        with contextlib.suppress(OSError):
            self._disk.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def __del__(self) -> None:
        # An action that was abandoned with its lease must not block its case until the process ends.
        if self._fds:
            self.release()

    def __repr__(self) -> str:
        return f"<Hold {'held' if self._fds else 'released'}>"


class FileLock:
    """One lock.  ``name`` says for people what it protects ("case c1"); it stands in the error of a lock not had."""

    def __init__(self, disk: Disk, path: Path, name: str) -> None:
        self._disk = disk
        self._path = path
        self._name = name

    @property
    def path(self) -> Path:
        """The lock file."""
        return self._path

    def acquire(self, wait: float | None = None, *, create: bool = True) -> Hold:
        """Hold the lock.

        ``wait`` is the budget in seconds: 0 tries once, ``None`` waits as long as it takes.  ``create`` makes the lock
        file where it is missing; without it a missing file raises ``FileNotFoundError`` and no byte is changed.

        Raises ``Unavailable(code="locked", written="no")`` when the budget is spent, ``FileNotFoundError`` where the
        folder of the lock is missing, ``Unavailable`` for any other failure of the disk.
        """
        end = None if wait is None else time.monotonic() + wait
        pause = _FIRST_PAUSE
        while True:
            hold = self._attempt(create)
            if hold is not None:
                return hold
            left = _LONGEST_PAUSE if end is None else end - time.monotonic()
            if left <= 0:
                raise Unavailable(
                    f"{self._name} is locked by another writer (waited {wait:g} s); nothing was written, try again",
                    code="locked",
                )
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def is_held(self) -> bool:
        """Whether somebody holds the lock now, in this process or another.  Changes nothing on disk."""
        try:
            fd = self._open(create=False)
        except FileNotFoundError:
            return False
        with Hold(self._disk, fd), reporting(f"looking at the lock of {self._name}"):
            # Shared: two who look at once do not take each other for a holder.
            return not self._disk.try_lock(fd, shared=True)

    def _attempt(self, create: bool) -> Hold | None:
        while True:
            hold = Hold(self._disk, fd := self._open(create))
            try:
                with reporting(f"locking {self._name}"):
                    if not self._disk.try_lock(fd):
                        hold.release()
                        return None
                    here = self._disk.stat(self._path)
                    if here is not None and here.identity == self._disk.fstat(fd).identity:
                        return hold
            except BaseException:
                hold.release()
                raise
            hold.release()

    def _open(self, create: bool) -> int:
        try:
            return open_or_create(self._disk, self._path) if create else self._disk.open(self._path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unavailable(error, f"opening the lock of {self._name}") from error

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"


class Lease(FileLock):
    """The right to run one real action, in ``archive/.probe-execution.lock``: held across the action.

    The same lock as any other, only never waited for: whoever comes second has come too late.
    """

    def try_acquire(self) -> Hold | None:
        """The lease, or ``None`` where somebody holds it.  Makes ``archive`` where only that is missing.

        Raises ``FileNotFoundError`` where the case's folder is missing and ``Unavailable`` when the disk fails.
        """
        self._make_archive()
        try:
            # Not zero: a moment's look by ``is_held`` must not count as a holder.
            return self.acquire(0.02)
        except Unavailable as error:
            if error.code == "locked":
                return None
            raise

    def _make_archive(self) -> None:
        # Not durably: a lease does not outlive the machine, and who keeps something in there syncs the name.
        try:
            if self._disk.stat(self.path.parent) is None:
                self._disk.mkdir(self.path.parent)
        except FileExistsError:
            pass
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unavailable(error, f"making room for {self._name}") from error
