"""Breaks the rules of the core one by one, and sees a property test fail for each.

    python -m tests.core.mutants                 # all of them; exit status 1 with survivors, 2 with stale mutants
    python -m tests.core.mutants NAME ...        # some of them
    python -m tests.core.mutants --list
    python -m tests.core.mutants --document      # all of them, and docs/mutants.md written anew

A mutant replaces one piece of a module's source; the piece must stand there exactly once, or the mutant is stale.  They
stand in mutants.txt: the invariant (or promise) that is broken, the module, the property that is tried first, what is
taken out and what is put in.  Each runs in a process of its own, in which the changed module is imported in place of
the real one.  Only property tests and the state machine count: a rule that only examples hold to is a survivor, and so
is a mutant against which none has failed in time.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from attrs import frozen

HERE = Path(__file__).resolve().parent
CORE = HERE.parents[1] / "harness_core"
DOCUMENT = HERE.parents[1] / "docs" / "mutants.md"


@frozen
class Mutant:
    """``breaks`` names the invariant whose rule is broken (or the promise, in words), ``first`` the property that is
    tried before the others; ``old`` becomes ``new``."""

    name: str
    breaks: str
    module: str
    first: str
    old: str
    new: str


def read(text: str) -> Sequence[Mutant]:
    """The mutants of a table: blocks of a heading ``[breaks] module < property`` and lines with ``-`` or ``+``."""
    found = []
    for number, block in enumerate(text.strip().split("\n\n"), start=1):
        heading, *lines = block.split("\n")
        breaks, _, place = heading.removeprefix("[").partition("] ")
        module, _, first = place.partition(" < ")
        old, new = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
        found.append(Mutant(f"{module}:{number}", breaks, module, first, old, new))
    return found


MUTANTS: Sequence[Mutant] = read((HERE / "mutants.txt").read_text(encoding="utf-8"))


REAL = "real"
EXAMPLES = 400
"""How many examples each property gets at most."""
RUNS = 120
"""How many runs the state machine gets at most."""
SECONDS = 900.0
"""How long a mutant may take, if not told otherwise."""

# In this order, until one fails: what is quick comes first.
PROPERTIES: Sequence[str] = [
    "test_authority:test_compatible_is_of_one_class",
    "test_authority:test_laundered_testimony_counts_as_testimony",
    "test_calibration:test_every_citation_counts_for_one_thing",
    "test_calibration:test_claims_add_up",
    "test_calibration:test_a_comparison_counts_for_its_own_observation",
    "test_staleness:test_staleness_spreads_through_any_number_of_steps",
    "test_staleness:test_a_cycle_is_what_leads_back_to_itself",
    "test_staleness:test_a_claim_is_repaired_by_other_words_or_a_lower_status",
    "test_staleness:test_a_step_is_repaired_by_another_action_or_by_letting_go",
    "test_wire:test_values_round_trip",
    "test_wire:test_canonical_json_is_one_spelling",
    "test_refusals:test_sound_calls_are_sound",
    "test_refusals:test_any_number_of_faults",
    "test_timelines:test_an_adopted_case_goes_on",
    "test_timelines:test_every_session_keeps_every_invariant",
    "test_timelines:test_a_second_reading_gives_the_same_case",
    "test_timelines:test_records_round_trip",
    "test_timelines:test_a_fold_can_be_continued",
    "test_calibration:test_the_oracle_agrees",
    "test_calibration:test_what_was_given_up_counts_for_nothing",
    "test_transfer:test_a_pattern_is_repeated",
    "test_decider:test_only_the_owner_decides",
    "test_decider:test_a_decision_on_another_state_is_refused",
    "test_decider:test_beliefs_without_ground_are_refused",
    "test_decider:test_comparisons_without_ground_are_refused",
    "test_decider:test_what_lacks_its_ground_is_refused",
    "test_decider:test_what_is_out_of_turn_is_refused",
    "test_decider:test_claims_on_what_may_be_cited_are_taken",
    "test_decider:test_nothing_follows_the_end",
    "test_decider:test_whatever_is_decided_keeps_every_invariant",
    "test_decider:test_events_of_one_decision_belong_together",
    "test_machine:OurMachine",
]


# --- one mutant, in this process ---


class _Loader(SourceFileLoader):
    """Compiles a module's source with the mutant's piece replaced."""

    def __init__(self, fullname: str, path: str, mutant: Mutant) -> None:
        super().__init__(fullname, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType | None:
        changed = source(self.mutant).replace(self.mutant.old, self.mutant.new)
        made: CodeType = compile(changed, self.path, "exec", dont_inherit=True)
        return made


class _Finder(MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != f"harness_core.{self.mutant.module}":
            return None
        where = str(CORE / f"{self.mutant.module}.py")
        return spec_from_file_location(fullname, where, loader=_Loader(fullname, where, self.mutant))


def source(mutant: Mutant) -> str:
    """The real source of the mutant's module."""
    return (CORE / f"{mutant.module}.py").read_text(encoding="utf-8")


