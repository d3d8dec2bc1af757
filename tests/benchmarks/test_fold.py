"""Folding is linear in the length of a Timeline.  Not part of the normal test run: ``pytest tests/benchmarks``.

Measured in one run, against itself: twice the events may take at most 2.3 times as long, at every length.
"""

from __future__ import annotations

import gc
import time
from statistics import median

import pytest

from harness_core.events import Event
from harness_core.evolution import fold
from harness_core.replay import audit
from tests.core.desk import SOURCE, Desk, claim

LONGEST = 20_000
MOST = 2.3


def timeline(length: int) -> list[Event]:
    """Events of every kind that a long life repeats: probe cycles, evidence, revisions, pauses."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    turn = 0
    while len(desk.events["c1"]) < length:
        turn += 1
        seen, _ = desk.look(f"result {turn}", claim_id="M1", belief_change="unchanged")
        desk.do("record_evidence", evidence=[SOURCE, SOURCE])
        desk.do("revise", reason="r", decision=f"decision {turn}", addresses_event_ids=[seen])
        desk.do("pause", reason="r")
        desk.do("resume", case_id="c1")
    return desk.events["c1"][:length]


@pytest.fixture(scope="module")
def longest() -> list[Event]:
    return timeline(LONGEST)


def seconds(events: list[Event]) -> float:
    """Seconds that folding these events takes."""
    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        fold(events)
        return time.perf_counter() - started
    finally:
        gc.enable()


@pytest.mark.parametrize("length", [1_250, 2_500, 5_000, 10_000])
def test_twice_the_events_take_twice_the_time(longest: list[Event], length: int) -> None:
    """2 N events take at most 2.3 times what N events take, up to 20,000; the median of several runs, by turns."""
    runs = [(seconds(longest[:length]), seconds(longest[: 2 * length])) for _ in range(9)]
    ratio = median(twice for _, twice in runs) / median(once for once, _ in runs)
    print(f"{2 * length} events: {ratio:.2f} times {length} events")
    assert ratio <= MOST


def test_the_fold_is_deterministic(longest: list[Event]) -> None:
    """Folding a long Timeline twice gives the same case, and its audit finds nothing."""
    assert fold(longest) == fold(list(longest))
    assert audit(longest)[1] == ()
