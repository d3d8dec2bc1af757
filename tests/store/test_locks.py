"""What a user may rely on when several want one thing: one has it, the others are told, and the dead hold nothing."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness_core.errors import Unavailable
from harness_store.disk import PosixDisk
from harness_store.locks import FileLock, Hold, Lease
from tests.store.simulator import Failure, SimulatedDisk, Volume

HOLDER = """
import os, sys
from pathlib import Path
from harness_store.disk import PosixDisk
from harness_store.locks import {kind}
hold = {kind}(PosixDisk(), Path(sys.argv[1]), "it").acquire(30)
{then}
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process(path: Path, kind: str = "FileLock", then: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock at ``path`` until it is killed or its input is closed."""
    program = HOLDER.format(kind=kind, then=then)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def lock(tmp_path: Path) -> FileLock:
    return FileLock(PosixDisk(), tmp_path / ".lock", "case c1")


def test_two_acquisitions_exclude_each_other_in_one_process(lock: FileLock) -> None:
    """A thread that holds a lock keeps every other out, itself included: there is no re-entry."""
    with lock.acquire():
        with pytest.raises(Unavailable, match="case c1 is locked") as caught:
            lock.acquire(0)
        assert (caught.value.code, caught.value.written) == ("locked", "no")
    with lock.acquire(0):
        pass


def test_a_waiting_thread_gets_the_lock_when_it_is_free(lock: FileLock) -> None:
    """Who waits within his budget gets the lock after its release, not before."""
    order: list[str] = []
    waiting = threading.Event()

    def wait() -> None:
        waiting.set()
        with lock.acquire(60):
            order.append("waiter")

    with lock.acquire():
        thread = threading.Thread(target=wait)
        thread.start()
        waiting.wait()
        order.append("holder")
    thread.join()
    assert order == ["holder", "waiter"]


def test_many_threads_never_hold_it_together(lock: FileLock) -> None:
    """However many want it, they have it one after the other."""
    inside, seen = 0, []

    def work() -> None:
        nonlocal inside
        for _ in range(20):
            with lock.acquire():
                inside += 1
                seen.append(inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 120


@pytest.mark.parametrize("kind", ["FileLock", "Lease"])
def test_a_killed_holder_holds_nothing(tmp_path: Path, kind: str) -> None:
    """The operating system frees the lock of a process that was killed."""
    path = tmp_path / "archive" / ".probe-execution.lock"
    path.parent.mkdir()
    lease = Lease(PosixDisk(), path, "the action")
    with another_process(path, kind) as process:
        assert lease.is_held()
        assert lease.try_acquire() is None
        process.kill()
        process.wait()
        assert not lease.is_held()
        with lease.acquire(60):
            assert lease.is_held()


LETS_GO = """
if (child := os.fork()) == 0:
    hold.release()
    os._exit(0)
os.waitpid(child, 0)
"""

LIVES_ON = """
read, write = os.pipe()
if os.fork() == 0:
    os.close(write)
    os.close(1)
    os.read(read, 1)  # until the parent is gone
    os._exit(0)
hold.release()
"""


def test_a_forked_child_does_not_free_its_parents_lock(lock: FileLock) -> None:
    """A child that lets go of what it inherited frees nothing."""
    with another_process(lock.path, then=LETS_GO), pytest.raises(Unavailable):
        lock.acquire(0)


def test_a_forked_child_does_not_keep_its_parents_lock(lock: FileLock) -> None:
    """Once the parent has let go the lock is free, although a child that inherited it lives on."""
    with another_process(lock.path, then=LIVES_ON), lock.acquire(0):
        pass


def test_a_lock_that_was_moved_away_is_not_taken_for_the_lock(tmp_path: Path) -> None:
    """Between opening and locking a file its folder may be moved; then the lock that counts is the one at the path."""
    folder = tmp_path / "c1"
    folder.mkdir()

    class Moving(PosixDisk):
        moved = False

        def try_lock(self, fd: int, *, shared: bool = False) -> bool:
            if not self.moved:
                self.moved = True
                folder.rename(tmp_path / "quarantined")
                folder.mkdir()
            return super().try_lock(fd, shared=shared)

    with FileLock(Moving(), folder / ".lock", "case c1").acquire(0):
        assert FileLock(PosixDisk(), folder / ".lock", "c1").is_held()
        assert not FileLock(PosixDisk(), tmp_path / "quarantined" / ".lock", "c1").is_held()


def test_a_missing_folder_is_no_lock(tmp_path: Path) -> None:
    """Where the folder is missing the lock says so, and makes nothing; asked not to, it makes no file either."""
    lock = FileLock(PosixDisk(), tmp_path / "none" / ".lock", "case c1")
    with pytest.raises(FileNotFoundError):
        lock.acquire(0)
    with pytest.raises(FileNotFoundError):
        FileLock(PosixDisk(), tmp_path / ".lock", "case c1").acquire(0, create=False)
    assert not lock.is_held()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_keeps_its_content_and_its_inode(lock: FileLock) -> None:
    """Locking never replaces, empties or changes the file: others may hold it, and it may hold an intent."""
    lock.path.write_text("intent")
    before = lock.path.stat()
    for _ in range(3):
        with lock.acquire(0):
            pass
    after = lock.path.stat()
    assert lock.path.read_text() == "intent"
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_lock_is_released_once_and_from_any_thread(lock: FileLock) -> None:
    """Releasing on another thread frees the lock; releasing again does not free what somebody else has by then."""
    hold = lock.acquire(0)
    thread = threading.Thread(target=hold.release)
    thread.start()
    thread.join()
    with lock.acquire(0):
        hold.release()
        assert lock.is_held()


def test_an_abandoned_lock_is_free(lock: FileLock) -> None:
    """Who forgets a lock loses it: an abandoned action does not block its case until the process ends."""
    hold: Hold | None = lock.acquire(0)
    assert "held" in repr(hold)
    del hold
    gc.collect()
    assert not lock.is_held()


def test_no_descriptor_is_leaked(lock: FileLock) -> None:
    """Waiting, failing and releasing leave no open file behind."""
    count = len(list(Path("/dev/fd").iterdir()))
    with lock.acquire(0):
        for _ in range(20):
            with pytest.raises(Unavailable):
                lock.acquire(0)
            assert lock.is_held()
    assert len(list(Path("/dev/fd").iterdir())) == count


def test_a_lease_is_taken_at_once_or_not_at_all(tmp_path: Path) -> None:
    """The first has the lease, the second comes too late; after its end it can be had again."""
    path = tmp_path / "archive" / ".probe-execution.lock"
    lease = Lease(PosixDisk(), path, "the action of case c1")
    assert not lease.is_held()
    assert not path.parent.exists()
    first = lease.try_acquire()
    assert first is not None
    assert lease.try_acquire() is None
    assert lease.is_held()
    first.release()
    assert not lease.is_held()
    second = lease.try_acquire()
    assert second is not None
    second.release()
    with pytest.raises(FileNotFoundError):
        Lease(PosixDisk(), tmp_path / "gone" / "archive" / "x", "it").try_acquire()


def test_a_look_at_a_lease_does_not_cost_anybody_the_lease(tmp_path: Path) -> None:
    """While another thread keeps asking whether the lease is held, whoever wants it gets it."""
    lease = Lease(PosixDisk(), tmp_path / ".lock", "the action")
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            lease.is_held()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(50):
            lease.acquire(60).release()
    finally:
        done.set()
        thread.join()


def test_a_disk_that_fails_is_not_taken_for_a_lock_in_use(tmp_path: Path) -> None:
    """An I/O error while locking is ``Unavailable`` with its own code, and leaves no lock behind."""
    disk = SimulatedDisk(Volume(), failure=Failure(1))
    for lock in (FileLock(disk, Path("/.lock"), "it"), Lease(disk, Path("/archive/.lock"), "it")):
        disk.steps = 0
        with pytest.raises(Unavailable, match="Input/output error") as caught:
            lock.try_acquire() if isinstance(lock, Lease) else lock.acquire(0)
        assert caught.value.code == "io_error"
    disk.failure = None
    FileLock(disk, Path("/.lock"), "it").acquire(0).release()
