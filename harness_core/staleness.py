"""What a material mismatch makes stale, and what repairs it.

Staleness spreads from the named items to every plan step that depends on them, through any number of steps.  A repair
removes a stale item or changes its substance: the words of a claim, or a lower status; the action of a step, or that it
rests on something stale.  White space, letter case, punctuation around words, order, metadata, a raised status and
more dependencies are no repair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from harness_core.model import Claim, Model, PlanStep
from harness_core.vocabulary import EpistemicStatus

# A lower rank is a weaker assertion.
RANK: Mapping[EpistemicStatus, int] = {
    EpistemicStatus.UNRESOLVED: 0,
    EpistemicStatus.HYPOTHESIS: 1,
    EpistemicStatus.GROUNDED: 2,
}


AROUND_WORDS = ".,;:!?…\"'()[]"


@frozen
class Staleness:
    """The mismatch that opened it, and the ids of the items it made stale, claims first."""

    mismatch_event_id: str
    item_ids: tuple[str, ...]


def spread(model: Model, named: Iterable[str]) -> tuple[str, ...]:
    """The named items and every plan step that transitively depends on one, in the model's order."""
    stale = set(named)
    growing = True
    while growing:
        more = {step.id for step in model.current_plan if step.id not in stale and stale.intersection(step.depends_on)}
        stale |= more
        growing = bool(more)
    return tuple(item for item in model.item_ids() if item in stale)


def cycles(steps: Iterable[PlanStep]) -> tuple[str, ...]:
    """Ids of the plan steps that depend on themselves, directly or through others, in plan order."""
    needs = {step.id: set(step.depends_on) for step in steps}
    open_ = dict(needs)
    while ready := [item for item, on in open_.items() if not on & open_.keys()]:
        for item in ready:
            del open_[item]
    # What is left depends on a cycle; keep only what can reach itself.
    return tuple(item for item in open_ if item in _reach(item, needs))


def _reach(item: str, needs: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(needs[item])
    while waiting:
        following = waiting.pop()
        if following not in seen:
            seen.add(following)
            waiting.extend(needs.get(following, ()))
    return seen


def unrepaired(before: Model, after: Model, stale: Sequence[str]) -> tuple[str, ...]:
    """The stale ids whose items a revision left in substance as they were."""
    old, new, every = before.items(), after.items(), frozenset(stale)
    both = [item for item in stale if item in old and item in new]
    return tuple(item for item in both if not _substantive(old[item], new[item], every))


def _substantive(old: Claim | PlanStep, new: Claim | PlanStep, stale: frozenset[str]) -> bool:
    if isinstance(old, Claim) and isinstance(new, Claim):
        reworded = _words(old.text) != _words(new.text)
        return reworded or RANK[new.epistemic_status] < RANK[old.epistemic_status]
    if isinstance(old, PlanStep) and isinstance(new, PlanStep):
        freed = stale.intersection(old.depends_on) - set(new.depends_on)
        return _words(old.action) != _words(new.action) or bool(freed)
    return True  # a claim became a step of the same id, or the other way round


def _words(text: str) -> tuple[str, ...]:
    """What a text says, without how it is set: letter case, white space and the marks around words do not count."""
    return tuple(word for part in text.casefold().split() if (word := part.strip(AROUND_WORDS)))
