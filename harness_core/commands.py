"""What can be asked of a case: the twelve operations of the two tools, and what a host reports by itself.

The first group is the tools' input.  Its fields, their types and their one-line descriptions are the source of both
JSON schemas and of the argument checks.  A field marked as the server's is filled in by the store and cannot be sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NewType

from attrs import NOTHING, field, frozen

from harness_core.model import DEFAULT_STOPPING_CONDITION, NO_DECISION, Lesson
from harness_core.probes import Commitment, Correlation, StoredResult
from harness_core.vocabulary import (
    AccessScope,
    AuthorityDomain,
    BeliefChange,
    Boundary,
    Calibration,
    CaseStatus,
    Disposition,
    EpistemicStatus,
    Lifecycle,
    Outcome,
    Provenance,
    Purpose,
    ResultStatus,
    SourceRole,
    TransferDecision,
)

Text = NewType("Text", str)  # not blank; kept as it is sent
ItemId = NewType("ItemId", str)  # id of a claim or plan step: one printable line of at most 120 characters, trimmed
CaseId = NewType("CaseId", str)  # a-z, 0-9 and hyphens, beginning with a letter or digit, at most 64 characters
ToolName = NewType("ToolName", str)  # one printable line of at most 120 characters, trimmed
EventId = NewType("EventId", str)  # E and digits, or I and digits for initial evidence

LIST_LIMIT_DEFAULT = 50
LIST_LIMIT_MAX = 200


def said(doc: str, default: Any = NOTHING) -> Any:
    """A field of a tool's input with its description."""
    return field(default=default, metadata={"doc": doc})


def server(default: Any) -> Any:
    """A field that only the store fills in."""
    return field(default=default, metadata={"server": True})


@frozen(kw_only=True)
class ClaimDraft:
    """A claim as it is sent."""

    id: ItemId = said("stable id, unique in the case")
    text: Text = said("the statement")
    epistemic_status: EpistemicStatus | None = said("default: grounded with evidence, else hypothesis", None)
    evidence_event_ids: tuple[EventId, ...] = said("events it rests on (at open also I1, I2, ...)", ())
    authority_domain: AuthorityDomain | None = said("needed with evidence; of the class of the cited events", None)
    grounding_authority_domains: tuple[AuthorityDomain, ...] | None = said("derived; may be echoed", None)


@frozen(kw_only=True)
class StepDraft:
    """A plan step as it is sent."""

    id: ItemId = said("stable id, unique in the case")
    action: Text = said("what will be done")
    depends_on: tuple[ItemId, ...] = said("ids of claims and steps it rests on; no cycles", ())


@frozen(kw_only=True)
class SourceDraft:
    """An external source that was inspected, as it is sent."""

    summary: Text = said("what it says")
    source_ref: Text = said("where it is: URL, path, message")
    source_role: SourceRole = said("how it stands to what it reports")
    access_scope: AccessScope = said("how much of it was inspected")
    authority_domain: AuthorityDomain = said("who vouches for it")
    locator: Text | None = said("page, line, anchor", None)
    limitation: Text | None = said("needed below full or data access", None)


@frozen(kw_only=True)
class EvidenceDraft:
    """Evidence of any domain, as it is sent.  Role and access scope are needed for external sources alone."""

    summary: Text = said("what it says")
    source_ref: Text = said("where it is: URL, path, message")
    source_role: SourceRole | None = said("for external sources", None)
    access_scope: AccessScope | None = said("how much was inspected; for external sources", None)
    authority_domain: AuthorityDomain = said("who vouches for it")
    locator: Text | None = said("page, line, anchor", None)
    limitation: Text | None = said("needed below full or data access", None)


@frozen(kw_only=True)
class InitialEvidenceDraft(EvidenceDraft):
    """Evidence at open, with a temporary id that claims of the same call may cite."""

    id: EventId = said("I1, I2, ...")


