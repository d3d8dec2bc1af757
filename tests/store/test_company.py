"""What a user may rely on when several processes use one store at the same time: one wins, and the others are told so.

Every harness here is as good as a process of its own: it shares nothing with the others but the files, and ``flock``
belongs to an open file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness_core.errors import HarnessError, Refused, Unavailable
from harness_store import Execution, Harness
from harness_store.bindings_text import spelled
from harness_store.disk import PosixDisk
from harness_store.fsck import check_store
from harness_store.locks import FileLock
from tests.store.golden import EVIDENCE
from tests.store.script import PROBE

PROJECT = Path(__file__).resolve().parents[2]
MANY = 6


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with an active case of session ``s1`` and one of session ``other``."""
    harness = Harness(tmp_path)
    for session, case_id in (("s1", "c1"), ("other", "c2")):
        harness.model({"operation": "open", "case_id": case_id, "top_unknown": "u"}, session_id=session)
    return tmp_path


def model(harness: Harness, session: str = "s1", /, **args: Any) -> dict[str, Any]:
    return harness.model(args, session_id=session)


def probe(harness: Harness, session: str = "s1", /, **args: Any) -> dict[str, Any]:
    return harness.probe(args, session_id=session)


def act(harness: Harness, session: str = "s1", **options: Any) -> Execution:
    return harness.execution(session_id=session, tool_name="read_file", args={"path": "a"}, **options)


def raced(root: Path, attempt: Callable[[Harness, int], Any]) -> tuple[list[Any], list[HarnessError]]:
    """Let many harnesses attempt the same at once: what the winners got, and what the losers were told."""
    start, won, lost = threading.Barrier(MANY), list[Any](), list[HarnessError]()

    def run(number: int) -> None:
        harness = Harness(root)
        start.wait()
        try:
            won.append(attempt(harness, number))
        except HarnessError as error:
            lost.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert check_store(root).sound
    return won, lost


# -- one wins -------------------------------------------------------------------------------------------------------


def test_a_session_gets_one_active_case(root: Path) -> None:
    """Of many that open a case in one session at once, one gets it; the others are told which case the session has."""
    won, lost = raced(root, lambda h, n: model(h, "new", operation="open", case_id=f"n{n}", top_unknown="u"))
    assert len(won) == 1
    assert {error.code for error in lost} == {"session_has_case"}
    assert all(won[0]["case"]["case_id"] in str(error) for error in lost)


def test_a_case_id_is_given_once(root: Path) -> None:
    """Of many sessions that open the same id at once, one gets it; the others are told that it is there."""
    won, lost = raced(root, lambda h, n: model(h, f"n{n}", operation="open", case_id="same", top_unknown="u"))
    assert len(won) == 1
    assert {error.code for error in lost} == {"case_exists"}


def test_a_paused_case_goes_to_one_session(root: Path) -> None:
    """Of many sessions that resume a case at once, one has it."""
    model(Harness(root), operation="pause", reason="r")
    won, lost = raced(root, lambda h, n: model(h, f"n{n}", operation="resume", case_id="c1"))
    assert len(won) == 1
    assert all(isinstance(error, Refused) for error in lost)


def test_there_is_one_pending_probe(root: Path) -> None:
    """Of many commitments at once, one is made; the others are told that there is one."""
    won, lost = raced(root, lambda h, n: probe(h, operation="commit", **PROBE))
    assert len(won) == 1
    assert {error.code for error in lost} == {"probe_committed"}


def test_a_raced_call_is_captured_once(root: Path) -> None:
    """Of many calls of the committed tool at once, one runs and is recorded; the others are blocked and do not run."""
    probe(Harness(root), operation="commit", **PROBE)
    executions, _ = raced(root, lambda h, n: act(h))
    (recording,) = [execution for execution in executions if execution.recording]
    blocked = [execution.blocked for execution in executions if not execution.recording]
    assert len(blocked) == MANY - 1
    assert all(text and "GATEWAY BLOCKED" in text for text in blocked)
    with recording:
        recording.observed("42")
    types = [record["type"] for record in Harness(root).timeline("c1")]
    assert (types.count("probe_started"), types.count("probe_observed")) == (1, 1)


