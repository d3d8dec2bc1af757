"""The one error family of the harness: what went wrong, and what to do about it.

A base and three leaves.  Whatever else escapes from the harness is a bug.

* ``Refused``: a rule was broken by the caller.  Nothing was written.
* ``Damaged``: a record on disk is broken.  Nothing was healed or written on top of it.
* ``Unavailable``: the machine did not play along (lock, disk, permission); ``written`` says whether the change stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from attrs import frozen

Written = Literal["no", "yes", "unknown"]


@frozen
class Fault:
    """One thing wrong with an input: where it stands, what is wrong with it, what to send instead."""

    path: str
    problem: str
    send: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}" + (f" (send {self.send})" if self.send else "")


class HarnessError(Exception):
    """Base of every error the harness raises on purpose.

    ``code`` is a stable lower-case word for programs; ``str(error)`` is the text for a person or a model.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code

    def answer(self) -> dict[str, Any]:
        """The error as the JSON object that a tool answers with: ``error``, ``code``, ``fields``."""
        return {"error": str(self), "code": self.code, "fields": []}


class Refused(HarnessError):
    """The caller broke a rule; nothing was written.  ``fields`` holds every fault found, each with its path."""

    def __init__(self, message: str, *, code: str, fields: Iterable[Fault] = ()) -> None:
        super().__init__(message, code=code)
        self.fields = tuple(fields)

    def answer(self) -> dict[str, Any]:
        fields = [{"path": f.path, "problem": f.problem, "send": f.send} for f in self.fields]
        return {**super().answer(), "fields": fields}


class Damaged(HarnessError):
    """A record is broken: ``where`` it lies, and what still ``works``.  Nothing was changed."""

    def __init__(self, message: str, *, code: str = "damaged", where: str = "", works: str = "") -> None:
        super().__init__(message, code=code)
        self.where = where
        self.works = works

    def answer(self) -> dict[str, Any]:
        return {**super().answer(), "where": self.where, "works": self.works}


class Unavailable(HarnessError):
    """The machine refused a lock, a write or a sync.  ``written``: whether the change stands on disk."""

    def __init__(self, message: str, *, code: str = "unavailable", written: Written = "no") -> None:
        super().__init__(message, code=code)
        self.written: Written = written

    def answer(self) -> dict[str, Any]:
        return {**super().answer(), "written": self.written}


def refused(code: str, *faults: Fault, hint: str = "") -> Refused:
    """A ``Refused`` whose text is made of its faults: one sentence each, then the hint."""
    text = "; ".join(str(f) for f in faults)
    return Refused(f"{text}. {hint}".strip() if hint else text, code=code, fields=faults)