@frozen(kw_only=True)
class OutcomeDraft:
    """A predicted outcome as it is sent."""

    outcome: Text = said("what may be seen")
    meaning: Text | None = said("what it would mean", None)


@frozen(kw_only=True)
class TransferDraft:
    """The transfer review as it is sent."""

    decision: TransferDecision = said("none unless a lesson is worth keeping")
    lesson: Text | None = said("one lesson", None)
    scope: Text | None = said("where it applies", None)
    evidence_case_ids: tuple[CaseId, ...] | None = said(
        "candidate: this case; repeated_pattern: two or more closed", None
    )
    evidence_event_ids: tuple[EventId, ...] | None = said("explicit_user_correction: user events", None)
    calibration: Calibration | None = said("derived; ignored", None)


@frozen(kw_only=True)
class Open:
    """Begin a bounded inquiry."""

    case_id: CaseId = said("new id: a-z, 0-9, hyphens")
    top_unknown: Text = said("the question")
    decision: Text = said("what hangs on it", NO_DECISION)
    stopping_condition: Text = said("when to stop", DEFAULT_STOPPING_CONDITION)
    state_grounding: tuple[ClaimDraft, ...] = said("list of {id, text, ...}: claims on how things stand", ())
    mechanisms: tuple[ClaimDraft, ...] = said("claims on why", ())
    alternatives: tuple[ClaimDraft, ...] = said("rival claims", ())
    current_plan: tuple[StepDraft, ...] = said("steps", ())
    initial_evidence: tuple[InitialEvidenceDraft, ...] = said("evidence already at hand (open)", ())
    prior_case_ids: tuple[CaseId, ...] | None = said("closed cases to import lessons from (open)", None)
    applied_prior_lessons: tuple[Text, ...] = said("lessons you did apply", ())
    lessons: tuple[Lesson, ...] = server(())


@frozen(kw_only=True)
class List:
    """The portfolio, newest update first."""

    status_filter: CaseStatus | None = said("list: only cases of this status", None)
    session_id_filter: str | None = said("list: only cases this session owns or owned", None)
    limit: int = said("list: 1-200", LIST_LIMIT_DEFAULT)


@frozen(kw_only=True)
class Show:
    """One case, read-only."""

    case_id: CaseId | None = None
    as_of: int | None = said("show: the case after that many events", None)


@frozen(kw_only=True)
class OnCase:
    """What every operation on the session's active case may also carry."""

    case_id: CaseId | None = said("the case; by default the session's active one", None)
    expected_case_revision: int | None = said("refuse if runtime_revision is another", None)


@frozen(kw_only=True)
class RecordEvidence(OnCase):
    """Describe sources that were inspected without a probe."""

    evidence: tuple[SourceDraft, ...] = said("list of external sources; all or none are recorded")


@frozen(kw_only=True)
class Updates:
    """Model fields to replace, each whole."""

    top_unknown: Text | None = None
    decision: Text | None = None
    stopping_condition: Text | None = None
    state_grounding: tuple[ClaimDraft, ...] | None = None
    mechanisms: tuple[ClaimDraft, ...] | None = None
    alternatives: tuple[ClaimDraft, ...] | None = None
    current_plan: tuple[StepDraft, ...] | None = None
    applied_prior_lessons: tuple[Text, ...] | None = None


@frozen(kw_only=True)
class Revise(OnCase):
    """Change the model, consequentially and with a reason."""

    reason: Text = said("why, in words")
    updates: Updates = said("model fields to replace; they may also stand beside it")
    addresses_event_ids: tuple[EventId, ...] = said("revise: events it answers; while stale, the mismatch", ())


@frozen(kw_only=True)
class Pause(OnCase):
    """Lay the active case aside."""

    reason: Text = said("why, in words")


@frozen(kw_only=True)
class Resume(OnCase):
    """Take a paused case up in this session."""

    case_id: CaseId


