"""Everything that can be wrong with the form of a call: fields that are missing, mistyped or unknown, at any depth.

Made from the request classes, so that a new field is covered the day it is added.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
from hypothesis import strategies as st

from harness_core.arguments import REQUESTS
from harness_core.authority import LIMITED_SCOPES
from harness_core.commands import CaseId, Commit, EventId, ItemId, OutcomeDraft, RecordEvidence, Text, ToolName
from harness_core.testing.requests import sound_arguments
from harness_core.testing.values import JSON, Arguments
from harness_core.vocabulary import AuthorityDomain

Path = tuple[str | int, ...]
UNKNOWN_FIELD = "no_such_field"


class Kind(StrEnum):
    """What is wrong."""

    MISSING = "missing"
    MISTYPED = "mistyped"
    UNKNOWN = "unknown"


NOT_EMPTY: Mapping[type, tuple[str, ...]] = {RecordEvidence: ("evidence",), Commit: ("predicted_outcomes",)}
"""Lists that must hold something."""


@attrs.frozen
class Breakage:
    """One fault of form: what is wrong, where, and the value that stands there instead (unused where missing).

    ``because_of``: the fields beside it that make it a fault, as an external source needs its role said.
    """

    kind: Kind
    path: Path
    value: JSON = None
    because_of: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The path as a refusal spells it: ``evidence[0].summary``."""
        return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path).lstrip(".")

    def is_named_by(self, path: str) -> bool:
        """Whether a fault reported at ``path`` is this one, or lies inside of it."""
        return path == self.named or path.startswith((f"{self.named}.", f"{self.named}["))

    def apart_from(self, other: Breakage) -> bool:
        """Whether both can stand in one call without one hiding the other."""
        shorter, longer = sorted((self.path, other.path), key=len)
        return longer[: len(shorter)] != shorter and not self._rests_on(other) and not other._rests_on(self)

    def _rests_on(self, other: Breakage) -> bool:
        return other.path[:-1] == self.path[:-1] and other.path[-1] in self.because_of


def breakages(request: type, arguments: Mapping[str, JSON], path: Path = ()) -> Iterator[Breakage]:
    """Every fault of form that a sound call (or object of a call) of this class can be given.

    ``request``: a class of ``harness_core.commands``.  ``arguments``: its sound JSON, without ``operation``.
    """
    hints = get_type_hints(request)
    for field in attrs.fields(request):
        if field.metadata.get("server"):
            continue
        where = (*path, field.name)
        because_of = _needed_by(field.name, arguments)
        if field.default is attrs.NOTHING or because_of:
            yield Breakage(Kind.MISSING, where, because_of=because_of)
        if field.name in NOT_EMPTY.get(request, ()):
            yield Breakage(Kind.MISTYPED, where, [])
        for value in _wrong(hints[field.name]):
            if not _also_means(request, field.name, value):
                yield Breakage(Kind.MISTYPED, where, value)
        if field.name in arguments:
            yield from _inside(hints[field.name], arguments[field.name], where)
    yield Breakage(Kind.UNKNOWN, (*path, UNKNOWN_FIELD), 1)


def broken(arguments: Arguments, faults: Iterable[Breakage]) -> Arguments:
    """The call with these faults in it; they must be apart from each other."""
    made = copy.deepcopy(arguments)
    for fault in faults:
        place: Any = made
        for step in fault.path[:-1]:
            place = place[step]
        if fault.kind is Kind.MISSING:
            place.pop(fault.path[-1], None)
        else:
            place[fault.path[-1]] = copy.deepcopy(fault.value)
    return made


@st.composite
def broken_arguments(draw: st.DrawFn, tool: str) -> tuple[Arguments, tuple[Breakage, ...]]:
    """A call of that tool with one to three faults of form in it, and those faults."""
    operation = draw(st.sampled_from([str(o) for o in REQUESTS[tool]]))
    sound = draw(sound_arguments(operation))
    offered = list(breakages(REQUESTS[tool][operation], {k: v for k, v in sound.items() if k != "operation"}))
    chosen: list[Breakage] = []
    for fault in draw(st.lists(st.sampled_from(offered), min_size=1, max_size=3)):
        if all(fault.apart_from(other) for other in chosen):
            chosen.append(fault)
    return broken(sound, chosen), tuple(chosen)


def _needed_by(name: str, arguments: Mapping[str, JSON]) -> tuple[str, ...]:
    """The other fields that make this one necessary: an external source says what it is, and what it leaves open."""
    if arguments.get("authority_domain") != AuthorityDomain.EXTERNAL_SOURCE or "source_ref" not in arguments:
        return ()
    if name == "limitation" and arguments.get("access_scope") in LIMITED_SCOPES:
        return ("authority_domain", "access_scope")
    return ("authority_domain",) if name in ("source_role", "access_scope") else ()


def _also_means(request: type, name: str, value: JSON) -> bool:
    """Whether a value of another type is a spelling that is taken: one evidence object stands for a list of one."""
    return request is RecordEvidence and name == "evidence" and isinstance(value, dict)


def _inside(kind: Any, value: JSON, where: Path) -> Iterator[Breakage]:
    kind = _needed(kind)
    if get_origin(kind) is tuple:
        for n, item in enumerate(value):
            yield from _inside(get_args(kind)[0], item, (*where, n))
    elif attrs.has(kind) and isinstance(value, Mapping):
        yield from breakages(kind, value, where)


def _needed(kind: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        return next(member for member in get_args(kind) if member is not type(None))
    return kind


def _wrong(kind: Any) -> tuple[JSON, ...]:
    """Values that are never of the kind: of every other JSON type, and of the right one where its words are closed."""
    kind = _needed(kind)
    if kind is Text:
        return None, 5, True, [], {}, " \n"
    if kind in (ItemId, ToolName):
        return None, 5, True, [], {}, "", "a\nb", "x" * 121
    if kind is CaseId:
        return None, 5, True, [], {}, "", "Upper", "-a", "a/b", "x" * 65
    if kind is EventId:
        return None, 5, True, [], {}, "", "M1", "E", "E1x"
    if get_origin(kind) is tuple:
        return None, 5, True, "text", {}
    if get_origin(kind) is Mapping:
        return None, 5, True, "text", []
    if attrs.has(kind):
        return (None, 5, True, []) if kind is OutcomeDraft else (None, 5, True, [], "text")
    return _WRONG[StrEnum if issubclass(kind, StrEnum) else kind]


_WRONG: Mapping[type, tuple[JSON, ...]] = {
    StrEnum: (None, 5, True, [], {}, "no such word"),
    str: (None, 5, True, [], {}),
    int: (None, "1", True, 1.5, [], {}),
    bool: (None, 1, "true", [], {}),
}
