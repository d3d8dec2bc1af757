"""Decisions about the probe cycle: commit, start, observe, expose, compare, recover, discard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from attrs import asdict

from harness_core.authority import (
    ASKING_TOOLS,
    CLASS_OF,
    DELEGATING_TOOLS,
    OWN_TOOLS,
    USER_DOMAINS,
    AuthorityClass,
    compatible,
)
from harness_core.case import Case
from harness_core.commands import (
    Commit,
    Compare,
    Discard,
    Expose,
    Observe,
    RecoverExecution,
    Start,
)
from harness_core.decide_case import evidence_of
from harness_core.errors import Fault, Refused, refused
from harness_core.events import (
    Payload,
    ProbeCommitted,
    ProbeCompared,
    ProbeDiscarded,
    ProbeExposed,
    ProbeObserved,
    ProbeStarted,
)
from harness_core.moment import Moment
from harness_core.probes import MATCH_STATUS, PredictedOutcome, Probe, StoredResult
from harness_core.rules import ALLOWED, require
from harness_core.staleness import spread
from harness_core.vocabulary import (
    ArgumentMatch,
    AuthorityDomain,
    BeliefChange,
    Boundary,
    Disposition,
    EventType,
    ProbeStatus,
    Provenance,
    ResultStatus,
)


def commit(case: Case, command: Commit, moment: Moment) -> Sequence[Payload]:
    require(case, ALLOWED[EventType.PROBE_COMMITTED])
    faults = [*_tool_faults(command)]
    claim = None if command.claim_id is None else case.model.claim(command.claim_id)
    if command.claim_id is not None and claim is None:
        known = ", ".join(c.id for _, c in case.model.claims()) or "none yet: revise the model to add one"
        faults.append(Fault("claim_id", f"{command.claim_id} is no existing claim", f"one of {known}"))
    if faults:
        raise refused("invalid_arguments", *faults)
    if command.commitment is None:
        raise Refused("a commitment needs the keyed digest of its arguments", code="no_commitment")
    probe = Probe(
        probe_id=f"PR{case.probe_count + 1:06d}",
        status=ProbeStatus.COMMITTED,
        purpose=command.purpose,
        unknown_or_goal=command.unknown_or_goal,
        tool_name=command.tool_name,
        tool_args=command.tool_args,
        tool_args_sha256=command.commitment.sha256,
        tool_args_commitment_scheme=command.commitment.scheme,
        tool_args_key_id=command.commitment.key_id,
        predicted_outcomes=tuple(
            PredictedOutcome(outcome=o.outcome, meaning=o.meaning) for o in command.predicted_outcomes
        ),
        would_change_belief=command.would_change_belief,
        why_this_action=command.why_this_action,
        authority_domain=command.authority_domain,
        claim_id=None if claim is None else claim.id,
        claim_snapshot=claim,
        model_version=None if claim is None else case.version,
    )
    return [ProbeCommitted(probe=probe, args_sha256=command.commitment.sha256)]


def _tool_faults(command: Commit) -> Sequence[Fault]:
    name = command.tool_name
    if name in DELEGATING_TOOLS:
        return [Fault("tool_name", "a delegation's handle cannot account for what the worker does", "another tool")]
    if name in OWN_TOOLS:
        return [Fault("tool_name", "the harness's own tools are no look at the world", "an ordinary tool")]
    if name in ASKING_TOOLS and CLASS_OF[command.authority_domain] is not AuthorityClass.USER:
        domains = ", ".join(domain.value for domain in USER_DOMAINS)
        return [Fault("authority_domain", f"{name} authority is the user's own", f"one of {domains}")]
    return []


def start(case: Case, command: Start, moment: Moment) -> Sequence[Payload]:
    probe = _reported(case, EventType.PROBE_STARTED, command.probe_id)
    ids = command.correlation
    return [
        ProbeStarted(
            probe_id=probe.probe_id,
            tool_name=command.tool_name,
            args_sha256=command.actual.sha256,
            committed_args_sha256=probe.tool_args_sha256,
            args_match_commitment=probe.commitment.matches(command.actual),
            task_id=ids.task_id or None,
            tool_call_id=ids.tool_call_id or None,
            turn_id=ids.turn_id or None,
            api_request_id=ids.api_request_id or None,
        )
    ]


def _pending(case: Case, happening: EventType) -> Probe:
    """The pending probe of a case in which this may happen now.  Each rule that it is asked for wants a probe."""
    require(case, ALLOWED[happening])
    return cast("Probe", case.pending_probe)


def _reported(case: Case, happening: EventType, probe_id: str) -> Probe:
    """The pending probe, which must be the one that the host reports about."""
    probe = _pending(case, happening)
    if probe.probe_id != probe_id:
        raise Refused(f"probe {probe_id} is no longer pending", code="probe_changed")
    return probe


def observe(case: Case, command: Observe, moment: Moment) -> Sequence[Payload]:
    probe = _reported(case, EventType.PROBE_OBSERVED, command.probe_id)
    return [
        _observed(
            probe,
            command.result,
            status=command.status,
            display_status=command.display_status,
            provenance=command.provenance,
            boundary=command.boundary,
            args_sha256=None if command.actual is None else command.actual.sha256,
            match=_match_seen(probe, command),
        )
    ]


def _match_seen(probe: Probe, command: Observe) -> ArgumentMatch | None:
    """What the end of an action adds to its start's word on the arguments."""
    if command.actual is not None:
        return MATCH_STATUS[probe.commitment.matches(command.actual)]
    in_doubt = not command.args_known and probe.execution_args_match_commitment is True
    return ArgumentMatch.UNKNOWN if in_doubt else None


