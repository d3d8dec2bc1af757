"""Any sequence of calls of the JSON tools, through two processes over one store, keeps every rule, and ends as the core
in memory ends."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from hypothesis import HealthCheck, settings
from hypothesis.stateful import precondition, rule

from harness_core.errors import Refused
from harness_core.testing import Memory, SessionMachine
from harness_core.testing.memory import MemoryExecution
from harness_store import Execution, Harness
from harness_store.receipts import INDEX, RECEIPT
from tests.store.script import PROBE, ROOT
from tests.store.simulator import SimulatedDisk, Volume


class Process(Harness):
    """A harness in a process of its own; ``die`` ends that without a word."""

    def __init__(self, volume: Volume, clock: Any) -> None:
        self.simulated = SimulatedDisk(volume)
        super().__init__(ROOT, wait=0.0, clock=clock, disk=self.simulated)

    def die(self) -> None:
        self.simulated.dead = True
        for holders in self.simulated.volume.locks.values():
            for holder in [held for held in holders if held[0] == id(self.simulated)]:
                del holders[holder]


class TwoProcesses:
    """An adapter that turns to one of two processes and to the other by turns, and to the core in memory each time.

    What the store and the core disagree in is a fault: whether a call is refused and why, and what happened.
    """

    def __init__(self) -> None:
        ticks = itertools.count()
        self.clock = lambda: (datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=next(ticks))).isoformat()
        self.volume = Volume()
        self.processes = [Process(self.volume, self.clock) for _ in range(2)]
        self.memory = Memory()

    @property
    def process(self) -> Process:
        self.processes.reverse()
        return self.processes[0]

    def agree(self) -> None:
        """The Timelines of the store tell of the same events as those in memory."""
        for case_id, events in self.memory.events.items():
            kept = [record["type"] for record in self.timeline(case_id)]
            assert kept == [event.type.value for event in events], f"{case_id} is kept otherwise than in memory"

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        sent = json.loads(json.dumps(arguments))
        answer: Mapping[str, Any] = json.loads(self.process.tool(name, sent, session_id=session_id))
        expected = self.memory.tool(name, self._without_recall(sent), session_id)
        assert answer.get("code") == expected.get("code"), (answer, expected)
        self.agree()
        return answer

    def _without_recall(self, sent: dict[str, Any]) -> dict[str, Any]:
        """The store finds near lessons by itself, which the core in memory is told to import instead."""
        made = self.timeline(sent["case_id"]) if sent.get("operation") == "open" and self._is_new(sent) else ()
        opened = [r["payload"]["model"]["prior_case_ids"] for r in made if r["type"] == "case_opened"]
        return {**sent, "prior_case_ids": opened[0]} if opened and "prior_case_ids" not in sent else sent

    def _is_new(self, sent: Mapping[str, Any]) -> bool:
        return isinstance(sent.get("case_id"), str) and sent["case_id"] not in self.memory.events

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        try:
            return self.process.timeline(case_id)
        except Refused:
            return ()

    def execution(self, session_id: str, tool_name: str, args: Mapping[str, Any]) -> TwinExecution:
        process = self.process
        real = process.execution(session_id=session_id, tool_name=tool_name, args=args, host=True)
        told = self.memory.execution(session_id, tool_name, args)
        assert real.recording == told.recording
        assert bool(real.blocked) == bool(told.blocked)
        return TwinExecution(process, real, told)

    def abandon(self, execution: TwinExecution) -> None:
        execution.process.die()
        self.memory.abandon(execution.told)
        self.restart(execution.process)

    def restart(self, process: Process) -> None:
        self.processes[self.processes.index(process)] = Process(self.volume, self.clock)

    def pause_for_lifecycle(self, session_id: str, kind: str, reason: str) -> None:
        self.process.pause_for_lifecycle(session_id, kind=kind, reason=reason)
        self.memory.pause_for_lifecycle(session_id, kind, reason)
        self.agree()

    def proof_of_life(self, session_id: str) -> None:
        self.process.proof_of_life(session_id)
        self.memory.proof_of_life(session_id)
        self.agree()

    def adopt_lineage(self, session_id: str, lineage: Sequence[str]) -> None:
        self.process.adopt_lineage(session_id, lineage)
        self.memory.adopt_lineage(session_id, lineage)
        self.agree()

    def accounts(self) -> Sequence[Mapping[str, Any]]:
        """What is told of all of it by processes that have seen it come about, by one that goes on from what the last
        writers left beside each case, and by one that finds nothing of that and reads everything."""
        new = Process(self.volume.copy(), self.clock)
        bare = Process(self.volume.copy(), self.clock)
        for case_id in self.memory.events:
            for name in (RECEIPT, INDEX):
                with contextlib.suppress(FileNotFoundError):
                    bare.simulated.unlink(ROOT / "cases" / case_id / name)
        return [self._account(process) for process in (*self.processes, new, bare)]

    def _account(self, process: Process) -> Mapping[str, Any]:
        told: dict[str, Any] = {"list": process.model({"operation": "list"}, session_id="nobody")}
        del told["list"]["runtime"]
        for case_id, events in self.memory.events.items():
            owner = self.memory.cases[case_id].session_id
            told[case_id] = process.model({"operation": "show", "case_id": case_id}, session_id=owner)
            told |= {f"context of {e.session_id}": process.context(e.session_id, 9_000) for e in events}
        return told

    def close(self) -> None:
        for process in self.processes:
            process.close()


class TwinExecution:
    """An action in the store and in memory."""

    def __init__(self, process: Process, real: Execution, told: MemoryExecution) -> None:
        self.process, self.real, self.told = process, real, told
        self.recording, self.blocked = real.recording, real.blocked

    def observed(self, result: Any, **how: Any) -> None:
        self.real.observed(result, **how)
        self.told.observed(result, **how)

    def exposed(self, display: Any) -> None:
        self.real.exposed(display)
        self.told.exposed(display)

    def __enter__(self) -> Self:
        self.real.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.real.__exit__(kind, error, at)
        self.told.__exit__(kind, error, at)


class ToolsMachine(SessionMachine):
    """The machine on the store, through the JSON tools."""

    adapter: TwoProcesses

    def make_adapter(self) -> TwoProcesses:
        return TwoProcesses()

    @precondition(lambda self: self.execution is None)
    @rule()
    def restart(self) -> None:
        """A process ends and another takes its place; nothing is lost."""
        self.adapter.restart(self.adapter.process)
        assert not self.look()

    def teardown(self) -> None:
        super().teardown()
        for case_id in self.seen:
            replay = self.adapter.process.replay(case_id)
            assert replay["timeline"]["valid"]
            assert replay["case_snapshot"]["valid"]
            assert not replay["violations"]
        first, *others = self.adapter.accounts()
        assert all(other == first for other in others)


TestTools = ToolsMachine.TestCase
TestTools.settings = settings(
    settings.default, max_examples=40, stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow]
)


def test_a_second_display_supersedes_the_first() -> None:
    """What is handed on later supersedes what was handed on before, link by link, down to the raw observation."""
    store = TwoProcesses()
    store.tool("epistemic_model", {"operation": "open", "case_id": "c1", "top_unknown": "q"}, "s1")
    store.tool("epistemic_probe", {"operation": "commit", **PROBE}, "s1")
    with store.execution("s1", "read_file", {"path": "a"}) as execution:
        for shown in ("raw", "first", "first", "second"):
            execution.observed(shown)
            execution.exposed(shown)
    chain = [record["payload"].get("supersedes_event_id") for record in store.timeline("c1")[3:]]
    assert chain == [None, "E000004", "E000005"]
