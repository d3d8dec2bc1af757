"""What a user may rely on when a store is put in order: nothing more is done than was said, and nothing is lost."""

from __future__ import annotations

import errno
import io
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from harness_core.errors import Refused, Unavailable
from harness_store import Harness
from harness_store.aside import Aside
from harness_store.disk import PosixDisk
from harness_store.export import unpacked
from harness_store.fsck import check_case, check_store
from harness_store.layout import Layout
from harness_store.repair import Kind
from tests.store.golden import (
    ATTEMPTS,
    CASE,
    DAMAGES,
    EVIDENCE,
    GOLDEN,
    LOG,
    PROJECTION,
    Files,
    files_of,
    outcome,
    place_files,
    volume_of,
)
from tests.store.script import ROOT, Process, started
from tests.store.simulator import Killed, SimulatedDisk

DISK = PosixDisk()
IDLE = GOLDEN.stages["idle"]
MOVED = f"{CASE}.quarantined-1"


def process_on(files: Files) -> Process:
    return Process(SimulatedDisk(volume_of(files)))


def files_after(process: Process) -> Files:
    return files_of(process.disk.volume)  # type: ignore[attr-defined]  # a simulated one


# -- moving a case aside --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_a_case_moved_aside_frees_its_session_and_keeps_every_byte(damage: str) -> None:
    """Sound or damaged: the folder has another name, its session opens another case, and the id is free again."""
    process = process_on(DAMAGES[damage](IDLE))
    before = {path: data for path, data in files_after(process).items() if path.startswith(f"{CASE}/")}
    moved = process.harness.quarantine("c1")
    assert moved == {"case_id": "c1", "folder": "c1.quarantined-1", "freed": ("s1",)}
    after = files_after(process)
    assert {path.replace(MOVED, CASE): data for path, data in after.items() if path.startswith(MOVED)} == before
    assert not [path for path in after if path.startswith(f"{CASE}/")]
    for again in (process, Process(SimulatedDisk(volume_of(after)))):
        with pytest.raises(Refused, match="no case c1"):
            again.model(operation="show", case_id="c1")
        assert again.model(operation="list")["case_errors"] == {}
    assert process.model(operation="open", case_id="c1", top_unknown="again")["case"]["session_id"] == "s1"
    assert process.harness.quarantine("c1")["folder"] == "c1.quarantined-2"


def test_a_process_that_knows_the_case_finds_it_gone() -> None:
    """Whoever waits for the case's lock, or had it in mind, is told that there is no such case, and makes none."""
    process = process_on(IDLE)
    warm = Process(SimulatedDisk(process.disk.volume))  # type: ignore[attr-defined]  # a simulated one
    warm.model(operation="record_evidence", evidence=[EVIDENCE])
    process.harness.quarantine("c1")
    with pytest.raises(Refused) as caught:
        warm.model(operation="record_evidence", evidence=[EVIDENCE])
    assert caught.value.code == "no_active_case"
    assert not [path for path in files_after(process) if path.startswith(f"{CASE}/")]


def test_a_case_with_a_running_action_stays() -> None:
    """Its observation would find no case any more: the move is refused while the action's holder lives."""
    process = process_on(GOLDEN.stages["committed"])
    started(process)
    with pytest.raises(Refused) as caught:
        process.harness.quarantine("c1")
    assert caught.value.code == "still_running"
    assert process.execution is not None
    process.execution.observed("42")
    process.execution.__exit__(None, None, None)
    assert process.harness.quarantine("c1")["freed"] == ("s1",)


def test_a_crash_while_moving_leaves_the_case_there_or_aside() -> None:
    """Killed or without power at any step, the session has the case, whole, or it has none and may open one."""
    base = process_on(IDLE).disk.volume  # type: ignore[attr-defined]  # a simulated one
    base = list(base.survivors(2))[1]
    seen = set()
    for step in range(1, 40):
        disk = SimulatedDisk(base.copy(), kill_at=step)
        process = Process(disk)
        try:
            process.harness.quarantine("c1")
        except Killed:
            done = False
        else:
            done = True
        for volume in (disk.volume.copy(), *disk.volume.survivors(32, seed=step)):
            found = Process(SimulatedDisk(volume))
            bound = found.harness.is_bound("s1")
            # What was settled stays so when the power fails right then.
            for settled in (volume, *volume.survivors(4)):
                again = Process(SimulatedDisk(settled.copy()))
                assert again.harness.is_bound("s1") == bound
                assert ("c1" in [entry["case_id"] for entry in again.model(operation="list")["cases"]]) == bound
            assert not (done and bound)
            seen.add(bound)
            if bound:
                assert found.model(operation="show")["replay"]["usable"]
                found.model(operation="record_evidence", evidence=[EVIDENCE])
            found.model("s1" if not bound else "s3", operation="open", case_id="c2", top_unknown="v")
            for later in found.disk.volume.survivors(4):  # type: ignore[attr-defined]  # a simulated one
                again = Process(SimulatedDisk(later))
                assert again.harness.is_bound("s1")
                assert ("c1" in [entry["case_id"] for entry in again.model(operation="list")["cases"]]) == bound
        if done:
            break
    assert seen == {True, False}


