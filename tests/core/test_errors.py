"""The one error family."""

from __future__ import annotations

import pytest

from harness_core.errors import Damaged, Fault, HarnessError, Refused, Unavailable, refused
from harness_core.structuring import faults_of, kind_of


def test_a_fault_reads_as_a_sentence() -> None:
    """A fault says where, what, and what to send instead, where there is something to send."""
    assert str(Fault("reason", "is missing", "why")) == "reason: is missing (send why)"
    assert str(Fault("reason", "is missing")) == "reason: is missing"


def test_a_refusal_is_made_of_its_faults() -> None:
    """The text of a refusal says all its faults and the hint; its answer lists them."""
    error = refused("invalid_arguments", Fault("a", "is blank", "text"), Fault("b", "is missing"), hint="For example x")
    assert str(error) == "a: is blank (send text); b: is missing. For example x"
    assert error.answer() == {
        "error": str(error),
        "code": "invalid_arguments",
        "fields": [
            {"path": "a", "problem": "is blank", "send": "text"},
            {"path": "b", "problem": "is missing", "send": ""},
        ],
    }


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (Refused("no", code="stale"), {}),
        (Damaged("no", where="events.jsonl, line 3", works="show"), {"where": "events.jsonl, line 3", "works": "show"}),
        (Unavailable("no", written="unknown"), {"written": "unknown"}),
        (HarnessError("no", code="base"), {}),
    ],
)
def test_every_error_is_an_answer(error: HarnessError, more: dict[str, str]) -> None:
    """Each leaf answers with error, code and fields, and with what only it knows."""
    assert error.answer() == {"error": "no", "code": error.code, "fields": [], **more}


def test_a_bug_is_no_fault_of_the_caller() -> None:
    """What no argument can cause is raised as what it is, not told as something the caller sent wrongly."""
    with pytest.raises(ZeroDivisionError):
        faults_of(ZeroDivisionError(), Fault)
    assert faults_of(KeyError("x"), Fault, "path") == [Fault("path", "is missing", "a value for it")]


@pytest.mark.parametrize(
    ("value", "words"),
    [({}, "an object"), ([], "a list"), ("", "text"), (True, "true or false"), (None, "null"), (1, "a number"),
     (1.5, "a number"), (b"", "bytes")],
)  # fmt: skip
def test_kinds_have_words(value: object, words: str) -> None:
    """Refusals say in words what kind of value was sent."""
    assert kind_of(value) == words
