"""docs/testing-your-adapter.md: its code runs, and its planted fault is found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from harness_core.testing import Adapter, Memory, SessionAdapter

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "testing-your-adapter.md").read_text(encoding="utf-8")


def block(name: str) -> dict[str, Any]:
    """What the code block of that name defines."""
    found = re.search(rf"<!-- {name} -->\n```python\n(.*?)```", TEXT, re.DOTALL)
    assert found, name
    defined: dict[str, Any] = {"__name__": "example"}
    exec(compile(found[1], f"testing-your-adapter.md, {name}", "exec"), defined)
    return defined


def how(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=20,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def test_the_planted_fault_is_found() -> None:
    """The adapter that keeps part of a refused batch of evidence is found out, by whichever of its faces the run
    meets first; without the fault nothing is found (the next test)."""
    machine = block("planted")["ItemByItemMachine"]
    with pytest.raises(AssertionError, match="evidence"):
        run_state_machine_as_test(machine, settings=how(200))
    assert "AssertionError: a refused call changed ['c1'] (" in TEXT


def test_without_the_fault_nothing_is_found() -> None:
    """The same adapter, less its fault, keeps every rule."""
    defined = block("planted")
    del defined["ItemByItem"].tool
    run_state_machine_as_test(defined["ItemByItemMachine"], settings=how(10))


def test_the_store_can_be_driven_through_its_tools() -> None:
    """The machine on the real store, as the document prints it, finds nothing."""
    run_state_machine_as_test(block("tools")["HarnessMachine"], settings=how(3))


def test_the_strategies_can_be_used_alone() -> None:
    """The property that the document prints holds."""
    block("strategies")["test_what_is_kept_folds_to_the_same_case"]()


def test_memory_is_an_adapter() -> None:
    """The methods of the document's table are those that the harness in memory has."""
    adapter: Adapter = Memory()
    sessions: SessionAdapter = Memory()
    named = re.findall(r"^\| `(\w+)\(", TEXT, re.MULTILINE)
    assert named == ["tool", "execution", "timeline", "close"]
    assert all(callable(getattr(adapter, name)) for name in named)
    assert all(f"`{name}`" in TEXT for name in ("pause_for_lifecycle", "proof_of_life", "adopt_lineage"))
    assert callable(sessions.adopt_lineage)
