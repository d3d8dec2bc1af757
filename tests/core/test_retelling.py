"""What a session is told that was told its case before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_core.injection import SHOW, compose, flattened
from harness_core.retelling import CHANGED, UNCHANGED, changes, compose_since, state
from tests.core.test_injection import REPLAY, case, ceilings, objects, probe, values

items = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from(["M1", "M2", "M3", "M4"]), "text": values}),
    max_size=4,
    unique_by=lambda item: item["id"],
)
documents = st.dictionaries(st.sampled_from(["mechanisms", "alternatives", "stale", "decision"]), items | values)


def applied(before: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """The later document, by somebody who reads the change beside the earlier one."""
    after = dict(before)
    for field, new in change.items():
        if isinstance(new, Mapping) and new.keys() == {"changed", "removed"}:
            replaced = {item["id"]: item for item in new["changed"]}
            kept = [each for each in before[field] if each["id"] not in new["removed"]]
            after[field] = [replaced.pop(each["id"], each) for each in kept] + list(replaced.values())
        else:
            after[field] = new
    return {field: value for field, value in after.items() if value is not None}


@given(documents, documents)
def test_the_change_and_the_earlier_document_give_the_later_one(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Nothing that changed is left out, and nothing is said to have changed that did not."""
    assert applied(before, changes(before, after)) == {key: value for key, value in after.items() if value is not None}
    assert changes(after, after) == {}


@given(objects, objects, objects, objects, ceilings)
def test_whatever_was_told_before_no_text_passes_its_ceiling(
    model: dict[str, Any], later: dict[str, Any], replay: dict[str, Any], pending: dict[str, Any], ceiling: int
) -> None:
    """A second and a third text fit as the first does, name the case, and can be sent as UTF-8."""
    told = None
    for each in (model, later, later):
        composition, told = compose_since(case(**{**each, "pending_probe": pending}), replay, ceiling, told)
        if composition.text is not None:
            assert len(composition.text) <= ceiling
            assert composition.text.startswith("[ACTIVE EPISTEMIC CASE c1]")
            assert SHOW in composition.text
            composition.text.encode("utf-8")


def test_a_case_that_did_not_change_is_one_line() -> None:
    """Told again, it is one line that names the case, the question, its state and how to read it."""
    some = case(top_unknown="how many retries", pending_probe=probe)
    whole, told = compose_since(some, REPLAY, 9000, None)
    assert whole == compose(some, REPLAY, 9000)
    again, still = compose_since(some, REPLAY, 9000, told)
    assert again.steps == (UNCHANGED,)
    assert still == told
    text = again.text or ""
    assert "\n" not in text
    assert len(text) < 300
    for said in ("c1", "how many retries", "not stale", "call read_file by itself", SHOW):
        assert said in text


def test_what_changed_is_told_and_then_known() -> None:
    """A changed claim is told with its present text, the others are not; the next turn it is unchanged."""
    before = case(mechanisms=[{"id": "M1", "text": "three"}, {"id": "M2", "text": "two"}])
    after = case(mechanisms=[{"id": "M1", "text": "five"}, {"id": "M2", "text": "two"}])
    _, told = compose_since(before, REPLAY, 9000, None)
    change, told = compose_since(after, REPLAY, 9000, told)
    assert change.steps == (CHANGED,)
    assert '"text":"five"' in (change.text or "")
    assert "M2" not in (change.text or "")
    assert compose_since(after, REPLAY, 9000, told)[0].steps == (UNCHANGED,)


def test_a_step_that_changes_nothing_but_the_number_of_records_is_no_change() -> None:
    """The replay's count of records alone is not worth a text; its verdict is."""
    _, told = compose_since(case(), {"usable": True, "timeline": {"event_count": 1}}, 9000, None)
    again, told = compose_since(case(), {"usable": True, "timeline": {"event_count": 2}}, 9000, told)
    assert again.steps == (UNCHANGED,)
    worse, _ = compose_since(case(), {"usable": False, "reason": "it awaits comparison"}, 9000, told)
    assert "it awaits comparison" in (worse.text or "").splitlines()[0]


@pytest.mark.parametrize("ceiling", [8000, 500])
def test_another_ceiling_means_the_whole_case(ceiling: int) -> None:
    """What was told within another ceiling may have been cut otherwise, so it is told anew."""
    _, told = compose_since(case(), REPLAY, 9000, None)
    assert compose_since(case(), REPLAY, ceiling, told)[0] == compose(case(), REPLAY, ceiling)


def test_another_case_is_told_whole() -> None:
    """A session that goes on with another case is not told its difference from the first."""
    _, told = compose_since(case(), REPLAY, 9000, None)
    other = {**case(), "case_id": "c2"}
    assert compose_since(other, REPLAY, 9000, told)[0] == compose(other, REPLAY, 9000)


def test_a_change_longer_than_the_case_is_told_as_the_case() -> None:
    """No text is longer than telling everything would be."""
    _, told = compose_since(case(), REPLAY, 9000, None)
    after = case(decision="d" * 3000)
    assert compose_since(after, REPLAY, 9000, told)[0] == compose(after, REPLAY, 9000)


@pytest.mark.parametrize(
    ("status", "due"),
    [
        ("committed", "by itself"),
        ("executing", "epistemic_probe(recover)"),
        ("observed", "epistemic_probe(compare) is due"),
    ],
)
def test_the_line_says_what_is_due(status: str, due: str) -> None:
    """Whoever reads only the line knows the next step of a pending probe."""
    assert due in state(flattened(case(pending_probe={**probe, "status": status}), REPLAY))


def test_the_line_says_what_must_not_be_relied_on() -> None:
    """A stale case names the stale items and the event that a revision must cite."""
    some = {**case(), "stale": True, "stale_claim_ids": ["M1", "P1"], "mismatch_event_id": "E000005"}
    assert "STALE: revise M1, P1 citing E000005" in state(flattened(some, REPLAY))
