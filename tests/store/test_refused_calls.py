"""A refused call leaves every byte of the store as it is, whatever it is refused for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.core.test_refusals import OPERATIONS, WHOLE, broken, faults, pairs, tool_of
from tests.store.script import PROBE, SOURCE, Process
from tests.store.simulator import SimulatedDisk, Volume
from tests.store.test_tools_machine import ToolsMachine, TwoProcesses


def opened(process: Process) -> None:
    process.model(operation="open", case_id="c1", top_unknown="q", mechanisms=[{"id": "M1", "text": "t"}])
    process.model(operation="record_evidence", evidence=[{**SOURCE, "summary": "s"}])


def committed(process: Process) -> None:
    opened(process)
    process.probe(operation="commit", claim_id="M1", **PROBE)


def nothing(process: Process) -> None:
    """There is no store yet, not even its folder."""


@pytest.mark.parametrize("state", [nothing, opened, committed])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_call_with_faults_of_form_changes_no_byte(operation: str, state: Any) -> None:
    """Each missing, mistyped or unknown field, alone and in pairs: refused, and the store is what it was, byte for
    byte; where there is none, none is made."""
    process = Process(SimulatedDisk(Volume()))
    state(process)
    volume = process.disk.volume  # type: ignore[attr-defined]  # a simulated one
    before = volume.shape()
    for chosen in [*((fault,) for fault in faults(operation)), *pairs(operation)]:
        sent = {"operation": operation, **broken(WHOLE[operation], chosen)}
        answer = json.loads(process.harness.tool(tool_of(operation), sent, session_id="s1"))
        assert answer["code"] == "invalid_arguments", (chosen, answer)
        assert volume.shape() == before, chosen


# What a call may find missing and make before it is decided: it says nothing of any case.
FURNITURE = (".lock", ".commitment.key")


class Sealed(TwoProcesses):
    """Holds the whole disk against what it was before each call that is refused."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        before = self.volume.shape()
        answer = super().tool(name, arguments, session_id)
        changed = {path for path, _ in self.volume.shape() ^ before}
        made = {path for path in changed if path.endswith(FURNITURE) and path not in dict(before)}
        assert "error" not in answer or changed == made, f"a refused {arguments} changed {sorted(changed - made)}"
        return answer


class SealedMachine(ToolsMachine):
    def make_adapter(self) -> Sealed:
        return Sealed()


TestSealed = SealedMachine.TestCase
TestSealed.settings = settings(
    settings.default, max_examples=15, stateful_step_count=40, suppress_health_check=[HealthCheck.too_slow]
)
