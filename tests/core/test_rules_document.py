"""docs/rules.md: what it names is there."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from harness_core.invariants import INVARIANTS
from harness_core.rules import ALLOWED
from harness_core.vocabulary import CaseStatus, ProbeStatus

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| (`[^|]+`) \| (`[^|]+`) \|$", TEXT, re.MULTILINE)
PLACES = sorted({name for _, where, _ in ROWS for name in re.findall(r"`([^`]+)`", where)})
TESTS = sorted({name for _, _, by in ROWS for name in re.findall(r"`([^`]+)`", by)} | {"test_machine.OurMachine"})


def test_there_are_rules() -> None:
    """The tables are read."""
    assert len(ROWS) > 70


@pytest.mark.parametrize("name", PLACES)
def test_every_place_is_there(name: str) -> None:
    """Each module and function that the tables name exists."""
    full = name if name.startswith("harness_") else f"harness_core.{name}"
    module, _, attribute = full.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", TESTS)
def test_every_test_is_there(name: str) -> None:
    """Each test that the tables name exists."""
    file, _, function = name.rpartition(".")
    path = ROOT / "tests" / (file if "/" in file else f"core/{file}")
    tree = ast.parse(path.with_suffix(".py").read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_every_invariant_is_in_the_table() -> None:
    """No invariant is missing from the rules."""
    assert {f"invariants.{check.__name__}" for check in INVARIANTS} <= set(PLACES)


def events_table() -> str:
    """The rules of ``ALLOWED`` as the document prints them."""

    def words(kinds: Any, every: Any) -> str:
        names = [str(kind) if kind is not None else "none" for kind in every if kind in kinds]
        return "any" if len(names) == len(list(every)) else ", ".join(names)

    heading = "| event | case | pending probe | while stale |\n|---|---|---|---|\n"
    return heading + "\n".join(
        f"| {event} | {words(rule.statuses, CaseStatus)} | {words(rule.probes, (None, *ProbeStatus))} |"
        f" {'yes' if rule.while_stale else 'no'} |"
        for event, rule in ALLOWED.items()
    )


def test_the_table_of_events_is_the_deciders() -> None:
    """The document prints the table that the decider refuses by."""
    found = re.search(r"<!-- events -->\n(.*)\n\n<!-- /events -->", TEXT, re.DOTALL)
    assert found
    assert found[1] == events_table()
