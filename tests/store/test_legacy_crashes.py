"""What a user may rely on when the process dies or the power fails while a case of release 1.2.0 is taken over.

Adoption and first write are one transition: after any crash the case is as that release left it, or it has gone on.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness_core.errors import Refused
from harness_store import Harness
from harness_store.fsck import Verdict, check_store
from harness_store.records import scan
from tests.store.old_release import EXPECTED, JOURNAL, Files, original, place, volume_of
from tests.store.simulator import Killed, SimulatedDisk, Volume
from tests.store.test_legacy import CONTINUED
from tests.store.test_legacy_files import STAGES, committed

ROOT = Path("/store")
NOW = "2026-11-30T00:00:00+00:00"
MOST = int(os.environ.get("HARNESS_CRASH_SURVIVORS", "2"))
"""Surviving disks tried after each power failure; the thorough run sets more."""
Operation = Callable[[Harness], object]


def only(case_id: str) -> Files:
    """The store with one case of its own kind, and one of somebody else."""
    kept = (f"cases/{case_id}/", "cases/migrated/" if case_id != "migrated" else "cases/stale/")
    shared = (".commitment.key", ".store.lock", "sessions.json", "compression-boundaries/")
    return {name: data for name, data in original().items() if name.startswith((*kept, *shared))}


def journaled(stage: str) -> Files:
    before, after = committed()
    return {
        **STAGES[stage](before, after),
        f"cases/old/{JOURNAL}": after.journal(before),
        ".store.lock": b"",
        "sessions.json": b'{"schema_version": 1, "sessions": {"s1": 1}}',
    }


def begun(harness: Harness) -> object:
    return harness.execution(session_id="s-crash", tool_name="read_file", args={"path": "notes.txt"})


def discarded(harness: Harness) -> object:
    return harness.probe({"operation": "discard", "reason": "r"}, session_id="s1")


STORES: Mapping[str, tuple[str, Files, Operation]] = {
    **{case_id: (case_id, only(case_id), operation) for case_id, (operation, _) in CONTINUED.items()},
    "crashed": ("crashed", only("crashed"), begun),
    **{f"a journal: {stage}": ("old", journaled(stage), discarded) for stage in STAGES},
}


def harness_on(disk: SimulatedDisk) -> Harness:
    return Harness(ROOT, wait=0.0, clock=lambda: NOW, disk=disk)


def seen_on(volume: Volume) -> dict[str, Any]:
    """What a fresh process finds: every case, and which session has one.  Bindings are settled first."""
    harness = harness_on(SimulatedDisk(volume))
    sessions = sorted({expected["session_id"] for expected in EXPECTED.values()} | {"s1", "s-new"})
    bound = {session: harness.is_bound(session) for session in sessions}
    listed = harness.model({"operation": "list", "limit": 200}, session_id="reader")
    assert listed["case_errors"] == {}
    shown = {}
    for entry in listed["cases"]:
        answer = harness.model({"operation": "show", "case_id": entry["case_id"]}, session_id=entry["session_id"])
        replay = answer["replay"]
        assert (replay["timeline"]["valid"], replay["case_snapshot"]["valid"]) == (True, True), replay
        assert replay["violations"] == []
        shown[entry["case_id"]] = answer["case"]
    return {"cases": shown, "bound": bound}


def perform(disk: SimulatedDisk, operation: Operation) -> bool:
    try:
        operation(harness_on(disk))
    except Killed:
        return False
    return True


def crashes(start: Volume, operation: Operation) -> Iterator[tuple[Volume, bool]]:
    disk = SimulatedDisk(start.copy())
    perform(disk, operation)
    for step in range(1, disk.steps + 2):
        for torn in (False, True):
            disk = SimulatedDisk(start.copy(), kill_at=step, torn=torn)
            done = perform(disk, operation)
            yield disk.volume.copy(), done
            for left in disk.volume.survivors(MOST, seed=step):
                yield left, done


@pytest.mark.parametrize("name", STORES)
def test_an_adoption_happens_whole_or_not_at_all(tmp_path: Path, name: str) -> None:
    """Whatever kills it, the case is as 1.2.0 left it or has gone on; the rest is untouched; then it can go on."""
    case_id, files, operation = STORES[name]
    start = volume_of(files, ROOT)
    snapshot = "case-v0002.md"
    before = seen_on(start.copy())
    finished = SimulatedDisk(start.copy())
    assert perform(finished, operation)
    after = seen_on(finished.volume.copy())
    assert before != after
    old_log = files[f"cases/{case_id}/events.jsonl"]
    old_log = old_log[: scan(old_log).end.end]
    for number, (left, done) in enumerate(crashes(start, operation)):
        settled = left.copy()
        assert seen_on(settled) in ([after] if done else [before, after])
        check_goes_on(left, case_id, operation)
        if number % 20 == 0:
            content = {path.removeprefix(f"{ROOT}/"): data for path, data in settled.files().items()}
            report = check_store(place(content, tmp_path / str(number)))
            checks = (*report.checks, *(check for case in report.cases for check in case.checks))
            # A snapshot of the archive is not synced, since the Timeline has it all: it may be torn.
            bad = [why for check in checks if check.verdict is not Verdict.OK for why in check.reasons]
            assert [why for why in bad if snapshot not in why] == []
            assert content[f"cases/{case_id}/events.jsonl"].startswith(old_log)


def check_goes_on(volume: Volume, case_id: str, operation: Operation) -> None:
    """The operation is done, now or before; the case was adopted once; and another session can open a case."""
    disk = SimulatedDisk(volume)
    harness = harness_on(disk)
    harness.model({"operation": "open", "case_id": "new", "top_unknown": "u"}, session_id="free")
    with contextlib.suppress(Refused):  # it had been done, or stands now that it was taken over
        operation(harness)
    types = [record["type"] for record in harness_on(SimulatedDisk(disk.volume)).timeline(case_id)]
    assert types.count("case_adopted") == 1
    assert seen_on(disk.volume.copy())["cases"].keys() >= {case_id, "new"}
    if f"cases/{case_id}/{JOURNAL}" in {path.removeprefix(f"{ROOT}/") for path in disk.volume.files()}:
        raise AssertionError("the journal was left, though the case was written to")


def test_a_process_that_lives_on_after_an_unsettled_adoption_says_what_was_written(tmp_path: Path) -> None:
    """The bindings of an adopted case are told by its Timeline, whatever became of sessions.json."""
    root = place(only("paused-marked"), tmp_path)
    assert Harness(root).proof_of_life("s-life")
    bound = json.loads((root / "sessions.json").read_text())["sessions"]["s-life"]
    (root / "sessions.json").unlink()
    assert Harness(root).is_bound("s-life")
    assert json.loads((root / "sessions.json").read_text())["sessions"]["s-life"] == bound
