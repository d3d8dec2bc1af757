"""What a user may rely on when the process dies or the power fails in the middle of any operation of the two tools.

The whole engine runs on the simulated disk.  Every operation that writes is killed at each of its steps, and the power
fails at each of them with part of what was unsynced surviving; then a fresh process must find the portfolio as it was
before the operation or as it is after it, with the bindings that follow from it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from harness_core.errors import Refused
from tests.store.script import SCRIPT, SOURCE, TWO, Process, fresh, portfolio, take_up
from tests.store.simulator import Killed, SimulatedDisk, Volume

MOST = int(os.environ.get("HARNESS_CRASH_SURVIVORS", "2"))
"""Surviving disks tried after each power failure; the thorough run sets more."""


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
    for step in range(1, steps_of(number) + 2):
        for torn in (False, True):
            disk = SimulatedDisk(BEFORE[number].copy(), kill_at=step, torn=torn)
            done = perform(disk, number)
            yield disk.volume.copy(), done
            for found in disk.volume.survivors(MOST, seed=step):
                yield found, done


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_an_operation_happens_whole_or_not_at_all(number: int) -> None:
    """Whatever kills the process, the next one sees the portfolio before or after; what was acknowledged stays."""
    allowed = [SEEN[number], SEEN[number + 1]]
    for found, done in crashes(number):
        seen = portfolio(Process(SimulatedDisk(found.copy())))
        if NAMES[number] != TWO or done:
            assert seen in (allowed[1:] if done else allowed)
        check_goes_on(found, seen)


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