def test_the_numbers_of_a_case_moved_aside_do_not_fall() -> None:
    """With the bindings lost as well, a case moved aside still says how far its sessions had counted."""
    process = process_on(GOLDEN.stages["left"])
    process.model(operation="open", case_id="c2", top_unknown="v")
    process.harness.quarantine("c2")
    disk = process.disk
    assert Aside(disk, Layout(ROOT)).high_waters()["s1"] > 1
    disk.unlink(ROOT / "sessions.json")
    assert not Process(disk).harness.proof_of_life("s1"), "the marker of the first pause was spent by the second case"


# -- export ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["nothing", "events.jsonl: a bit flipped", "artifact: deleted"])
def test_an_export_is_judged_elsewhere_as_its_case_is_here(damage: str, tmp_path: Path) -> None:
    """One file, without locks, verifiable without the store, with the verdict that the case itself gets."""
    root = place_files(DAMAGES[damage](IDLE), tmp_path / "store")
    archive = tmp_path / "c1.tar"
    archive.write_bytes(Harness(root).export("c1"))
    assert archive.read_bytes() == Harness(root, read_only=True).export("c1")
    here, there = check_case(root / CASE), check_case(unpacked(DISK, archive, tmp_path / "elsewhere"))
    assert here == there
    assert here.sound == (damage == "nothing")
    with tarfile.open(archive) as tar:
        assert not [name for name in tar.getnames() if name.endswith((".lock", ".tmp"))]


def test_an_export_put_into_another_store_is_the_case(tmp_path: Path) -> None:
    """Unpacked under ``cases`` of an empty store it can be listed, shown and replayed there."""
    root = place_files(GOLDEN.stages["closed"], tmp_path / "store")
    (tmp_path / "c1.tar").write_bytes(Harness(root).export("c1"))
    unpacked(DISK, tmp_path / "c1.tar", tmp_path / "other" / "cases")
    shown = Harness(tmp_path / "other").model({"operation": "show", "case_id": "c1"}, session_id="x")
    assert shown == Harness(root).model({"operation": "show", "case_id": "c1"}, session_id="x")


