"""What a user may rely on when many processes share a store at once and are killed at any moment.

``HARNESS_SOAK_SECONDS`` says how long they work; the thorough run takes two minutes.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness_store import Harness
from harness_store.fsck import Verdict, check_store
from tests.store.script import put_in_order
from tests.store.soaker import SESSIONS

PROJECT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("HARNESS_SOAK_SECONDS", "20"))
PROCESSES, READERS = 8, 2


def soaked(root: Path, logs: Path) -> int:
    """Let processes work on the store and kill them at random; how many were killed."""
    draw = random.Random(7)
    command = [sys.executable, "-m", "tests.store.soaker"]
    living: dict[int, int] = {}
    killed = 0
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None

        def bear(place: int) -> None:
            request = {
                "root": str(root),
                "seed": draw.random(),
                "log": str(logs / str(place)),
                "reads": place < READERS,
            }
            nursery.stdin.write(json.dumps(request) + "\n")  # type: ignore[union-attr]  # piped, see above
            nursery.stdin.flush()  # type: ignore[union-attr]
            living[place] = json.loads(nursery.stdout.readline())["pid"]  # type: ignore[union-attr]

        for place in range(PROCESSES):
            bear(place)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(draw.random() / 2)
            place = draw.randrange(PROCESSES)
            with contextlib.suppress(ProcessLookupError):  # it had ended by itself, and its log says why
                os.kill(living[place], signal.SIGKILL)
            killed += 1
            bear(place)
        for pid in living.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        nursery.stdin.close()
    return killed


def told(logs: Path) -> list[dict[str, Any]]:
    """What the processes were told, but for a last line that a kill cut off."""
    found = []
    for path in logs.iterdir():
        for line in path.read_bytes().split(b"\n"):
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


def test_no_kill_and_no_company_loses_anything(tmp_path: Path) -> None:
    """Eight processes on shared sessions and cases, killed at random: readers never see anything amiss, every case ends
    sound, every session has at most one active case, and every acknowledged transition is there."""
    root, logs = tmp_path / "store", tmp_path / "logs"
    logs.mkdir()
    killed = soaked(root, logs)
    said = told(logs)
    assert [line["wrong"] for line in said if "wrong" in line] == []

    report = check_store(root)
    checks = [check for case in report.cases for check in case.checks] + list(report.checks)
    assert [check for check in checks if check.verdict is Verdict.VIOLATED] == []
    harness = Harness(root)
    for session in SESSIONS:
        harness.is_bound(session)  # settles what the killed left half-way
    put_in_order(harness)
    assert check_store(root).sound

    cases = harness.model({"operation": "list", "limit": 200}, session_id="reader")["cases"]
    owners = [case["session_id"] for case in cases if case["status"] == "active"]
    assert len(owners) == len(set(owners))
    timelines = {case["case_id"]: harness.timeline(case["case_id"]) for case in cases}
    kept = {(record["event_id"], record["timestamp"]): record for records in timelines.values() for record in records}
    acknowledged = [line["record"] for line in said if "record" in line]
    for record in acknowledged:
        assert record.items() <= kept[record["event_id"], record["timestamp"]].items()
    for line in said:
        if "opened" in line:
            assert timelines[line["opened"]][0]["timestamp"] == line["at"]
    assert acknowledged
    print(f"\n{killed} processes killed, {len(acknowledged)} records acknowledged, {len(kept)} kept")  # shown with -s
