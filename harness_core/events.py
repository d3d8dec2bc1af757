"""What can happen to a case.  Each event carries all that the fold needs, so the Timeline alone rebuilds the case.

``PAYLOADS`` is the one table from an event's type to the shape of its payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from harness_core.case import Case
from harness_core.closure import CaseCalibration, Transfer
from harness_core.evidence import Evidence
from harness_core.model import Claim, Model, ModelChanges
from harness_core.probes import Probe, StoredResult
from harness_core.vocabulary import (
    ArgumentMatch,
    AuthorityDomain,
    BeliefChange,
    Boundary,
    Disposition,
    EventType,
    Lifecycle,
    Outcome,
    ProbeStatus,
    Provenance,
    ResultStatus,
)
from harness_core.wire import from_json, to_json


@frozen(kw_only=True)
class InitialObservation(Evidence):
    """Evidence that stood before the case was opened; ``initial_ref`` is the temporary id it was given under."""

    initial_ref: str


@frozen(kw_only=True)
class CaseOpened:
    """The case began with this model."""

    case_id: str
    model: Model
    model_version: int = 1


@frozen(kw_only=True)
class ModelRevised:
    """Fields of the model were replaced.  ``repaired_mismatch_event_id`` is set where this cleared staleness."""

    reason: str
    changed_fields: tuple[str, ...]
    changes: ModelChanges
    model_version: int
    addresses_event_ids: tuple[str, ...] = ()
    repaired_mismatch_event_id: str | None = None


@frozen(kw_only=True)
class EvidenceRecorded(Evidence):
    """Evidence was described by the model."""


@frozen(kw_only=True)
class ProbeCommitted:
    """A prediction was committed before the look."""

    probe: Probe
    args_sha256: str


@frozen(kw_only=True)
class ProbeStarted:
    """The host began the committed action.  ``args_match_commitment`` is left out where it cannot be told."""

    probe_id: str
    tool_name: str
    args_sha256: str
    committed_args_sha256: str
    args_match_commitment: bool | None = None
    task_id: str | None = None
    tool_call_id: str | None = None
    turn_id: str | None = None
    api_request_id: str | None = None


@frozen(kw_only=True)
class Shown(StoredResult):
    """What an action is known to have returned, in one representation, redacted."""

    probe_id: str
    tool_name: str
    authority_domain: AuthorityDomain
    result_status: ResultStatus
    execution_result_status: ResultStatus
    display_result_status: ResultStatus
    observation_boundary: Boundary
    tool_call_id: str | None = None


@frozen(kw_only=True)
class ProbeObserved(Shown):
    """What the host saw the action return, redacted.

    ``result_status`` and ``execution_result_status`` say how the execution ended, ``display_result_status`` how what
    was recorded reads; ``raw_result_provenance`` says whether the text is known to be the handler's own.
    ``argument_match_status`` is there where the start's word on the arguments does not hold: the action was seen to run
    with those of ``args_sha256``, or somebody may have changed them unseen.
    """

    raw_result_provenance: Provenance
    recovery_reason: str | None = None
    args_sha256: str | None = None
    argument_match_status: ArgumentMatch | None = None


@frozen(kw_only=True)
class ProbeExposed(Shown):
    """Another representation than the observed one was handed on; it supersedes the observation as what is compared."""

    supersedes_event_id: str
    final_exposure: ResultStatus = ResultStatus.UNKNOWN


@frozen(kw_only=True)
class ProbeCompared:
    """The observation was held against the prediction.  Argument values are never repeated here."""

    probe_id: str
    authority_domain: AuthorityDomain
    disposition: Disposition
    rationale: str
    material: bool
    affected_claim_ids: tuple[str, ...]
    stale_item_ids: tuple[str, ...]
    commit_event_id: str
    observation_event_id: str
    argument_match_status: ArgumentMatch
    execution_args_match_commitment: bool | None = None
    argument_drift_reason: str | None = None
    belief_change: BeliefChange | None = None
    claim_id: str | None = None
    claim_snapshot: Claim | None = None
    model_version: int | None = None
    evidence: Evidence | None = None


@frozen(kw_only=True)
class ProbeDiscarded:
    """The probe was given up, with its observation if there was one; that observation supports nothing."""

    probe_id: str
    reason: str
    probe_status: ProbeStatus
    observation_event_id: str | None = None


@frozen(kw_only=True)
class CasePaused:
    """The case was laid aside.  ``auto_resumable`` leaves a marker that proof of life may use once."""

    reason: str
    auto_resumable: bool = False
    lifecycle: Lifecycle | None = None
    child_status: str | None = None
    pending_probe_status: ProbeStatus | None = None
    platform: str | None = None


@frozen(kw_only=True)
class CaseResumed:
    """The case was taken up again by the event's session."""

    reason: str | None = None
    consumed_pause_event_id: str | None = None


