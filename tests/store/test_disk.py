"""What a user may rely on in the files themselves: who may read them, and what a failure of the disk is called."""

from __future__ import annotations

import ast
import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness_store
from harness_core.errors import Unavailable, Written
from harness_store.disk import (
    PosixDisk,
    make_folder,
    opened,
    read_file,
    reporting,
    write_durably,
    write_undurably,
)


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folders_are_the_users_own(tmp_path: Path, umask: int) -> None:
    """Files are 0600 and folders 0700 whatever the umask."""
    disk, folder = PosixDisk(), tmp_path / "a" / "b"
    make_folder(disk, folder)
    write_durably(disk, folder / "durable", b"x")
    write_undurably(disk, folder / "quick", b"x")
    with opened(disk, folder / "log", create=True):
        pass
    assert [mode(path) for path in (folder, folder.parent)] == [0o700, 0o700]
    assert {mode(path) for path in folder.iterdir()} == {0o600}


def test_a_durable_write_replaces_all_or_nothing(tmp_path: Path) -> None:
    """The old content or the new: a write that fails half-way leaves the old one, and the next write succeeds."""

    class Full(PosixDisk):
        def write(self, fd: int, data: bytes, offset: int) -> None:
            super().write(fd, data[:1], offset)
            raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "file"
    write_durably(PosixDisk(), path, b"old")
    with pytest.raises(OSError, match="No space"):
        write_durably(Full(), path, b"new")
    assert path.read_bytes() == b"old"
    write_durably(PosixDisk(), path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link planted where a file of ours belongs is neither read nor written through."""
    disk, secret, link = PosixDisk(), tmp_path / "secret", tmp_path / "link"
    secret.write_bytes(b"somebody's own")
    link.symlink_to(secret)
    with pytest.raises(IsADirectoryError, match="not a regular file"):
        read_file(disk, link)
    with pytest.raises(OSError), opened(disk, link, create=True):  # noqa: PT011 - ELOOP, in the platform's words
        pass
    write_durably(disk, link, b"ours")
    assert secret.read_bytes() == b"somebody's own"
    assert link.read_bytes() == b"ours"
    assert not link.is_symlink()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Whatever is no regular file is refused at once instead of read."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(IsADirectoryError):
            read_file(PosixDisk(), path)
    assert read_file(PosixDisk(), tmp_path / "missing") is None
    assert read_file(PosixDisk(), tmp_path / "pipe" / "below") is None


def test_reads_and_writes_are_whole(tmp_path: Path) -> None:
    """Large content goes out and comes back complete, from any offset."""
    disk, data = PosixDisk(), bytes(range(256)) * 20_000
    with opened(disk, tmp_path / "big", create=True) as fd:
        disk.write(fd, data, 0)
        assert disk.read(fd, len(data), 0) == data
        assert disk.read(fd, 100, len(data) - 10) == data[-10:]
        disk.truncate(fd, 5)
        assert disk.fstat(fd) == disk.stat(tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == data[:5]
    assert disk.listdir(tmp_path) == ("big",)


def test_equal_stats_mean_that_nobody_touched_the_file(tmp_path: Path) -> None:
    """Replacing, growing or rewriting a file changes its ``Stat``; reading it does not."""
    disk, path = PosixDisk(), tmp_path / "file"
    write_durably(disk, path, b"one")
    first = disk.stat(path)
    read_file(disk, path)
    assert disk.stat(path) == first
    write_durably(disk, path, b"two")
    assert disk.stat(path) != first
    assert disk.stat(tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk_full"),
        (errno.EDQUOT, "disk_full"),
        (errno.EACCES, "not_permitted"),
        (errno.EROFS, "not_permitted"),
        (errno.EIO, "io_error"),
        (errno.EMFILE, "io_error"),
    ],
)
@pytest.mark.parametrize("written", ["no", "yes", "unknown"])
def test_a_failing_call_says_what_failed_and_what_stands(number: int, code: str, written: Written) -> None:
    """An ``OSError`` becomes ``Unavailable`` with a stable code, the system's words, and whether the change stands."""
    with pytest.raises(Unavailable, match="while writing c1") as caught, reporting("writing c1", written):
        raise OSError(number, os.strerror(number))
    assert (caught.value.code, caught.value.written) == (code, written)
    assert os.strerror(number) in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)


def test_a_platform_without_fcntl_is_refused() -> None:
    """Where POSIX locks are missing the store refuses to start, and names what is missing."""
    program = (
        "import sys; sys.modules['fcntl'] = None\n"
        "from harness_store.disk import PosixDisk\n"
        "from harness_core.errors import Unavailable\n"
        "try: PosixDisk()\n"
        "except Unavailable as error: print(error.code, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("platform ")
    assert "fcntl" in done.stdout


def test_only_one_module_touches_the_disk() -> None:
    """Durable primitives are called in ``disk`` and nowhere else, so the simulator's proof covers the whole store."""
    banned_imports = {"fcntl", "shutil", "tempfile", "mmap", "sqlite3", "pickle"}
    banned_calls = {"open", "write_text", "write_bytes", "touch", "rename", "symlink_to", "hardlink_to", "rmdir"}
    allowed_of_os = {"getpid", "PathLike", "environ", "fspath", "urandom"}
    for path in sorted(Path(harness_store.__file__).parent.glob("*.py")):
        if path.name == "disk.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            where = f"{path.name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                assert not banned_imports & {name.name.split(".")[0] for name in node.names}, where
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "io":
                assert node.attr == "BytesIO", where  # memory
            if isinstance(node, ast.ImportFrom):
                assert node.module not in (banned_imports | {"os"}), where
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "open", where
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
                assert node.attr in allowed_of_os, where
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                on_disk = ast.unparse(node.func.value).endswith(("disk", "_disk"))
                assert on_disk or node.func.attr not in banned_calls, where
