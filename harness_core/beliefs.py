"""Drafts of claims and plan steps into a sound model, with every fault of the drafts reported at once.

The structural rules of a model stand here: ids are unique across claims and steps, dependencies are known and free of
cycles, citations exist and carry authority of the claim's own class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from harness_core.authority import CLASS_OF, compatible
from harness_core.commands import ClaimDraft, StepDraft
from harness_core.errors import Fault
from harness_core.events import event_id_number
from harness_core.evidence import Citation
from harness_core.model import Claim, Model, PlanStep
from harness_core.staleness import cycles
from harness_core.vocabulary import AuthorityDomain, EpistemicStatus, Section


class Beliefs:
    """Turns the drafts of one call into claims and steps, and gathers what is wrong with them in ``faults``.

    ``citations`` are the events that may be cited, ``known`` tells whether an id is any event of the case, and
    ``temporary`` maps I1, I2, ... to the events they will become (at open only).
    """

    def __init__(
        self,
        citations: Mapping[str, Citation],
        event_count: int,
        temporary: Mapping[str, str] | None = None,
    ) -> None:
        self.citations = citations
        self.event_count = event_count
        self.temporary = temporary or {}
        self.faults: list[Fault] = []

    def claims(self, section: Section, drafts: Sequence[ClaimDraft]) -> tuple[Claim, ...]:
        """The section's claims, normalised."""
        return tuple(self._claim(f"{section.value}[{n}]", draft) for n, draft in enumerate(drafts))

    def steps(self, drafts: Sequence[StepDraft]) -> tuple[PlanStep, ...]:
        """The plan's steps, normalised."""
        return tuple(PlanStep(id=d.id, action=d.action, depends_on=tuple(dict.fromkeys(d.depends_on))) for d in drafts)

    def _claim(self, path: str, draft: ClaimDraft) -> Claim:
        evidence = tuple(dict.fromkeys(self.temporary.get(e, e) for e in draft.evidence_event_ids))
        domains = self._domains(path, draft, evidence)
        if not evidence:
            status = draft.epistemic_status or EpistemicStatus.HYPOTHESIS
            if status is EpistemicStatus.GROUNDED:  # nothing grounds it, so it is never presented as grounded
                status = EpistemicStatus.HYPOTHESIS
            return Claim(id=draft.id, text=draft.text, epistemic_status=status, authority_domain=draft.authority_domain)
        return Claim(
            id=draft.id,
            text=draft.text,
            epistemic_status=draft.epistemic_status or EpistemicStatus.GROUNDED,
            evidence_event_ids=evidence,
            authority_domain=draft.authority_domain,
            grounding_authority_domains=tuple(sorted(domains)),
        )

    def _domains(self, path: str, draft: ClaimDraft, evidence: tuple[str, ...]) -> set[AuthorityDomain]:
        cited = []
        for number, event_id in enumerate(evidence):
            citation = self.citations.get(event_id)
            if citation is not None:
                cited.append(citation)
            else:
                self.faults.append(self._uncitable(f"{path}.evidence_event_ids[{number}]", event_id))
        if evidence and draft.authority_domain is None:
            offered = sorted({c.authority_domain.value for c in cited})
            self.faults.append(
                Fault(
                    f"{path}.authority_domain",
                    "is missing: a claim that cites evidence declares its authority domain",
                    " or ".join(offered) or " or ".join(d.value for d in AuthorityDomain),
                )
            )
        elif draft.authority_domain is not None:
            for citation in cited:
                if not compatible(draft.authority_domain, [citation.authority_domain]):
                    self.faults.append(self._crossed(path, draft.authority_domain, citation))
        return {c.authority_domain for c in cited}

    def _uncitable(self, path: str, event_id: str) -> Fault:
        if is_event(event_id, self.event_count):
            return Fault(
                path,
                f"{event_id} is an event without evidence authority",
                "the id of recorded evidence, of an observation or of a comparison",
            )
        known = "the evidence_event_ids that record_evidence, compare or show answered with"
        return Fault(path, f"{event_id} is no event of this case", known)

    @staticmethod
    def _crossed(path: str, claimed: AuthorityDomain, citation: Citation) -> Fault:
        return Fault(
            f"{path}.authority_domain",
            f"{citation.event_id} ({citation.authority_domain.value}) cannot ground a claim of {claimed.value}:"
            f" {CLASS_OF[citation.authority_domain].value} authority never becomes {CLASS_OF[claimed].value} authority",
            f"{citation.authority_domain.value}, or other evidence",
        )


def is_event(event_id: str, event_count: int) -> bool:
    """Whether the id, spelled as the Timeline spells it, names one of the first ``event_count`` events of a case."""
    number = event_id_number(event_id)
    return number is not None and 1 <= number <= event_count


def structural_faults(model: Model) -> Iterable[Fault]:
    """What is wrong with the model's ids and dependencies; nothing where it is sound."""
    places: list[tuple[str, str]] = []
    for section in Section:
        claims: tuple[Claim, ...] = getattr(model, section)
        places += [(f"{section}[{n}].id", claim.id) for n, claim in enumerate(claims)]
    places += [(f"current_plan[{n}].id", step.id) for n, step in enumerate(model.current_plan)]
    known = {item for _, item in places}
    if len(known) < len(places):
        counts = Counter(item for _, item in places)
        for path, item in places:
            if counts[item] > 1:
                problem = f"the id {item} stands {counts[item]} times"
                yield Fault(path, problem, "an id of its own for each claim and step")
    if not model.current_plan:
        return
    for n, step in enumerate(model.current_plan):
        for m, needed in enumerate(step.depends_on):
            if needed not in known:
                yield Fault(
                    f"current_plan[{n}].depends_on[{m}]",
                    f"{needed} is no claim and no step of the model",
                    "one of " + ", ".join(sorted(known - {step.id})) if known - {step.id} else "nothing",
                )
    looped = set(cycles(model.current_plan))
    for n, step in enumerate(model.current_plan):
        if step.id in looped:
            yield Fault(
                f"current_plan[{n}].depends_on",
                f"step {step.id} depends on itself" + ("" if step.id in step.depends_on else " through other steps"),
                "dependencies without a cycle",
            )
