"""What must hold of every case, and of every step from one case to the next.

One list, ``INVARIANTS``, of named functions.  Replay, the store's checker and the property tests all run it.  Each
function yields a sentence for every way in which its statement is broken; the statement itself is its docstring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from typing import Any

from attrs import frozen

from harness_core.authority import (
    ASKING_TOOLS,
    CITABLE,
    CLASS_OF,
    DELEGATING_TOOLS,
    LIMITED_SCOPES,
    OWN_TOOLS,
    AuthorityClass,
    compatible,
)
from harness_core.beliefs import is_event, structural_faults
from harness_core.calibration import calibrate
from harness_core.case import Case
from harness_core.events import (
    DISPOSITIONS,
    PAYLOADS,
    CaseAdopted,
    CaseClosed,
    Event,
    ModelRevised,
    Payload,
    ProbeCommitted,
    ProbeCompared,
    ProbeDiscarded,
    ProbeExposed,
    ProbeObserved,
    ProbeStarted,
    SessionMigrated,
    event_id,
)
from harness_core.evidence import Evidence
from harness_core.evolution import stands_before
from harness_core.model import Claim
from harness_core.probes import MATCH_STATUS, MATCHES
from harness_core.rules import ALLOWED, objection
from harness_core.staleness import spread, unrepaired
from harness_core.vocabulary import (
    ArgumentMatch,
    AuthorityDomain,
    Calibration,
    CaseStatus,
    EpistemicStatus,
    EventType,
    Outcome,
    ProbeStatus,
    TransferDecision,
)

_TOLD = (ArgumentMatch.MATCHED, ArgumentMatch.MISMATCHED)


@frozen
class Step:
    """One step of a Timeline: the case before (None at first), the event, the case after.

    An adoption brings the case it happens to, and that is ``before`` in every check; ``known`` is what the fold had.
    """

    before: Case | None
    event: Event
    after: Case
    known: Case | None = None


@frozen
class Violation:
    """One broken invariant: its name, the event at which it was seen (empty for the state), and how it is broken."""

    invariant: str
    event_id: str
    problem: str


StateCheck = Callable[[Case], Iterable[str]]
StepCheck = Callable[[Step], Iterable[str]]
PayloadCheck = Callable[[Step, Case, Any], Iterable[str]]

_CONCERNS: dict[StepCheck, tuple[type, ...]] = {}
"""The payloads that a check is about; one that stands not here is about every event."""


def of(*payloads: type[Payload]) -> Callable[[PayloadCheck], StepCheck]:
    """A check of the steps whose event has one of these payloads and happens to a case: it is given both."""

    def narrowed(check: PayloadCheck) -> StepCheck:
        @wraps(check)
        def checked(step: Step) -> Iterable[str]:
            before, payload = step.before, step.event.payload
            return check(step, before, payload) if before is not None and isinstance(payload, payloads) else ()

        _CONCERNS[checked] = payloads
        return checked

    return narrowed


# --- of a state ---


def model_is_well_formed(case: Case) -> Iterator[str]:
    """Ids are unique across claims and steps; dependencies are known and free of cycles."""
    for fault in structural_faults(case.model):
        yield str(fault)


def citations_exist(case: Case) -> Iterator[str]:
    """Every event a claim cites is an event of this case that carries evidence authority."""
    for cited in invalid_citations(case):
        yield f"{cited} is cited and is no citable event of this case"


def authority_is_kept(case: Case) -> Iterator[str]:
    """A claim rests on events of its own broad authority class alone."""
    for _, claim in case.model.claims():
        domains = [c.authority_domain for e in claim.evidence_event_ids if (c := case.citations.get(e)) is not None]
        if claim.authority_domain is not None and not compatible(claim.authority_domain, domains):
            yield f"claim {claim.id} of {CLASS_OF[claim.authority_domain].value} authority cites the other class"
        if claim.evidence_event_ids and claim.authority_domain is None:
            yield f"claim {claim.id} cites evidence and declares no authority domain"


def grounded_means_cited(case: Case) -> Iterator[str]:
    """A claim without evidence is never grounded."""
    for _, claim in case.model.claims():
        if claim.epistemic_status is EpistemicStatus.GROUNDED and not claim.evidence_event_ids:
            yield f"claim {claim.id} is grounded on nothing"


def observations_are_accounted_for(case: Case) -> Iterator[str]:
    """Every observation was compared or discarded, but for that of the pending probe."""
    for left in uncompared(case):
        probe = case.pending_probe
        if probe is None or left != probe.observation_event_id:
            yield f"observation {left} was neither compared nor discarded"


def pending_probe_is_coherent(case: Case) -> Iterator[str]:
    """A pending probe carries what its status promises, and a bound one its claim's snapshot and model version."""
    probe = case.pending_probe
    if probe is None:
        return
    if probe.commit_event_id is None:
        yield f"probe {probe.probe_id} has no commit event"
    if (probe.observation_event_id is not None) != (probe.status is ProbeStatus.OBSERVED):
        yield f"probe {probe.probe_id} is {probe.status.value} and its observation is {probe.observation_event_id}"
    if (probe.started_event_id is not None) != (probe.status is not ProbeStatus.COMMITTED):
        yield f"probe {probe.probe_id} is {probe.status.value} and its start is {probe.started_event_id}"
    bound = (probe.claim_id is not None, probe.claim_snapshot is not None, probe.model_version is not None)
    if len(set(bound)) > 1:
        yield f"probe {probe.probe_id} is bound by halves"


