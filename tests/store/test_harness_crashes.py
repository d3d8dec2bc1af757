"""What a user may rely on when the process dies or the power fails in the middle of any operation of the two tools.

The whole engine runs on the simulated disk.  Every operation that writes is killed at each of its steps, and the power
fails at each of them with part of what was unsynced surviving; then a fresh process must find the portfolio as it was
before the operation or as it is after it, with the bindings that follow from it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from attrs import define, field

from harness_core.errors import Refused
from harness_store.fsck import Verdict, check_store
from harness_store.repair import Kind
from tests.store.golden import files_of, place_files
from tests.store.script import SCRIPT, SOURCE, TWO, Process, Said, fresh, portfolio, put_in_order, said_of, take_up
from tests.store.simulator import Failure, Killed, SimulatedDisk, SyncFailure, Volume

MOST = int(os.environ.get("HARNESS_CRASH_SURVIVORS", "2"))
"""Surviving disks tried after each power failure; the thorough run sets more (docs/store.md)."""
CHECKED = 1 if MOST > 2 else 20
"""Each so many-th state is written to a real folder for the checker."""


def histories() -> tuple[list[Volume], list[dict[str, Any]], list[str]]:
    """The volume before each operation, what a user sees before it, and the operations' names."""
    volume = fresh()
    before, seen, names = [], [], []
    process = Process(SimulatedDisk(volume))
    for name, operation in SCRIPT.items():
        before.append(process.disk.volume.copy())
        seen.append(portfolio(Process(SimulatedDisk(process.disk.volume.copy()))))
        names.append(name)
        operation(process)
    seen.append(portfolio(Process(SimulatedDisk(process.disk.volume.copy()))))
    return before, seen, names


BEFORE, SEEN, NAMES = histories()


def steps_of(number: int) -> int:
    disk = SimulatedDisk(BEFORE[number].copy())
    perform(disk, number)
    return disk.steps


def perform(disk: SimulatedDisk, number: int) -> bool:
    """Do one operation as a process that goes on from the one before; whether it was acknowledged."""
    process = Process(disk)
    try:
        take_up(process, NAMES[number])
        SCRIPT[NAMES[number]](process)
    except Killed:
        return False
    return True


def crashes(number: int) -> Iterator[tuple[Volume, bool]]:
    """Every state after a crash in an operation, and whether the operation had been acknowledged."""
    for step in range(1, steps_of(number) + 2):
        for torn in (False, True):
            disk = SimulatedDisk(BEFORE[number].copy(), kill_at=step, torn=torn)
            done = perform(disk, number)
            yield disk.volume.copy(), done
            for found in disk.volume.survivors(MOST, seed=step):
                yield found, done


def failures(number: int) -> Iterator[tuple[Volume, Said]]:
    """Every state after a step of an operation failed (from then on all, or only the one), and what was said of it.

    A failing sync writes nothing, part or all of what it had to write, and marks it written all the same.  The process
    lives on, or is killed within the next steps, or the power fails.
    """
    lasts = (None, 10**6)
    for step in range(1, steps_of(number) + 1):
        for reached, until in itertools.product(get_args(SyncFailure), lasts if MOST > 2 else lasts[: 1 + step % 2]):
            for kill_at in (None, *range(step + 1, step + (6 if MOST > 2 else 1))):
                failure = Failure(step, reached, until)
                disk = SimulatedDisk(BEFORE[number].copy(), failure=failure, kill_at=kill_at)
                try:
                    process = Process(disk)
                    take_up(process, NAMES[number])
                    said = said_of(NAMES[number], process)
                except Killed:
                    said = Said("killed", "unknown")
                yield disk.volume.copy(), said
                for found in disk.volume.survivors(MOST, seed=step):
                    yield found, said


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[str]]:
    """Counts the states tried; shown at the end with ``-s``."""
    counted: Counter[str] = Counter()
    yield counted
    print(f"\n{counted['states']} states tried, {counted['distinct']} of them distinct; {counted['checked']} checked")


