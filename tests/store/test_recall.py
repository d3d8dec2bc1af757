"""What a user may rely on for receipts: they spare a process the reading of a Timeline, and change nothing else."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from harness_core.case import Case, document
from harness_core.events import Event
from harness_core.evolution import fold
from harness_core.testing import timelines
from harness_store import Harness
from harness_store.disk import PosixDisk, Stamp, Stat
from harness_store.fsck import check_case
from harness_store.fsck_verdicts import Verdict
from harness_store.recall import Recalled, lines_of, recalled, rest_of, touched
from harness_store.receipts import INDEX, RECEIPT
from harness_store.records import frame

SOURCE = {
    "summary": "The notes name the limit",
    "source_ref": "https://example.org/notes",
    "source_role": "primary",
    "access_scope": "full",
    "authority_domain": "external_source",
}


def transitions(events: Sequence[Event]) -> list[list[Event]]:
    """The events by the transition that made them."""
    found: list[list[Event]] = []
    for event in events:
        if not found or found[-1][-1].transition != event.transition:
            found.append([])
        found[-1].append(event)
    return found


def left(case: Case, lines: bytes) -> Case:
    """The case as the next process has it, from JSON texts."""
    said, rest = json.loads(json.dumps([document(case), rest_of(case)]))
    return recalled(said, rest, lines)


@given(timelines(), st.data())
def test_a_recalled_case_is_the_case_and_goes_on_as_it_would(events: tuple[Event, ...], data: st.DataObject) -> None:
    """Whatever happened to it, and wherever in its life one process leaves it and another takes it over."""
    steps = transitions(events)
    taken_over = data.draw(st.sets(st.integers(0, len(steps))))
    case, lines, theirs = None, b"", None
    for number, step in enumerate(steps):
        case = fold(step, case)
        assert case is not None
        lines += lines_of(case, dict.fromkeys(touched(case, [event.to_record() for event in step])))
        theirs = left(case, lines) if number in taken_over else fold(step, theirs)
        assert theirs == case
    assert case is not None
    anew = lines_of(case, sorted({*case.citations, *case.artifacts}))
    assert left(case, anew) == case


@given(timelines(), st.text() | st.sampled_from(["", "E000001 ", "E000001 {", "#E000001", "E1", "\nE000001"]))
def test_only_ids_of_events_are_found_among_the_lines(events: tuple[Event, ...], text: str) -> None:
    """What somebody cites is looked for as an id, never as a piece of text."""
    case = fold(events)
    assert case is not None
    found = left(case, lines_of(case, sorted({*case.citations, *case.artifacts}))).citations
    assert isinstance(found, Recalled)
    assert found.get(text) == case.citations.get(text)
    assert len(found) == len({*case.citations})


class Counting(PosixDisk):
    """A real disk that knows how many bytes of logs were read."""

    read_of_logs = 0
    _logs: set[int]

    def __init__(self) -> None:
        super().__init__()
        self._logs = set()

    def open(self, path: Path, *, write: bool = False) -> int:
        fd = super().open(path, write=write)
        (self._logs.add if path.name == "events.jsonl" else self._logs.discard)(fd)
        return fd

    def read(self, fd: int, size: int, offset: int) -> bytes:
        found = super().read(fd, size, offset)
        self.read_of_logs += len(found) if fd in self._logs else 0
        return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with a case of some records."""
    harness = Harness(tmp_path / "store")
    opening = {"operation": "open", "case_id": "c1", "top_unknown": "the limit"}
    harness.model(opening, session_id="s1")
    for _ in range(5):
        evidence(harness)
    return tmp_path / "store"


def evidence(harness: Harness) -> dict[str, Any]:
    return harness.model({"operation": "record_evidence", "evidence": [SOURCE]}, session_id="s1")


