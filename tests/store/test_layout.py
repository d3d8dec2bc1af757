"""What a user may rely on for a store as a whole: it says its format, and a newer one's is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness_core.errors import Damaged
from harness_store.disk import PosixDisk
from harness_store.layout import Layout, create_store, read_format


def test_a_store_says_its_format_and_who_made_it(tmp_path: Path) -> None:
    """A new store has its folders, its lock and a format file; making it again changes no byte and no time."""
    root = tmp_path / "profile" / "epistemic-harness"
    create_store(PosixDisk(), root, "epistemic-harness 0")
    assert json.loads((root / "format.json").read_text()) == {"format": 2, "written_by": "epistemic-harness 0"}
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    create_store(PosixDisk(), root, "another")
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert sorted(path.name for path in before) == [".store.lock", "cases", "format.json"]
    assert read_format(PosixDisk(), root) == 2


def test_a_store_without_a_format_file_is_new_or_old(tmp_path: Path) -> None:
    """No format file is no fault: nothing there yet, or release 1.2.0's; looking makes nothing."""
    assert read_format(PosixDisk(), tmp_path / "nothing") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"format": 3, "written_by": "later"}', "newer_format"),
        ('{"format": 0}', "format_broken"),
        ('{"format": "2"}', "format_broken"),
        ('{"format": 2', "format_broken"),
        ("[2]", "format_broken"),
        ("", "format_broken"),
        ("\xff", "format_broken"),
    ],
)
def test_a_store_of_a_newer_release_is_left_alone(tmp_path: Path, text: str, code: str) -> None:
    """A higher number, or none to be read, is refused with a text that says what to do; nothing is changed."""
    (tmp_path / "format.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(Damaged) as caught:
        read_format(PosixDisk(), tmp_path)
    assert caught.value.code == code
    with pytest.raises(Damaged) as caught:
        create_store(PosixDisk(), tmp_path, "x")
    assert caught.value.code == code
    assert [path.name for path in tmp_path.iterdir()] == ["format.json"]


def test_a_format_file_that_is_no_file_is_refused(tmp_path: Path) -> None:
    """A folder in its place is named, not read."""
    (tmp_path / "format.json").mkdir()
    with pytest.raises(Damaged, match="not a regular file"):
        read_format(PosixDisk(), tmp_path)


def test_paths_are_where_the_documents_say() -> None:
    """Cases and leases lie where release 1.2.0 had them."""
    layout = Layout(Path("/r"))
    assert layout.case("c1") == Path("/r/cases/c1")
    assert layout.lease("c1") == Path("/r/cases/c1/archive/.probe-execution.lock")