@frozen(kw_only=True)
class Close(OnCase):
    """End the active case."""

    outcome: Outcome = said("how it ends; resolved needs a grounded, supported claim")
    summary: Text = said("what was found")
    transfer: TransferDraft = said('the lesson to keep, or {"decision": "none"}')
    sources: Mapping[str, Lesson] = server(None)


@frozen(kw_only=True)
class Commit(OnCase):
    """Commit a prediction before looking."""

    purpose: Purpose = said("why this probe")
    unknown_or_goal: Text = said("what it is to settle")
    tool_name: ToolName = said("the ordinary tool to call next, by itself")
    tool_args: Mapping[str, Any] = said("its exact arguments")
    predicted_outcomes: tuple[OutcomeDraft, ...] = said("list of texts, or of {outcome, meaning}: what may be seen")
    would_change_belief: Text = said("the observation that would count against the present judgment")
    why_this_action: Text = said("why this look")
    authority_domain: AuthorityDomain = said("what kind of authority the result has")
    claim_id: ItemId | None = said("bind the probe to this claim", None)
    commitment: Commitment | None = server(None)


@frozen(kw_only=True)
class Compare(OnCase):
    """Hold the observation against the prediction."""

    disposition: Disposition = said("observation against prediction")
    rationale: Text = said("why")
    belief_change: BeliefChange | None = said("for a claim-bound probe: what it did to the claim", None)
    material: bool = said("true where a mismatch matters: its items become stale until revised", False)
    affected_claim_ids: tuple[ItemId, ...] | None = said("items hit; a bound probe hits its claim", None)
    argument_drift_reason: Text | None = said("needed where the executed arguments were others or unknown", None)
    evidence: EvidenceDraft | None = said("the source looked at; needed for external_source match or mismatch", None)


@frozen(kw_only=True)
class Recover(OnCase):
    """Record that an execution nobody holds any more was interrupted."""

    reason: Text = said("why")


@frozen(kw_only=True)
class Discard(OnCase):
    """Give the pending probe up."""

    reason: Text = said("why")


# --- what a host reports by itself ---


@frozen(kw_only=True)
class Start:
    """The host is about to run the committed tool.  ``actual`` is the keyed digest of the actual arguments."""

    probe_id: str
    tool_name: str
    actual: Commitment
    correlation: Correlation


@frozen(kw_only=True)
class Observe:
    """The host saw the action end.

    ``actual``: the arguments that it was seen to run with, where they are others than those it was started with.
    ``args_known``: false where somebody in between may have changed them unseen, which puts a match in doubt.
    """

    probe_id: str
    result: StoredResult
    status: ResultStatus
    display_status: ResultStatus
    provenance: Provenance
    boundary: Boundary
    actual: Commitment | None = None
    args_known: bool = True


@frozen(kw_only=True)
class Expose:
    """Another representation of the same execution's result was handed on."""

    probe_id: str
    observation_event_id: str
    result: StoredResult
    display_status: ResultStatus
    boundary: Boundary


@frozen(kw_only=True)
class RecoverExecution(Recover):
    """``Recover`` with the text that the store keeps for the interrupted execution."""

    result: StoredResult


@frozen(kw_only=True)
class LifecyclePause:
    """The session of an active case ended or was left."""

    reason: str
    lifecycle: Lifecycle
    auto_resumable: bool
    child_status: str | None = None
    platform: str | None = None


@frozen(kw_only=True)
class AutoResume:
    """The session of a lifecycle-paused case showed a sign of life."""


@frozen(kw_only=True)
class Migrate:
    """The case follows its session to a compression child.  ``pristine``: the child never disposed of a case itself."""

    new_session_id: str
    reason: str
    pristine: bool


Request = Open | List | Show | RecordEvidence | Revise | Pause | Resume | Close | Commit | Compare | Recover | Discard
Command = (
    Open
    | RecordEvidence
    | Revise
    | Pause
    | Resume
    | Close
    | Commit
    | Compare
    | Recover
    | Discard
    | Start
    | Observe
    | Expose
    | RecoverExecution
    | LifecyclePause
    | AutoResume
    | Migrate
)
