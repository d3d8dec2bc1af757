"""What a case believes: claims, the plan that rests on them, and the lessons it was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any

from attrs import fields, frozen

from harness_core.vocabulary import AuthorityDomain, Calibration, EpistemicStatus, Section, TransferDecision

NO_DECISION = "none"
DEFAULT_STOPPING_CONDITION = (
    "Answer the question with its scope, the strongest evidence, what else could be true, and what would change it."
)


@frozen(kw_only=True)
class Claim:
    """One statement with a stable id, and what it rests on.

    ``grounding_authority_domains`` are the domains of the cited events, derived by the harness and sorted.
    """

    id: str
    text: str
    epistemic_status: EpistemicStatus
    evidence_event_ids: tuple[str, ...] = ()
    authority_domain: AuthorityDomain | None = None
    grounding_authority_domains: tuple[AuthorityDomain, ...] | None = None


@frozen(kw_only=True)
class PlanStep:
    """One intended action and the ids of the claims and steps that it depends on."""

    id: str
    action: str
    depends_on: tuple[str, ...] = ()


@frozen(kw_only=True)
class Lesson:
    """A lesson of a closed case, as another case retrieved it.  ``relevance`` is set where retrieval was automatic."""

    case_id: str
    decision: TransferDecision
    lesson: str
    scope: str
    evidence_case_ids: tuple[str, ...]
    calibration: Calibration
    relevance: float | None = None


@frozen(kw_only=True)
class Model:
    """The whole belief state of a case at one version."""

    top_unknown: str
    decision: str = NO_DECISION
    stopping_condition: str = DEFAULT_STOPPING_CONDITION
    state_grounding: tuple[Claim, ...] = ()
    mechanisms: tuple[Claim, ...] = ()
    alternatives: tuple[Claim, ...] = ()
    current_plan: tuple[PlanStep, ...] = ()
    prior_case_ids: tuple[str, ...] = ()
    retrieved_prior_lessons: tuple[Lesson, ...] = ()
    applied_prior_lessons: tuple[str, ...] = ()

    def claims(self) -> Iterator[tuple[Section, Claim]]:
        """Every claim with its section, in the order of reports."""
        for section, claims in zip(Section, _SECTIONS(self), strict=True):
            for claim in claims:
                yield section, claim

    def claim(self, claim_id: str) -> Claim | None:
        """The claim with that id, or None."""
        return next((claim for _, claim in self.claims() if claim.id == claim_id), None)

    def item_ids(self) -> tuple[str, ...]:
        """Ids of all claims, then of all plan steps, in order."""
        return (*(claim.id for _, claim in self.claims()), *(step.id for step in self.current_plan))

    def items(self) -> Mapping[str, Claim | PlanStep]:
        """Claims and plan steps by id."""
        found: dict[str, Any] = {claim.id: claim for _, claim in self.claims()}
        return found | {step.id: step for step in self.current_plan}


_SECTIONS = attrgetter(*(section.value for section in Section))


@frozen(kw_only=True)
class ModelChanges:
    """The fields that a revision replaced, each whole; a field that is None was left alone."""

    top_unknown: str | None = None
    decision: str | None = None
    stopping_condition: str | None = None
    state_grounding: tuple[Claim, ...] | None = None
    mechanisms: tuple[Claim, ...] | None = None
    alternatives: tuple[Claim, ...] | None = None
    current_plan: tuple[PlanStep, ...] | None = None
    applied_prior_lessons: tuple[str, ...] | None = None

    def given(self) -> dict[str, Any]:
        """The replaced fields by name."""
        return {f.name: value for f in fields(type(self)) if (value := getattr(self, f.name)) is not None}
