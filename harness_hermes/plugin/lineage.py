"""Following a session through the host's context compression.

A compression may go on under a new session id, and no hook tells of it.  The host keeps the lineage in its public
session database; the first call under a new id looks there and lets the case move along.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .log import harmless

if TYPE_CHECKING:
    from harness_store import Harness

REMEMBERED = 4_096


def lineage_of(session_id: str) -> list[str]:
    """The session ids from the root of a compression lineage to its tip; empty where the host knows none."""
    if not {"hermes_cli", "hermes_state"} & sys.modules.keys():  # no Hermes runs here
        return []
    from hermes_state import SessionDB

    database = SessionDB(read_only=True)
    try:
        return [str(each) for each in database.get_compression_lineage(session_id)]
    finally:
        database.close()


class Lineage:
    """Adopts a compressed ancestor's case, once for each session id and again at every turn's start."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def at_turn(self, harness: Harness, session_id: str) -> None:
        """Look up the lineage of ``session_id`` and adopt what it brings; one database read a turn."""
        if len(self._seen) >= REMEMBERED:
            self._seen.clear()
        self._seen.add(session_id)
        self._adopt(harness, session_id)

    def at_call(self, harness: Harness, session_id: str) -> None:
        """The same for a tool call: only the first one under a session id looks, the rest cost a set lookup."""
        if session_id and session_id not in self._seen:
            self.at_turn(harness, session_id)

    @harmless
    def _adopt(self, harness: Harness, session_id: str) -> None:
        if harness.is_bound(session_id):
            return
        lineage = lineage_of(session_id)
        if len(lineage) > 1:
            harness.adopt_lineage(session_id, lineage)