def test_a_new_process_appends_and_lists_without_reading_the_timeline(root: Path) -> None:
    """What its last writer left is enough for a list, a context and the next record; the whole stays verifiable."""
    disk = Counting()
    harness = Harness(root, disk=disk)
    assert harness.model({"operation": "list"}, session_id="s1")["cases"][0]["event_count"] == 6
    assert "c1" in (harness.context("s1", 9_000) or "")
    assert evidence(harness)["evidence_event_ids"] == ["E000007"]
    assert disk.read_of_logs == 0
    assert Harness(root).replay("c1")["usable"]


def test_two_processes_that_take_turns_do_not_read_each_others_records_again(root: Path) -> None:
    """Each goes on from what the other left."""
    disks = [Counting(), Counting()]
    for harness in [Harness(root, disk=disk) for disk in disks] * 4:
        evidence(harness)
    assert [disk.read_of_logs for disk in disks] == [0, 0]
    assert Harness(root).replay("c1")["timeline"]["event_count"] == 14


def spoil_receipt(root: Path) -> None:
    path = root / "cases/c1" / RECEIPT
    path.write_bytes(path.read_bytes().replace(b'"unaccounted":[]', b'"unaccounted":[1]'))


def cut_receipt(root: Path) -> None:
    path = root / "cases/c1" / RECEIPT
    path.write_bytes(path.read_bytes()[:-40])


def cut_index(root: Path) -> None:
    path = root / "cases/c1" / INDEX
    path.write_bytes(path.read_bytes()[:-40])


def spoil_index(root: Path) -> None:
    path = root / "cases/c1" / INDEX
    path.write_bytes(path.read_bytes().replace(b"full", b"none"))


def lose(*names: str) -> Callable[[Path], None]:
    def work(root: Path) -> None:
        for name in names:
            (root / "cases/c1" / name).unlink()

    return work


def folders(root: Path) -> None:
    lose(RECEIPT, INDEX)(root)
    for name in (RECEIPT, INDEX):
        (root / "cases/c1" / name).mkdir()


