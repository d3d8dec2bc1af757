"""What an operator may rely on when a store is checked, repaired, or relieved of a case on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness_hermes.cli import app
from tests.store.golden import DAMAGES, GOLDEN, LOG, PROJECTION, place_files

IDLE = GOLDEN.stages["idle"]


def run(*args: str) -> tuple[int, Any]:
    done = CliRunner().invoke(app, [*args, "--json"])
    return done.exit_code, json.loads(done.stdout)


def store(damage: str, tmp_path: Path) -> Path:
    return place_files(DAMAGES[damage](IDLE), tmp_path / "store")


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_checking_changes_nothing_and_says_whether_all_holds(damage: str, tmp_path: Path) -> None:
    """One JSON value, with a verdict and reasons for each check; exit status 1 where not everything holds."""
    root = store(damage, tmp_path)
    before = content(root)
    status, found = run("fsck", "--root", str(root))
    assert content(root) == before
    assert status == (0 if found["sound"] else 1)
    verdicts = [check["verdict"] for case in found["cases"] for check in case["checks"]]
    verdicts += [check["verdict"] for check in found["checks"]]
    assert found["sound"] == (set(verdicts) == {"ok"})
    assert not any(planned["done"] for planned in found["repairs"])


def test_repair_says_it_first_and_then_does_it(tmp_path: Path) -> None:
    """What is named without --repair is what --repair does; afterwards everything holds and nothing is left to name."""
    root = store("case.md: garbage", tmp_path)
    status, named = run("fsck", "--root", str(root))
    assert (status, [planned["file"] for planned in named["repairs"]]) == (1, ["case.md"])
    status, done = run("fsck", "--repair", "--root", str(root))
    assert [{**planned, "done": False} for planned in done["repairs"]] == named["repairs"]
    assert (status, done["sound"], done["repairs"][0]["done"]) == (0, True, True)
    assert content(root)[PROJECTION] == IDLE[PROJECTION]
    assert run("fsck", "--root", str(root))[1]["repairs"] == []
    text = (
        CliRunner().invoke(app, ["fsck", "--root", str(store("case.md: empty", tmp_path / "again")), "--repair"]).stdout
    )
    assert text.index("can be repaired: c1, case.md") < text.index("repaired: c1, case.md", text.index("\ncan be") + 9)


def test_a_loss_is_not_repaired(tmp_path: Path) -> None:
    """Where records were lost nothing is offered; the case can be moved aside, and then all that is left holds."""
    root = store("events.jsonl: the last line dropped", tmp_path)
    status, found = run("fsck", "--repair", "--root", str(root))
    assert (status, found["repairs"]) == (1, [])
    assert content(root)[LOG] != IDLE[LOG]
    assert run("case", "quarantine", "c1", "--root", str(root)) == (
        0,
        {"case_id": "c1", "folder": "c1.quarantined-1", "freed": ["s1"]},
    )
    status, found = run("fsck", "--root", str(root))
    assert (status, found["quarantined"]) == (0, ["c1.quarantined-1"])


def test_an_exported_case_is_checked_anywhere(tmp_path: Path) -> None:
    """One file that is not overwritten, and a verdict on it without the store."""
    root, archive = store("nothing", tmp_path), tmp_path / "c1.tar"
    status, written = run("case", "export", "c1", str(archive), "--root", str(root))
    assert (status, written["bytes"]) == (0, archive.stat().st_size)
    assert run("case", "export", "c1", str(archive), "--root", str(root))[0] == 1
    status, found = run("fsck", "--export", str(archive))
    assert (status, [case["case_id"] for case in found["cases"]]) == (0, ["c1"])
    archive.write_bytes(archive.read_bytes().replace(b'"seen"', b'"sawn"'))
    assert run("fsck", "--export", str(archive))[0] == 1


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    """An unknown case and a file that is no export are clear errors."""
    root = store("nothing", tmp_path)
    assert run("fsck", "--case", "none", "--root", str(root))[1]["code"] == "no_case"
    assert run("case", "quarantine", "none", "--root", str(root))[1]["code"] == "no_case"
    (tmp_path / "x.tar").write_bytes(b"none")
    assert "no tar file" in run("fsck", "--export", str(tmp_path / "x.tar"))[1]["error"]


def test_a_store_of_a_newer_release_is_still_checked(tmp_path: Path) -> None:
    """Where the store itself refuses to open, the checker still says what it finds, and repairs nothing."""
    root = store("nothing", tmp_path)
    (root / "format.json").write_text('{"format": 3}')
    status, found = run("fsck", "--root", str(root))
    assert (status, found["repairs"]) == (1, [])
    assert run("fsck", "--repair", "--root", str(root))[1]["code"] == "newer_format"


def test_where_there_is_no_store_there_is_nothing_that_holds(tmp_path: Path) -> None:
    """A mistyped root is told; what is left of a store, however little, is checked."""
    for root in (tmp_path / "nowhere", tmp_path):
        status, found = run("fsck", "--root", str(root))
        assert (status, found["code"]) == (1, "no_store")
    (tmp_path / "sessions.json").touch()
    assert "sound" in run("fsck", "--root", str(tmp_path))[1]
