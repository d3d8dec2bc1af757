"""What a user may rely on for large evidence: it is found by its content, and a changed one is never taken for it."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from harness_core.errors import Unavailable
from harness_store.artifacts import Artifact, artifact_bytes, check_artifact, store_artifact
from harness_store.disk import PosixDisk
from tests.store.simulator import Failure, SimulatedDisk, Volume

TEXT = "evidence, 12,000 bytes and more of it\n" * 400


@pytest.fixture
def case(tmp_path: Path) -> Path:
    folder = tmp_path / "c1"
    folder.mkdir()
    return folder


@given(st.text(st.characters()))
def test_any_text_can_be_kept(text: str) -> None:
    """Every text is stored under the digest of its bytes, checks, and reads back; a lone surrogate becomes visible."""
    disk = SimulatedDisk(Volume())
    disk.mkdir(Path("/c1"))
    kept = store_artifact(disk, Path("/c1"), text)
    data = disk.volume.files()[f"/c1/{kept.path}"]
    assert data == artifact_bytes(text)
    assert (kept.sha256, kept.bytes) == (hashlib.sha256(data).hexdigest(), len(data))
    assert check_artifact(disk, Path("/c1"), kept) is None
    if not any(0xD800 <= ord(character) < 0xE000 for character in text):
        assert data.decode() == text


def test_the_same_text_is_kept_once(case: Path) -> None:
    """Keeping a text again, also by several threads at once, gives one file and leaves nothing else behind."""
    kept = store_artifact(PosixDisk(), case, TEXT)
    threads = [threading.Thread(target=store_artifact, args=(PosixDisk(), case, TEXT)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.name for path in (case / "archive" / "artifacts").iterdir()] == [f"{kept.sha256}.txt"]
    assert kept.path == f"archive/artifacts/{kept.sha256}.txt"
    assert check_artifact(PosixDisk(), case, kept) is None


def test_a_changed_artifact_is_told(case: Path) -> None:
    """Missing, shorter, or altered at equal length: each is said, none is raised."""
    disk = PosixDisk()
    kept = store_artifact(disk, case, TEXT)
    path = case / kept.path
    path.write_text(TEXT[:-1])
    assert "bytes where the record says" in (check_artifact(disk, case, kept) or "")
    path.write_text(TEXT[:-1] + "!")
    assert "another SHA-256" in (check_artifact(disk, case, kept) or "")
    path.unlink()
    assert check_artifact(disk, case, kept) == "it is missing"
    path.symlink_to(case / "elsewhere")
    assert check_artifact(disk, case, kept) == "it is not a regular file"


def test_a_damaged_artifact_is_mended_by_keeping_its_text_again(case: Path) -> None:
    """What stands at the place of a text is replaced by the text."""
    kept = store_artifact(PosixDisk(), case, TEXT)
    (case / kept.path).write_text("something else")
    assert store_artifact(PosixDisk(), case, TEXT) == kept
    assert check_artifact(PosixDisk(), case, kept) is None


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../c2/archive/artifacts/x.txt", "archive/artifacts/../../case.md", "", "archive/artifacts/x.txt"],
)
def test_a_path_in_a_record_leads_nowhere_else(case: Path, path: str) -> None:
    """Only the one place that belongs to the digest is looked at."""
    kept = store_artifact(PosixDisk(), case, TEXT)
    assert "is not where" in (check_artifact(PosixDisk(), case, evolve(kept, path=path)) or "")


@pytest.mark.parametrize("digest", ["", "x" * 64, "A" * 64, "../" * 30])
def test_a_digest_in_a_record_is_one(case: Path, digest: str) -> None:
    """What is no SHA-256 in lower-case hexadecimal digits is refused before any path is made of it."""
    broken = Artifact(f"archive/artifacts/{digest}.txt", digest, 3)
    assert check_artifact(PosixDisk(), case, broken) == "its SHA-256 is not one"


@pytest.mark.parametrize("name", ["archive", "archive/artifacts"])
def test_a_folder_that_is_a_link_is_not_followed(case: Path, tmp_path: Path, name: str) -> None:
    """A folder replaced by a link to another is not looked into, although the content there would fit."""
    kept = store_artifact(PosixDisk(), case, TEXT)
    (case / name).rename(tmp_path / "moved")
    (case / name).symlink_to(tmp_path / "moved")
    assert "is not a folder" in (check_artifact(PosixDisk(), case, kept) or "")


def test_a_full_disk_keeps_nothing_and_says_so() -> None:
    """A failure is ``Unavailable`` with nothing written, and a later attempt succeeds."""
    volume = Volume()
    SimulatedDisk(volume).mkdir(Path("/c1"))
    dry = SimulatedDisk(volume.copy())
    store_artifact(dry, Path("/c1"), TEXT)
    for step in range(1, dry.steps + 1):
        disk = SimulatedDisk(volume.copy(), failure=Failure(step))
        with pytest.raises(Unavailable) as caught:
            store_artifact(disk, Path("/c1"), TEXT)
        assert caught.value.written == "no"
        kept = store_artifact(SimulatedDisk(disk.volume), Path("/c1"), TEXT)
        assert check_artifact(SimulatedDisk(disk.volume), Path("/c1"), kept) is None
