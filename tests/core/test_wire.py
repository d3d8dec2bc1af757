"""Values to JSON and back, and JSON that says one thing only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import frozen
from cattrs import ForbiddenExtraKeysError
from hypothesis import given
from hypothesis import strategies as st

from harness_core.model import Claim, Lesson
from harness_core.persistent import HashTrieMap, Map
from harness_core.testing.values import json_values
from harness_core.vocabulary import Calibration, EpistemicStatus, TransferDecision
from harness_core.wire import canonical_json, from_json, make_converter, strict_json, to_json

CLAIM = Claim(id="M1", text="t", epistemic_status=EpistemicStatus.HYPOTHESIS)
PLAIN = {"id": "M1", "text": "t", "epistemic_status": "hypothesis", "evidence_event_ids": []}


@frozen
class Shelf:
    """A value with what the others have not: a truth value, a number, a fraction and a map."""

    on: bool
    count: int
    weight: float
    by_name: Map[str, int]


SHELF = Shelf(on=True, count=3, weight=0.5, by_name=HashTrieMap({"b": 2, "a": 1}))


def test_what_is_not_there_is_left_out() -> None:
    """Fields without a value are absent from the JSON, and words stand for themselves."""
    assert to_json(CLAIM) == PLAIN
    assert from_json(PLAIN, Claim) == CLAIM


def test_maps_and_numbers_travel() -> None:
    """A persistent map travels as an object, sorted; a whole number may stand where a fraction may."""
    plain = to_json(SHELF)
    assert list(plain["by_name"]) == ["a", "b"]
    assert from_json(json.loads(json.dumps(plain)), Shelf) == SHELF
    assert from_json({**plain, "weight": 1}, Shelf).weight == 1.0


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({**PLAIN, "text": 5}, Claim),
        ({**PLAIN, "epistemic_status": "certain"}, Claim),
        ({**PLAIN, "epistemic_status": 5}, Claim),
        ({**PLAIN, "epistemic_status": " hypothesis"}, Claim),
        ({**PLAIN, "more": 1}, Claim),
        ({"id": "M1"}, Claim),
        ({**to_json(SHELF), "on": 1}, Shelf),
        ({**to_json(SHELF), "count": True}, Shelf),
        ({**to_json(SHELF), "count": 1.0}, Shelf),
        ({**to_json(SHELF), "weight": "1"}, Shelf),
        ({**to_json(SHELF), "weight": True}, Shelf),
        ({**to_json(SHELF), "by_name": []}, Shelf),
        ({**to_json(SHELF), "by_name": {"a": "1"}}, Shelf),
    ],
)
def test_reading_is_strict(value: Any, kind: type) -> None:
    """No number is read as text or text as a number, no word is guessed, no member is passed over or made up."""
    with pytest.raises((TypeError, ValueError, KeyError, ForbiddenExtraKeysError)):
        from_json(value, kind)


def test_an_earlier_release_may_say_more() -> None:
    """A lenient converter passes over members it does not know, and is strict otherwise."""
    lenient = make_converter(detailed=False, lenient=True)
    assert lenient.structure({**PLAIN, "more": 1}, Claim) == CLAIM
    with pytest.raises(TypeError):
        lenient.structure({**PLAIN, "text": 5}, Claim)


@given(
    st.builds(
        Lesson,
        case_id=st.text(),
        decision=st.sampled_from(TransferDecision),
        lesson=st.text(),
        scope=st.text(),
        evidence_case_ids=st.lists(st.text(), max_size=3).map(tuple),
        calibration=st.sampled_from(Calibration),
        relevance=st.none() | st.floats(0, 1),
    )
)
def test_values_round_trip(lesson: Lesson) -> None:
    """A value read back from its JSON text is the same value."""
    assert from_json(json.loads(json.dumps(to_json(lesson))), Lesson) == lesson


# --- strict and canonical JSON ---


@given(json_values())
def test_canonical_json_is_one_spelling(value: Any) -> None:
    """Whatever order its keys come in, a value has one canonical text, and the text means the value."""
    text = canonical_json(value)
    assert strict_json(text) == value
    assert canonical_json(json.loads(json.dumps(value))) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_canonical_json_is_finite(value: Any) -> None:
    """Numbers that are not finite have no spelling."""
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json(value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[Infinity]", "-Infinity", "1e999", '{"a": 1, "a": 1}', '[{"b": {"c": 1, "c": 2}}]', "1 2",
     "[" * 10**5, b"\xff"],
)  # fmt: skip
def test_strict_json_refuses(text: str | bytes) -> None:
    """Broken JSON, endless numbers, repeated keys and bottomless nesting are refused, never guessed."""
    with pytest.raises(ValueError, match=r"."):
        strict_json(text)


def test_strict_json_names_what_is_repeated() -> None:
    """The repeated key is named."""
    with pytest.raises(ValueError, match="duplicate key 'a'"):
        strict_json('{"a": 1, "b": 2, "a": 3}')
