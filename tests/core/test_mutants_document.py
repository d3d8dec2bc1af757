"""docs/mutants.md and the table of mutants: both are of today."""

from __future__ import annotations

import re

from harness_core.invariants import INVARIANTS
from tests.core.mutants import DOCUMENT, MUTANTS, PROPERTIES, document, stale


def test_every_mutant_still_breaks_something() -> None:
    """Each piece that a mutant replaces stands exactly once in its module, and is replaced by another."""
    assert not stale(MUTANTS)
    assert all(mutant.old != mutant.new for mutant in MUTANTS)


def test_every_invariant_is_broken() -> None:
    """There is no invariant whose rule no mutant breaks."""
    assert {check.__name__ for check in INVARIANTS} <= {mutant.breaks for mutant in MUTANTS}


def test_every_mutant_names_a_property() -> None:
    """The property that is tried first against a mutant is one of those that are run."""
    assert {mutant.first for mutant in MUTANTS} <= set(PROPERTIES)


def test_the_document_is_of_these_mutants() -> None:
    """The document tells the fate of exactly the mutants that there are, none survives, and it is written as the
    script writes it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    killers = re.findall(r"\| `(test_\w+:\w+)` \|$", text, re.MULTILINE)
    assert set(killers) <= set(PROPERTIES)
    assert text == document(dict(zip(MUTANTS, killers, strict=True)))
