"""The four hooks around a session's life: its context, and the pauses that the host brings about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness_core.errors import Unavailable
from harness_core.vocabulary import Lifecycle

from .lineage import Lineage
from .log import harmless, log
from .profiles import Profiles
from .seen import Seen
from .settings import ceiling
from .turns import Turns

if TYPE_CHECKING:
    from harness_store import Harness


class LifecycleHooks:
    """The hooks of one registration.  ``configured`` gives the present ``injection_max_chars`` setting."""

    def __init__(self, profiles: Profiles, lineage: Lineage, turns: Turns, *, configured: Callable[[], Any]) -> None:
        self._profiles = profiles
        self._lineage = lineage
        self._turns = turns
        self._seen = Seen()
        self._configured = configured

    @harmless
    def on_pre_llm_call(
        self,
        *,
        session_id: str | None = None,
        turn_id: Any = None,
        parent_session_id: Any = None,
        conversation_history: Any = None,
        **_: Any,
    ) -> dict[str, str] | None:
        """Give the turn its active case: a compressed ancestor's moves here, a host-paused one wakes up.

        A session that is its own parent is a fork of its agent: it is told nothing.
        """
        if not session_id:
            return None
        if parent_session_id == session_id:
            self._turns.fork(session_id, str(turn_id or ""))
            return None
        self._turns.begin(session_id, str(turn_id or ""))
        harness = self._profiles.existing()
        if harness is None:
            return None
        self._lineage.at_turn(harness, session_id)
        self._wake(harness, session_id)
        told = self._seen.by(session_id, conversation_history)
        text, known = harness.context_since(session_id, ceiling(self._configured()), told)
        self._seen.tell(session_id, known)
        return {"context": text} if text else None

    @harmless
    def _wake(self, harness: Harness, session_id: str) -> None:
        """Resume what the host paused; where that fails the turn still gets the context that there is."""
        harness.proof_of_life(session_id)

    @harmless
    def on_subagent_stop(self, *, child_session_id: str | None = None, child_status: Any = None, **_: Any) -> None:
        """Pause what a delegated worker leaves unfinished."""
        self._pause(Lifecycle.SUBAGENT_STOP, child_session_id, child_status=child_status)

    @harmless
    def on_session_reset(
        self, *, old_session_id: str | None = None, reason: Any = None, platform: Any = None, **_: Any
    ) -> None:
        """Pause the case of the session that ended, where the host names it."""
        self._pause(Lifecycle.SESSION_RESET, old_session_id, reason=reason, platform=platform)

    @harmless
    def on_session_finalize(
        self, *, session_id: str | None = None, reason: Any = None, platform: Any = None, **_: Any
    ) -> None:
        """Pause the case of a session that is going away; which reasons do so is the core's to say."""
        self._pause(Lifecycle.SESSION_FINALIZE, session_id, reason=reason, platform=platform)

    def _pause(
        self,
        kind: Lifecycle,
        session_id: str | None,
        *,
        reason: Any = None,
        child_status: Any = None,
        platform: Any = None,
    ) -> None:
        harness = self._profiles.existing() if session_id else None
        if harness is None or not session_id:
            return
        try:
            harness.pause_for_lifecycle(
                session_id,
                kind=kind,
                reason=str(reason or ""),
                child_status=str(child_status or ""),
                platform=str(platform or ""),
            )
        except Unavailable as error:  # nothing retries it later, so each miss is said
            log.warning("pause missed and not persisted", hook=kind.value, session=session_id, error=str(error))
