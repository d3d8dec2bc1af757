"""What the outside brings to a decision, since the core knows neither time nor sessions."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Moment:
    """The time, the session that acts, and its next number.

    ``at``: ISO 8601 with an offset.  ``seq``: the session's next high-water number, for disposition events.
    """

    at: str
    session_id: str
    seq: int
