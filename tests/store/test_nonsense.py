"""What a user may rely on when somebody writes a Timeline of his own, with hashes that hold: an answer, never a fault.

Records are changed at random and the whole chain is made anew, the head in ``case.md`` included.  Bytes then prove
nothing; what is left is what the records mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_core.errors import Damaged
from harness_store.codec import CaseCodec
from harness_store.fsck import Verdict, check_case
from harness_store.heads import Head, render_block
from harness_store.records import frame
from tests.store.golden import ATTEMPTS, CASE, GOLDEN, LOG, PROJECTION, Files, lines, outcome, place_files, volume_of
from tests.store.script import Process
from tests.store.simulator import SimulatedDisk

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 3, 1.5, "", "x", "E000001", "E000099", "P1", "M1", "observed", "closed", "s1"),
    *([], ["E000001"], {}, {"a": 1}),
)
Record = dict[str, Any]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything within a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*path, name)
        yield from places(part, (*path, name))


@st.composite
def changed(draw: st.DrawFn, records: list[Record]) -> list[Record]:
    """The records with one to three things changed: a value, a missing member, a type, an order of what happened."""
    records = json.loads(json.dumps(records))
    numbers = st.integers(0, len(records) - 1)
    for _ in range(draw(st.integers(1, 3))):
        record = records[draw(numbers)]
        match draw(st.sampled_from(["value", "value", "member", "type", "session", "order"])):
            case "type":
                record["type"] = records[draw(numbers)]["type"]
            case "session":
                record[draw(st.sampled_from(["session_id", "timestamp"]))] = draw(st.sampled_from(["", "s2", "2020"]))
            case "order":
                other = records[draw(numbers)]
                for name in ("type", "payload"):
                    record[name], other[name] = other[name], record[name]
            case kind:
                found = list(places(record["payload"]))
                if found:
                    *path, last = draw(st.sampled_from(found))
                    at = record["payload"]
                    for name in path:
                        at = at[name]
                    if kind == "member" and isinstance(at, dict):
                        del at[last]
                    else:
                        at[last] = draw(st.sampled_from(ODD))
    return records


def resealed(files: Files, records: list[Record]) -> Files:
    """The store with these records as a whole, valid chain, and a ``case.md`` that names and shows its end."""
    made, before = [], "0" * 64
    for record in records:
        plain = {name: value for name, value in record.items() if name != "hash"}
        line, before = frame({**plain, "prev_hash": before})
        made.append(line)
    head = Head(len(records), before)
    try:
        text = CaseCodec("c1").project(CaseCodec("c1").fold(None, [json.loads(line) for line in made]), head)
    except Damaged:
        text = render_block({}, head)
    return {**files, LOG: b"".join(made), PROJECTION: text.encode()}


@settings(max_examples=120)
@given(data=st.data(), stage=st.sampled_from(sorted(GOLDEN.stages)), name=st.sampled_from(sorted(ATTEMPTS)))
def test_whatever_a_timeline_means_the_store_and_the_checker_answer(
    data: st.DataObject, stage: str, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is tried is done or refused by the harness's own errors; the checker gives verdicts; they agree on what
    can be believed."""
    records = [json.loads(line) for line in lines(GOLDEN.stages[stage][LOG])]
    files = resealed(GOLDEN.stages[stage], data.draw(changed(records)))
    outcome(ATTEMPTS[name].act, Process(SimulatedDisk(volume_of(files))))
    replay = replayed(Process(SimulatedDisk(volume_of(files))))
    report = check_case(place_files(files, tmp_path_factory.mktemp("nonsense")) / CASE)
    verdicts = {check.name: check.verdict for check in report.checks}
    assert (verdicts["framing"], verdicts["chain"]) == (Verdict.OK, Verdict.OK)
    if verdicts["invariants"] is Verdict.OK:
        assert replay is not None
        assert replay["violations"] == []
    else:
        assert replay is None or not replay["usable"]


def replayed(process: Process) -> Mapping[str, Any] | None:
    try:
        return process.harness.replay("c1")
    except Damaged:
        return None
