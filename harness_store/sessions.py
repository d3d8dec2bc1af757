"""What a host's sessions do to their cases: being told of one, coming back to life, ending, going on as a child."""

from __future__ import annotations

from collections.abc import Sequence

from harness_core import bindings as rules
from harness_core.commands import AutoResume, LifecyclePause, Migrate
from harness_core.lifecycle import reason_text, rule_for
from harness_core.redaction import redact_text
from harness_core.retelling import Told, compose_since
from harness_core.vocabulary import Lifecycle

from .legacy_boundaries import Boundaries
from .logs import log
from .portfolio import Portfolio
from .registry import Registry
from .transitions import Transitions

LIFECYCLE_WAIT = 0.25
"""Seconds that the callbacks of a host's session events wait for locks, in all (seed, "Installed surfaces")."""


class Sessions:
    """The sessions of one store.  Safe to share among threads."""

    def __init__(self, cases: Portfolio, registry: Registry, transitions: Transitions, boundaries: Boundaries) -> None:
        self._cases = cases
        self._registry = registry
        self._transitions = transitions
        self._boundaries = boundaries

    def context(self, session_id: str, ceiling: int, told: Told | None) -> tuple[str | None, Told | None]:
        self._boundaries.try_arrive(session_id, LIFECYCLE_WAIT)
        active = self._registry.binding(session_id, 0.0).active if session_id else None
        if active is None:
            return None, None
        view = self._cases.glance(active)
        composed, known = compose_since(view.document, view.replay, ceiling, told)
        if composed.text is None:
            log.warning("injection_suppressed", case=active, ceiling=ceiling)
        return composed.text, known

    def is_active(self, session_id: str) -> bool:
        self._boundaries.try_arrive(session_id, LIFECYCLE_WAIT)
        return self._registry.binding(session_id, 0.0).active is not None

    def is_bound(self, session_id: str) -> bool:
        self._boundaries.try_arrive(session_id, LIFECYCLE_WAIT)
        binding = self._registry.binding(session_id, 0.0)
        return binding.active is not None or binding.marked is not None

    def proof_of_life(self, session_id: str, wait: float) -> bool:
        marked = self._registry.binding(session_id, wait).marked if session_id else None
        if marked is None:
            return False
        return self._transitions.bind_if(marked, AutoResume(), session_id, claims=True, wait=wait) is not None

    def adopt_lineage(self, session_id: str, lineage: Sequence[str], wait: float) -> str | None:
        prepared = self._boundaries.try_arrive(session_id, wait)
        if prepared is not None:
            return prepared
        if rules.heir_of(self._registry.bindings(wait), lineage, session_id) is None:
            return None
        with self._registry.hold(wait) as held:
            case_id = rules.heir_of(held.bindings, lineage, session_id)
            if case_id is None:
                return None
            pristine = rules.of(held.bindings, session_id).seq == 0
            move = Migrate(new_session_id=session_id, reason="compression lineage", pristine=pristine)
            done = self._transitions.bind_held(held, case_id, move, session_id, claims=False, wait=wait)
        return None if done is None else case_id

    def pause(
        self, session_id: str, kind: Lifecycle, reason: str, child_status: str, platform: str, wait: float
    ) -> bool:
        rule = rule_for(kind, reason)
        if not session_id or not rule.pauses:
            return False
        active = self._registry.binding(session_id, wait).active
        if active is None:
            return False
        command = LifecyclePause(
            reason=redact_text(reason_text(kind, reason)),
            lifecycle=kind,
            auto_resumable=rule.auto_resumable,
            child_status=redact_text(child_status) or None,
            platform=redact_text(platform) or None,
        )
        # Two locks share the budget.
        return self._transitions.bind_if(active, command, session_id, claims=False, wait=wait / 2) is not None
