"""What the store costs, as ratios to a floor that is measured in the same run on the same file system.

    python -m tests.benchmarks.store [--folder DIR] [--cases N] [--events N]

The floor F: append 1 KiB to an open file and sync it.  Under 50 microseconds the file system does not sync, and nothing
is judged.  ``bare_F`` is what the disk alone takes, with nothing of ours.  For a transition: write a file aside, append
to another and sync that, sync the first, rename it over the one before, sync the folder.  For one that changes
bindings: one such file and one append more.  Medians throughout, each figure in a process of its own.  Stores with many
cases or events are made without syncs, then all is synced at once, and they are measured with syncs.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from harness_store import Harness
from harness_store.disk import PosixDisk, stage

SOURCE = {
    "summary": "The release notes name the limit and the version in which it was introduced.",
    "source_ref": "https://example.org/notes",
    "source_role": "primary",
    "access_scope": "full",
    "authority_domain": "external_source",
}
PROBE = {
    "operation": "commit",
    "purpose": "learn",
    "unknown_or_goal": "the limit",
    "tool_name": "read_file",
    "tool_args": {"path": "notes.txt"},
    "predicted_outcomes": ["42"],
    "would_change_belief": "another number",
    "why_this_action": "it is the source",
    "authority_domain": "system_state",
}


class Hasty(PosixDisk):
    """The real disk without its syncs: for making large stores, never for measuring."""

    def sync(self, fd: int) -> None:
        """Nothing."""

    def sync_folder(self, path: Path) -> None:
        """Nothing."""


def median(work: Callable[[], object], times: int) -> float:
    """The median of so many runs, in microseconds."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken) * 1e6


def each(work: Callable[[], object], times: int) -> float:
    """Microseconds a call, over so many calls in a row."""
    begun = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begun) / times * 1e6


class Floor:
    """Appends 1 KiB to an open file and syncs it.  A disk may be fast one minute and slow the next, so each figure is
    held against floors that were measured between its own samples."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "floor"
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)

    def ratio(self, work: Callable[[], object], times: int) -> float:
        """The median of so many runs of ``work``, in medians of the floors before each."""
        floors, taken = [], []
        for _ in range(times):
            floors.append(self._timed(self.append))
            taken.append(self._timed(work))
        return statistics.median(taken) / statistics.median(floors)

    def append(self) -> None:
        """The floor, once."""
        os.write(self._fd, b"x" * 1024)
        os.fsync(self._fd)

    @staticmethod
    def _timed(work: Callable[[], object]) -> float:
        begun = time.perf_counter()
        work()
        return time.perf_counter() - begun


def floor_microseconds(folder: Path) -> float:
    """The floor itself."""
    return median(Floor(folder).append, 41)


def opened(harness: Harness, case_id: str, session: str) -> None:
    harness.model(
        {
            "operation": "open",
            "case_id": case_id,
            "top_unknown": f"what limits the queue number {case_id}",
            "mechanisms": [{"id": "M1", "text": "The limit is 42"}],
        },
        session_id=session,
    )


def evidence(harness: Harness, session: str, many: int = 1) -> None:
    harness.model({"operation": "record_evidence", "evidence": [SOURCE] * many}, session_id=session)


def grown(root: Path, events: int) -> None:
    """A store with one case of so many events."""
    if root.exists():
        return
    harness = Harness(root, disk=Hasty())
    opened(harness, "c1", "s1")
    while (count := len(harness.timeline("c1"))) < events:
        for _ in range(min(events - count, 200)):
            evidence(harness, "s1")
    os.sync()


def populated(root: Path, cases: int) -> None:
    """A store with so many closed cases, one in ten with a lesson."""
    harness = Harness(root, disk=Hasty())
    for number in range(cases):
        case_id, session = f"k{number:05d}", f"t{number:05d}"
        opened(harness, case_id, session)
        transfer: dict[str, Any] = {"decision": "none"}
        if number % 10 == 0:
            transfer = {
                "decision": "candidate",
                "lesson": f"Look at the consumer of queue {number} before its broker",
                "scope": "queues",
                "evidence_case_ids": [case_id],
            }
        harness.model(
            {"operation": "close", "outcome": "unresolved", "summary": "open", "transfer": transfer},
            session_id=session,
        )
    os.sync()


def bare(folder: Path) -> dict[str, float]:
    """What the disk alone takes in floors: for a transition, and for one that changes bindings."""
    root, disk = folder / "bare", PosixDisk()
    root.mkdir()
    log = os.open(root / "log", os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)

    def append(size: int) -> None:
        os.write(log, b"x" * size)
        os.fsync(log)

    def transition() -> None:
        with stage(disk, root / "case.md", b"x" * 1600) as head:
            append(600)
            head.publish()

    def with_bindings() -> None:
        with stage(disk, root / "sessions.json", b"x" * 100) as bound:
            append(400)
            transition()
            bound.publish()

    with_bindings()
    floor = Floor(folder)
    return {"transition": round(floor.ratio(transition, 41), 2), "bindings": round(floor.ratio(with_bindings, 41), 2)}


def transitions(folder: Path, counts: tuple[int, ...]) -> dict[str, float]:
    """A one-record transition through the JSON tool in floors, by the Timeline's length."""
    found, floor = {}, Floor(folder)
    for count in counts:
        root = folder / f"events-{count}"
        grown(root, count)
        harness = Harness(root)
        evidence(harness, "s1")
        found[str(count)] = round(floor.ratio(lambda h=harness: evidence(h, "s1"), 41), 2)  # type: ignore[misc]  # bound now
    return found


