"""How a case ended: the outcome, the calibration derived from its Timeline, and the lesson it leaves, if any."""

from __future__ import annotations

from attrs import frozen

from harness_core.vocabulary import (
    AccessScope,
    Calibration,
    Outcome,
    Section,
    SourceRole,
    TransferDecision,
)


@frozen(kw_only=True)
class ClaimCalibration:
    """What one claim rests on, sorted by how much each cited event counts.

    The lists from ``direct_event_ids`` on stand on grounded claims alone, that of discarded observations only where
    there are some.
    """

    claim_id: str
    section: Section
    label: Calibration
    evidence_event_ids: tuple[str, ...] = ()
    access_scopes: tuple[AccessScope, ...] = ()
    source_roles: tuple[SourceRole, ...] = ()
    direct_event_ids: tuple[str, ...] | None = None
    lead_only_event_ids: tuple[str, ...] | None = None
    failed_observation_event_ids: tuple[str, ...] | None = None
    legacy_observation_event_ids: tuple[str, ...] | None = None
    discarded_observation_event_ids: tuple[str, ...] | None = None
    limitations: tuple[str, ...] | None = None


@frozen(kw_only=True)
class CaseCalibration:
    """The label of a whole case and the claims behind it.  No label means confirmed, proven or certain."""

    label: Calibration
    language: str
    claims: tuple[ClaimCalibration, ...] = ()
    grounded_claim_ids: tuple[str, ...] = ()
    evidence_event_ids: tuple[str, ...] = ()
    direct_event_ids: tuple[str, ...] = ()
    lead_only_event_ids: tuple[str, ...] = ()
    failed_observation_event_ids: tuple[str, ...] = ()
    legacy_observation_event_ids: tuple[str, ...] = ()


@frozen(kw_only=True)
class Transfer:
    """The transfer review of a closure; a decision other than ``none`` carries one lesson."""

    decision: TransferDecision
    lesson: str | None = None
    scope: str | None = None
    evidence_case_ids: tuple[str, ...] | None = None
    evidence_event_ids: tuple[str, ...] | None = None
    calibration: Calibration | None = None


@frozen(kw_only=True)
class Closure:
    """The end of a case."""

    outcome: Outcome
    summary: str
    transfer: Transfer
    calibration: CaseCalibration
    closed_at: str
    event_id: str | None = None
