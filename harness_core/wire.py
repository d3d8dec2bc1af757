"""Frozen values to JSON and back, by one rule set.

Enums travel as their words, tuples as lists, and an optional field that is ``None`` is left out.  Reading is strict:
no number is turned into text, no text into a number, and an unknown field is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NoReturn, TypeVar, get_args, get_origin

import attrs
from attrs import AttrsInstance
from cattrs import Converter
from cattrs.gen import make_dict_unstructure_fn, override

from harness_core.persistent import HashTrieMap, Map

JSON = Any  # dict[str, JSON] | list[JSON] | str | int | float | bool | None: mypy has no useful recursive alias here
T = TypeVar("T")


def exactly(kind: type, name: str) -> Any:
    """A structure hook that takes values of exactly one type (``bool`` is not an ``int`` here)."""

    def hook(value: Any, _: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"expected {name}")
        return value

    return hook


def number(value: Any, _: Any) -> float:
    """A structure hook for a JSON number."""
    if type(value) not in (int, float):
        raise TypeError("expected a number")
    return float(value)


def word(value: Any, kind: type[StrEnum]) -> StrEnum:
    """A structure hook for a word of a closed vocabulary, spelled exactly."""
    if type(value) is not str:
        raise TypeError("expected text")
    found = _words(kind).get(value)
    if found is None:
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return found


@cache
def _words(kind: type[StrEnum]) -> Mapping[str, StrEnum]:
    # Asking the enum itself takes five times as long, and a replay asks for several words of every event.
    return {member.value: member for member in kind}


def make_converter(*, detailed: bool, lenient: bool = False) -> Converter:
    """A converter with the rules of this module.

    ``detailed`` collects every fault of an input instead of the first; ``lenient`` passes over members it does not
    know, as reading an earlier release's JSON needs.
    """
    made = Converter(detailed_validation=detailed, forbid_extra_keys=not lenient)
    made.register_structure_hook(str, exactly(str, "text"))
    made.register_structure_hook(int, exactly(int, "a whole number"))
    made.register_structure_hook(bool, exactly(bool, "true or false"))
    made.register_structure_hook(float, number)
    made.register_structure_hook(StrEnum, word)
    made.register_unstructure_hook(StrEnum, str)

    def leave_out_none(cls: type[AttrsInstance]) -> Any:
        optional: dict[str, Any] = {
            f.name: override(omit_if_default=True) for f in attrs.fields(cls) if f.default is None
        }
        return make_dict_unstructure_fn(cls, made, **optional)

    made.register_unstructure_hook_factory(attrs.has, leave_out_none)

    def persistent_map(kind: Any) -> Any:
        def hook(value: Any, _: Any) -> Any:
            if type(value) is not dict:
                raise TypeError("expected an object")
            _, content = get_args(kind)
            return HashTrieMap({key: made.structure(item, content) for key, item in value.items()})

        return hook

    def is_persistent_map(kind: Any) -> bool:
        return get_origin(kind) is Map or kind is HashTrieMap

    made.register_structure_hook_factory(is_persistent_map, persistent_map)
    made.register_unstructure_hook_func(
        is_persistent_map, lambda value: {key: made.unstructure(item) for key, item in sorted(value.items())}
    )
    return made


_RECORDS = make_converter(detailed=False)


def to_json(value: Any) -> JSON:
    """A frozen value as JSON-able dicts, lists, text and numbers."""
    return _RECORDS.unstructure(value)


def from_json(value: JSON, kind: type[T]) -> T:
    """The frozen value of ``kind`` that ``to_json`` made this of.

    Raises whatever tells the mismatch (``TypeError``, ``ValueError``, ``KeyError`` or a cattrs error); the caller, who
    knows where the JSON came from, turns it into the right kind of harness error.
    """
    return _RECORDS.structure(value, kind)


def strict_json(text: str | bytes) -> Any:
    """Parse JSON that says one thing only: no duplicate keys, no NaN or infinity (also not by overflow).

    Raises ``ValueError`` otherwise, also for nesting or numbers beyond what the interpreter takes.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        return _STRICT.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"duplicate key {', '.join(sorted({repr(n) for n in names if names.count(n) > 1}))}")
    return value


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value: keys sorted, no blanks, non-ASCII kept.

    Raises ``ValueError`` on NaN and infinity, ``TypeError`` on what is no JSON.
    """
    return _canonical(value)


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
