"""What a user may rely on in the lines of a Timeline: they read back as written, and nothing else is believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_store.records import (
    START,
    TORN,
    ZERO_HASH,
    Position,
    Reason,
    canonical_json,
    event_id,
    frame,
    later_transition,
    scan,
    seal,
    strict_json,
    unframe,
)
from tests.store.ledger import entries

# Every character a text can hold, lone surrogates included: they come out of anybody's JSON.
texts = st.text(st.characters(), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
payloads = st.dictionaries(texts, values, max_size=4)


@st.composite
def timelines(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """A few transitions of a few records each."""
    transitions, count = [], 0
    for size in draw(st.lists(st.integers(1, 3), max_size=4)):
        transition = []
        for _ in range(size):
            count += 1
            record: dict[str, Any] = {
                "event_id": event_id(count),
                "type": draw(texts),
                "timestamp": draw(texts),
                "session_id": draw(texts),
                "payload": draw(payloads),
            }
            if draw(st.booleans()):
                record["seq"] = draw(st.integers(1, 10**6))
            transition.append(record)
        transitions.append(transition)
    return transitions


def written(transitions: list[list[dict[str, Any]]]) -> tuple[bytes, list[Position], list[Mapping[str, Any]]]:
    """The log, the position after each transition (from the start), and the sealed records."""
    data, positions, records = b"", [START], list[Mapping[str, Any]]()
    for transition in transitions:
        sealed = seal(transition, positions[-1])
        data += sealed.data
        records += sealed.records
        positions.append(sealed.position)
    return data, positions, records


LOG, POSITIONS, RECORDS = written([entries(0, "opened", "because"), entries(2, "then"), entries(3, "a", "b", "c")])
"""A small log of three transitions."""


@given(timelines())
def test_what_was_written_is_read_back(transitions: list[list[dict[str, Any]]]) -> None:
    """Any JSON, whatever its characters, comes back as it went in, with each transition's place and hash."""
    data, positions, records = written(transitions)
    found = scan(data)
    assert found.stop is None
    assert list(found.records) == records
    assert list(found.positions) == positions
    given_back = [{name: value for name, value in r.items() if name in {*entries(0, "")[0], "seq"}} for r in records]
    assert given_back == [record for transition in transitions for record in transition]


@given(timelines())
def test_a_line_says_what_the_format_says(transitions: list[list[dict[str, Any]]]) -> None:
    """A line is compact sorted ASCII JSON ended by LF, its last member the SHA-256 of all the others."""
    data, _, _ = written(transitions)
    assert data.isascii()
    previous = ZERO_HASH
    lines = data.splitlines(keepends=True)
    assert len(lines) == sum(map(len, transitions))
    for line in lines:
        record = json.loads(line)
        rest = line[:-1].removesuffix(f',"hash":"{record["hash"]}"}}'.encode()) + b"}"
        assert hashlib.sha256(rest).hexdigest() == record.pop("hash")
        assert rest.decode() == json.dumps(record, sort_keys=True, separators=(",", ":"))
        assert record["prev_hash"] == previous
        assert record["format"] == 2
        previous = hashlib.sha256(rest).hexdigest()


@given(timelines(), st.data())
def test_a_scan_continues_where_another_ended(transitions: list[list[dict[str, Any]]], data: st.DataObject) -> None:
    """Reading on from any position gives what reading from the start gives from there."""
    log, positions, records = written(transitions)
    start = data.draw(st.sampled_from(positions))
    rest = scan(log[start.end :], start)
    assert rest.stop is None
    assert list(rest.records) == records[start.count :]
    assert list(rest.positions) == positions[positions.index(start) :]


def test_a_cut_log_ends_at_its_last_whole_transition() -> None:
    """Cut anywhere, exactly the transitions that are still whole are believed; a cut looks torn, never broken."""
    for length in range(len(LOG)):
        found = scan(LOG[:length])
        whole = [position for position in POSITIONS if position.end <= length]
        assert list(found.positions) == whole
        assert len(found.records) == whole[-1].count
        if length == whole[-1].end:
            assert found.stop is None
        else:
            assert found.stop is not None
            assert found.stop.reason in TORN
            assert found.stop.line == LOG[:length].count(b"\n") + 1
            assert LOG[: found.stop.offset].count(b"\n") == found.stop.line - 1


@pytest.mark.parametrize("bit", [0x01, 0x20, 0x80])
def test_a_changed_byte_is_never_believed(bit: int) -> None:
    """Change any one byte: nothing from its transition on is believed, and the scan names the line it was in."""
    for place in range(len(LOG)):
        changed = bytearray(LOG)
        changed[place] ^= bit
        found = scan(bytes(changed))
        assert list(found.positions) == [position for position in POSITIONS if position.end <= place]
        assert found.stop is not None
        assert found.stop.reason is not Reason.NEWER
        assert found.stop.line == LOG[:place].count(b"\n") + 1


