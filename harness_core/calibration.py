"""How well claims are supported, derived from what was really inspected (seed, "Closure and transfer").

``weigh`` is the one place that says what a cited event counts for; everything else adds up its answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from harness_core.authority import LEAD_SCOPES, SEARCH_TOOLS
from harness_core.closure import CaseCalibration, ClaimCalibration
from harness_core.evidence import Citation
from harness_core.model import Claim, Model
from harness_core.vocabulary import Calibration, EpistemicStatus, Provenance, ResultStatus, Section

FAILED = frozenset({ResultStatus.TOOL_ERROR, ResultStatus.ERROR, ResultStatus.BLOCKED, ResultStatus.INTERRUPTED})
ASSERTED = frozenset({Section.STATE_GROUNDING, Section.MECHANISMS})

LANGUAGE: Mapping[Calibration, str] = {
    Calibration.HYPOTHESIS: "a hypothesis: nothing that was inspected supports it",
    Calibration.PROVISIONAL: "provisional: it rests on leads such as snippets and abstracts, and is not confirmed",
    Calibration.SUPPORTED: "supported by what was inspected; not thereby confirmed, proven or certain",
    Calibration.MIXED: "mixed: its grounded claims differ in support, or an ungrounded claim stands beside them",
}

# A repeated pattern is as strong as the weakest of its sources, and "mixed" counts as no more than provisional.
STRENGTH: Mapping[Calibration, int] = {
    Calibration.HYPOTHESIS: 0,
    Calibration.PROVISIONAL: 1,
    Calibration.MIXED: 1,
    Calibration.SUPPORTED: 2,
}
BY_STRENGTH = {0: Calibration.HYPOTHESIS, 1: Calibration.PROVISIONAL, 2: Calibration.SUPPORTED}


class Weight(StrEnum):
    """What one cited event counts for, by the name of the list it is reported in."""

    DIRECT = "direct_event_ids"
    LEAD = "lead_only_event_ids"
    FAILED = "failed_observation_event_ids"
    UNKNOWN = "legacy_observation_event_ids"
    DISCARDED = "discarded_observation_event_ids"


def weigh(cited: Citation) -> Weight:
    """What a cited event counts for.

    An execution that failed never supports, however it was displayed.  Neither does one whose end or whose text is not
    known, an exposure that does not lead back to its own probe's observation, or an error shown after a success.  The
    tool that ran outranks the descriptor: what a search returned is a lead.
    """
    if cited.discarded:
        return Weight.DISCARDED
    if cited.execution_status in FAILED:
        return Weight.FAILED
    if cited.execution_status is not None and not _known(cited):
        return Weight.UNKNOWN
    if cited.tool_name in SEARCH_TOOLS or cited.access_scope in LEAD_SCOPES:
        return Weight.LEAD
    return Weight.DIRECT


def _known(cited: Citation) -> bool:
    return (
        cited.linked
        and cited.execution_status is ResultStatus.OK
        and cited.display_status is ResultStatus.OK
        and cited.provenance is Provenance.NATIVE_HANDLER_RESULT
    )


def calibrate_claim(section: Section, claim: Claim, citations: Mapping[str, Citation]) -> ClaimCalibration:
    """The calibration of one claim.  Ids that are no citable events count for nothing."""
    if claim.epistemic_status is not EpistemicStatus.GROUNDED or not claim.evidence_event_ids:
        return ClaimCalibration(
            claim_id=claim.id,
            section=section,
            label=Calibration.HYPOTHESIS,
            evidence_event_ids=claim.evidence_event_ids,
        )
    cited = [citations[e] for e in claim.evidence_event_ids if e in citations]
    lists = {weight: tuple(c.event_id for c in cited if weigh(c) is weight) for weight in Weight}
    label = (
        Calibration.SUPPORTED
        if lists[Weight.DIRECT]
        else Calibration.PROVISIONAL
        if lists[Weight.LEAD]
        else Calibration.HYPOTHESIS
    )
    return ClaimCalibration(
        claim_id=claim.id,
        section=section,
        label=label,
        evidence_event_ids=claim.evidence_event_ids,
        access_scopes=tuple(sorted({c.access_scope for c in cited if c.access_scope})),
        source_roles=tuple(sorted({c.source_role for c in cited if c.source_role})),
        direct_event_ids=lists[Weight.DIRECT],
        lead_only_event_ids=lists[Weight.LEAD],
        failed_observation_event_ids=lists[Weight.FAILED],
        legacy_observation_event_ids=lists[Weight.UNKNOWN],
        discarded_observation_event_ids=lists[Weight.DISCARDED] or None,
        limitations=tuple(sorted({c.limitation for c in cited if c.limitation})),
    )


def calibrate(model: Model, citations: Mapping[str, Citation]) -> CaseCalibration:
    """The calibration of a case: of each claim in report order, and the label they add up to.

    Alternatives are the option set: ungrounded ones do not lower the label.
    """
    claims = tuple(calibrate_claim(section, claim, citations) for section, claim in model.claims())
    label = overall(claims)

    def union(name: str) -> tuple[str, ...]:
        return tuple(sorted({e for c in claims for e in getattr(c, name) or ()}))

    grounded = [c for c in claims if c.direct_event_ids is not None]
    return CaseCalibration(
        label=label,
        language=LANGUAGE[label],
        claims=claims,
        grounded_claim_ids=tuple(c.claim_id for c in grounded),
        evidence_event_ids=tuple(sorted({e for c in grounded for e in c.evidence_event_ids})),
        direct_event_ids=union("direct_event_ids"),
        lead_only_event_ids=union("lead_only_event_ids"),
        failed_observation_event_ids=union("failed_observation_event_ids"),
        legacy_observation_event_ids=union("legacy_observation_event_ids"),
    )


def overall(claims: Iterable[ClaimCalibration]) -> Calibration:
    """The label of a case from those of its claims."""
    every = tuple(claims)
    carried = {c.label for c in every if c.label is not Calibration.HYPOTHESIS}
    if not carried:
        return Calibration.HYPOTHESIS
    bare = any(c.section in ASSERTED and c.label is Calibration.HYPOTHESIS for c in every)
    return Calibration.MIXED if bare or len(carried) > 1 else carried.pop()


def weakest(labels: Iterable[Calibration]) -> Calibration:
    """The label of a repeated pattern, from its own closure's and those of its sources (at least one)."""
    return BY_STRENGTH[min(STRENGTH[label] for label in labels)]
