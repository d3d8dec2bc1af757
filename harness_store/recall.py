"""A state of a case out of what was left beside it (see ``receipts``), and what to leave for that.

The machine block of ``case.md`` says most of a state.  What it lacks is small (``rest``), but for the two maps that
grow with the Timeline: those are lines, ``E000007 {...}`` for what may be cited and ``#E000007 {...}`` for a kept
observation, and one is only understood when it is asked for.  Of two lines for one event the later one counts.  Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from harness_core.case import Artifact, Case, Marker
from harness_core.closure import Closure
from harness_core.errors import Damaged
from harness_core.events import event_id_number
from harness_core.evidence import Citation
from harness_core.model import Model
from harness_core.persistent import HashTrieMap, Map
from harness_core.probes import Probe
from harness_core.staleness import Staleness
from harness_core.vocabulary import CaseStatus, EventType
from harness_core.wire import from_json, to_json

V = TypeVar("V")
T = TypeVar("T")

_CITED = ""
_KEPT = "#"
_compact = json.JSONEncoder(separators=(",", ":")).encode


class Recalled(Mapping[str, V], Generic[V]):
    """A persistent map of which the older part lies in lines of text and is understood when it is asked for."""

    __slots__ = ("_added", "_count", "_keys", "_kind", "_lines", "_mark")

    def __init__(self, lines: bytes, count: int, mark: str, kind: type[V]) -> None:
        self._lines = lines  # begins with a line end, so that each line follows one
        self._count = count  # of the events that they speak of
        self._mark = mark
        self._kind = kind
        self._keys: Mapping[str, None] | None = None  # of the older part, once they were asked for
        self._added: HashTrieMap[str, V] = HashTrieMap()

    def insert(self, key: str, value: V) -> Recalled[V]:
        """The map with one more entry."""
        grown = Recalled(self._lines, self._count, self._mark, self._kind)
        grown._keys, grown._added = self._keys, self._added.insert(key, value)
        return grown

    def __getitem__(self, key: str) -> V:
        added = self._added.get(key)
        if added is not None:
            return added
        # Nothing but an event's id is looked for: any other text could be found within a line.  What came after the
        # lines is not in them, and finding that out would take the longer the more they are.
        number = event_id_number(key)
        sought = number is not None and 0 < number <= self._count and (self._keys is None or key in self._keys)
        begin = self._lines.rfind(f"\n{self._mark}{key} ".encode()) if sought else -1
        if begin < 0:
            raise KeyError(key)
        line = self._lines[begin + 1 : self._lines.index(b"\n", begin + 1)]
        try:
            return from_json(json.loads(line.partition(b" ")[2]), self._kind)
        except Exception as error:  # whatever it raises: the sum of the lines holds, so somebody meant them to lie
            text = f".index does not say what {key} may be cited for; `fsck --repair` takes it away"
            raise Damaged(text, code="receipt_lies", where=".index", works="the Timeline is untouched") from error

    def __iter__(self) -> Iterator[str]:
        if self._keys is None:
            self._keys = dict.fromkeys(self._named())
        return iter({**self._keys, **dict.fromkeys(self._added)})

    def _named(self) -> Iterator[str]:
        sign, at = (self._mark or "E").encode(), 0
        while (at := self._lines.find(sign, at)) >= 0:  # one byte: many times faster than more where there is nothing
            if self._lines[at - 1 : at] != b"\n":
                at += 1
                continue
            begin = at + len(self._mark)
            at = self._lines.index(b" ", begin)
            yield self._lines[begin:at].decode()
            at = self._lines.index(b"\n", at)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def rest_of(case: Case) -> dict[str, Any]:
    """What of a state neither its document nor the lines say."""
    return {
        "probe_count": case.probe_count,
        "high_waters": dict(case.high_waters.items()),
        "unaccounted": list(case.unaccounted),
    }


def lines_of(case: Case, events: Iterable[str]) -> bytes:
    """The lines for these events of a case, as far as there is something to say of them."""
    found = []
    for event_id in events:
        for mark, value in ((_CITED, case.citations.get(event_id)), (_KEPT, case.artifacts.get(event_id))):
            if value is not None:
                found.append(f"{mark}{event_id} {_compact(to_json(value))}\n")
    return "".join(found).encode("ascii")


def touched(case: Case, records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The events of which a transition, made of these ``records``, has changed what may be said."""
    for record in records:
        yield record["event_id"]
        if record["type"] == EventType.PROBE_DISCARDED:
            seen = case.citations.get(record["payload"].get("observation_event_id") or "")
            while seen is not None:
                yield seen.event_id
                seen = case.citations.get(seen.supersedes or "")


def recalled(document: Mapping[str, Any], rest: Mapping[str, Any], lines: bytes) -> Case:
    """The case of which ``document``, ``rest_of`` and all ``lines_of`` its events say what they say.

    Raises whatever tells that they say none.
    """
    text = b"\n" + lines
    stale = document["stale"]
    numbers = document["event_count"], rest["probe_count"], *rest["high_waters"].values()
    if {int} != {*map(type, numbers)} or rest["unaccounted"] != [*map(str, rest["unaccounted"])]:
        raise TypeError("no rest of a case")
    return Case(
        case_id=document["case_id"],
        session_id=document["session_id"],
        session_ids=tuple(document["session_ids"]),
        status=CaseStatus(document["status"]),
        version=document["version"],
        revision=document["runtime_revision"],
        event_count=document["event_count"],
        probe_count=rest["probe_count"],
        created_at=document["created_at"],
        updated_at=document["updated_at"],
        model=from_json(document["model"], Model),
        staleness=Staleness(document["mismatch_event_id"], tuple(document["stale_claim_ids"])) if stale else None,
        pending_probe=_optional(document["pending_probe"], Probe),
        closure=_optional(document.get("closure"), Closure),
        marker=_optional(document.get("auto_resume_pending"), Marker),
        citations=cast("Map[str, Citation]", Recalled(text, document["event_count"], _CITED, Citation)),
        high_waters=HashTrieMap(rest["high_waters"]),
        unaccounted=tuple(rest["unaccounted"]),
        artifacts=cast("Map[str, Artifact]", Recalled(text, document["event_count"], _KEPT, Artifact)),
    )


def _optional(value: Any, kind: type[T]) -> T | None:
    return None if value is None else from_json(value, kind)
