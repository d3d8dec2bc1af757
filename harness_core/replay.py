"""The structural audit: everything that is wrong with a case, not only the first thing.

``audit`` folds a Timeline and checks every invariant at every step; ``report`` turns what was found, together with what
the store found about bytes, into the ``replay`` object that the tools answer with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from harness_core.case import Case
from harness_core.events import Event
from harness_core.evolution import evolve
from harness_core.invariants import Step, Violation, check_state, check_step, invalid_citations, uncompared
from harness_core.vocabulary import ProbeStatus

SOUND = "model and complete Timeline are structurally consistent"
AWAITS_COMPARISON = "probe result awaits comparison"
INCOMPLETE = "probe execution is incomplete"
STALE = "material mismatch requires consequential revision"


@frozen(kw_only=True)
class Findings:
    """What the store found about a case's bytes; empty texts and tuples where all is well.

    ``timeline``: why the log cannot be trusted.  ``snapshot``: why ``case.md`` is not the projection of the log.
    ``artifacts``: what is wrong with kept observations, one sentence each.
    """

    timeline: str = ""
    snapshot: str = ""
    artifacts: tuple[str, ...] = ()


SOUND_BYTES = Findings()


def audit(events: Iterable[Event]) -> tuple[Case | None, tuple[Violation, ...]]:
    """The case that a Timeline amounts to, and every invariant that it breaks at any step or at its end."""
    case: Case | None = None
    found: list[Violation] = []
    for event in events:
        after = evolve(case, event)
        found.extend(check_step(Step(case, event, after)))
        case = after
    if case is not None:
        found.extend(check_state(case))
    return case, tuple(found)


def report(case: Case, violations: Iterable[Violation] = (), bytes_found: Findings = SOUND_BYTES) -> dict[str, Any]:
    """The ``replay`` object: whether the case may be built on, why not, and each check by itself.

    Answers of single operations pass no violations of earlier steps: those were checked when they were written.
    """
    broken = [*violations] or [*check_state(case)]
    reasons = [
        f"Timeline integrity failure: {bytes_found.timeline}" if bytes_found.timeline else "",
        f"case snapshot integrity failure: {bytes_found.snapshot}" if bytes_found.snapshot else "",
        f"artifact integrity failure: {'; '.join(bytes_found.artifacts)}" if bytes_found.artifacts else "",
        *(f"{v.invariant}{f' at {v.event_id}' if v.event_id else ''}: {v.problem}" for v in broken),
        *_waiting(case),
    ]
    found = [reason for reason in reasons if reason]
    return {
        "usable": not found,
        "reason": found[0] if found else SOUND,
        "problems": found,
        "timeline": {
            "valid": not bytes_found.timeline,
            "event_count": case.event_count,
            **_error(bytes_found.timeline),
        },
        "case_snapshot": {"valid": not bytes_found.snapshot, **_error(bytes_found.snapshot)},
        "artifacts": {"valid": not bytes_found.artifacts, "errors": list(bytes_found.artifacts)},
        "accounting": {
            "uncompared_observation_event_ids": list(uncompared(case)),
            "invalid_model_event_ids": list(invalid_citations(case)),
            "invalid_observation_artifacts": list(bytes_found.artifacts),
            "unaddressed_material_mismatch_event_ids": (
                [] if case.staleness is None else [case.staleness.mismatch_event_id]
            ),
        },
        "violations": [{"invariant": v.invariant, "event_id": v.event_id, "problem": v.problem} for v in broken],
    }


def _error(text: str) -> dict[str, str]:
    return {"error": text} if text else {}


def _waiting(case: Case) -> Iterable[str]:
    probe = case.pending_probe
    if probe is not None and probe.status is ProbeStatus.EXECUTING:
        yield INCOMPLETE
    if probe is not None and probe.status is ProbeStatus.OBSERVED:
        yield AWAITS_COMPARISON
    if case.stale:
        yield STALE
