"""The four hooks around a session's life: its context, and the pauses that the host brings about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .lineage import Lineage
from .log import harmless
from .profiles import Profiles
from .settings import ceiling


class LifecycleHooks:
    """The hooks of one registration.  ``configured`` gives the present ``injection_max_chars`` setting."""

    def __init__(self, profiles: Profiles, lineage: Lineage, *, configured: Callable[[], Any]) -> None:
        self._profiles = profiles
        self._lineage = lineage
        self._configured = configured

    @harmless
    def on_pre_llm_call(self, *, session_id: str | None = None, **_: Any) -> dict[str, str] | None:
        """Give the turn its active case: a compressed ancestor's moves here, a host-paused one wakes up."""
        if not session_id:
            return None
        harness = self._profiles.harness()
        self._lineage.at_turn(harness, session_id)
        harness.proof_of_life(session_id)
        text = harness.context(session_id, ceiling(self._configured()))
        return {"context": text} if text else None

    @harmless
    def on_subagent_stop(self, *, child_session_id: str | None = None, child_status: Any = None, **_: Any) -> None:
        """Pause what a delegated worker leaves unfinished."""
        if child_session_id:
            self._profiles.harness().pause_for_lifecycle(
                child_session_id, kind="subagent_stop", child_status=str(child_status or "")
            )

    @harmless
    def on_session_reset(self, *, old_session_id: str | None = None, reason: Any = None, **_: Any) -> None:
        """Pause the case of the session that ended, where the host names it."""
        if old_session_id:
            self._profiles.harness().pause_for_lifecycle(old_session_id, kind="session_reset", reason=str(reason or ""))

    @harmless
    def on_session_finalize(self, *, session_id: str | None = None, reason: Any = None, **_: Any) -> None:
        """Pause the case of a session that is going away; which reasons do so is the core's to say."""
        if session_id:
            self._profiles.harness().pause_for_lifecycle(session_id, kind="session_finalize", reason=str(reason or ""))