@frozen(kw_only=True)
class SessionMigrated:
    """The case followed its session's compression lineage.  ``marker_kept`` re-bases a pause on the new session."""

    old_session_id: str
    new_session_id: str
    reason: str
    marker_kept: bool = False


@frozen(kw_only=True)
class CaseClosed:
    """The case ended."""

    outcome: Outcome
    summary: str
    transfer: Transfer
    calibration: CaseCalibration
    closed_at: str


@frozen(kw_only=True)
class CaseAdopted:
    """A case of an earlier release goes on here; its records stand before this one, in that release's form.

    ``legacy_state`` is the case exactly as that release left it, ``legacy_log_sha256`` SHA-256 over the exact bytes of
    its lines.  ``case`` is what they amount to (``adoption.adopted``): the Timeline goes on from there.
    """

    release: str
    legacy_state: Mapping[str, Any]
    legacy_log_sha256: str
    case: Case


Payload = (
    InitialObservation
    | CaseOpened
    | ModelRevised
    | EvidenceRecorded
    | ProbeCommitted
    | ProbeStarted
    | ProbeObserved
    | ProbeExposed
    | ProbeCompared
    | ProbeDiscarded
    | CasePaused
    | CaseResumed
    | SessionMigrated
    | CaseClosed
    | CaseAdopted
)

PAYLOADS: Mapping[EventType, type] = {
    EventType.INITIAL_OBSERVATION: InitialObservation,
    EventType.CASE_OPENED: CaseOpened,
    EventType.MODEL_REVISED: ModelRevised,
    EventType.EVIDENCE_RECORDED: EvidenceRecorded,
    EventType.PROBE_COMMITTED: ProbeCommitted,
    EventType.PROBE_STARTED: ProbeStarted,
    EventType.PROBE_OBSERVED: ProbeObserved,
    EventType.PROBE_EXPOSED: ProbeExposed,
    EventType.PROBE_COMPARED: ProbeCompared,
    EventType.PROBE_DISCARDED: ProbeDiscarded,
    EventType.CASE_PAUSED: CasePaused,
    EventType.CASE_RESUMED: CaseResumed,
    EventType.SESSION_MIGRATED: SessionMigrated,
    EventType.CASE_CLOSED: CaseClosed,
    EventType.CASE_ADOPTED: CaseAdopted,
}
TYPES: Mapping[type, EventType] = {payload: type_ for type_, payload in PAYLOADS.items()}

# Events that decide what becomes of a session's case.  They carry `seq`, the session's high-water number, so that an
# older lifecycle marker of that session can be told dead.
DISPOSITIONS = frozenset(
    {
        EventType.CASE_OPENED,
        EventType.CASE_PAUSED,
        EventType.CASE_RESUMED,
        EventType.SESSION_MIGRATED,
        EventType.CASE_CLOSED,
    }
)


MOST_DIGITS = 12  # of an event id: far beyond any Timeline, far below what makes reading a number slow


@frozen(kw_only=True)
class Event:
    """One fact of a case.

    ``event_id`` is ``E`` and six digits, counted from one without gaps; ``transition`` numbers the group of events that
    were written together; ``timestamp`` is ISO 8601 with an offset; ``seq`` stands on disposition events alone.
    """

    event_id: str
    timestamp: str
    session_id: str
    transition: int
    payload: Payload
    seq: int | None = None

    @property
    def type(self) -> EventType:
        return TYPES[type(self.payload)]

    def to_record(self) -> dict[str, Any]:
        """The event as a record, less what chains it (``format``, ``prev_hash``, ``transition``, ``hash``)."""
        record: dict[str, Any] = {
            "event_id": self.event_id,
            "type": self.type.value,
            "timestamp": self.timestamp,
            "session_id": self.session_id,
            "payload": to_json(self.payload),
        }
        return record if self.seq is None else record | {"seq": self.seq}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Event:
        """The event that a record of format 2 holds.  Raises what ``wire.from_json`` raises where it holds none."""
        return Event(
            event_id=record["event_id"],
            timestamp=record["timestamp"],
            session_id=record["session_id"],
            transition=record["transition"]["number"],
            payload=from_json(record["payload"], PAYLOADS[record["type"]]),
            seq=record.get("seq"),
        )


def event_id(number: int) -> str:
    """The id of the n-th event of a case, counted from 1."""
    return f"E{number:06d}"


def event_id_number(text: str) -> int | None:
    """Which event of a case the id names, counted from 1; None where the text is no id as ``event_id`` spells it."""
    digits = text[1:]
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS):
        return None
    number = int(digits)
    return number if text == event_id(number) else None