@define
class Judge:
    """Judges what is found after a disturbance of one operation; what looks the same is judged once."""

    number: int
    where: Path
    tally: Counter[str]
    known: set[Any] = field(factory=set)

    def judge(self, found: Volume, said: Said) -> None:
        self.tally["states"] += 1
        key = (found.shape(), said)
        if key in self.known:
            return
        self.known.add(key)
        self.tally["distinct"] += 1
        if self.tally["distinct"] % CHECKED == 0:
            self._check(found)
        process = Process(SimulatedDisk(found.copy()))
        if said.word not in ("done", "killed"):
            # What stands without being acknowledged is there for the next writer; what does not, is not.
            assert Kind.UNMARK not in put_in_order(process.harness) or said.written == "unknown"
        seen = portfolio(process)
        if NAMES[self.number] != TWO or said.word == "done":
            assert seen in said.allowed(SEEN[self.number], SEEN[self.number + 1])
        check_goes_on(found if said.word in ("done", "killed") else process.disk.volume, seen)

    def _check(self, found: Volume) -> None:
        """The independent checker finds nothing wrong with the bytes as the crash left them."""
        self.tally["checked"] += 1
        root = place_files(files_of(found), self.where / str(self.tally["checked"]))
        report = check_store(root)
        checks = [check for case in report.cases for check in case.checks] + list(report.checks)
        assert [check for check in checks if check.verdict is Verdict.VIOLATED] == []
        shutil.rmtree(root)


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_an_operation_happens_whole_or_not_at_all(number: int, tmp_path: Path, tally: Counter[str]) -> None:
    """Whatever kills the process, the next one sees the portfolio before or after; what was acknowledged stays."""
    judge = Judge(number, tmp_path, tally)
    for found, done in crashes(number):
        judge.judge(found, Said("done", "yes") if done else Said("killed", "unknown"))


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_a_disk_that_fails_is_told_as_it_is(number: int, tmp_path: Path, tally: Counter[str]) -> None:
    """Whatever step fails, what the caller is told of his operation is true, also when the power fails afterwards."""
    judge = Judge(number, tmp_path, tally)
    for found, said in failures(number):
        judge.judge(found, said)


BINDING = ("open with initial evidence", "pause", "proof of life", "close", "resume elsewhere", "migrate", "quarantine")
"""Operations that leave something to be settled when they are cut off."""


@pytest.mark.parametrize("name", BINDING)
def test_a_crash_while_settling_a_crash_changes_nothing(name: str, tmp_path: Path, tally: Counter[str]) -> None:
    """Whoever settles what a dead process left may die at any step of it, and so on: it is before or after, as ever."""
    number = NAMES.index(name)
    judge = Judge(number, tmp_path, tally)

    def settle(disk: SimulatedDisk) -> None:
        process = Process(disk)
        process.harness.is_bound("s1")
        put_in_order(process.harness)

    for step in range(1, steps_of(number) + 1, 1 if MOST > 2 else 4):
        disk = SimulatedDisk(BEFORE[number].copy(), kill_at=step)
        perform(disk, number)
        for left in (disk.volume.copy(), *disk.volume.survivors(MOST, seed=step)):
            whole = SimulatedDisk(left.copy())
            settle(whole)
            for again in range(1, whole.steps + 1):
                dying = SimulatedDisk(left.copy(), kill_at=again)
                with contextlib.suppress(Killed):
                    settle(dying)
                for found in (dying.volume.copy(), *dying.volume.survivors(MOST, seed=again)):
                    judge.judge(found, Said("killed", "unknown"))


def check_goes_on(volume: Volume, seen: Mapping[str, Any]) -> None:
    """A fresh process can write: to a new case in a free session, and to each active case; then all is still sound."""
    process = Process(SimulatedDisk(volume))
    process.model("new", operation="open", case_id="new", top_unknown="n")
    for case in seen["cases"].values():
        if case["status"] == "active" and case["pending_probe"] is None:
            # What was written and not acknowledged is taken over now; a commitment may turn out to stand.
            with contextlib.suppress(Refused):
                process.model(case["session_id"], operation="record_evidence", evidence=[{"summary": "x", **SOURCE}])
        if case["status"] == "active":
            with pytest.raises(Refused, match="already has the active case"):
                process.model(case["session_id"], operation="open", case_id="second", top_unknown="t")
    after = portfolio(Process(SimulatedDisk(process.disk.volume.copy())))
    assert after["cases"].keys() == {*seen["cases"], "new"}


def test_repeating_an_open_that_was_cut_off_answers_with_the_case() -> None:
    """After a crash inside an open the same call succeeds, whether or not the first one had made the case."""
    for found, _ in crashes(0):
        process = Process(SimulatedDisk(found))
        answer = SCRIPT[NAMES[0]](process)
        assert isinstance(answer, dict)
        assert answer["case"]["case_id"] == "c1"
        assert portfolio(process) == SEEN[1]
