"""Which session has which case."""

from __future__ import annotations

import json

import pytest

from harness_core import bindings as rules
from harness_core.bindings import UNBOUND, Binding
from harness_core.errors import Refused
from harness_core.wire import to_json
from tests.core.desk import Desk


def told(desk: Desk) -> dict[str, Binding]:
    return rules.rebuilt(desk.cases.values())


def test_a_session_without_a_history_has_nothing() -> None:
    """An unknown session is bound to nothing."""
    assert rules.of({}, "s1") == UNBOUND == Binding(seq=0, active=None, marked=None)


def test_one_active_case() -> None:
    """A session with an active case takes no other; one without takes any."""
    rules.require_free({}, "s1", "c1")
    for wanted in ("c1", "c2"):
        with pytest.raises(Refused, match="already has the active case c1"):
            rules.require_free({"s1": Binding(seq=1, active="c1")}, "s1", wanted)


def test_settling_is_idempotent() -> None:
    """Settling a case again changes nothing, whatever was settled in between."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    desk.open("c2", "s2")
    once = rules.settled(desk.bindings, desk.c1)
    assert once == desk.bindings == rules.settled(once, desk.c1)


def test_numbers_never_fall() -> None:
    """A session's number stays where it was, also when an older state of a case is settled."""
    desk = Desk()
    desk.open()
    old = desk.c1
    desk.do("pause", reason="r")
    high = Binding(seq=99)
    assert rules.settled({"s1": high}, old)["s1"].seq == 99


def test_bindings_are_rebuilt_from_the_cases() -> None:
    """The Timelines of all cases amount to the bindings, in whatever order they are read."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    desk.open("c2")
    desk.open("c3", "s2")
    desk.adopt_lineage("s3", ["s2", "s3"])
    desk.open("c4", "s2")
    desk.pause_for_lifecycle("s2", "session_reset", "")
    assert told(desk) == desk.bindings == rules.rebuilt(reversed(list(desk.cases.values())))
    assert desk.bindings["s1"] == Binding(seq=3, active="c2")
    assert desk.bindings["s2"].marked == "c4"
    assert desk.bindings["s3"] == Binding(seq=1, active="c3")


def test_they_survive_the_file() -> None:
    """What is written to sessions.json reads as the same bindings; another schema reads as none."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    written = {"schema_version": rules.SCHEMA_VERSION, "sessions": to_json(desk.bindings)}
    assert rules.from_mapping(json.loads(json.dumps(written))) == desk.bindings
    assert rules.from_mapping({"schema_version": 1, "sessions": {"s1": 3}}) is None


@pytest.mark.parametrize(
    ("mapping", "numbers"),
    [
        (None, {}),
        ({"schema_version": 1, "sessions": {"s1": 3, "s2": 0, "s3": -1, "s4": True, "s5": "7"}}, {"s1": 3, "s2": 0}),
        ({"schema_version": 1, "sessions": ["s1"]}, {}),
        ({"schema_version": 2, "sessions": {"s1": 3}}, {}),
    ],
)
def test_an_earlier_release_left_numbers(mapping: dict[str, object] | None, numbers: dict[str, int]) -> None:
    """The numbers in a sessions.json of release 1.2.0 are taken over, and nothing else of it or of any other."""
    assert rules.legacy_numbers(mapping) == numbers


LINEAGE = ["s1", "s2", "s3"]


@pytest.mark.parametrize(
    ("bound", "session", "heir"),
    [
        ({}, "s2", None),
        ({"s1": Binding(active="c1")}, "s2", "c1"),
        ({"s1": Binding(active="c1")}, "s3", "c1"),
        ({"s1": Binding(active="c1")}, "s1", None),
        ({"s1": Binding(active="c1")}, "s9", None),
        ({"s3": Binding(active="c1")}, "s2", None),
        ({"s1": Binding(active="c1"), "s2": Binding(active="c2")}, "s2", None),
        ({"s1": Binding(marked="c1")}, "s2", "c1"),
        ({"s1": Binding(marked="c1"), "s2": Binding(marked="c2")}, "s3", "c2"),
        ({"s1": Binding(active="c1"), "s2": Binding(marked="c2")}, "s3", "c1"),
        ({"s1": Binding(active="c1"), "s2": Binding(active="c2")}, "s3", "c2"),
    ],
)
def test_a_child_inherits_from_its_ancestors(bound: dict[str, Binding], session: str, heir: str | None) -> None:
    """The nearest ancestor's active case goes to the child, else the nearest live pause; a descendant's never does,
    and a child with a case of its own inherits nothing."""
    assert rules.heir_of(bound, LINEAGE, session) == heir


def test_a_case_that_is_gone_frees_its_sessions() -> None:
    """What is bound to a case that is gone is free again; numbers stay, and other cases stay bound."""
    bound = {"s1": Binding(seq=3, active="c1"), "s2": Binding(seq=2, marked="c1"), "s3": Binding(seq=1, active="c2")}
    freed = rules.freed(bound, "c1")
    assert freed == {"s1": Binding(seq=3), "s2": Binding(seq=2), "s3": Binding(seq=1, active="c2")}
    assert rules.freed(freed, "c1") == freed


def test_known_numbers_never_fall_when_bindings_are_rebuilt() -> None:
    """Numbers that are known from elsewhere count, also for sessions that no case tells of."""
    desk = Desk()
    desk.open()
    desk.pause_for_lifecycle("s1", "session_finalize", "")
    rebuilt = rules.rebuilt(desk.cases.values(), {"s1": 9, "s7": 4})
    assert rebuilt == {"s1": Binding(seq=9), "s7": Binding(seq=4)}