def _line(after: Position, **changes: Any) -> bytes:
    """A line whose own hash holds, to follow ``after``, with some members changed (``None``: taken away)."""
    record = {
        **entries(after.count, "x")[0],
        "format": 2,
        "prev_hash": after.hash,
        "transition": {"number": after.transition + 1, "position": 1, "size": 1},
        **changes,
    }
    return frame({name: value for name, value in record.items() if value is not None})[0]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"prev_hash": "f" * 64}, Reason.WRONG_CHAIN),
        ({"prev_hash": None}, Reason.WRONG_MEMBERS),
        ({"event_id": event_id(9)}, Reason.WRONG_ID),
        ({"event_id": 7}, Reason.WRONG_MEMBERS),
        ({"payload": ["x"]}, Reason.WRONG_MEMBERS),
        ({"seq": 0}, Reason.WRONG_MEMBERS),
        ({"seq": True}, Reason.WRONG_MEMBERS),
        ({"extra": 1}, Reason.WRONG_MEMBERS),
        ({"format": "2"}, Reason.WRONG_MEMBERS),
        ({"format": None}, Reason.WRONG_MEMBERS),
        ({"format": 3}, Reason.NEWER),
        ({"format": 3, "payload": None, "novel": "shape"}, Reason.NEWER),
        ({"transition": {"number": 9, "position": 1, "size": 1}}, Reason.WRONG_TRANSITION),
        ({"transition": {"number": 4, "position": 2, "size": 2}}, Reason.WRONG_TRANSITION),
        ({"transition": {"number": 4, "position": 2, "size": 1}}, Reason.WRONG_MEMBERS),
        ({"transition": {"number": 4, "position": 1}}, Reason.WRONG_MEMBERS),
        ({"transition": [4, 1, 1]}, Reason.WRONG_MEMBERS),
    ],
)
def test_a_line_that_does_not_belong_is_named_for_what_it_is(changes: dict[str, Any], reason: Reason) -> None:
    """A line with a good hash is still refused when it does not follow; one of a newer release is told apart."""
    found = scan(LOG + _line(POSITIONS[-1], **changes))
    assert found.end == POSITIONS[-1]
    assert found.stop is not None
    assert (found.stop.reason, found.stop.line, found.stop.offset) == (reason, 7, len(LOG))


@pytest.mark.parametrize("second", [{"number": 2, "position": 1, "size": 1}, {"number": 1, "position": 2, "size": 3}])
def test_lines_of_two_transitions_do_not_mix(second: dict[str, int]) -> None:
    """A transition that another one interrupts, or whose lines disagree about its size, never happened."""
    first = _line(START, transition={"number": 1, "position": 1, "size": 2})
    found = unframe(first[:-1])
    assert not isinstance(found, Reason)
    data = first + _line(Position(1, found[1], 0, len(first)), transition=second)
    scanned = scan(data)
    assert scanned.records == ()
    assert scanned.stop is not None
    assert scanned.stop.reason is Reason.WRONG_TRANSITION


@pytest.mark.parametrize(
    "body",
    [
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":-Infinity}',
        '{"a":1e999}',
        '{"a":' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"a":1}}',
        '{"a":"\t"}',
        "",
    ],
)
def test_json_that_says_two_things_or_none_is_refused(body: str) -> None:
    """Duplicate keys, NaN, infinities, overflow, absurd nesting and trailing bytes are not JSON, under any hash."""
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own words, none is promised
        strict_json(body)
    data = body.encode()
    line = data[:-1] + b',"hash":"' + hashlib.sha256(data).hexdigest().encode() + b'"}' if body.endswith("}") else data
    assert isinstance(unframe(line), Reason)


def test_a_line_that_is_not_ascii_is_refused() -> None:
    """Bytes beyond ASCII are not what this format writes, also where their hash holds."""
    data = '{"a":"é"}'.encode()
    line = data[:-1] + b',"hash":"' + hashlib.sha256(data).hexdigest().encode() + b'"}'
    assert unframe(line) is Reason.NOT_JSON


def test_a_line_that_is_no_object_is_refused() -> None:
    """A list that ends like a record is none."""
    data = b'[{"a":1}'
    body = data.removesuffix(b"}")
    line = body + b',"hash":"' + hashlib.sha256(data).hexdigest().encode() + b'"}'
    assert unframe(line) is Reason.NOT_JSON


LEGACY = (
    b'{"event_id":"E000001","hash":"00","payload":{},"prev_hash":"00","session_id":"s","timestamp":"t",'
    b'"type":"case_opened"}\n'
)


def test_a_line_of_release_1_2_0_must_hold_by_its_own_rules() -> None:
    """A first line of the old shape is believed by that release's hash alone; after lines of ours it is damage."""
    stop = scan(LEGACY).stop
    assert stop is not None
    assert (stop.reason, stop.line) == (Reason.WRONG_HASH, 1)
    stop = scan(LOG + LEGACY).stop
    assert stop is not None
    assert stop.reason is Reason.NO_HASH


@pytest.mark.parametrize(
    "records",
    [
        [],
        entries(1, "gap"),
        [{**entries(0, "x")[0], "format": 2}],
        [{**entries(0, "x")[0], "payload": "text"}],
        [{**entries(0, "x")[0], "payload": {"x": float("nan")}}],
        [{**entries(0, "x")[0], "payload": {"x": object()}}],
        [{**entries(0, "x")[0], "type": None}],
        [{}],
    ],
)
def test_what_could_not_be_read_back_is_not_written(records: list[dict[str, Any]]) -> None:
    """Sealing takes only what a scan will believe; everything else is a fault of the program, found before writing."""
    with pytest.raises((ValueError, TypeError)):
        seal(records, START)


def test_nesting_beyond_reading_is_not_written() -> None:
    """What no reader could parse is refused by the writer as well."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        canonical_json(deep)


def test_a_later_transition_is_found_in_a_broken_tail() -> None:
    """An unharmed line of a later transition is found behind broken ones; harmed or earlier ones are not."""
    broken = LOG.replace(b"because", b"becauze")
    assert later_transition(broken, 1) == 2
    assert later_transition(broken, 2) == 3
    assert later_transition(broken, 3) is None
    assert later_transition(broken[:-10], 2) == 3  # two of its lines are whole
    assert later_transition(b"garbage\n" * 3, 0) is None