def run(mutant: Mutant | None) -> str:
    """Try each property against the mutant (None: the real core); the one that failed, if any."""
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis.stateful import run_state_machine_as_test

    how = settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    settings.register_profile("mutants", how)
    settings.load_profile("mutants")
    names = dict.fromkeys(PROPERTIES if mutant is None else [mutant.first, *PROPERTIES])
    for name in names:
        found = _property(name)  # outside of what follows: a mutant that cannot be imported has not failed
        try:
            if isinstance(found, type):
                run_state_machine_as_test(found, settings=settings(how, max_examples=RUNS))
            else:
                found()
        except (Exception, pytest.fail.Exception):  # noqa: BLE001  # whatever it is, the property has failed
            return name
    return ""


def _property(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"tests.core.{module}"), function)


# --- all of them ---


def stale(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Mutants whose piece no longer stands exactly once in its module."""
    return [mutant for mutant in mutants if source(mutant).count(mutant.old) != 1]


def fate(mutant: Mutant | None, seconds: float) -> str:
    """The property that failed against the mutant (None: the real core), found out in a process of its own."""
    command = [sys.executable, "-m", "tests.core.mutants", "--run", REAL if mutant is None else mutant.name]
    limit = None if mutant is None else seconds
    try:
        done = subprocess.run(command, cwd=CORE.parent, capture_output=True, text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.strip()


def main() -> int:
    arguments = argparse.ArgumentParser(description="Break the rules of the core and see property tests fail.")
    arguments.add_argument("names", nargs="*", help="some mutants by name; all by default")
    arguments.add_argument("--list", action="store_true", help="show the mutants and do nothing")
    arguments.add_argument("--document", action="store_true", help=f"break all of them and write {DOCUMENT.name}")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments.add_argument("--seconds", type=float, default=SECONDS, help="how long each mutant may take")
    arguments.add_argument("--run", help=argparse.SUPPRESS)
    told = arguments.parse_args()
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    if told.run:
        print(run(by_name.get(told.run)))
        return 0
    chosen = list(MUTANTS) if told.document or not told.names else [by_name[name] for name in told.names]
    if told.list:
        print("\n".join(f"{m.name:20} {m.breaks}: {m.old!r} -> {m.new!r}" for m in chosen))
        return 0
    if gone := stale(chosen):
        print("\n".join(f"{m.name}: the piece does not stand once in its module: {m.old!r}" for m in gone))
        return 2
    killers = judge(chosen, told.jobs, told.seconds)
    if killers is None:
        return 2
    if told.document:
        DOCUMENT.write_text(document(killers), encoding="utf-8")
    return 1 if "" in killers.values() else 0


def judge(chosen: Sequence[Mutant], jobs: int, seconds: float) -> Mapping[Mutant, str] | None:
    """Which property kills each mutant, told as it becomes known; ``None`` if the core as it is fails one."""
    started, killers = time.monotonic(), dict[Mutant, str]()
    if killer := fate(None, seconds):
        print(f"the core as it is fails {killer}; nothing can be told of its mutants")
        return None
    with ThreadPoolExecutor(jobs) as pool:
        for mutant, killer in zip(chosen, pool.map(partial(fate, seconds=seconds), chosen), strict=True):
            print(f"{mutant.name:20} {mutant.breaks:42} {killer or 'SURVIVED'}", flush=True)
            killers[mutant] = killer
    survivors = [mutant for mutant, killer in killers.items() if not killer]
    print(f"{len(chosen)} mutants, {len(survivors)} survivors, {time.monotonic() - started:.0f} s")
    for mutant in survivors:
        print(f"survived: {mutant.name} {mutant.breaks}: {mutant.old!r} -> {mutant.new!r}")
    return killers


def document(killers: Mapping[Mutant, str]) -> str:
    """docs/mutants.md: each mutant with the property that fails against it."""
    survivors = sum(not killer for killer in killers.values())
    return HEADING.format(mutants=len(killers), survivors=survivors or "none") + "".join(
        f"| {m.breaks} | `{m.module}` | {_code(m.old)} | {_code(m.new)} | {f'`{by}`' if by else '**survives**'} |\n"
        for m, by in killers.items()
    )


HEADING = """# The mutants

Each rule of the core is broken in turn, by changing one piece of one module; then at least one property test, or the
state machine, must fail. This table is written by

```sh
python -m tests.core.mutants --document
```

Examples do not count: a rule that only examples hold to would stand here as a survivor. Properties are those of
`tests/core`. {mutants} mutants, survivors: {survivors}.

| breaks | module | this piece | becomes | the property that fails |
|---|---|---|---|---|
"""


def _code(piece: str) -> str:
    return f"`{' '.join(piece.split())}`".replace("|", "\\|") if piece else "nothing"


if __name__ == "__main__":
    sys.exit(main())
