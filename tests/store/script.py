"""A session's life with a case, operation by operation, for tests that disturb it: every kind of transition occurs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, field, frozen

from harness_core.errors import HarnessError, Unavailable
from harness_store import Execution, Harness
from harness_store.disk import Disk
from harness_store.execution import Recording
from harness_store.repair import Kind
from tests.store.simulator import SimulatedDisk, Volume

ROOT = Path("/store")
NOW = "2026-11-30T00:00:00+00:00"

T = TypeVar("T")


@define
class Process:
    """One process with a harness, on a simulated disk or a real one; ``execution`` is its action under way."""

    disk: Disk
    root: Path = ROOT
    harness: Harness = field(init=False)
    execution: Execution | None = None

    def __attrs_post_init__(self) -> None:
        self.harness = Harness(self.root, wait=0.0, clock=lambda: NOW, disk=self.disk)

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
    "quarantine": lambda p: p.harness.quarantine("c1"),
}
OLD_SCRIPT: Mapping[str, Operation] = {
    "adopt with evidence": lambda p: p.model(
        "s-stale", operation="record_evidence", evidence=[{"summary": "a", **SOURCE}]
    ),
    "adopt what a crash left": lambda p: p.probe("s-crash", operation="discard", reason="r"),
    "adopt and move": lambda p: p.harness.adopt_lineage("s-new", ["s-fail", "s-new"]),
}
"""First writes to cases of a store that release 1.2.0 made."""
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


def take_up(process: Process, name: str) -> None:
    """Give the process the execution that its predecessor had under way: the lease died with it, the probe did not."""
    if SCRIPT.get(name) in (observed, exposed, large):
        executions = process.harness._executions
        case = process.model(operation="show")["case"]
        state = process.harness._cases.journal(case["case_id"]).read().state
        lease = executions._lease(case["case_id"]).try_acquire()
        assert lease is not None
        assert state is not None
        assert state.case.pending_probe is not None
        process.execution = Recording(
            executions,
            case_id=case["case_id"],
            probe_id=case["pending_probe"]["probe_id"],
            session_id="s1",
            commitment=state.case.pending_probe.commitment,
            lease=lease,
            secrets=frozenset(),
            wait=0.0,
            host=False,
        )
        if SCRIPT[name] is exposed:
            process.execution._observation = process.harness.timeline(case["case_id"])[-1]
            process.execution.finished = True


@frozen
class Said:
    """What a caller was told of an operation: a word, and whether it stands."""

    word: str
    written: str

    def allowed(self, before: T, after: T) -> list[T]:
        """Of the states before and after, those that what was said leaves possible."""
        return {"no": [before], "yes": [after], "unknown": [before, after]}[self.written]


def said_of(name: str, process: Process) -> Said:
    """Do one operation of the script, and say what the caller is told.

    Anything but the harness's own errors is a fault of it: ``written`` is then ``fault``, which allows nothing.
    """
    try:
        (SCRIPT.get(name) or OLD_SCRIPT[name])(process)
    except Unavailable as error:
        return Said(error.code, error.written)
    except HarnessError as error:
        return Said(error.code, "no")
    except AssertionError:  # a committed action that was not let run
        return Said("blocked", "unknown")
    except Exception as error:  # noqa: BLE001 - what else escapes is reported by whoever asked
        return Said(f"{type(error).__name__}: {error}", "fault")
    return Said("done", "yes")


def put_in_order(harness: Harness) -> set[Kind]:
    """What the next writer of each case does once the disk is sound again; the kinds of repair there were."""
    done = set()
    for kind in (Kind.UNMARK, Kind.SETTLE):
        for planned in harness.repairs():
            if planned.kind is kind:
                assert harness.repair(planned)
                done.add(kind)
    return done
