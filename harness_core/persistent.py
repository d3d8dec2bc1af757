"""The persistent map, under a name that annotations can be made of.

``rpds.HashTrieMap`` is generic for type checkers and not at run time, where ``wire`` reads the annotations of a value
to know what its JSON holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from rpds import HashTrieMap

K = TypeVar("K")
V = TypeVar("V")

if TYPE_CHECKING:
    Map = HashTrieMap
else:

    class Map(Generic[K, V]):
        """``Map[str, int]`` annotates a ``HashTrieMap`` from text to numbers.  Nothing is ever made of it."""


__all__ = ["HashTrieMap", "Map"]
