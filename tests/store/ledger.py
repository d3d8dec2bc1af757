"""A domain as small as can be, for tests of the store: a case is the texts of its records, in order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness_store.heads import Head, render_block
from harness_store.journal import Codec
from harness_store.records import Position, event_id

Texts = tuple[str, ...]


class Ledger(Codec[Texts]):
    """``fold`` collects ``payload.text``; ``folded`` counts the records it was given."""

    def __init__(self) -> None:
        self.folded = 0

    def fold(self, state: Texts | None, records: Sequence[Mapping[str, Any]]) -> Texts:
        self.folded += len(records)
        return (state or ()) + tuple(str(record["payload"]["text"]) for record in records)

    def adopt(
        self, case_id: str, state: Mapping[str, Any], records: Sequence[Mapping[str, Any]], at: Position
    ) -> Texts:
        return tuple(str(record["payload"].get("text", "")) for record in records)

    def project(self, state: Texts, head: Head) -> str:
        return render_block({"texts": list(state)}, head) + "\n# Texts\n" + "".join(f"- {text}\n" for text in state)

    def matches(self, state: Texts, block: Mapping[str, Any]) -> bool:
        return block.get("texts") == list(state)

    def card(self, state: Texts) -> dict[str, Any]:
        return {"count": len(state)}

    def rest(self, state: Texts) -> dict[str, Any]:
        return {"count": len(state)}

    def lines(self, state: Texts, records: Sequence[Mapping[str, Any]] | None) -> bytes:
        told = state if records is None else tuple(str(record["payload"]["text"]) for record in records)
        return "".join(f"{json.dumps(text)}\n" for text in told).encode("ascii")

    def recall(self, block: Mapping[str, Any], rest: Mapping[str, Any], lines: bytes) -> Texts:
        # Of the lines alone, so that a test which compares texts sees a line that is lost or stale.
        found = tuple(str(json.loads(line)) for line in lines.splitlines())
        if len(found) != rest["count"]:
            raise ValueError("not all lines are there")
        return found


class Thorough(Ledger):
    """One that goes by the records alone, whatever was left beside them."""

    def recall(self, block: Mapping[str, Any], rest: Mapping[str, Any], lines: bytes) -> Texts:
        raise ValueError("the records say it better")


def entries(after: int, *texts: str) -> list[dict[str, Any]]:
    """Records that say ``texts``, to follow ``after`` records."""
    return [
        {
            "event_id": event_id(number),
            "type": "said",
            "timestamp": "2030-01-01T00:00:00+00:00",
            "session_id": "s1",
            "payload": {"text": text},
        }
        for number, text in enumerate(texts, start=after + 1)
    ]