def test_no_transition_is_built_on_a_stale_read(root: Path) -> None:
    """Processes that take turns, and ones that write at once, each build on what the others have written."""
    won, lost = raced(root, lambda h, n: [model(h, operation="record_evidence", evidence=[EVIDENCE]) for _ in range(4)])
    assert (len(won), lost) == (MANY, [])
    ids = [record["event_id"] for record in Harness(root).timeline("c1")]
    assert ids == [f"E{number:06d}" for number in range(1, len(ids) + 1)]
    assert len(ids) == 1 + 4 * MANY


# -- leases ---------------------------------------------------------------------------------------------------------


def test_recovery_waits_for_the_death_of_the_holder(root: Path) -> None:
    """While an action's process lives, recovery is refused; when it is killed, its lease is free and recovery works."""
    probe(Harness(root), operation="commit", **PROBE)
    program = (
        "import sys, time; from harness_store import Harness; h = Harness(sys.argv[1]);"
        "e = h.execution(session_id='s1', tool_name='read_file', args={'path': 'a'});"
        "print(e.recording, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(root)]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with pytest.raises(Refused) as caught:
            probe(Harness(root), operation="recover", reason="r")
        assert caught.value.code == "still_running"
        blocked = act(Harness(root)).blocked
        assert blocked
        assert "runs the committed read_file" in blocked
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        blocked = act(Harness(root)).blocked
        assert blocked
        assert "recover" in blocked, "it is never retried by itself"
        assert probe(Harness(root), operation="recover", reason="r")["probe"]["status"] == "observed"


# -- waiting --------------------------------------------------------------------------------------------------------


def test_another_sessions_writing_never_costs_an_observation(root: Path) -> None:
    """With the store's lock and another case's lock held for good, a host's action starts, is observed and recorded."""
    harness = Harness(root)
    probe(harness, operation="commit", **PROBE)
    disk = PosixDisk()
    with (
        FileLock(disk, root / ".store.lock", "s").acquire(),
        FileLock(disk, root / "cases/c2/.case.lock", "c").acquire(),
    ):
        with act(harness, host=True) as execution:
            assert execution.recording
            assert execution.observed("42") is not None
        assert model(harness, operation="show")["case"]["pending_probe"]["status"] == "observed"
        assert probe(harness, operation="compare", disposition="match", rationale="r", belief_change="unchanged")


class Meanwhile(PosixDisk):
    """A real disk on which something else happens after each step that changes it."""

    def __init__(self, what: Callable[[], object]) -> None:
        super().__init__()
        self._what = what

    def write(self, fd: int, data: bytes, offset: int) -> None:
        for end in (len(data) // 2, len(data)):  # also half-way: what is written in place is seen so
            super().write(fd, data[:end], offset)
            self._what()

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self._what()


def test_at_no_moment_of_another_sessions_transition_is_a_session_without_its_case(root: Path) -> None:
    """While a live process is half-way through a change of bindings, whoever else looks finds its own as it was."""
    reader = Harness(root)
    probe(reader, operation="commit", **PROBE)
    looks = []

    def look() -> None:
        fresh = Harness(root)
        looks.append((fresh.is_active("s1"), fresh.context("s1", 4_000) is not None, reader.is_bound("s1")))

    busy = Harness(root, disk=Meanwhile(look))
    model(busy, "other", operation="pause", reason="r")
    model(busy, "other", operation="resume", case_id="c2")
    assert len(looks) > 20
    assert set(looks) == {(True, True, True)}
    with act(reader, host=True) as execution:
        assert execution.recording


def test_at_no_moment_does_the_timeline_tell_more_than_show(root: Path) -> None:
    """Half-way through a transition both tell what is acknowledged: no record stands there that may never have been."""
    looks = []

    def look() -> None:
        fresh = Harness(root)
        shown = model(fresh, operation="show", case_id="c1")["case"]
        looks.append((shown["event_count"], len(fresh.timeline("c1")), len(reader.timeline("c1"))))

    reader, busy = Harness(root), Harness(root, disk=Meanwhile(look))
    model(busy, operation="record_evidence", evidence=[EVIDENCE] * 3)
    probe(busy, operation="commit", **PROBE)
    with act(busy) as execution:
        execution.observed("42")
    probe(busy, operation="compare", disposition="match", rationale="r", belief_change="unchanged")
    model(busy, operation="pause", reason="r")
    assert len(looks) > 20
    assert all(shown == kept == seen for shown, kept, seen in looks)


@pytest.mark.parametrize("said", [{}, None])
def test_bindings_that_were_lost_come_back_for_every_session(root: Path, said: dict[str, Any] | None) -> None:
    """Where the intent is gone, and ``sessions.json`` is gone or names nobody, one session's write loses no other's."""
    (root / ".store.lock").unlink()
    sessions = root / "sessions.json"
    if said is None:
        sessions.unlink()
    else:
        sessions.write_bytes(spelled(said).data)
    model(Harness(root), operation="pause", reason="r")
    assert not Harness(root).is_active("s1")
    assert Harness(root).is_active("other")
    assert check_store(root).sound


def test_a_lock_that_is_not_had_is_said(root: Path) -> None:
    """A tool waits no longer than its bound, a lifecycle callback no longer than its own; nothing was written then."""
    harness = Harness(root, wait=0.01)
    with FileLock(PosixDisk(), root / ".store.lock", "s").acquire():
        for attempt in (
            lambda: model(harness, operation="pause", reason="r"),
            lambda: harness.pause_for_lifecycle("s1", kind="session_finalize", reason="x", wait=0.01),
        ):
            with pytest.raises(Unavailable) as caught:
                attempt()
            assert (caught.value.code, caught.value.written) == ("locked", "no")
    assert model(harness, operation="show")["case"]["status"] == "active"


def test_reading_waits_for_nobody(root: Path) -> None:
    """With every lock of the store held for good, list, show, replay and injection answer."""
    disk, harness = PosixDisk(), Harness(root)
    with (
        FileLock(disk, root / ".store.lock", "s").acquire(),
        FileLock(disk, root / "cases/c1/.case.lock", "c").acquire(),
    ):
        assert len(model(harness, operation="list")["cases"]) == 2
        assert model(harness, operation="show")["replay"]["usable"]
        assert harness.replay("c1")["usable"]
        assert harness.context("s1", 4_000)


# -- earlier states -------------------------------------------------------------------------------------------------


def test_a_case_is_shown_as_it_was(root: Path) -> None:
    """``as_of`` shows what ``show`` said then; a count inside a transition is refused with the counts that are near."""
    harness, then = Harness(root), {}
    for number in (1, 3, 2):
        shown = model(harness, operation="show")
        then[shown["case"]["event_count"]] = shown["case"]
        model(harness, operation="record_evidence", evidence=[EVIDENCE] * number)
    for reader in (harness, Harness(root), Harness(root, read_only=True)):
        for count, case in then.items():
            assert model(reader, operation="show", as_of=count)["case"] == case
        with pytest.raises(Refused) as caught:
            model(reader, operation="show", as_of=3)
        assert caught.value.code == "as_of"
        assert "2 or 7" in str(caught.value)


class Halting(PosixDisk):
    """A disk on which the writing of bindings stands still, once their intent is written, until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.may_go_on = threading.Event(), threading.Event()

    def create(self, path: Path) -> int:
        if path.name == ".sessions.json.tmp":
            self.reached.set()
            assert self.may_go_on.wait(60)
        return super().create(path)


class Patient(PosixDisk):
    """A disk that counts how often a lock was not to be had."""

    waited = 0

    def try_lock(self, fd: int, *, shared: bool = False) -> bool:
        had = super().try_lock(fd, shared=shared)
        self.waited += not had
        return had


@pytest.mark.parametrize("known", [True, False], ids=["in a store with cases", "at the very first open"])
def test_nobody_waits_for_bindings_that_another_session_changes(tmp_path: Path, known: bool) -> None:
    """While a process stands still between a transition and its bindings, other sessions go on with what stands."""
    if known:
        model(Harness(tmp_path), "s1", operation="open", case_id="c1", top_unknown="u")
    slow = Halting()
    opening = threading.Thread(
        target=lambda: model(Harness(tmp_path, disk=slow), "s2", operation="open", case_id="c2", top_unknown="u")
    )
    opening.start()
    try:
        assert slow.reached.wait(60)
        others: list[Callable[[Harness], Any]] = [
            lambda harness: harness.context("s1", 9_000),
            lambda harness: model(harness, "s3", operation="list")["total_matching"],
            lambda harness: harness.execution(session_id="s3", tool_name="t", args={}).recording,
            lambda harness: harness.is_active("s3"),
        ]
        for other in others:
            disk = Patient()
            found = other(Harness(tmp_path, disk=disk, wait=60))
            assert disk.waited <= 1
            assert "c1" in found if isinstance(found, str) else found in (None, False, 1, 2)
    finally:
        slow.may_go_on.set()
        opening.join()
    assert model(Harness(tmp_path), "s2", operation="show")["case"]["status"] == "active"
    assert check_store(tmp_path).sound