def recover(case: Case, command: RecoverExecution, moment: Moment) -> Sequence[Payload]:
    probe = case.pending_probe
    if probe is not None and probe.status is not ProbeStatus.EXECUTING:
        way = "call its tool, or discard it" if probe.status is ProbeStatus.COMMITTED else "compare or discard it"
        raise Refused(
            f"recover is for an execution that was cut off; {probe.probe_id} is {probe.status.value}: {way}",
            code=f"probe_{probe.status.value}",
        )
    return [
        _observed(
            _pending(case, EventType.PROBE_OBSERVED),
            command.result,
            status=ResultStatus.INTERRUPTED,
            display_status=ResultStatus.INTERRUPTED,
            provenance=Provenance.UNKNOWN,
            boundary=Boundary.RECOVERY,
            reason=command.reason,
        )
    ]


def _observed(
    probe: Probe,
    result: StoredResult,
    *,
    status: ResultStatus,
    display_status: ResultStatus,
    provenance: Provenance,
    boundary: Boundary,
    reason: str | None = None,
    args_sha256: str | None = None,
    match: ArgumentMatch | None = None,
) -> ProbeObserved:
    return ProbeObserved(
        probe_id=probe.probe_id,
        tool_name=probe.tool_name,
        authority_domain=probe.authority_domain,
        result_status=status,
        execution_result_status=status,
        display_result_status=display_status,
        raw_result_provenance=provenance,
        observation_boundary=boundary,
        tool_call_id=(probe.execution and probe.execution.tool_call_id) or None,
        **asdict(result),
        recovery_reason=reason,
        args_sha256=args_sha256,
        argument_match_status=match,
    )


def expose(case: Case, command: Expose, moment: Moment) -> Sequence[Payload]:
    probe = _reported(case, EventType.PROBE_EXPOSED, command.probe_id)
    if probe.observation_event_id != command.observation_event_id or probe.execution_result_status is None:
        raise Refused(f"{command.observation_event_id} is no longer the observation to compare", code="probe_changed")
    result = command.result
    if result.result_sha256 == probe.result_sha256:
        return []
    return [
        ProbeExposed(
            probe_id=probe.probe_id,
            tool_name=probe.tool_name,
            authority_domain=probe.authority_domain,
            result_status=command.display_status,
            execution_result_status=probe.execution_result_status,
            display_result_status=command.display_status,
            observation_boundary=command.boundary,
            supersedes_event_id=command.observation_event_id,
            tool_call_id=(probe.execution and probe.execution.tool_call_id) or None,
            **asdict(result),
        )
    ]


