"""Decisions about a case as a whole: open, evidence, revision, pause, resume, migration, closure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve as replaced
from attrs import fields

from harness_core.beliefs import Beliefs, is_event, structural_faults
from harness_core.calibration import calibrate
from harness_core.case import Case
from harness_core.commands import (
    AutoResume,
    Close,
    EvidenceDraft,
    LifecyclePause,
    Migrate,
    Open,
    Pause,
    RecordEvidence,
    Resume,
    Revise,
    SourceDraft,
)
from harness_core.errors import Fault, Refused, refused
from harness_core.events import (
    CaseClosed,
    CaseOpened,
    CasePaused,
    CaseResumed,
    EvidenceRecorded,
    InitialObservation,
    ModelRevised,
    Payload,
    SessionMigrated,
    event_id,
)
from harness_core.evidence import Citation, Evidence
from harness_core.model import Model, ModelChanges
from harness_core.moment import Moment
from harness_core.rules import ALLOWED, PAUSE_ON_REQUEST, objection, require
from harness_core.staleness import unrepaired
from harness_core.transfer import review
from harness_core.vocabulary import (
    AuthorityDomain,
    Calibration,
    CaseStatus,
    EventType,
    Outcome,
    Section,
)


def evidence_of(draft: SourceDraft | EvidenceDraft) -> Evidence:
    """The evidence a draft describes.  Role and access scope are kept for external sources alone."""
    external = draft.authority_domain is AuthorityDomain.EXTERNAL_SOURCE
    return Evidence(
        summary=draft.summary,
        source_ref=draft.source_ref,
        authority_domain=draft.authority_domain,
        source_role=draft.source_role if external else None,
        access_scope=draft.access_scope if external else None,
        locator=draft.locator,
        limitation=draft.limitation,
    )


def _fields_of(evidence: Evidence) -> dict[str, Any]:
    return {f.name: getattr(evidence, f.name) for f in fields(Evidence)}


def open_case(command: Open) -> Sequence[Payload]:
    temporary: dict[str, str] = {}
    citations: dict[str, Citation] = {}
    observations: list[InitialObservation] = []
    faults: list[Fault] = []
    for number, draft in enumerate(command.initial_evidence, start=1):
        if draft.id in temporary:
            faults.append(
                Fault(f"initial_evidence[{number - 1}].id", f"{draft.id} stands twice", "I1, I2, ... once each")
            )
        temporary[draft.id] = event_id(number)
        given = evidence_of(draft)
        observations.append(InitialObservation(initial_ref=draft.id, **_fields_of(given)))
        citations[event_id(number)] = Citation(
            event_id=event_id(number),
            type=EventType.INITIAL_OBSERVATION,
            authority_domain=given.authority_domain,
        )
    beliefs = Beliefs(citations, event_count=0, temporary=temporary)
    model = Model(
        top_unknown=command.top_unknown,
        decision=command.decision,
        stopping_condition=command.stopping_condition,
        state_grounding=beliefs.claims(Section.STATE_GROUNDING, command.state_grounding),
        mechanisms=beliefs.claims(Section.MECHANISMS, command.mechanisms),
        alternatives=beliefs.claims(Section.ALTERNATIVES, command.alternatives),
        current_plan=beliefs.steps(command.current_plan),
        prior_case_ids=tuple(lesson.case_id for lesson in command.lessons),
        retrieved_prior_lessons=command.lessons,
        applied_prior_lessons=tuple(command.applied_prior_lessons),
    )
    faults += [*beliefs.faults, *structural_faults(model)]
    if faults:
        raise refused("invalid_arguments", *faults)
    return [*observations, CaseOpened(case_id=command.case_id, model=model)]


def record_evidence(case: Case, command: RecordEvidence, moment: Moment) -> Sequence[Payload]:
    require(case, ALLOWED[EventType.EVIDENCE_RECORDED])
    return [EvidenceRecorded(**_fields_of(evidence_of(draft))) for draft in command.evidence]


def revise(case: Case, command: Revise, moment: Moment) -> Sequence[Payload]:
    require(case, ALLOWED[EventType.MODEL_REVISED])
    changes, faults = _changes(case, command)
    changed = {name: new for name, new in changes.given().items() if getattr(case.model, name) != new}
    after = replaced(case.model, **changed)
    faults += structural_faults(after)
    faults += [
        Fault(f"addresses_event_ids[{n}]", f"{e} is no event of this case", "the id of an event of this case")
        for n, e in enumerate(command.addresses_event_ids)
        if not is_event(e, case.event_count)
    ]
    if faults:
        raise refused("invalid_arguments", *faults)
    if not changed:
        raise Refused(
            "no material change: what was sent is, once normalised (a claim without evidence is a hypothesis), what the"
            " model holds; send a field with a new value",
            code="nothing_changed",
        )
    repaired = _repaired(case, after, command)
    return [
        ModelRevised(
            reason=command.reason,
            changed_fields=tuple(sorted(changed)),
            changes=ModelChanges(**changed),
            model_version=case.version + 1,
            addresses_event_ids=tuple(command.addresses_event_ids),
            repaired_mismatch_event_id=repaired,
        )
    ]


def _changes(case: Case, command: Revise) -> tuple[ModelChanges, list[Fault]]:
    sent = command.updates
    beliefs = Beliefs(case.citations, case.event_count)

    def section(name: Section) -> Any:
        drafts = getattr(sent, name.value)
        return None if drafts is None else beliefs.claims(name, drafts)

    changes = ModelChanges(
        top_unknown=sent.top_unknown,
        decision=sent.decision,
        stopping_condition=sent.stopping_condition,
        **{name.value: section(name) for name in Section},
        current_plan=None if sent.current_plan is None else beliefs.steps(sent.current_plan),
        applied_prior_lessons=None if sent.applied_prior_lessons is None else tuple(sent.applied_prior_lessons),
    )
    return changes, beliefs.faults


def _repaired(case: Case, after: Model, command: Revise) -> str | None:
    """The mismatch that this revision repairs; None where nothing is stale."""
    if case.staleness is None:
        return None
    mismatch = case.staleness.mismatch_event_id
    items = ", ".join(case.staleness.item_ids)
    if mismatch not in command.addresses_event_ids:
        raise Refused(
            f"addresses_event_ids: while {items} are stale a revision must explicitly address the mismatch;"
            f' send addresses_event_ids=["{mismatch}"]',
            code="mismatch_not_addressed",
        )
    left = unrepaired(case.model, after, case.staleness.item_ids)
    if left:
        raise Refused(
            f"stale model items unchanged in substance: {', '.join(left)}; reword, weaken or remove each of them."
            " Punctuation, letter case, blanks, order, metadata, more dependencies and a raised status are no repair",
            code="not_repaired",
        )
    return mismatch


def pause(case: Case, command: Pause, moment: Moment) -> Sequence[Payload]:
    require(case, PAUSE_ON_REQUEST)
    return [CasePaused(reason=command.reason)]


def lifecycle_pause(case: Case, command: LifecyclePause, moment: Moment) -> Sequence[Payload]:
    if case.session_id != moment.session_id or objection(case, ALLOWED[EventType.CASE_PAUSED]):
        return []
    return [
        CasePaused(
            reason=command.reason,
            auto_resumable=command.auto_resumable,
            lifecycle=command.lifecycle,
            child_status=command.child_status,
            pending_probe_status=None if case.pending_probe is None else case.pending_probe.status,
            platform=command.platform,
        )
    ]


def resume(case: Case, command: Resume, moment: Moment) -> Sequence[Payload]:
    if case.status is CaseStatus.ACTIVE and case.session_id != moment.session_id:
        raise Refused(f"case {case.case_id} is active in another session; pause it there first", code="other_session")
    require(case, ALLOWED[EventType.CASE_RESUMED])
    return [CaseResumed()]


def auto_resume(case: Case, command: AutoResume, moment: Moment) -> Sequence[Payload]:
    marker = case.marker
    alive = (
        marker is not None
        and case.status is CaseStatus.PAUSED
        and case.session_id == moment.session_id
        and marker.seq_at_pause == moment.seq - 1
    )
    if marker is None or not alive:
        return []
    return [CaseResumed(reason="proof of life", consumed_pause_event_id=marker.pause_event_id)]


def migrate(case: Case, command: Migrate, moment: Moment) -> Sequence[Payload]:
    if case.status is CaseStatus.CLOSED or (case.status is CaseStatus.PAUSED and case.marker is None):
        return []
    return [
        SessionMigrated(
            old_session_id=case.session_id,
            new_session_id=command.new_session_id,
            reason=command.reason,
            marker_kept=case.marker is not None and command.pristine,
        )
    ]


def close(case: Case, command: Close, moment: Moment) -> Sequence[Payload]:
    require(case, ALLOWED[EventType.CASE_CLOSED])
    calibration = calibrate(case.model, case.citations)
    transfer, faults = review(case, command, calibration.label)
    if faults:
        raise refused("invalid_arguments", *faults)
    if command.outcome is Outcome.RESOLVED and calibration.label is Calibration.HYPOTHESIS:
        weak = (*calibration.failed_observation_event_ids, *calibration.legacy_observation_event_ids)
        raise Refused(
            "resolved closure requires an evidence-linked grounded claim whose evidence was really inspected"
            + (f"; {', '.join(weak)} failed, were interrupted or are of unknown provenance" if weak else "")
            + ". Revise a claim to cite an observation or recorded evidence that supports it, or close with"
            ' outcome="unresolved"',
            code="not_grounded",
        )
    return [
        CaseClosed(
            outcome=command.outcome,
            summary=command.summary,
            transfer=transfer,
            calibration=calibration,
            closed_at=moment.at,
        )
    ]