def staleness_is_coherent(case: Case) -> Iterator[str]:
    """Staleness names a comparison of this case, and at least one item."""
    if case.staleness is None:
        return
    cited = case.citations.get(case.staleness.mismatch_event_id)
    if cited is None or cited.type is not EventType.PROBE_COMPARED:
        yield f"{case.staleness.mismatch_event_id} is no comparison"
    if not case.staleness.item_ids:
        yield "nothing is named as stale"


def closed_is_final(case: Case) -> Iterator[str]:
    """A case is closed exactly when it has a closure; then nothing is stale, and resolved is no mere hypothesis."""
    if (case.status is CaseStatus.CLOSED) != (case.closure is not None):
        yield f"the case is {case.status.value} and its closure is {'there' if case.closure else 'missing'}"
    if case.closure is None:
        return
    if case.stale:
        yield "the case was closed while stale"
    label = case.closure.calibration.label
    if case.closure.outcome is Outcome.RESOLVED and label is Calibration.HYPOTHESIS:
        yield "the case was closed as resolved on a hypothesis"


def marker_means_paused(case: Case) -> Iterator[str]:
    """Only a paused case carries a marker for automatic resumption."""
    if case.marker is not None and case.status is not CaseStatus.PAUSED:
        yield f"the case is {case.status.value} and carries a marker"


# --- of a step ---


def events_are_numbered(step: Step) -> Iterator[str]:
    """Event ids count from E000001 without gaps."""
    expected = event_id(1 if step.before is None else step.before.event_count + 1)
    if step.event.event_id != expected:
        yield f"the event should be {expected}"


def transitions_count_up(step: Step) -> Iterator[str]:
    """Transition numbers start at 1 and never fall or leap."""
    before = 0 if step.before is None else step.before.revision
    if step.event.transition not in (max(before, 1), before + 1):
        yield f"transition {step.event.transition} follows {before}"


def first_comes_opening(step: Step) -> Iterator[str]:
    """A case begins with its initial observations and its opening, and is opened once."""
    opened = step.before is not None and bool(step.before.case_id)
    beginning = step.event.type in (EventType.INITIAL_OBSERVATION, EventType.CASE_OPENED)
    if beginning == opened:
        yield f"{step.event.type.value} " + ("after the opening" if opened else "before the opening")


@of(CaseAdopted)
def adoption_comes_first(step: Step, before: Case, payload: CaseAdopted) -> Iterator[str]:
    """A case of an earlier release is adopted once, before anything else of this release happens to it."""
    if step.known not in (None, payload.case):
        yield f"case {payload.case.case_id} is adopted, and there is a case already"


def events_are_allowed(step: Step) -> Iterator[str]:
    """No event happens in a state that forbids it (the table ``rules.ALLOWED``)."""
    rule = ALLOWED.get(step.event.type)
    if rule is None or step.before is None:
        return
    found = objection(step.before, rule)
    if found is not None:
        yield f"{step.event.type.value}: {found[1]}"


