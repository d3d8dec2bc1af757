"""Which turns are a session's own.

A host forks agents that share a session's id (reviews of its memory, side questions).  Their tool calls look like the
session's own but for the turn's id.  0.21 announces a fork's turn as that of a session that is its own parent; 0.22
announces none of theirs, and every one of the session's.
"""

from __future__ import annotations

from .hosts import ANNOUNCE_EVERY_TURN

REMEMBERED = 4_096


class Turns:
    """The turn that each session is in, and the turns of forks, as far as the host announced them to this process."""

    def __init__(self, version: str) -> None:
        self._announced = version in ANNOUNCE_EVERY_TURN
        self._current: dict[str, str] = {}
        self._forks: set[tuple[str, str]] = set()

    def begin(self, session_id: str, turn_id: str) -> None:
        """The session's own agent begins a turn.  A host that gives no id is not followed."""
        if turn_id:
            if len(self._current) >= REMEMBERED:
                self._current.clear()
            self._current[session_id] = turn_id

    def fork(self, session_id: str, turn_id: str) -> None:
        """A fork of the session's agent begins a turn."""
        if len(self._forks) >= REMEMBERED:
            self._forks.clear()
        self._forks.add((session_id, turn_id))

    def is_foreign(self, session_id: str, turn_id: str) -> bool:
        """Whether a call under the session's id comes from a fork.

        Where that is not known (another host, the lower dispatch, a turn that goes on after a compression) it is taken
        for the session's own.
        """
        if not turn_id:
            return False
        if (session_id, turn_id) in self._forks:
            return True
        current = self._current.get(session_id) if self._announced else None
        return current is not None and turn_id != current
