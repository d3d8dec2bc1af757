"""The closed vocabularies.  Every word that a model may send, or that the Timeline may hold, stands here once.

JSON schemas, argument checks, error texts and documentation are made from these enums.
"""

from __future__ import annotations

from enum import StrEnum


class ModelOperation(StrEnum):
    """What ``epistemic_model`` can be asked to do."""

    OPEN = "open"
    LIST = "list"
    SHOW = "show"
    RECORD_EVIDENCE = "record_evidence"
    REVISE = "revise"
    PAUSE = "pause"
    RESUME = "resume"
    CLOSE = "close"


class ProbeOperation(StrEnum):
    """What ``epistemic_probe`` can be asked to do."""

    COMMIT = "commit"
    COMPARE = "compare"
    RECOVER = "recover"
    DISCARD = "discard"


class ResponseDetail(StrEnum):
    """How much of a retrieved lesson an answer carries."""

    FULL = "full"
    COMPACT = "compact"


class CaseStatus(StrEnum):
    """Where a case stands in its life."""

    ACTIVE = "active"
    PAUSED = "paused"
    CLOSED = "closed"


class AuthorityDomain(StrEnum):
    """Who or what can vouch for a statement."""

    EXTERNAL_SOURCE = "external_source"
    SYSTEM_STATE = "system_state"
    EMPIRICAL_TEST = "empirical_test"
    USER_PREFERENCE = "user_preference"
    USER_INTENT = "user_intent"
    PRIVATE_CONTEXT = "private_context"
    USER_DECISION = "user_decision"
    USER_TESTIMONY = "user_testimony"


class SourceRole(StrEnum):
    """How a source stands to what it reports."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    SYNTHESIS = "synthesis"
    UNKNOWN = "unknown"


class AccessScope(StrEnum):
    """How much of a source was really inspected."""

    FULL = "full"
    PARTIAL = "partial"
    DATA = "data"
    ABSTRACT = "abstract"
    SNIPPET = "snippet"


class EpistemicStatus(StrEnum):
    """How far a claim may be relied on."""

    GROUNDED = "grounded"
    HYPOTHESIS = "hypothesis"
    UNRESOLVED = "unresolved"


class Section(StrEnum):
    """The three arrays of a model that hold claims, in the order in which they are reported."""

    STATE_GROUNDING = "state_grounding"
    MECHANISMS = "mechanisms"
    ALTERNATIVES = "alternatives"


class Purpose(StrEnum):
    """Why a probe is made."""

    LEARN = "learn"
    ADVANCE = "advance"


class ProbeStatus(StrEnum):
    """How far a pending probe has come."""

    COMMITTED = "committed"
    EXECUTING = "executing"
    OBSERVED = "observed"


class ResultStatus(StrEnum):
    """How an execution ended, as far as it is known."""

    OK = "ok"
    TOOL_ERROR = "tool_error"
    ERROR = "error"
    BLOCKED = "blocked"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class Provenance(StrEnum):
    """Whether the recorded text is known to be what the handler returned."""

    NATIVE_HANDLER_RESULT = "native_handler_result"
    UNKNOWN = "unknown"


class Boundary(StrEnum):
    """The seam of the host at which an observation was taken."""

    POST_TOOL_CALL = "post_tool_call"
    TRANSFORM_TOOL_RESULT_INPUT = "transform_tool_result_input"
    MIDDLEWARE_RETURN = "tool_execution_middleware_return"
    LIBRARY_EXECUTION = "library_execution"
    RECOVERY = "recovery"


class ArgumentMatch(StrEnum):
    """Whether an execution's arguments were those of the commitment."""

    MATCHED = "matched"
    MISMATCHED = "mismatched"
    UNKNOWN = "unknown"


class Disposition(StrEnum):
    """How an observation stands to the prediction."""

    MATCH = "match"
    MISMATCH = "mismatch"
    UNRESOLVED = "unresolved"


class BeliefChange(StrEnum):
    """What an observation did to the bound claim."""

    STRENGTHENED = "strengthened"
    WEAKENED = "weakened"
    NARROWED = "narrowed"
    UNCHANGED = "unchanged"
    UNRESOLVED = "unresolved"


class Outcome(StrEnum):
    """How a case ends."""

    RESOLVED = "resolved"
    UNRESOLVED = "unresolved"
    STOPPED = "stopped"
    REPLACED = "replaced"


class TransferDecision(StrEnum):
    """Whether a lesson leaves a case, and on what ground."""

    NONE = "none"
    CANDIDATE = "candidate"
    EXPLICIT_USER_CORRECTION = "explicit_user_correction"
    REPEATED_PATTERN = "repeated_pattern"


class Calibration(StrEnum):
    """How well a claim, or a case, is supported by what was really inspected."""

    HYPOTHESIS = "hypothesis"
    PROVISIONAL = "provisional"
    SUPPORTED = "supported"
    MIXED = "mixed"


class Lifecycle(StrEnum):
    """What made the host, and not the model, pause a case."""

    SUBAGENT_STOP = "subagent_stop"
    SESSION_RESET = "session_reset"
    SESSION_FINALIZE = "session_finalize"


class Storage(StrEnum):
    """Where the text of an observation is kept."""

    INLINE = "inline"
    ARTIFACT = "artifact"


class EventType(StrEnum):
    """What can happen to a case."""

    INITIAL_OBSERVATION = "initial_observation"
    CASE_OPENED = "case_opened"
    MODEL_REVISED = "model_revised"
    EVIDENCE_RECORDED = "evidence_recorded"
    PROBE_COMMITTED = "probe_committed"
    PROBE_STARTED = "probe_started"
    PROBE_OBSERVED = "probe_observed"
    PROBE_EXPOSED = "probe_exposed"
    PROBE_COMPARED = "probe_compared"
    PROBE_DISCARDED = "probe_discarded"
    CASE_PAUSED = "case_paused"
    CASE_RESUMED = "case_resumed"
    SESSION_MIGRATED = "session_migrated"
    CASE_CLOSED = "case_closed"
    CASE_ADOPTED = "case_adopted"
