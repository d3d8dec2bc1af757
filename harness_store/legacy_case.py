"""What the files of a case of release 1.2.0 say together, before it is adopted.

Its head is the last event that ``case.md`` names, with the hash of the case after it.  A journal that a crash left
behind counts as written, as it did for that release: its records are laid over the log, its case over ``case.md``, and
no byte is changed for that.  Pure; ``case_files`` acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from . import legacy
from .heads import Head
from .records import scan
from .verdicts import Finding

JOURNAL = ".pending-transition.json"
_PLACE = f"archive/{JOURNAL}"


@frozen
class LegacyCase:
    """``data``: the log with the journal's lines laid over it.  ``state``: the case at ``head``.  ``pending``: the
    last bytes before the head, which only the journal vouches for; ``inserted``: how many of them are not in the log.

    ``finding``: what is wrong; then nothing is laid over anything, and ``state`` is what ``case.md`` says, if it says
    anything.
    """

    data: bytes
    head: Head
    state: Mapping[str, Any] | None
    pending: bytes = b""
    inserted: int = 0
    finding: Finding | None = None


def read(case_id: str, data: bytes, block: Mapping[str, Any] | None, journal: bytes | None) -> LegacyCase:
    """Put the bytes of the log, the content of the machine block and those of the journal together.

    A block or a journal that is not there is ``None``; at least one of them is.
    """
    named = _head(data, block)
    if isinstance(named, Finding):
        return LegacyCase(data, _nowhere(data), block, finding=named)
    plain = LegacyCase(data, named, block)
    if journal is None:
        return plain
    pending = legacy.read_pending(journal, case_id)
    if isinstance(pending, str):
        return LegacyCase(data, named, block, finding=Finding("journal_broken", _PLACE, pending))
    last = pending.records[-1]
    if named == Head(pending.first + len(pending.records), last["hash"]):
        return plain  # that release had come so far that only the journal was left
    return _laid_over(plain, pending)


def _head(data: bytes, block: Mapping[str, Any] | None) -> Head | Finding:
    """The head that a machine block names.  Where the log does not reach so far it is for the verdict to say so."""
    if block is None:
        return Head()
    integrity = block["integrity"]
    count = legacy.number_of(integrity["last_event_id"])
    if count is None:
        return Finding("projection_unreadable", "case.md", "the head in its machine block makes no sense")
    if integrity["state_sha256"] != legacy.state_hash(block):
        return Finding("projection_foreign", "case.md", "its content does not give the hash that it names")
    records = scan(data).records
    if len(records) < count:
        return Head(count, "")
    last = records[count - 1]
    if "format" in last or not legacy.names(block, last):
        return Finding("projection_foreign", "case.md", "it is no state of this Timeline: other hash of the case")
    return Head(count, last["hash"])


def _laid_over(plain: LegacyCase, pending: legacy.Pending) -> LegacyCase:
    found = scan(plain.data)
    base = next((place for place in found.positions if place.count == pending.first), None)
    if plain.head.count != pending.first or base is None or base.hash != pending.records[0]["prev_hash"]:
        problem = f"its events do not follow record {plain.head.count}, where case.md stands"
        return _with(plain, Finding("journal_foreign", _PLACE, problem))
    head = Head(pending.first + len(pending.records), pending.records[-1]["hash"])
    after = next((place for place in found.positions if place.count > pending.first), None)
    if after is None:
        lines = pending.lines
        data = plain.data[: base.end] + lines + plain.data[base.end :]
        return LegacyCase(data, head, pending.state, lines, len(lines))
    if (after.count, after.hash) == (head.count, head.hash):
        return LegacyCase(plain.data, head, pending.state, plain.data[base.end : after.end])
    problem = f"other records stand in the log after record {pending.first}, where its events belong"
    return _with(plain, Finding("journal_foreign", _PLACE, problem))


def _with(plain: LegacyCase, finding: Finding) -> LegacyCase:
    return LegacyCase(plain.data, plain.head, plain.state, finding=finding)


def _nowhere(data: bytes) -> Head:
    """Without a head to judge by, what can be read is what holds."""
    end = scan(data).end
    return Head(end.count, end.hash)
