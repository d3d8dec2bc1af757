"""What a user may rely on when the process dies or the power fails in the middle of any operation of the two tools.

The whole engine runs on the simulated disk.  Every operation that writes is killed at each of its steps, and the power
fails at each of them with part of what was unsynced surviving; then a fresh process must find the portfolio as it was
before the operation or as it is after it, with the bindings that follow from it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from harness_core.errors import Refused
from harness_store import Execution, Harness
from tests.store.simulator import Killed, SimulatedDisk, Volume

ROOT = Path("/store")
NOW = "2026-11-30T00:00:00+00:00"
MOST = int(os.environ.get("HARNESS_CRASH_SURVIVORS", "2"))
"""Surviving disks tried after each power failure; the thorough run sets more."""


@define
class Process:
    """One process with a harness on a simulated disk; ``execution`` is its action under way."""

    disk: SimulatedDisk
    harness: Harness = field(init=False)
    execution: Execution | None = None

    def __attrs_post_init__(self) -> None:
        self.harness = Harness(ROOT, wait=0.0, clock=lambda: NOW, disk=self.disk)

    def model(self, session: str = "s1", /, **args: Any) -> dict[str, Any]:
        return self.harness.model(args, session_id=session)

    def probe(self, session: str = "s1", /, **args: Any) -> dict[str, Any]:
        return self.harness.probe(args, session_id=session)


Operation = Callable[[Process], object]

SOURCE = {"source_ref": "u", "source_role": "primary", "access_scope": "full", "authority_domain": "external_source"}
PROBE = {
    "purpose": "learn",
    "unknown_or_goal": "g",
    "tool_name": "read_file",
    "tool_args": {"path": "a"},
    "predicted_outcomes": ["42"],
    "would_change_belief": "w",
    "why_this_action": "y",
    "authority_domain": "system_state",
}


def started(process: Process) -> None:
    process.execution = process.harness.execution(session_id="s1", tool_name="read_file", args={"path": "a"})
    assert process.execution.recording


def observed(process: Process, text: str = "42") -> None:
    assert process.execution is not None
    process.execution.observed(text)


def exposed(process: Process) -> None:
    assert process.execution is not None
    process.execution.exposed("about 42")
    process.execution.__exit__(None, None, None)


def large(process: Process) -> None:
    observed(process, "large " * 4_000)
    assert process.execution is not None
    process.execution.__exit__(None, None, None)


SCRIPT: Mapping[str, Operation] = {
    "open with initial evidence": lambda p: p.model(
        operation="open",
        case_id="c1",
        top_unknown="u",
        initial_evidence=[{"id": "I1", "summary": "a", **SOURCE}, {"id": "I2", "summary": "b", **SOURCE}],
        mechanisms=[{"id": "M1", "text": "42"}],
        current_plan=[{"id": "P1", "action": "read", "depends_on": ["M1"]}],
    ),
    "record evidence": lambda p: p.model(
        operation="record_evidence", evidence=[{"summary": text, **SOURCE} for text in "abc"]
    ),
    "commit": lambda p: p.probe(operation="commit", claim_id="M1", **PROBE),
    "start": started,
    "observe": observed,
    "expose": exposed,
    "compare": lambda p: p.probe(
        operation="compare", disposition="mismatch", rationale="r", belief_change="weakened", material=True
    ),
    "revise": lambda p: p.model(
        operation="revise",
        reason="r",
        mechanisms=[{"id": "M1", "text": "41"}],
        current_plan=[],
        addresses_event_ids=["E000011"],
    ),
    "pause": lambda p: p.model(operation="pause", reason="r"),
    "open another": lambda p: p.model(operation="open", case_id="c2", top_unknown="v"),
    "pause by the host": lambda p: p.harness.pause_for_lifecycle("s1", kind="session_finalize", reason="x"),
    "proof of life": lambda p: p.harness.proof_of_life("s1"),
    "close": lambda p: p.model(operation="close", outcome="unresolved", summary="s", transfer={"decision": "none"}),
    "resume elsewhere": lambda p: p.model("s2", operation="resume", case_id="c1"),
    "migrate": lambda p: p.harness.adopt_lineage("s3", ["s2", "s3"]),
    "resume after a pause": lambda p: (
        p.model("s3", operation="pause", reason="r"),
        p.model("s1", operation="resume", case_id="c1"),
    ),
    "commit again": lambda p: p.probe(operation="commit", **PROBE),
    "start again": started,
    "observe an artifact": large,
    "discard": lambda p: p.probe(operation="discard", reason="r"),
}
# An operation of two transitions has a state in between.
TWO = "resume after a pause"


def fresh() -> Volume:
    """A store with its key and a case of somebody else, all of it on the platter."""
    disk = SimulatedDisk(Volume())
    process = Process(disk)
    process.model("other", operation="open", case_id="other", top_unknown="o")
    process.probe("other", operation="commit", **PROBE)
    return next(volume for volume in disk.volume.survivors(2))


def portfolio(process: Process) -> dict[str, Any]:
    """Everything a user can see: which session has which case, and each case.

    Asking for a binding settles what was left half-way, so it comes first: a whole transition that was written and not
    yet acknowledged becomes visible then.
    """
    bound = {session: process.harness.is_bound(session) for session in ("s1", "s2", "s3", "other")}
    listed = process.model("reader", operation="list")
    assert listed["case_errors"] == {}
    shown = {}
    for entry in listed["cases"]:
        answer = process.harness.model(
            {"operation": "show", "case_id": entry["case_id"]}, session_id=entry["session_id"]
        )
        assert answer["replay"]["timeline"]["valid"], answer["replay"]
        assert answer["replay"]["case_snapshot"]["valid"], answer["replay"]
        assert answer["replay"]["violations"] == []
        shown[entry["case_id"]] = answer["case"]
    active = [case["session_id"] for case in shown.values() if case["status"] == "active"]
    assert len(active) == len(set(active)), "a session has two active cases"
    return {"cases": shown, "bound": bound}


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
        take_up(process, number)
        SCRIPT[NAMES[number]](process)
    except Killed:
        return False
    return True


def take_up(process: Process, number: int) -> None:
    """Give the process the execution that its predecessor had under way: the lease died with it, the probe did not."""
    if SCRIPT[NAMES[number]] in (observed, exposed, large):
        executions = process.harness._executions
        case = process.model(operation="show")["case"]
        lease = executions._lease(case["case_id"]).try_acquire()
        assert lease is not None
        from harness_store.execution import Recording

        process.execution = Recording(
            executions,
            case_id=case["case_id"],
            probe_id=case["pending_probe"]["probe_id"],
            session_id="s1",
            lease=lease,
            secrets=frozenset(),
            wait=0.0,
            host=False,
        )
        if SCRIPT[NAMES[number]] is exposed:
            process.execution._observation = process.harness.timeline(case["case_id"])[-1]
            process.execution.finished = True


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
    """Whatever kills the process, the next one sees the portfolio before or after, and an acknowledged operation stays."""
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