@pytest.mark.parametrize("name", ["../c1/events.jsonl", "/c1/events.jsonl", "events.jsonl", "c1/../../x"])
def test_what_is_no_export_is_refused(name: str, tmp_path: Path) -> None:
    """A path that leads out of the archive's own folder is never followed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    (tmp_path / "a.tar").write_bytes(packed.getvalue())
    with pytest.raises(ValueError, match="no export"):
        unpacked(DISK, tmp_path / "a.tar", tmp_path / "into")
    (tmp_path / "b.tar").write_bytes(b"no tar at all" * 99)
    with pytest.raises(ValueError, match="no tar file"):
        unpacked(DISK, tmp_path / "b.tar", tmp_path / "into")


# -- reading what must not be written -------------------------------------------------------------------------------

READS = ("show", "list", "injection", "ordinary call")


def opened_read_only(files: Files) -> Process:
    process = process_on(files)
    process.harness = Harness(ROOT, wait=0.0, disk=process.disk, read_only=True)
    return process


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_a_store_opened_read_only_is_read_and_never_changed(damage: str) -> None:
    """List, show, replay and injection say what they say anywhere; every write is refused and no byte changes."""
    for name, attempt in ATTEMPTS.items():
        files = DAMAGES[damage](GOLDEN.stages[attempt.stage])
        process = opened_read_only(files)
        said = outcome(attempt.act, process)
        assert files_after(process) == files
        if name in READS:
            assert said == outcome(attempt.act, process_on(files))
        elif name not in ("committed call", "learn from it", "open another"):
            assert said in {"unavailable: not_permitted", "damaged", "refused: not_usable", "nothing"}, name


def test_a_refused_write_says_that_the_store_is_read_only() -> None:
    """The error says what was tried, why not, and that nothing was written."""
    with pytest.raises(Unavailable, match=r"opened read-only .* nothing was written") as caught:
        opened_read_only(IDLE).model(operation="pause", reason="r")
    assert (caught.value.code, caught.value.written) == ("not_permitted", "no")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_store_without_write_permission_is_read_by_itself(number: int, tmp_path: Path) -> None:
    """On a disk that refuses every change, an unsettled store is listed and shown all the same."""
    files = {**IDLE, "sessions.json": b"lost"}
    root = place_files(files, tmp_path / "store")

    class Closed(PosixDisk):
        def open(self, path: Path, *, write: bool = False) -> int:
            if write:
                raise OSError(number, os.strerror(number))
            return PosixDisk.open(self, path)

        def create(self, path: Path) -> int:
            raise OSError(number, os.strerror(number))

    harness = Harness(root, disk=Closed())
    assert harness.model({"operation": "show"}, session_id="s1")["case"]["case_id"] == "c1"
    assert len(harness.model({"operation": "list"}, session_id="s1")["cases"]) == 2
    with pytest.raises(Unavailable) as caught:
        harness.model({"operation": "pause", "reason": "r"}, session_id="s1")
    assert caught.value.code == "not_permitted"
    assert {path: (root / path).read_bytes() for path in files} == files


# -- repair ---------------------------------------------------------------------------------------------------------

KINDS = {
    "nothing": [],
    "events.jsonl: a broken tail": [Kind.SETTLE],
    "case.md: a bit of the block flipped": [Kind.PROJECT],
    "case.md: the text edited": [],
    "case.md: one transition older": [Kind.SETTLE],
    "case.md: older": [Kind.PROJECT],
    "case.md: another case's": [Kind.PROJECT],
    "case.md: garbage": [Kind.PROJECT],
    "case.md: empty": [Kind.PROJECT],
    "case.md: deleted": [Kind.PROJECT],
    "both put back together": [],
    "artifact: altered": [],
    "artifact: deleted": [],
    "archive snapshot: altered": [Kind.ARCHIVE],
    "archive snapshot: deleted": [Kind.ARCHIVE],
    "sessions.json: garbage": [Kind.BINDINGS],
    "sessions.json: deleted": [Kind.BINDINGS],
    ".store.lock: empty": [Kind.BINDINGS],
}
"""What can be made good after each damage; after any other, nothing: something was lost."""


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_repair_does_what_it_said_and_only_that(damage: str) -> None:
    """The plan changes nothing; doing it changes only the files it names, leaves nothing to plan, and loses no byte."""
    files = DAMAGES[damage](IDLE)
    process = process_on(files)
    plan = process.harness.repairs()
    assert files_after(process) == files
    assert [repair.kind for repair in plan] == KINDS.get(damage, [])
    for repair in plan:
        assert process.harness.repair(repair)
        assert not process.harness.repair(repair), "it is done"
    after = files_after(process)
    named = {f"{'' if repair.case_id is None else f'cases/{repair.case_id}/'}{repair.file}" for repair in plan}
    changed = {path for path in {*files, *after} if files.get(path) != after.get(path)}
    kept = {path for path in changed if ".broken-" in path or ".replaced-" in path}
    beside = {".store.lock", PROJECTION if Kind.SETTLE in KINDS.get(damage, []) else ".store.lock"}
    assert changed - kept - beside <= named
    assert process.harness.repairs() == ()
    if plan:
        assert outcome(ATTEMPTS["show"].act, process) == "done"
        assert outcome(ATTEMPTS["list"].act, process) == "listed"


def test_a_replaced_projection_is_kept() -> None:
    """What stood in ``case.md`` before a repair lies beside it."""
    process = process_on({**IDLE, PROJECTION: b"by hand"})
    (repair,) = process.harness.repairs("c1")
    assert "records of the log" in repair.does
    assert process.harness.repair(repair)
    after = files_after(process)
    assert after[f"{PROJECTION}.replaced-1"] == b"by hand"
    assert after[PROJECTION] == IDLE[PROJECTION]


def test_a_case_marked_read_only_is_let_go_by_repair_alone() -> None:
    """The mark of a write that could not be taken back is named, and taken away only when that is asked for."""
    process = process_on({**IDLE, f"{CASE}/.read-only": b"look at the disk"})
    record = ATTEMPTS["record_evidence"].act
    assert outcome(record, process) == "unavailable: read_only"
    (repair,) = process.harness.repairs()
    assert repair.kind is Kind.UNMARK
    assert process.harness.repair(repair)
    assert outcome(record, process) == "done"


def test_bindings_of_a_damaged_case_are_left_alone() -> None:
    """As long as a case is damaged, repair does not touch who is bound to what: the damaged case keeps its session."""
    files = {**IDLE, LOG: IDLE[LOG][:-40], "sessions.json": b"lost"}
    assert process_on(files).harness.repairs() == ()


# -- stores of release 1.2.0 ----------------------------------------------------------------------------------------

OLD = Path(__file__).parent / "release_1_2_0"


def test_an_old_store_is_read_exported_and_moved_aside(tmp_path: Path) -> None:
    """A store of release 1.2.0 is read only, exported and checked without changing it; its cases can be moved aside."""
    root = tmp_path / "store"
    shutil.copytree(OLD / "store", root)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    harness = Harness(root, read_only=True)
    cases = harness.model({"operation": "list", "limit": 200}, session_id="x")["cases"]
    assert len(cases) == 10
    assert harness.repairs() == ()
    for case in cases:
        archive = tmp_path / f"{case['case_id']}.tar"
        archive.write_bytes(harness.export(case["case_id"]))
        assert check_case(unpacked(DISK, archive, tmp_path / "elsewhere")).sound
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    for case in cases:
        moved = Harness(root).quarantine(case["case_id"])
        assert moved["freed"] == ((case["session_id"],) if case["status"] == "active" else ())
    assert check_store(root).sound
    assert (root / "format.json").exists()