def dispositions_are_sequenced(step: Step) -> Iterator[str]:
    """Disposition events, and no others, carry a ``seq`` above every earlier one of their session."""
    event = step.event
    if (event.seq is not None) != (event.type in DISPOSITIONS):
        yield f"{event.type.value} " + ("carries a seq" if event.seq is not None else "lacks its seq")
    elif event.seq is not None and step.before is not None:
        before = step.before.high_waters.get(event.session_id) or 0
        if event.seq <= before:
            yield f"seq {event.seq} does not exceed {before}"


def only_the_owner_acts(step: Step) -> Iterator[str]:
    """Only the owning session acts on a case; resuming and migrating change the owner, and an execution's holder may
    report after that."""
    handing_over = (EventType.CASE_RESUMED, EventType.SESSION_MIGRATED)
    reporting = (EventType.PROBE_OBSERVED, EventType.PROBE_EXPOSED)
    before = step.before
    if before is None or step.event.type in (*handing_over, *reporting):
        return
    if step.event.session_id != before.session_id:
        yield f"{step.event.type.value} by {step.event.session_id}, not by the owner {before.session_id}"


@of(SessionMigrated)
def migration_names_the_owner(step: Step, before: Case, payload: SessionMigrated) -> Iterator[str]:
    """A migration leads from the owning session to the event's own."""
    if (payload.old_session_id, payload.new_session_id) != (before.session_id, step.event.session_id):
        yield f"the migration names {payload.old_session_id} and {payload.new_session_id}"


@of(ModelRevised)
def models_are_versioned(step: Step, before: Case, payload: ModelRevised) -> Iterator[str]:
    """A revision changes something, raises the version by one, and addresses events of the case."""
    if payload.model_version != before.version + 1:
        yield f"version {payload.model_version} follows {before.version}"
    if step.after.model == before.model:
        yield "the revision changes nothing"
    for addressed in payload.addresses_event_ids:
        if not is_event(addressed, before.event_count):
            yield f"the revision addresses {addressed}"


@of(ModelRevised)
def repair_is_substantive(step: Step, before: Case, payload: ModelRevised) -> Iterator[str]:
    """Staleness ends only with a revision that cites the mismatch and changes, or removes, every stale item."""
    if before.staleness is None:
        return
    mismatch = before.staleness.mismatch_event_id
    if payload.repaired_mismatch_event_id != mismatch or mismatch not in payload.addresses_event_ids:
        yield f"the revision does not address the mismatch {mismatch}"
    left = unrepaired(before.model, step.after.model, before.staleness.item_ids)
    if left:
        yield f"{', '.join(left)} left in substance as they were"


@of(ProbeCompared)
def mismatch_spreads(step: Step, before: Case, payload: ProbeCompared) -> Iterator[str]:
    """A material mismatch makes stale what it names and every step that depends on it; nothing else makes stale."""
    expected = spread(before.model, payload.affected_claim_ids) if payload.material else ()
    if payload.stale_item_ids != expected:
        yield f"stale are {list(payload.stale_item_ids)} and should be {list(expected)}"


@of(ProbeCommitted, ProbeStarted, ProbeObserved, ProbeExposed, ProbeCompared, ProbeDiscarded)
def probes_keep_their_identity(step: Step, before: Case, payload: Payload) -> Iterator[str]:
    """What happens to a probe names the pending probe; a comparison, a display and a discard its observation."""
    pending = before.pending_probe
    if isinstance(payload, ProbeStarted | ProbeObserved | ProbeExposed | ProbeCompared | ProbeDiscarded):
        if pending is None or payload.probe_id != pending.probe_id:
            yield f"{payload.probe_id} is not the pending probe"
        elif isinstance(payload, ProbeCompared | ProbeDiscarded):
            if payload.observation_event_id != pending.observation_event_id:
                yield f"{payload.observation_event_id} is not the observation of {pending.probe_id}"
        elif isinstance(payload, ProbeExposed) and payload.supersedes_event_id != pending.observation_event_id:
            yield f"the exposure supersedes {payload.supersedes_event_id}"
    if isinstance(payload, ProbeCommitted) and payload.probe.probe_id != f"PR{before.probe_count + 1:06d}":
        yield f"{payload.probe.probe_id} is out of order"


