"""What each session was told of its case, while the transcript still says so.

A host keeps injected texts in the transcript and replays them, until it compacts the conversation.  The memory is this
process's alone: where it is lost, or the host hands over no transcript that holds the texts, the case is told whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness_core.retelling import Told

REMEMBERED = 1_024


class Seen:
    """The last told state of each session's case."""

    def __init__(self) -> None:
        self._told: dict[str, Told] = {}

    def by(self, session_id: str, history: Any) -> Told | None:
        """What the session knows by its transcript (a list of messages as hosts keep them), else ``None``."""
        told = self._told.get(session_id)
        if told is None or not isinstance(history, Sequence):
            return None
        standing = [*_texts(history)]
        return told if all(any(text in each for each in standing) for text in told.texts) else None

    def tell(self, session_id: str, told: Told | None) -> None:
        """The session is being told this."""
        if told is None:
            self._told.pop(session_id, None)
            return
        if len(self._told) >= REMEMBERED:
            self._told.clear()
        self._told[session_id] = told


def _texts(history: Sequence[Any]) -> Iterator[str]:
    """Every text that a model is sent of a user's messages: the injected one stands beside the plain one."""
    for message in history:
        if not isinstance(message, Mapping) or message.get("role") != "user":
            continue
        for text in (message.get("api_content"), message.get("content")):
            if isinstance(text, str):
                yield text
