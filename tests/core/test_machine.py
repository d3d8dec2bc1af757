"""Any sequence of sound and unsound calls keeps every rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from harness_core import bindings as rules
from harness_core.bindings import UNBOUND
from harness_core.events import PAYLOADS
from harness_core.testing import Memory, SessionMachine
from harness_core.testing.machine import Seen
from harness_core.vocabulary import Calibration, EventType, TransferDecision
from tests.core.oracle import Reading, hold_against


class OurMachine(SessionMachine):
    """The machine, on the core in memory, read a second time by the oracle."""

    adapter: Memory

    def make_adapter(self) -> Memory:
        return Memory()

    def _checked(self, old: Seen, records: Sequence[Mapping[str, Any]], text: str) -> Seen:
        seen = super()._checked(old, records, text)
        hold_against(seen.case, Reading(records))
        return seen

    @invariant()
    def bindings_are_what_the_cases_say(self) -> None:
        """The bindings that were settled step by step are those that the Timelines amount to as a whole."""
        told = {s: b for s, b in self.adapter.bindings.items() if b != UNBOUND}
        assert told == rules.rebuilt(self.adapter.cases.values())

    @precondition(lambda self: self.execution is not None)
    @rule()
    def lose_the_key(self) -> None:
        self.adapter.key_id += "'"


TestCases = OurMachine.TestCase


class CountingMachine(OurMachine):
    """Counts what it met, to see that nothing is out of its reach."""

    met: ClassVar[Counter[str]] = Counter()

    def answered(self, arguments: Mapping[str, Any], answer: Mapping[str, Any], changed: Sequence[str]) -> None:
        super().answered(arguments, answer, changed)
        self.met[answer.get("code", "")] += 1

    def teardown(self) -> None:
        super().teardown()
        for case in self.cases():
            self.met.update(event.type.value for event in self.seen[case.case_id].events)
            if case.closure is not None:
                self.met[case.closure.calibration.label.value] += 1
                self.met[case.closure.transfer.decision.value] += 1


A_FEW = settings(
    max_examples=40,
    stateful_step_count=50,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
EVERYWHERE = {
    *(type_.value for type_ in PAYLOADS if type_ is not EventType.CASE_ADOPTED),  # begins elsewhere
    *(label.value for label in Calibration),
    *(decision.value for decision in TransferDecision if decision is not TransferDecision.REPEATED_PATTERN),
    *("invalid_arguments", "mismatch_not_addressed", "not_repaired", "stale", "no_active_case", "session_has_case"),
    *("probe_committed", "probe_executing", "probe_observed", "no_probe", "revision_conflict", "no_case"),
}


def test_the_machine_gets_everywhere() -> None:
    """The machine meets every type of event, and the labels, decisions and refusals that matter, within some hundred
    runs.  Each round has a seed of its own, so that the rounds differ, and are the same everywhere."""
    for number in range(40):
        run_state_machine_as_test(seed(number)(CountingMachine), settings=A_FEW)
        if set(CountingMachine.met) >= EVERYWHERE:
            break
    missed = EVERYWHERE - set(CountingMachine.met)
    assert not missed, sorted(missed)