@of(ProbeCommitted, ProbeCompared)
def bound_claims_are_as_committed(step: Step, before: Case, payload: ProbeCommitted | ProbeCompared) -> Iterator[str]:
    """A bound commitment holds the claim and the version as they then were; its comparison repeats that, with a belief
    change, and hits that claim."""
    if isinstance(payload, ProbeCommitted) and payload.probe.claim_id is not None:
        claim: Claim | None = before.model.claim(payload.probe.claim_id)
        if claim is None or claim != payload.probe.claim_snapshot or payload.probe.model_version != before.version:
            yield f"the snapshot of {payload.probe.claim_id} is not the claim as it was"
    pending = before.pending_probe
    if isinstance(payload, ProbeCompared) and pending is not None and pending.claim_id is not None:
        if (payload.claim_snapshot, payload.model_version) != (pending.claim_snapshot, pending.model_version):
            yield "the comparison's snapshot is not the committed one"
        if payload.belief_change is None or payload.affected_claim_ids != (pending.claim_id,):
            yield f"the comparison of a probe bound to {pending.claim_id} does not say what it did to it"


@of(ProbeObserved, ProbeCompared)
def drift_is_explained(step: Step, before: Case, payload: ProbeObserved | ProbeCompared) -> Iterator[str]:
    """A comparison tells whether the executed arguments were the committed ones; where not, or not knowably, why.  An
    observation that tells it anew says matched of the committed digest only, and mismatched of another one."""
    if before.pending_probe is None:
        return
    if isinstance(payload, ProbeObserved) and payload.argument_match_status in _TOLD:
        same = payload.args_sha256 == before.pending_probe.tool_args_sha256
        if same is not MATCHES[payload.argument_match_status]:
            yield f"the arguments of digest {payload.args_sha256} are called {payload.argument_match_status.value}"
    if not isinstance(payload, ProbeCompared):
        return
    match = before.pending_probe.execution_args_match_commitment
    if (payload.execution_args_match_commitment, payload.argument_match_status) != (match, MATCH_STATUS[match]):
        yield f"the comparison says {payload.argument_match_status.value}, the execution {MATCH_STATUS[match].value}"
    if match is not True and not payload.argument_drift_reason:
        yield "the argument drift has no reason"


@of(ProbeCommitted)
def predictions_are_whole(step: Step, before: Case, payload: ProbeCommitted) -> Iterator[str]:
    """A commitment predicts something, says what would count against the belief, and names a tool that looks at the
    world: the user for what only the user can say, and never a delegation or a tool of the harness."""
    probe = payload.probe
    if not (probe.unknown_or_goal and probe.predicted_outcomes and probe.would_change_belief):
        yield f"{probe.probe_id} predicts nothing"
    if probe.tool_name in DELEGATING_TOOLS | OWN_TOOLS:
        yield f"{probe.tool_name} is no look at the world"
    if probe.tool_name in ASKING_TOOLS and CLASS_OF[probe.authority_domain] is not AuthorityClass.USER:
        yield f"{probe.tool_name} asks the user, and {probe.authority_domain.value} is not the user's"


def sources_are_described(step: Step) -> Iterator[str]:
    """Evidence of an external source states its role and how much was inspected and, where limited, what was not."""
    payload = step.event.payload
    told = payload.evidence if isinstance(payload, ProbeCompared) else payload
    if not isinstance(told, Evidence) or told.authority_domain is not AuthorityDomain.EXTERNAL_SOURCE:
        return
    if told.source_role is None or told.access_scope is None:
        yield "an external source does not say what it is"
    if told.access_scope in LIMITED_SCOPES and not told.limitation:
        yield f"{told.access_scope} access does not say what it leaves open"


@of(ProbeCompared)
def comparisons_keep_authority(step: Step, before: Case, payload: ProbeCompared) -> Iterator[str]:
    """A comparison is of its probe's authority, and so is the evidence that it describes."""
    if before.pending_probe is None:
        return
    domain = before.pending_probe.authority_domain
    if payload.authority_domain is not domain:
        yield f"the comparison is of {payload.authority_domain.value}, its probe of {domain.value}"
    if payload.evidence is not None and not compatible(domain, [payload.evidence.authority_domain]):
        yield f"the comparison describes {payload.evidence.authority_domain.value}, its probe is of {domain.value}"


