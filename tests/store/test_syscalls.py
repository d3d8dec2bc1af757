"""What a user may rely on when the system refuses: every file-system call of every transition is failed in turn.

``strace`` fails one call under the store's root with an error, or kills the process there, on the real file system.
Afterwards the store is as it was before the operation or as it is after it, what was said about it is true, and the
checker finds nothing violated.  ``HARNESS_THOROUGH=1`` tries every call; otherwise a sample is tried.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, frozen

from harness_store import Harness
from harness_store.disk import PosixDisk
from harness_store.fsck import StoreReport, Verdict, check_store
from harness_store.repair import Kind
from tests.store.golden import files_of, place_files
from tests.store.script import OLD_SCRIPT, TWO, Process, Said, portfolio, put_in_order, said_of
from tests.store.test_harness_crashes import BEFORE, NAMES, SEEN

PROJECT = Path(__file__).resolve().parents[2]
OLD = Path(__file__).parent / "release_1_2_0" / "store"
CALLS = (
    "openat", "pwrite64", "fsync", "fdatasync", "rename", "renameat", "renameat2", "unlink", "unlinkat", "ftruncate",
    "mkdir", "mkdirat", "flock",
)  # fmt: skip
FAULTS = ("error=EIO:when={}", "error=ENOSPC:when={}", "signal=SIGKILL:when={}", "error=EIO:when={}+")
"""One call fails with an error, or kills; or from one call on every call of that name fails."""
EVERY = 1 if os.environ.get("HARNESS_THOROUGH") else 17


@frozen
class Call:
    """The ``number``-th call of a name that an operation makes."""

    name: str
    number: int


@define
class Performer:
    """The process that carries out operations, and ``strace`` beside it."""

    process: subprocess.Popen[str]
    trials: int = 0

    def perform(self, root: Path, name: str, *options: str) -> Said:
        """Carry out one operation under ``strace``; what came of it."""
        child = self._ask({"root": str(root), "name": name})["pid"]
        command = ["strace", "-f", "-p", str(child), *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as watcher:
            assert watcher.stderr is not None
            while "attached" not in (line := watcher.stderr.readline()):
                assert line, "strace ended before it was attached"
            answer = self._ask({})
            watcher.stderr.read()
        return Said(**answer)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write((json.dumps(request) if request else "") + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def why_not() -> str:
    """Why calls cannot be failed here; empty where they can."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        return "strace is not installed (Debian: apt-get install strace)"
    tried = subprocess.run(
        ["strace", "-f", "-e", "inject=?mkdir:error=EIO:when=1", "true"], capture_output=True, text=True, check=False
    )
    return "" if tried.returncode == 0 else f"strace may not trace here: {tried.stderr.strip()[:200]}"


WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture(scope="module")
def performer() -> Iterator[Performer]:
    command = [sys.executable, "-m", "tests.store.performer"]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        performer = Performer(process)
        yield performer
        print(f"\n{performer.trials} failures injected")  # shown with -s
        assert process.stdin is not None
        process.stdin.close()


@frozen
class Subject:
    """An operation, how the store before it is laid out, what a user sees of a store, and what he sees before and
    after the operation."""

    name: str
    fill: Callable[[Path], object]
    seen: Callable[[Path], Any]
    before: Any
    after: Any

    def placed(self, root: Path) -> Path:
        if root.exists():
            shutil.rmtree(root)
        self.fill(root)
        return root


def of_script(number: int) -> Subject:
    return Subject(
        NAMES[number],
        lambda root: place_files(files_of(BEFORE[number]), root),
        lambda root: portfolio(Process(PosixDisk(), root)),
        SEEN[number],
        SEEN[number + 1],
    )


def of_old_script(name: str, scratch: Path) -> Subject:
    def seen(root: Path) -> Any:
        harness = Process(PosixDisk(), root).harness
        rows = harness.model({"operation": "list", "limit": 200}, session_id="reader")
        assert rows["case_errors"] == {}
        shown = {row["case_id"]: (row, harness.replay(row["case_id"])) for row in rows["cases"]}
        return shown, {row["session_id"]: harness.is_bound(row["session_id"]) for row in rows["cases"]}

    root = scratch / "whole"
    shutil.copytree(OLD, root)
    before = seen(root)
    assert said_of(name, Process(PosixDisk(), root)).word == "done"
    return Subject(name, lambda root: shutil.copytree(OLD, root), seen, before, seen(root))


def calls_of(performer: Performer, subject: Subject, tmp_path: Path) -> list[Call]:
    """Every call under the root that an operation makes, in order."""
    root, log = subject.placed(tmp_path / "store"), tmp_path / "calls"
    said = performer.perform(
        root, subject.name, "-y", "-o", str(log), "-e", f"trace={','.join(f'?{c}' for c in CALLS)}"
    )
    assert said.word == "done", said
    counted: dict[str, int] = {}
    found = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        made = re.match(r"\d+ +(\w+)\(", line)
        if made is None:
            continue
        counted[made[1]] = counted.get(made[1], 0) + 1
        if str(root) in line:
            found.append(Call(made[1], counted[made[1]]))
    return found


def violated(report: StoreReport) -> list[str]:
    checks = [check for case in report.cases for check in case.checks] + list(report.checks)
    return [f"{check.name}: {check.reasons}" for check in checks if check.verdict is Verdict.VIOLATED]


def judge(root: Path, subject: Subject, said: Said, what: str) -> None:
    """The store holds, is as before or as after, and what the operation said is true."""
    assert said.written != "fault", (what, said)
    assert violated(check_store(root)) == [], (what, said)
    assert Kind.UNMARK not in put_in_order(Harness(root)) or said.written == "unknown", (what, said)
    seen = subject.seen(root)
    if subject.name != TWO or said.word == "done":
        assert seen in said.allowed(subject.before, subject.after), (what, said)
    assert check_store(root).sound, (what, said)


@pytest.mark.parametrize("name", [*NAMES, *OLD_SCRIPT])
def test_a_call_that_fails_or_kills_leaves_before_or_after(name: str, performer: Performer, tmp_path: Path) -> None:
    """Whatever call of an operation fails or is the process's last, the store is whole and what was said is true."""
    subject = of_old_script(name, tmp_path) if name in OLD_SCRIPT else of_script(NAMES.index(name))
    calls = calls_of(performer, subject, tmp_path)
    assert {"pwrite64", "fsync", "openat"} <= {call.name for call in calls}
    trials = [(call, fault) for call in calls for fault in FAULTS][len(name) % EVERY :: EVERY]
    met = set()
    for call, fault in trials:
        root = subject.placed(tmp_path / "store")
        what = f"{call.name}:{fault.format(call.number)}"
        said = performer.perform(root, subject.name, "-o", "/dev/null", "-e", f"inject={what}")
        judge(root, subject, said, what)
        met.add(said.word)
    performer.trials += len(trials)
    if EVERY == 1:
        assert {"done", "killed", "io_error", "disk_full"} <= met
