"""What closed cases taught, for those who open new ones (seed, "Closure and transfer")."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from harness_core.case import Case
from harness_core.errors import Fault, HarnessError, Refused, Unavailable, refused
from harness_core.model import Lesson, Model
from harness_core.retrieval import select, tokens
from harness_core.transfer import lesson_of

from .disk import Stat
from .portfolio import Portfolio

MOST_LESSONS = 3
"""Lessons that are retrieved by themselves."""


class Lessons:
    """The lessons of the closed cases among ``cases``.  Safe to share among threads."""

    def __init__(self, cases: Portfolio) -> None:
        self._cases = cases
        self._words: dict[str, tuple[Case, frozenset[str]]] = {}
        self._sources: dict[str, tuple[Sequence[Stat | None], Lesson]] = {}  # as they were when last verified

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
        return lesson_of(view.case) or "was closed without a lesson"

    def related(self, model: Model, skip: str) -> tuple[Lesson, ...]:
        """At most three lessons of closed, replay-valid cases that are lexically near to a new model."""
        texts = (model.top_unknown, model.decision, *(claim.text for _, claim in model.claims()))
        others = {case.case_id: case for case in self._cases.readable() if case.case_id != skip}
        taught = [(case_id, words) for case_id, case in others.items() if (words := self._words_of(case))]
        chosen: list[Lesson] = []
        for case_id, relevance in select("\n".join(texts), taught, limit=len(taught)):
            sound = self._vouched(others[case_id])
            if isinstance(sound, Lesson):
                chosen.append(evolve(sound, relevance=relevance))
            if len(chosen) == MOST_LESSONS:
                break
        return tuple(chosen)

    def _words_of(self, case: Case) -> frozenset[str]:
        """The words of a case's lesson, none without one; a case that did not change is the same object as before."""
        known = self._words.get(case.case_id)
        if known is None or known[0] is not case:
            lesson = lesson_of(case)
            words = tokens(f"{lesson.lesson}\n{lesson.scope}") if lesson else frozenset[str]()
            known = self._words[case.case_id] = case, words
        return known[1]

    def _vouched(self, case: Case) -> Lesson | str:
        """As ``source``, verified once for every change of the case's files."""
        try:
            stamp = self._cases.journal(case.case_id).stamp()
        except Unavailable as error:
            return f"cannot be looked at: {error}"
        before = self._sources.get(case.case_id)
        if before is not None and before[0] == stamp and not self._touched(case):
            return before[1]
        found = self.source(case.case_id)
        if isinstance(found, Lesson):
            self._sources[case.case_id] = stamp, found  # taken before the look, so that a change during it counts
        return found

    def _touched(self, case: Case) -> bool:
        """Whether an artifact of the case does not look as it did when its content was found right."""
        try:
            return bool(self._cases.artifact_faults(case, thorough=False))
        except Unavailable:
            return True
