"""Which turns are a session's own.

A host forks agents that share a session's id (reviews of its memory, side questions).  Their tool calls look like the
session's own but for the turn's id: the host announces the session's turns at ``pre_llm_call``, and a fork's never.
"""

from __future__ import annotations

REMEMBERED = 4_096


class Turns:
    """The turn that each session is in, as far as the host announced it to this process."""

    def __init__(self) -> None:
        self._current: dict[str, str] = {}

    def begin(self, session_id: str, turn_id: str) -> None:
        """The session's own agent begins a turn.  A host that gives no id is not followed."""
        if turn_id:
            if len(self._current) >= REMEMBERED:
                self._current.clear()
            self._current[session_id] = turn_id

    def is_foreign(self, session_id: str, turn_id: str) -> bool:
        """Whether a call under the session's id comes from another agent than the session's own.

        Where no turn was announced (another host, the lower dispatch, the rest of a turn after a compression) it is
        taken for the session's own.
        """
        current = self._current.get(session_id)
        return current is not None and bool(turn_id) and turn_id != current
