"""When each event may happen: one table over the case's status, its pending probe and its staleness.

The decider refuses by it, the audit judges a Timeline by it, and the documentation prints it.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from harness_core.case import Case
from harness_core.errors import Refused
from harness_core.vocabulary import CaseStatus, EventType, ProbeStatus

A, P, C = CaseStatus.ACTIVE, CaseStatus.PAUSED, CaseStatus.CLOSED
COMMITTED, EXECUTING, OBSERVED = ProbeStatus.COMMITTED, ProbeStatus.EXECUTING, ProbeStatus.OBSERVED
NONE = frozenset({None})
ANY = frozenset({None, COMMITTED, EXECUTING, OBSERVED})


@frozen
class Rule:
    """The case statuses and pending-probe statuses under which an event may happen, and whether also while stale."""

    statuses: frozenset[CaseStatus]
    probes: frozenset[ProbeStatus | None]
    while_stale: bool


# What the holder of an execution saw may always be recorded, whatever has become of the case meanwhile.
ALLOWED: Mapping[EventType, Rule] = {
    EventType.EVIDENCE_RECORDED: Rule(frozenset({A}), NONE, True),
    EventType.MODEL_REVISED: Rule(frozenset({A}), NONE, True),
    EventType.PROBE_COMMITTED: Rule(frozenset({A}), NONE, False),
    EventType.PROBE_STARTED: Rule(frozenset({A}), frozenset({COMMITTED}), False),
    EventType.PROBE_OBSERVED: Rule(frozenset({A, P, C}), frozenset({EXECUTING}), True),
    EventType.PROBE_EXPOSED: Rule(frozenset({A, P, C}), frozenset({OBSERVED}), True),
    EventType.PROBE_COMPARED: Rule(frozenset({A}), frozenset({OBSERVED}), True),
    EventType.PROBE_DISCARDED: Rule(frozenset({A}), frozenset({COMMITTED, OBSERVED}), True),
    EventType.CASE_PAUSED: Rule(frozenset({A}), ANY, True),
    EventType.CASE_RESUMED: Rule(frozenset({P}), ANY, True),
    EventType.SESSION_MIGRATED: Rule(frozenset({A, P}), ANY, True),
    EventType.CASE_CLOSED: Rule(frozenset({A}), NONE, False),
}
# The pause that a model or an operator asks for is stricter than the one a host causes: nothing may be left hanging.
PAUSE_ON_REQUEST = Rule(frozenset({A}), NONE, False)


def objection(case: Case, rule: Rule) -> tuple[str, str] | None:
    """Why the rule forbids its event now, as (code, text with the way out); None where it allows it."""
    if case.status not in rule.statuses:
        return _status_objection(case, rule)
    probe = case.pending_probe
    status = None if probe is None else probe.status
    if status not in rule.probes:
        return _probe_objection(case, rule)
    if case.staleness is not None and not rule.while_stale:
        items = ", ".join(case.staleness.item_ids)
        return "stale", (
            f"the material mismatch {case.staleness.mismatch_event_id} left {items} stale; first revise them with"
            f' epistemic_model(operation="revise", addresses_event_ids=["{case.staleness.mismatch_event_id}"], ...)'
        )
    return None


def require(case: Case, rule: Rule) -> None:
    """Refuse, with the way out, what the rule forbids now."""
    found = objection(case, rule)
    if found is not None:
        code, text = found
        raise Refused(f"{text} (case {case.case_id})", code=code)


def _status_objection(case: Case, rule: Rule) -> tuple[str, str]:
    if case.status is C:
        return "case_closed", "the case is closed; open a new bounded case instead"
    if case.status is P:
        return "case_paused", (
            f'the case is paused; first epistemic_model(operation="resume", case_id="{case.case_id}")'
        )
    return "case_active", "the case is active already"


def _probe_objection(case: Case, rule: Rule) -> tuple[str, str]:
    probe = case.pending_probe
    if probe is None:
        if OBSERVED in rule.probes:
            return "no_probe", 'no probe is pending; first epistemic_probe(operation="commit", ...), then call its tool'
        return "no_probe", 'no probe is pending; first epistemic_probe(operation="commit", ...)'
    ways = {
        COMMITTED: f'call {probe.tool_name} by itself, or epistemic_probe(operation="discard", reason=...)',
        EXECUTING: 'wait for it, or, once nothing runs any more, epistemic_probe(operation="recover", reason=...)',
        OBSERVED: 'epistemic_probe(operation="compare", ...) or epistemic_probe(operation="discard", reason=...)',
    }
    return f"probe_{probe.status.value}", (
        f"the pending probe {probe.probe_id} is {probe.status.value}; {ways[probe.status]}"
    )
