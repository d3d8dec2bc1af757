"""What a material mismatch makes stale, and what repairs it.

Staleness spreads from the named items to every plan step that depends on them, through any number of steps.  A repair
removes a stale item or changes its substance: the words of a claim, or a lower status; the action of a step, or that it
rests on something stale.  White space, letter case, punctuation around words, order, metadata, a raised status and
more dependencies are no repair.
"""

from __future__ import annotations

import unicodedata
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
    stale = _reached(named, _inverse({step.id: set(step.depends_on) for step in model.current_plan}))
    return tuple(item for item in model.item_ids() if item in stale)


def cycles(steps: Iterable[PlanStep]) -> tuple[str, ...]:
    """Ids of the plan steps that depend on themselves, directly or through others, in plan order."""
    needs = {step.id: set(step.depends_on) for step in steps}
    # What is on a cycle neither runs out of needs nor out of what needs it.
    between = _endless(_inverse(_endless(needs)))
    return tuple(item for item in needs if item in between and item in _reached(between[item], between))


def _inverse(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Each node with those that point to it; every node of ``graph`` is there."""
    turned: dict[str, set[str]] = {node: set() for node in graph}
    for node, targets in graph.items():
        for target in targets:
            turned.setdefault(target, set()).add(node)
    return turned


def _endless(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The part of a graph from which there is always a way on: what leads only to an end is taken away."""
    left = {node: targets & graph.keys() for node, targets in graph.items()}
    back = _inverse(left)
    ended = [node for node, targets in left.items() if not targets]
    while ended:
        node = ended.pop()
        del left[node]
        for before in back[node]:
            left[before].discard(node)
            if not left[before]:
                ended.append(before)
    return left


def _reached(start: Iterable[str], graph: Mapping[str, set[str]]) -> set[str]:
    """``start`` and every node that a way leads to from there."""
    seen = set(start)
    waiting = list(seen)
    while waiting:
        further = graph.get(waiting.pop(), set()) - seen
        seen |= further
        waiting.extend(further)
    return seen


def unrepaired(before: Model, after: Model, stale: Sequence[str]) -> tuple[str, ...]:
    """The stale ids whose items a revision left in substance as they were, under the same id or another."""
    old, new, every = before.items(), after.items(), frozenset(stale)
    fresh = [item for item in after.item_ids() if item not in old]
    moved: dict[str, str] = {}  # a new id, and the stale item that merely changed its id
    for item in stale:
        if item in old and item not in new:
            moved |= {n: item for n in fresh if n not in moved and _same(old[item], new[n], every, moved)}
    kept = {item for item in stale if item in old and item in new and _same(old[item], new[item], every, moved)}
    return tuple(item for item in stale if item in kept or item in moved.values())


def _same(old: Claim | PlanStep, new: Claim | PlanStep, stale: frozenset[str], moved: Mapping[str, str]) -> bool:
    if substance(_text(old)) != substance(_text(new)):
        return False
    if isinstance(old, Claim) and isinstance(new, Claim):
        return RANK[new.epistemic_status] >= RANK[old.epistemic_status]
    if isinstance(old, PlanStep) and isinstance(new, PlanStep):
        return stale.intersection(old.depends_on) <= {moved.get(needed, needed) for needed in new.depends_on}
    return True  # the same words as a claim and as a step


def _text(item: Claim | PlanStep) -> str:
    return item.text if isinstance(item, Claim) else item.action


def substance(text: str) -> tuple[str, ...]:
    """What a text says, without how it is set.

    Letter case, white space, the marks around words, invisible characters and compatibility forms do not count.
    """
    plain = unicodedata.normalize("NFKC", text)
    visible = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return tuple(word for part in visible.casefold().split() if (word := part.strip(AROUND_WORDS)))
