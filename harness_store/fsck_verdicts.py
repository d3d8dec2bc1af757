"""What a check of the checker comes to (see ``fsck``, which this is a part of)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from attrs import frozen


class Verdict(StrEnum):
    """What a check came to."""

    OK = "ok"
    VIOLATED = "violated"
    NOT_CHECKABLE = "not checkable"


@frozen
class Check:
    """One check: its name, what it came to, and why, one sentence each."""

    name: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()


def verdict_of(name: str, faults: Sequence[str]) -> Check:
    """A check that found these faults."""
    return Check(name, Verdict.VIOLATED if faults else Verdict.OK, tuple(faults))