def no_file(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Something else in the place of the index, beside a receipt that holds."""

    def work(root: Path) -> None:
        lose(INDEX)(root)
        make(root / "cases/c1" / INDEX)

    return work


def endless(name: str) -> Callable[[Path], None]:
    """A file that is right where it begins and goes on with more nothing than any memory holds."""

    def work(root: Path) -> None:
        with (root / "cases/c1" / name).open("r+b") as file:
            file.truncate(1 << 42)

    return work


SPOILS = [
    *(spoil_receipt, cut_receipt, spoil_index, cut_index, lose(RECEIPT), lose(INDEX), lose(RECEIPT, INDEX), folders),
    *(no_file(Path.mkdir), no_file(os.mkfifo), no_file(lambda path: path.symlink_to("nowhere"))),
    *(endless(RECEIPT), endless(INDEX)),
]


@pytest.mark.parametrize("spoil", SPOILS)
def test_without_a_receipt_that_holds_the_timeline_is_read(root: Path, spoil: Callable[[Path], None]) -> None:
    """Torn, altered or lost, what was left beside the Timeline costs time and nothing else, and nobody is told lies."""
    spoil(root)
    harness = Harness(root)
    assert harness.model({"operation": "list"}, session_id="s1")["case_errors"] == {}
    assert evidence(harness)["evidence_event_ids"] == ["E000007"]
    assert evidence(Harness(root))["evidence_event_ids"] == ["E000008"]
    assert Harness(root).replay("c1")["usable"]


def test_a_receipt_of_other_files_is_not_believed(root: Path) -> None:
    """A byte that changed in the log since the receipt is found by a list, a write and everything else."""
    log = root / "cases/c1/events.jsonl"
    data = log.read_bytes()
    log.write_bytes(data.replace(b"name the limit", b"name no  limit", 1))
    harness = Harness(root)
    assert "c1" in harness.model({"operation": "list"}, session_id="s1")["case_errors"]
    assert json.loads(harness.tool("epistemic_model", evidence_call(), session_id="s1"))["code"] == "record_broken"


def test_a_log_that_is_changed_in_place_is_noticed_by_who_has_seen_it_sound(root: Path) -> None:
    """A process that has listed and told the case lists it as damaged from the moment on at which a byte is another."""
    harness = Harness(root)
    for _ in range(2):
        assert harness.model({"operation": "list"}, session_id="s1")["case_errors"] == {}
        assert "c1" in (harness.context("s1", 9_000) or "")
    log = root / "cases/c1/events.jsonl"
    data = log.read_bytes()
    with log.open("r+b") as file:
        file.write(data.replace(b"name the limit", b"name no  limit", 1))
    assert "c1" in harness.model({"operation": "list"}, session_id="s1")["case_errors"]
    assert "name no" not in (harness.context("s1", 9_000) or "")
    log.write_bytes(data)
    assert harness.model({"operation": "list"}, session_id="s1")["case_errors"] == {}


class Coarse(PosixDisk):
    """A disk whose clock stands still, and on which each ``case.md`` gets the inode of the one before."""

    def stat(self, path: Path) -> Stat | None:
        found = super().stat(path)
        inode = 1 if path.name == "case.md" else found and found.inode
        return found and evolve(found, mtime_ns=0, ctime_ns=0, inode=inode)

    def fstat(self, fd: int) -> Stat:
        return evolve(super().fstat(fd), mtime_ns=0, ctime_ns=0)

    def stamps(self, *paths: str) -> tuple[Stamp | None, ...]:
        found = [self.stat(Path(path)) for path in paths]
        return tuple(stat and stat.stamp for stat in found)


def test_a_reader_follows_a_log_that_grew_where_times_tell_nothing(root: Path) -> None:
    """A case whose ``case.md`` looks the same and whose log is longer is looked at again."""
    reader, writer = Harness(root, disk=Coarse()), Harness(root)
    for count in (6, 7, 8):
        assert reader.model({"operation": "list"}, session_id="s1")["cases"][0]["event_count"] == count
        evidence(writer)


def evidence_call() -> dict[str, Any]:
    return {"operation": "record_evidence", "evidence": [SOURCE]}


def test_a_copy_of_a_store_is_read_anew(root: Path, tmp_path: Path) -> None:
    """A receipt speaks of the very files beside it, not of copies."""
    import shutil

    shutil.copytree(root, tmp_path / "copy")
    disk = Counting()
    harness = Harness(tmp_path / "copy", disk=disk)
    evidence(harness)
    assert disk.read_of_logs > 0


def lie(root: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A receipt whose own hash holds, of the very files beside it, and which says something else."""
    path = root / "cases/c1" / RECEIPT
    said = json.loads(path.read_bytes().partition(b"\n")[0])
    del said["hash"]
    change(said)
    path.write_bytes(frame(said)[0])


def shorten(root: Path) -> None:
    path = root / "cases/c1" / INDEX
    data = path.read_bytes().replace(b'"full"', b'"lead"')
    path.write_bytes(data)
    lie(root, lambda said: said.update(index=[len(data), zlib.crc32(data)]))


def garble(line: bytes) -> Callable[[Path], None]:
    """An index that says one thing, and whose sum is right."""

    def work(root: Path) -> None:
        (root / "cases/c1" / INDEX).write_bytes(line)
        lie(root, lambda said: said.update(index=[len(line), zlib.crc32(line)]))

    return work


NONSENSE = [b"E000001 garbage\n", b"E000001 [1]\n", b"E000001 " + b"[" * 9_000 + b"\n", b"#E000001 {}\n", b"\xff\n"]


@pytest.mark.parametrize("line", NONSENSE)
def test_an_index_that_means_nothing_is_told_and_taken_away_by_a_repair(root: Path, line: bytes) -> None:
    """Whoever may write the store could plant one: every call is answered, and fsck says what it is."""
    garble(line)(root)
    calls = [{**evidence_call()}, {"operation": "show"}, {"operation": "list"}, citing()]
    answers = [json.loads(Harness(root).tool("epistemic_model", call, session_id="s1")) for call in calls]
    assert {answer.get("code") for answer in answers} <= {None, "receipt_lies", "invalid_arguments"}
    garble(line)(root)
    assert not check_case(root / "cases/c1").sound
    harness = Harness(root)
    assert [harness.repair(planned) for planned in harness.repairs()] == [True]
    assert check_case(root / "cases/c1").sound
    assert "error" not in json.loads(Harness(root).tool("epistemic_model", citing(), session_id="s1"))


def citing() -> dict[str, Any]:
    claim = {"id": "M1", "text": "t", "authority_domain": "external_source", "evidence_event_ids": ["E000002"]}
    return {"operation": "revise", "reason": "r", "mechanisms": [claim]}


LIES: list[Callable[[Path], None]] = [
    lambda root: lie(root, lambda said: said["card"]["summary"].update(status="closed")),
    lambda root: lie(root, lambda said: said["rest"].update(probe_count=7)),
    lambda root: lie(root, lambda said: said["position"].__setitem__(0, 5)),
    shorten,
]


@pytest.mark.parametrize("planted", LIES)
def test_a_receipt_that_lies_is_found_by_the_checker_and_taken_away_by_a_repair(
    root: Path, planted: Callable[[Path], None]
) -> None:
    """Whoever may write the store could plant one; replay goes by the records, and fsck says what the receipt is."""
    planted(root)
    report = check_case(root / "cases/c1")
    assert [(check.name, check.verdict) for check in report.checks if check.verdict is not Verdict.OK] == [
        ("projections", Verdict.VIOLATED)
    ]
    assert Harness(root).replay("c1")["usable"]
    harness = Harness(root)
    assert [harness.repair(planned) for planned in harness.repairs()] == [True]
    assert check_case(root / "cases/c1").sound
    assert evidence(Harness(root))["evidence_event_ids"] == ["E000007"]
    assert check_case(root / "cases/c1").sound


WRONG: list[Callable[[dict[str, Any]], object]] = [
    lambda said: said["card"]["summary"].update(session_ids=5),
    lambda said: said["card"]["summary"].update(session_ids=None),
    lambda said: said["card"]["summary"].update(session_ids=[]),
    lambda said: said["card"]["summary"].update(status=["active"]),
    lambda said: said["card"].pop("summary"),
    lambda said: said["rest"].update(probe_count="x"),
    lambda said: said["rest"].update(high_waters={"s1": "x"}),
    lambda said: said["rest"].update(unaccounted="x"),
    lambda said: said.pop("log"),
    lambda said: said.pop("card"),
]


@pytest.mark.parametrize("change", WRONG)
def test_a_member_of_another_shape_stops_nobody(root: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A list, a context and a write go on, the checker answers, and after a repair everything holds."""
    lie(root, change)
    check_case(root / "cases/c1")
    harness = Harness(root)
    assert harness.model({"operation": "list"}, session_id="s1")["cases"][0]["event_count"] == 6
    assert "c1" in (harness.context("s1", 9_000) or "")
    for planned in Harness(root).repairs():
        assert harness.repair(planned)
    assert evidence(Harness(root))["evidence_event_ids"] == ["E000007"]
    assert check_case(root / "cases/c1").sound


MEMBERS = ["format", "log", "projection", "position", "index", "rest", "card"]


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("value", [None, 7, "x", [], {}, ["x", "y"], {"summary": {}, "taught": 1}])
def test_a_receipt_of_another_shape_is_none(root: Path, name: str, value: object) -> None:
    """Whatever a line says whose hash holds, a list, a context and a write go on."""
    lie(root, lambda said: said.update({name: value}))
    harness = Harness(root)
    assert harness.model({"operation": "list"}, session_id="s1")["cases"][0]["event_count"] == 6
    assert "c1" in (harness.context("s1", 9_000) or "")
    assert evidence(Harness(root))["evidence_event_ids"] == ["E000007"]
    assert check_case(root / "cases/c1").sound
