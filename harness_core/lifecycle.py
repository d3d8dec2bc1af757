"""What a host's session events do to a session's case: one table (seed, "Core invariants", the lifecycle bullet)."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from harness_core.vocabulary import Lifecycle


@frozen
class LifecycleRule:
    """Whether the event pauses an active case, and whether it leaves the marker that proof of life may use once."""

    pauses: bool
    auto_resumable: bool = False


# The reset that comes with a new session owns its pause; a shutdown resumes in place.  Expiry is permanent and can fire
# in the middle of a turn, so it leaves no marker.  An empty or unknown reason pauses with one.
FINALIZE: Mapping[str, LifecycleRule] = {
    "new_session": LifecycleRule(pauses=False),
    "shutdown": LifecycleRule(pauses=False),
    "session_expired": LifecycleRule(pauses=True),
}
OTHERWISE = LifecycleRule(pauses=True, auto_resumable=True)
STOPPED_EARLY = "the delegated worker stopped before it settled its case"


def rule_for(kind: Lifecycle, reason: str) -> LifecycleRule:
    """What a session event of that kind and reason does."""
    if kind is Lifecycle.SUBAGENT_STOP:
        return LifecycleRule(pauses=True)
    if kind is Lifecycle.SESSION_RESET:
        return OTHERWISE
    return FINALIZE.get(reason.strip(), OTHERWISE)


def reason_text(kind: Lifecycle, reason: str) -> str:
    """The reason that the pause records."""
    if kind is Lifecycle.SUBAGENT_STOP:
        return STOPPED_EARLY
    name = {Lifecycle.SESSION_RESET: "session reset", Lifecycle.SESSION_FINALIZE: "session finalize"}[kind]
    return f"{name} ({reason.strip()})" if reason.strip() else name