def long_to_short(folder: Path, few: int, many: int) -> float:
    """How often a transition on a long Timeline takes the time of one on a short, the two in turn."""
    short, long = Harness(folder / f"events-{few}"), Harness(folder / f"events-{many}")
    taken: dict[Harness, list[float]] = {short: [], long: []}
    for _ in range(61):
        for harness, times in taken.items():
            times.append(median(lambda h=harness: evidence(h, "s1"), 1))  # type: ignore[misc]  # bound now
    return statistics.median(taken[long]) / statistics.median(taken[short])


def bindings(folder: Path) -> float:
    """A transition that changes bindings, in floors."""
    root = folder / "bindings"
    grown(root, 10)
    harness = Harness(root)

    def both() -> None:
        harness.model({"operation": "pause", "reason": "r"}, session_id="s1")
        harness.model({"operation": "resume", "case_id": "c1"}, session_id="s1")

    both()
    return Floor(folder).ratio(both, 21) / 2


def probe_cycle(folder: Path, events: int) -> float:
    """Commit, call and compare, in floors."""
    root = folder / "cycle"
    grown(root, events)
    harness = Harness(root)

    def cycle() -> None:
        harness.probe(PROBE, session_id="s1")
        with harness.execution(session_id="s1", tool_name="read_file", args={"path": "notes.txt"}) as execution:
            execution.observed("42")
        harness.probe({"operation": "compare", "disposition": "match", "rationale": "r"}, session_id="s1")

    cycle()
    return Floor(folder).ratio(cycle, 21)


def ordinary_calls(folder: Path, counts: tuple[int, ...]) -> dict[str, float]:
    """Microseconds that an ordinary call takes more than calling through, in a session without a case."""
    found = {}
    for count in counts:
        root = folder / f"cases-{count}"
        if not root.exists():
            populated(root, count)
        harness = Harness(root)

        def call(h: Harness = harness) -> None:
            h.execution(session_id="nobody", tool_name="read_file", args={}, host=True)

        call()
        found[str(count)] = round(each(call, 20_000), 2)
    return found


def active_call(folder: Path) -> float:
    """The same in a session with an active case of 400 events."""
    root = folder / "active"
    grown(root, 400)
    harness = Harness(root)

    def call() -> None:
        harness.execution(session_id="s1", tool_name="read_file", args={}, host=True)

    call()
    return each(call, 5_000)