@of(CaseClosed)
def calibration_is_derived(step: Step, before: Case, payload: CaseClosed) -> Iterator[str]:
    """A closure's calibration is the one that its Timeline gives."""
    derived = calibrate(before.model, before.citations)
    if payload.calibration != derived:
        yield f"the closure says {payload.calibration.label.value}, the Timeline {derived.label.value}"


@of(CaseClosed)
def lessons_have_their_ground(step: Step, before: Case, payload: CaseClosed) -> Iterator[str]:
    """A lesson has its words and scope, and cites its own case, the user's word for it, or two cases that repeat it."""
    if payload.transfer.decision is TransferDecision.NONE:
        return
    transfer = payload.transfer
    cases, events = frozenset(transfer.evidence_case_ids or ()), transfer.evidence_event_ids or ()
    if not (transfer.lesson and transfer.scope and transfer.calibration):
        yield "the lesson lacks its words, its scope or its calibration"
    if transfer.decision is TransferDecision.REPEATED_PATTERN:
        if len(cases) < 2:
            yield "the pattern is not repeated"
    elif cases != {before.case_id}:
        yield f"the lesson cites {sorted(cases)}"
    if transfer.decision is TransferDecision.EXPLICIT_USER_CORRECTION:
        cited = [before.citations.get(e) for e in events]
        if not cited or any(c is None or CLASS_OF[c.authority_domain] is not AuthorityClass.USER for c in cited):
            yield f"the correction cites {list(events)}, which is not all the user's word"


STATE_INVARIANTS: tuple[StateCheck, ...] = (
    model_is_well_formed,
    citations_exist,
    authority_is_kept,
    grounded_means_cited,
    observations_are_accounted_for,
    pending_probe_is_coherent,
    staleness_is_coherent,
    closed_is_final,
    marker_means_paused,
)
STEP_INVARIANTS: tuple[StepCheck, ...] = (
    events_are_numbered,
    transitions_count_up,
    first_comes_opening,
    adoption_comes_first,
    events_are_allowed,
    dispositions_are_sequenced,
    only_the_owner_acts,
    migration_names_the_owner,
    models_are_versioned,
    repair_is_substantive,
    mismatch_spreads,
    probes_keep_their_identity,
    bound_claims_are_as_committed,
    drift_is_explained,
    predictions_are_whole,
    sources_are_described,
    comparisons_keep_authority,
    calibration_is_derived,
    lessons_have_their_ground,
)
INVARIANTS: tuple[StateCheck | StepCheck, ...] = (*STATE_INVARIANTS, *STEP_INVARIANTS)


def check_state(case: Case) -> tuple[Violation, ...]:
    """Every way in which a state breaks a state invariant."""
    return tuple(Violation(check.__name__, "", problem) for check in STATE_INVARIANTS for problem in check(case))


def check_step(step: Step) -> tuple[Violation, ...]:
    """Every way in which a step breaks a step invariant.  Of what lies before an adoption none is asked."""
    own = step
    if isinstance(step.event.payload, CaseAdopted):
        own = Step(stands_before(step.before, step.event), step.event, step.after, known=step.before)
    return tuple(
        [
            Violation(check.__name__, step.event.event_id, problem)
            for check in _checks_of(step.event.type)
            for problem in check(own)
        ]
    )


@cache
def _checks_of(event: EventType) -> tuple[StepCheck, ...]:
    return tuple(check for check in STEP_INVARIANTS if issubclass(PAYLOADS[event], _CONCERNS.get(check, object)))


def invalid_citations(case: Case) -> tuple[str, ...]:
    """Ids that claims cite and that are no citable events of the case, sorted."""
    cited = {e for _, claim in case.model.claims() for e in claim.evidence_event_ids}
    return tuple(sorted(e for e in cited if (c := case.citations.get(e)) is None or c.type not in CITABLE))


def uncompared(case: Case) -> tuple[str, ...]:
    """Observations that no comparison or discard has accounted for, the pending probe's own included."""
    return case.unaccounted
