"""The machine block of ``case.md``: what a projection says about the Timeline it was made from.

``case.md`` is for people, except for one JSON object between two marker lines.  Its ``integrity`` names the
acknowledged head: how many records there are, the id of the last, and its hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from harness_core.wire import strict_json

from .records import ZERO_HASH, event_id

BLOCK_BEGIN = "<!-- EPISTEMIC-HARNESS-DATA"
BLOCK_END = "END-EPISTEMIC-HARNESS-DATA -->"


@frozen
class Head:
    """The last acknowledged record: its number (the ``count`` of records up to it) and its hash."""

    count: int = 0
    hash: str = ZERO_HASH

    @property
    def last_event_id(self) -> str | None:
        """The id of that record; ``None`` before the first."""
        return event_id(self.count) if self.count else None

    def integrity(self) -> dict[str, Any]:
        """The ``integrity`` member of a machine block."""
        return {"event_count": self.count, "last_event_id": self.last_event_id, "last_hash": self.hash}


NO_HEAD = Head()
_spelled = json.JSONEncoder(sort_keys=True, allow_nan=False).encode


@frozen
class Block:
    """A machine block as found: its whole content, and the head it names (``None``: 1.2.0's, which named none)."""

    content: Mapping[str, Any]
    head: Head | None


def render_block(content: Mapping[str, Any], head: Head) -> str:
    """The block with its markers and one line between them, ended by a line end.  ``integrity`` is added for ``head``.

    ``content`` is a JSON object.  Raises ``ValueError`` or ``TypeError`` for what is not.
    """
    # The block is an HTML comment, which a text of somebody's own must not end.
    text = _spelled({**content, "integrity": head.integrity()}).replace("-->", "--\\u003e")
    return f"{BLOCK_BEGIN}\n{text}\n{BLOCK_END}\n"


def read_block(text: str) -> Block | str:
    """The first machine block of a ``case.md``, or what is wrong with it as a clause for people."""
    # Markers are whole lines, and JSON has no line end inside a text: nothing within the object can look like one.
    lines = text.split("\n")
    try:
        begin = lines.index(BLOCK_BEGIN)
        end = lines.index(BLOCK_END, begin)
    except ValueError:
        return "its machine block is missing or has lost a marker"
    try:
        content = strict_json("\n".join(lines[begin + 1 : end]))
    except ValueError:
        return "its machine block is not strict JSON"
    integrity = content.get("integrity") if type(content) is dict else None
    if type(integrity) is not dict:
        return "its machine block names no head"
    if integrity.keys() == {"last_event_id", "state_sha256"}:
        return Block(content, None)
    count, hash_ = integrity.get("event_count"), integrity.get("last_hash")
    if type(count) is not int or count < 1 or type(hash_) is not str or Head(count, hash_).integrity() != integrity:
        return "the head in its machine block makes no sense"
    return Block(content, Head(count, hash_))