def compare(case: Case, command: Compare, moment: Moment) -> Sequence[Payload]:
    probe = _pending(case, EventType.PROBE_COMPARED)
    affected: tuple[str, ...] = tuple(command.affected_claim_ids or ())
    faults = [
        *_drift_faults(probe, command),
        *_binding_faults(probe, command, affected),
        *_affected_faults(case, probe, command, affected),
        *_descriptor_faults(probe, command),
    ]
    if faults:
        raise refused("invalid_arguments", *faults)
    if probe.claim_id is not None:
        affected = (probe.claim_id,)
    drifted = probe.execution_args_match_commitment is not True
    return [
        ProbeCompared(
            probe_id=probe.probe_id,
            authority_domain=probe.authority_domain,
            disposition=command.disposition,
            rationale=command.rationale,
            material=command.material,
            affected_claim_ids=affected,
            stale_item_ids=spread(case.model, affected) if command.material else (),
            commit_event_id=probe.commit_event_id or "",
            observation_event_id=probe.observation_event_id or "",
            argument_match_status=MATCH_STATUS[probe.execution_args_match_commitment],
            execution_args_match_commitment=probe.execution_args_match_commitment,
            argument_drift_reason=command.argument_drift_reason if drifted else None,
            belief_change=command.belief_change if probe.claim_id is not None else None,
            claim_id=probe.claim_id,
            claim_snapshot=probe.claim_snapshot,
            model_version=probe.model_version,
            evidence=None if command.evidence is None else evidence_of(command.evidence),
        )
    ]


def _drift_faults(probe: Probe, command: Compare) -> Sequence[Fault]:
    if probe.execution_args_match_commitment is True or command.argument_drift_reason is not None:
        return []
    status = MATCH_STATUS[probe.execution_args_match_commitment].value
    return [
        Fault(
            "argument_drift_reason",
            f"is missing: the executed arguments against the committed ones are {status}, so the argument drift needs a"
            " reason",
            "why, in words; or discard the probe",
        )
    ]


def _binding_faults(probe: Probe, command: Compare, affected: Sequence[str]) -> Sequence[Fault]:
    if probe.claim_id is None:
        return []
    faults = []
    if command.belief_change is None:
        words = ", ".join(word.value for word in BeliefChange)
        faults.append(Fault("belief_change", f"is missing: the probe is bound to {probe.claim_id}", f"one of {words}"))
    if command.affected_claim_ids is not None and tuple(affected) != (probe.claim_id,):
        faults.append(
            Fault("affected_claim_ids", f"the bound claim {probe.claim_id} is what the probe affects", "nothing here")
        )
    return faults


def _affected_faults(case: Case, probe: Probe, command: Compare, affected: Sequence[str]) -> Sequence[Fault]:
    known = case.model.item_ids()
    faults = []
    if probe.claim_id is None:
        faults += [
            Fault(
                f"affected_claim_ids[{n}]", f"{item} is no claim and no step", "one of " + (", ".join(known) or "none")
            )
            for n, item in enumerate(affected)
            if item not in known
        ]
        if command.material and not affected:
            faults.append(
                Fault(
                    "affected_claim_ids", "is missing: a material mismatch names what it hits", f"some of {list(known)}"
                )
            )
    if command.material and command.disposition is not Disposition.MISMATCH:
        faults.append(Fault("material", "only a mismatch is material", "false, or disposition mismatch"))
    return faults


def _descriptor_faults(probe: Probe, command: Compare) -> Sequence[Fault]:
    told = command.evidence
    if told is None:
        inspected = probe.execution_result_status is ResultStatus.OK
        if probe.authority_domain is AuthorityDomain.EXTERNAL_SOURCE and inspected:
            return [
                Fault(
                    "evidence",
                    "is missing: an external source that was reached is described",
                    "{summary, source_ref, source_role, access_scope, authority_domain, limitation below full or data}",
                )
            ]
        return []
    if not compatible(probe.authority_domain, [told.authority_domain]):
        return [
            Fault(
                "evidence.authority_domain",
                f"{told.authority_domain.value} is incompatible with probe authority {probe.authority_domain.value}",
                probe.authority_domain.value,
            )
        ]
    return []


def discard(case: Case, command: Discard, moment: Moment) -> Sequence[Payload]:
    probe = _pending(case, EventType.PROBE_DISCARDED)
    return [
        ProbeDiscarded(
            probe_id=probe.probe_id,
            reason=command.reason,
            probe_status=probe.status,
            observation_event_id=probe.observation_event_id,
        )
    ]
