"""What closed cases taught, for those who open new ones (seed, "Closure and transfer")."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from harness_core.case import Case
from harness_core.errors import Fault, HarnessError, Refused, Unavailable, refused
from harness_core.model import Lesson
from harness_core.retrieval import select, tokens
from harness_core.transfer import lesson_of

from .disk import Stat
from .portfolio import Portfolio
from .sessions_file import Signature

MOST_LESSONS = 3
"""Lessons that are retrieved by themselves."""


class Lessons:
    """The lessons of the closed cases among ``cases``.  Safe to share among threads."""

    def __init__(self, cases: Portfolio) -> None:
        self._cases = cases
        self._vouched: dict[str, tuple[Sequence[Stat | None], Case, Lesson]] = {}  # as they were when last verified

    def imported(self, case_ids: Sequence[str]) -> tuple[Lesson, ...]:
        """The lessons of explicitly named cases: all of them, or ``Refused`` with what is wrong with each."""
        faults, lessons = [], []
        for number, case_id in enumerate(dict.fromkeys(case_ids)):
            found = self.source(case_id)
            if isinstance(found, str):
                send = "ids of closed, replay-valid cases that recorded a lesson"
                faults.append(Fault(f"prior_case_ids[{number}]", f"{case_id} {found}", send))
            else:
                lessons.append(found)
        if faults:
            raise refused("invalid_arguments", *faults)
        return tuple(lessons)

    def source(self, case_id: str) -> Lesson | str:
        """The lesson of a closed case whose whole record holds, or why there is none to be had."""
        found = self._verified(case_id)
        return found if isinstance(found, str) else found[1]

    def _verified(self, case_id: str) -> tuple[Case, Lesson] | str:
        try:
            view = self._cases.view(case_id)
        except Refused:
            return "is no case of this store"
        except HarnessError as error:
            return f"is damaged (integrity): {error}"
        if view.case is None or not view.replay["usable"]:
            # The reason also tells an unfinished case, but its status is the plainer answer.
            if view.case is not None and view.case.closure is None and view.replay["timeline"]["valid"]:
                return "is not closed"
            return f"is not replay-valid: {view.replay['reason']}"
        if view.case.closure is None:
            return "is not closed"
        lesson = lesson_of(view.case)
        return (view.case, lesson) if lesson else "was closed without a lesson"

    def related(self, text: str, skip: str, now: Signature) -> tuple[Lesson, ...]:
        """At most three lessons of closed, replay-valid cases that are lexically near to what a new case says.

        ``now``: the bindings as they are, under the store's lock.
        """
        words = tokens(text)
        taught = [(k, theirs) for k, theirs in self._cases.catalogue.near(words, now).items() if k != skip]
        chosen: list[Lesson] = []
        for case_id, relevance in select(words, taught, limit=len(taught)):
            sound = self._sound(case_id)
            if sound is not None:
                chosen.append(evolve(sound, relevance=relevance))
            if len(chosen) == MOST_LESSONS:
                break
        return tuple(chosen)

    def _sound(self, case_id: str) -> Lesson | None:
        """The lesson, if its source holds; verified once for every change of the source's files."""
        try:
            stamp = self._cases.journal(case_id).stamp()
        except Unavailable:
            return None
        known = self._vouched.get(case_id)
        if known is not None and known[0] == stamp and not self._touched(known[1]):
            return known[2]
        found = self._verified(case_id)
        if isinstance(found, str):
            return None
        self._vouched[case_id] = stamp, *found  # taken before the look, so that a change during it counts
        return found[1]

    def _touched(self, case: Case) -> bool:
        """Whether an artifact of the case does not look as it did when its content was found right."""
        try:
            return bool(self._cases.artifact_faults(case, thorough=False))
        except Unavailable:
            return True
