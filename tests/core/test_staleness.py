"""What a mismatch makes stale, and what repairs it: the rules, over any plan."""

from __future__ import annotations

import pytest
from attrs import evolve as replaced
from hypothesis import given
from hypothesis import strategies as st

from harness_core.model import Claim, Model, PlanStep
from harness_core.staleness import RANK, cycles, spread, unrepaired
from harness_core.vocabulary import EpistemicStatus
from tests.core.oracle import hit

ITEMS = ("M1", "M2", "P1", "P2", "P3", "P4", "P5")


def model(plan: list[tuple[str, tuple[str, ...]]], text: str = "t") -> Model:
    claims = tuple(Claim(id=i, text=text, epistemic_status=EpistemicStatus.HYPOTHESIS) for i in ("M1", "M2"))
    steps = tuple(PlanStep(id=item, action="a", depends_on=on) for item, on in plan)
    return Model(top_unknown="q", mechanisms=claims, current_plan=steps)


plans = st.lists(
    st.tuples(st.sampled_from(ITEMS[2:]), st.lists(st.sampled_from(ITEMS), max_size=3).map(tuple)),
    max_size=6,
    unique_by=lambda step: step[0],
)


@given(plans, st.lists(st.sampled_from(ITEMS)))
def test_staleness_spreads_through_any_number_of_steps(
    plan: list[tuple[str, tuple[str, ...]]], named: list[str]
) -> None:
    """Stale are the named items and every step that rests on one, however far, in the model's order, cycles or not."""
    made = model(plan)
    as_json = {
        "state_grounding": [],
        "mechanisms": [{"id": "M1"}, {"id": "M2"}],
        "alternatives": [],
        "current_plan": [{"id": item, "depends_on": list(on)} for item, on in plan],
    }
    assert list(spread(made, named)) == hit(as_json, named)


@given(plans)
def test_a_cycle_is_what_leads_back_to_itself(plan: list[tuple[str, tuple[str, ...]]]) -> None:
    """The steps of a cycle are exactly those that can reach themselves."""
    needs = dict(plan)

    def reaches(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(needs[start])
        while waiting:
            item = waiting.pop()
            if item not in found:
                found.add(item)
                waiting += needs.get(item, ())
        return found

    assert set(cycles(model(plan).current_plan)) == {item for item in needs if item in reaches(item)}


@given(st.sampled_from(EpistemicStatus), st.sampled_from(EpistemicStatus), st.sampled_from(("t", " T ", "u")))
def test_a_claim_is_repaired_by_other_words_or_a_lower_status(
    old: EpistemicStatus, new: EpistemicStatus, text: str
) -> None:
    """Other words, or a weaker status, repair a claim; blanks, letter case and a raised status do not."""
    order = [EpistemicStatus.UNRESOLVED, EpistemicStatus.HYPOTHESIS, EpistemicStatus.GROUNDED]
    before = Model(top_unknown="q", mechanisms=(Claim(id="M1", text="t", epistemic_status=old),))
    after = Model(top_unknown="q", alternatives=(Claim(id="M1", text=text, epistemic_status=new),))
    repaired = text == "u" or order.index(new) < order.index(old)
    assert unrepaired(before, after, ("M1",)) == (() if repaired else ("M1",))
    assert [status for status, _ in sorted(RANK.items(), key=lambda entry: entry[1])] == order


dependencies = st.lists(st.sampled_from(("M1", "M2", "S1")), unique=True).map(tuple)


@given(dependencies, dependencies, st.sampled_from(("go on", " Go  on", "stop")))
def test_a_step_is_repaired_by_another_action_or_by_letting_go(
    old: tuple[str, ...], new: tuple[str, ...], action: str
) -> None:
    """Another action, or no longer resting on something stale, repairs a step; further dependencies do not."""
    before = Model(top_unknown="q", current_plan=(PlanStep(id="P1", action="go on", depends_on=old),))
    after = Model(top_unknown="q", current_plan=(PlanStep(id="P1", action=action, depends_on=new),))
    let_go = any(item in old and item not in new for item in ("M1", "M2"))
    repaired = action == "stop" or let_go
    assert unrepaired(before, after, ("M1", "M2", "P1")) == (() if repaired else ("P1",))


def test_removing_repairs() -> None:
    """An item that is gone, or that became another kind of item with other words, is repaired."""
    before = model([("P1", ("M1",))])
    claim = Claim(id="P1", text="b", epistemic_status=EpistemicStatus.HYPOTHESIS)
    assert unrepaired(before, Model(top_unknown="q", mechanisms=(claim,)), ("M1", "P1")) == ()
    same = replaced(claim, text="a")
    assert unrepaired(before, Model(top_unknown="q", mechanisms=(same,)), ("M1", "P1")) == ("P1",)


def test_another_id_for_the_same_item_repairs_nothing() -> None:
    """A stale claim or step that only changed its id is as stale as before; one that says less is repaired."""
    claim = Claim(id="M1", text="it holds", epistemic_status=EpistemicStatus.HYPOTHESIS)
    before = Model(
        top_unknown="q", mechanisms=(claim,), current_plan=(PlanStep(id="P1", action="go", depends_on=("M1",)),)
    )
    renamed = replaced(
        before,
        mechanisms=(replaced(claim, id="M2"),),
        current_plan=(PlanStep(id="P2", action="go", depends_on=("M2",)),),
    )
    assert unrepaired(before, renamed, ("M1", "P1")) == ("M1", "P1")
    lowered = replaced(renamed, mechanisms=(replaced(claim, id="M2", epistemic_status=EpistemicStatus.UNRESOLVED),))
    assert unrepaired(before, lowered, ("M1", "P1")) == ()
    reworded = replaced(renamed, mechanisms=(replaced(claim, id="M2", text="it does not hold"),))
    assert unrepaired(before, reworded, ("M1", "P1")) == ()


@pytest.mark.parametrize("steps", [2, 400])
def test_a_long_plan_is_followed_to_its_end(steps: int) -> None:
    """Staleness and cycles are found through a chain of any length, whatever the order of its steps."""
    chain = [(f"P{n}", (f"P{n + 1}",) if n + 1 < steps else ("M1",)) for n in range(steps)]
    assert spread(model(chain), ["M1"]) == ("M1", *(item for item, _ in chain))
    assert cycles(model(chain).current_plan) == ()
    closed = [*chain[:-1], (f"P{steps - 1}", ("P0",)), ("Q", ("P0",))]
    assert cycles(model(closed).current_plan) == tuple(item for item, _ in closed[:-1])


@pytest.mark.parametrize("churn", ["The file holds 42.", "the file holds 42!", '"the file" holds (42)'])
def test_punctuation_around_words_repairs_nothing(churn: str) -> None:
    """Setting the same words in other punctuation changes no claim in substance; another sign or number does."""
    claim = Claim(id="M1", text="the file holds 42", epistemic_status=EpistemicStatus.HYPOTHESIS)
    before = Model(top_unknown="u", mechanisms=(claim,))
    assert unrepaired(before, replaced(before, mechanisms=(replaced(claim, text=churn),)), ["M1"]) == ("M1",)
    for other in ("the file holds -42", "the file holds 4.2", "the file holds 43"):
        assert unrepaired(before, replaced(before, mechanisms=(replaced(claim, text=other),)), ["M1"]) == ()
    for unseen in ("the\u200b file holds 42", "\u200fthe file holds 42", "the ﬁle holds 42", "the file holds 42\u00ad"):
        assert unrepaired(before, replaced(before, mechanisms=(replaced(claim, text=unseen),)), ["M1"]) == ("M1",)