def opening(folder: Path, counts: tuple[int, ...]) -> dict[str, float]:
    """Opening a case among others in floors, with automatic lesson retrieval, warm."""
    found, floor = {}, Floor(folder)
    for count in counts:
        root = folder / f"cases-{count}"
        if not root.exists():
            populated(root, count)
        harness, numbers = Harness(root), itertools.count(sum(1 for _ in (root / "cases").iterdir()))

        def open_one(h: Harness = harness, numbers: Iterator[int] = numbers) -> None:
            at = next(numbers)
            opened(h, f"new-{at}", f"new-{at}")

        open_one()
        found[str(count)] = round(floor.ratio(open_one, 41), 2)
    return found


def listing(folder: Path, count: int) -> dict[str, float]:
    """Milliseconds of listing 50 cases: the first time in a process, and again."""
    root = folder / f"cases-{count}"
    if not root.exists():
        populated(root, count)
    harness = Harness(root)

    def show() -> None:
        harness.model({"operation": "list"}, session_id="nobody")

    return {"first": round(median(show, 1) / 1000, 1), "again": round(median(show, 9) / 1000, 1)}


def cold_replay(folder: Path, events: int) -> float:
    """How often a cold open and full replay takes the time of hashing the log's bytes and parsing its JSON."""
    root = folder / "cold"
    grown(root, events)
    data = (root / "cases/c1/events.jsonl").read_bytes()

    def least() -> None:
        hashlib.sha256(data).digest()
        for line in data.splitlines():
            json.loads(line)

    return median(lambda: Harness(root).replay("c1"), 3) / median(least, 5)


def short_lived(folder: Path, few: int, many: int) -> float:
    """How often a new process's append to a long Timeline takes the time of one to a short, the two in turn."""
    taken: dict[Path, list[float]] = {folder / f"short-{count}": [] for count in (few, many)}
    for root, count in zip(taken, (few, many), strict=True):
        grown(root, count)
    for _ in range(15):
        for root, times in taken.items():
            times.append(median(lambda r=root: evidence(Harness(r), "s1"), 1))  # type: ignore[misc]  # bound now
    short, long = map(statistics.median, taken.values())
    return long / short


def lstat_microseconds(folder: Path) -> float:
    """What one look at a file takes here: an ordinary call is two of them, a list two for each case."""
    name = str(folder)
    return each(lambda: os.lstat(name), 20_000)


def measure(folder: Path, cases: int, events: int) -> dict[str, Any]:
    """Every figure; those in F are ratios to the floor."""
    portfolios = (200, cases)
    with ProcessPoolExecutor(1, max_tasks_per_child=1) as processes:

        def fresh(figure: Callable[..., Any], *given: Any) -> Any:
            found = processes.submit(figure, folder, *given).result()
            return round(found, 2) if isinstance(found, float) else found

        f = fresh(floor_microseconds)
        return {
            "floor_microseconds": f,
            "judged": f >= 50,
            "bare_F": fresh(bare),
            "transition_F": fresh(transitions, tuple(sorted({10, 1_000, events}))),
            "transition_long_to_short": fresh(long_to_short, 10, events),
            "binding_transition_F": fresh(bindings),
            "probe_cycle_400_F": fresh(probe_cycle, 400),
            "open_F": fresh(opening, portfolios),
            "lstat_microseconds": fresh(lstat_microseconds),
            "ordinary_call_microseconds": fresh(ordinary_calls, (10, *portfolios)),
            "active_call_microseconds": fresh(active_call),
            "list_50_milliseconds": {str(count): fresh(listing, count) for count in portfolios},
            "cold_replay_to_floor": fresh(cold_replay, events),
            "short_lived_append_long_to_short": fresh(short_lived, 10, events),
        }


def main() -> None:
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("--folder", type=Path, help="where to measure (default: beside this file's repository)")
    said.add_argument("--cases", type=int, default=1_000, help="size of the large portfolio (default 1000)")
    said.add_argument("--events", type=int, default=10_000, help="length of the long Timeline (default 10000)")
    asked = said.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        print(json.dumps(measure(Path(scratch), asked.cases, asked.events), indent=2))


if __name__ == "__main__":
    main()
