"""The transfer review of a closure: which lesson leaves the case, and on what ground (seed, "Closure and transfer")."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from harness_core.authority import CLASS_OF, USER_DOMAINS, AuthorityClass
from harness_core.calibration import Weight, weakest, weigh
from harness_core.case import Case
from harness_core.closure import Transfer
from harness_core.commands import Close, TransferDraft
from harness_core.errors import Fault
from harness_core.model import Lesson
from harness_core.vocabulary import Calibration, CaseStatus, TransferDecision

Check = Callable[[Case, TransferDraft, Mapping[str, Lesson]], Sequence[Fault]]


def review(case: Case, command: Close, label: Calibration) -> tuple[Transfer, Sequence[Fault]]:
    """The transfer to record for a closure of that label, and what is wrong with it."""
    draft = command.transfer
    if draft.decision is TransferDecision.NONE:
        return Transfer(decision=TransferDecision.NONE), ()
    sources = command.sources or {}
    faults = [*_parts(draft), *CHECKS[draft.decision](case, draft, sources)]
    named = tuple(dict.fromkeys(draft.evidence_case_ids or ()))
    if draft.decision is TransferDecision.REPEATED_PATTERN and not faults:
        label = weakest([label, *(sources[case_id].calibration for case_id in named)])
    transfer = Transfer(
        decision=draft.decision,
        lesson=draft.lesson,
        scope=draft.scope,
        evidence_case_ids=named,
        evidence_event_ids=draft.evidence_event_ids or None,
        calibration=label,
    )
    return transfer, faults


def _parts(draft: TransferDraft) -> Sequence[Fault]:
    needed = {"lesson": "one lesson as text", "scope": "where it applies", "evidence_case_ids": "a list of case ids"}
    return [
        Fault(f"transfer.{name}", f"is missing; decision {draft.decision.value} needs it", send)
        for name, send in needed.items()
        if not getattr(draft, name)
    ]


def _own_case_only(case: Case, draft: TransferDraft, sources: Mapping[str, Lesson]) -> Sequence[Fault]:
    if draft.evidence_case_ids and set(draft.evidence_case_ids) != {case.case_id}:
        return [
            Fault(
                "transfer.evidence_case_ids",
                f"a {draft.decision.value} cites exactly the case being closed",
                f'["{case.case_id}"]',
            )
        ]
    return []


def _correction(case: Case, draft: TransferDraft, sources: Mapping[str, Lesson]) -> Sequence[Fault]:
    faults = [*_own_case_only(case, draft, sources)]
    domains = ", ".join(domain.value for domain in USER_DOMAINS)
    if not draft.evidence_event_ids:
        faults.append(
            Fault("transfer.evidence_event_ids", "is missing; a user correction cites what the user said", domains)
        )
    for number, event_id in enumerate(draft.evidence_event_ids or ()):
        cited = case.citations.get(event_id)
        said = cited is not None and CLASS_OF[cited.authority_domain] is AuthorityClass.USER
        if cited is None or not said or weigh(cited) in (Weight.FAILED, Weight.DISCARDED):
            faults.append(
                Fault(
                    f"transfer.evidence_event_ids[{number}]",
                    f"{event_id} is no user-authoritative event that holds what the user said",
                    f"an event of one of {domains}",
                )
            )
    return faults


def _pattern(case: Case, draft: TransferDraft, sources: Mapping[str, Lesson]) -> Sequence[Fault]:
    named = tuple(dict.fromkeys(draft.evidence_case_ids or ()))
    path = "transfer.evidence_case_ids"
    faults = []
    if named and len(named) < 2:
        faults.append(Fault(path, "a repeated pattern needs two distinct closed cases", "the ids of at least two"))
    for number, case_id in enumerate(named):
        source = sources.get(case_id)
        if source is None:
            problem = f"{case_id} is no closed, replay-valid case that recorded a lesson"
            faults.append(Fault(f"{path}[{number}]", problem, "two distinct closed cases with this lesson and scope"))
        elif (source.lesson, source.scope) != (draft.lesson, draft.scope):
            problem = f"{case_id} recorded another lesson or scope"
            faults.append(Fault(f"{path}[{number}]", problem, "cases that recorded the same lesson and scope"))
    return faults


CHECKS: Mapping[TransferDecision, Check] = {
    TransferDecision.CANDIDATE: _own_case_only,
    TransferDecision.EXPLICIT_USER_CORRECTION: _correction,
    TransferDecision.REPEATED_PATTERN: _pattern,
}


def lesson_of(case: Case) -> Lesson | None:
    """The lesson that a closed case left for others; None where it left none."""
    if case.status is not CaseStatus.CLOSED or case.closure is None:
        return None
    transfer = case.closure.transfer
    if transfer.lesson is None or transfer.scope is None or transfer.calibration is None:
        return None
    return Lesson(
        case_id=case.case_id,
        decision=transfer.decision,
        lesson=transfer.lesson,
        scope=transfer.scope,
        evidence_case_ids=transfer.evidence_case_ids or (),
        calibration=transfer.calibration,
    )
