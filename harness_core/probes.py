"""A probe: one prediction, committed before the look, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from harness_core.model import Claim
from harness_core.vocabulary import (
    ArgumentMatch,
    AuthorityDomain,
    Boundary,
    ProbeStatus,
    Provenance,
    Purpose,
    ResultStatus,
    Storage,
)

COMMITMENT_SCHEME = "hmac-sha256-v1"
# What it is called that executed arguments were, or were not, or cannot be told to be the committed ones.
MATCH_STATUS: Mapping[bool | None, ArgumentMatch] = {
    True: ArgumentMatch.MATCHED,
    False: ArgumentMatch.MISMATCHED,
    None: ArgumentMatch.UNKNOWN,
}
MATCHES: Mapping[ArgumentMatch, bool | None] = {status: matches for matches, status in MATCH_STATUS.items()}


@frozen(kw_only=True)
class PredictedOutcome:
    """One thing that may be seen, and what it would mean."""

    outcome: str
    meaning: str | None = None


@frozen(kw_only=True)
class Commitment:
    """A keyed digest of a tool's exact arguments (HMAC-SHA-256, hex), made by the store before redaction.

    ``key_id`` tells keys apart without telling anything of them: digests under different keys cannot be compared.
    Release 1.2.0 named no key: equal digests are of one key all the same, different ones tell nothing.
    """

    sha256: str
    key_id: str = ""
    scheme: str = COMMITMENT_SCHEME

    def matches(self, other: Commitment) -> bool | None:
        """Whether both are of the same arguments; None where that cannot be told."""
        if self.scheme != other.scheme:
            return None
        if self.key_id == other.key_id:
            return self.sha256 == other.sha256
        unnamed = "" in (self.key_id, other.key_id)
        return True if unnamed and self.sha256 == other.sha256 else None


@frozen(kw_only=True)
class Correlation:
    """The ids by which a host tells one tool call from another; empty where it gives none."""

    task_id: str = ""
    tool_call_id: str = ""
    turn_id: str = ""
    api_request_id: str = ""


@frozen(kw_only=True)
class StoredResult:
    """A redacted result as it is kept: inline text, or an artifact named by its digest.

    ``result_sha256`` is over the UTF-8 bytes of the redacted text.
    """

    storage: Storage
    result_sha256: str
    result: str | None = None
    artifact_path: str | None = None
    artifact_sha256: str | None = None
    artifact_bytes: int | None = None


@frozen(kw_only=True)
class Probe:
    """A pending probe.  The fields from ``started_event_id`` on are filled in as it goes through its life."""

    probe_id: str
    status: ProbeStatus
    purpose: Purpose
    unknown_or_goal: str
    tool_name: str
    tool_args: Mapping[str, Any]
    tool_args_sha256: str
    tool_args_commitment_scheme: str
    tool_args_key_id: str = ""
    predicted_outcomes: tuple[PredictedOutcome, ...]
    would_change_belief: str
    why_this_action: str
    authority_domain: AuthorityDomain
    claim_id: str | None = None
    claim_snapshot: Claim | None = None
    model_version: int | None = None
    commit_event_id: str | None = None
    started_event_id: str | None = None
    executing_session_id: str | None = None
    execution: Correlation | None = None
    execution_args_match_commitment: bool | None = None
    observation_event_id: str | None = None
    raw_observation_event_id: str | None = None
    observation_boundary: Boundary | None = None
    raw_result_provenance: Provenance | None = None
    result_status: ResultStatus | None = None
    execution_result_status: ResultStatus | None = None
    display_result_status: ResultStatus | None = None
    result_sha256: str | None = None

    @property
    def commitment(self) -> Commitment:
        """The digest its arguments were committed under."""
        return Commitment(
            sha256=self.tool_args_sha256, key_id=self.tool_args_key_id, scheme=self.tool_args_commitment_scheme
        )
