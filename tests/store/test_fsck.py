"""What a user may rely on in the checker: an independent verdict for each concern, with the file, line and reason."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_store.fsck import StoreReport, Verdict, check_case, check_store
from tests.store.golden import CASE, DAMAGES, GOLDEN, LOG, PROJECTION, Files, files_of, lines, place_files, volume_of
from tests.store.script import Process
from tests.store.simulator import Killed, SimulatedDisk

IDLE = GOLDEN.stages["idle"]
HARNESS = Path(__file__).resolve().parents[2] / "harness_store"

VIOLATED: Mapping[str, set[str]] = {
    "nothing": set(),
    "events.jsonl: a bit flipped": {"framing"},
    "events.jsonl: cut in a line": {"framing", "head"},
    "events.jsonl: the last line dropped": {"head", "projections"},
    "events.jsonl: a line dropped": {"chain", "head"},
    "events.jsonl: two lines swapped": {"chain"},
    "events.jsonl: a line twice": {"chain", "head"},
    "events.jsonl: in another order": {"chain", "head"},
    "events.jsonl: a line of another case": {"chain"},
    "events.jsonl: another case's": {"head", "projections", "invariants"},
    "events.jsonl: garbage": {"framing", "head"},
    "events.jsonl: empty": {"head"},
    "events.jsonl: deleted": {"head"},
    "events.jsonl: a record of a newer release": {"framing", "head"},
    "events.jsonl: a broken tail": set(),
    "case.md: a bit of the block flipped": {"projections"},
    "case.md: the text edited": set(),
    "case.md: one transition older": {"projections"},
    "case.md: older": {"head", "projections"},
    "case.md: another case's": {"head", "projections"},
    "case.md: garbage": {"head"},
    "case.md: empty": {"head"},
    "case.md: deleted": {"head"},
    "both put back together": {"projections"},
    "artifact: altered": {"artifacts"},
    "artifact: deleted": {"artifacts"},
    "archive snapshot: altered": {"projections"},
    "archive snapshot: deleted": set(),
    "the whole case: a copy of another": {"projections", "invariants"},
    "sessions.json: garbage": {"bindings"},
    "sessions.json: deleted": set(),
    ".store.lock: empty": set(),
}
"""Which checks are violated by each damage.  An archive snapshot betrays what was put back by as little as one step."""


def report_on(files: Files, where: Path) -> StoreReport:
    return check_store(place_files(files, where / "store"))


def violated(report: StoreReport) -> set[str]:
    checks = [check for case in report.cases for check in case.checks] + list(report.checks)
    return {check.name for check in checks if check.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize("stage", sorted(GOLDEN.stages))
def test_a_sound_store_holds(stage: str, tmp_path: Path) -> None:
    """At every stage of a case each check says ok, and there is nothing to tidy up."""
    report = report_on(GOLDEN.stages[stage], tmp_path)
    assert report.sound
    assert [check.name for check in (*report.cases[0].checks, *report.checks)] == [
        *("framing", "chain", "head", "projections", "artifacts", "invariants"),
        *("format", "bindings"),
    ]
    assert not any(case.untidy for case in report.cases)
    assert not report.untidy


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_each_damage_violates_what_it_concerns(damage: str, tmp_path: Path) -> None:
    """The verdicts tell one damage from another; every one that is not ok gives its reason and the file it is in."""
    report = report_on(DAMAGES[damage](IDLE), tmp_path)
    assert violated(report) == VIOLATED[damage]
    for case in report.cases:
        assert case.sound or case.case_id == "c1"
        for check in case.checks:
            assert (check.verdict is Verdict.OK) == (not check.reasons)
            if check.verdict is Verdict.VIOLATED:
                assert all(any(name in reason for name in FILES) for reason in check.reasons), check


FILES = ("events.jsonl", "case.md", "archive/")


def test_only_a_sound_case_has_its_bindings_judged(tmp_path: Path) -> None:
    """A damaged case keeps its session bound, so nothing is said against that; it is said that it cannot be told."""
    report = report_on(DAMAGES["events.jsonl: empty"](IDLE), tmp_path)
    bindings = report.checks[-1]
    assert (bindings.verdict, bindings.reasons) == (Verdict.NOT_CHECKABLE, ("of c1 it cannot be told",))


def test_wrong_bindings_are_told(tmp_path: Path) -> None:
    """Who is bound to what, how far a session has counted and what it may revive is held against the Timelines."""
    held = json.loads(IDLE["sessions.json"])
    wrong = {**held, "sessions": {"s1": {"seq": 0, "active": "other", "marked": None}, "other": {"seq": 99}}}
    report = report_on({**IDLE, "sessions.json": json.dumps(wrong).encode()}, tmp_path)
    reasons = report.checks[-1].reasons
    assert any("s1 is bound to other" in reason for reason in reasons)
    assert any("s1 has high-water 0" in reason for reason in reasons)
    assert any("other is bound to None" in reason for reason in reasons)
    assert not any("99" in reason for reason in reasons), "numbers may be above what the Timelines say"


def test_a_change_of_bindings_that_a_crash_cut_off_is_untidy_and_not_wrong(tmp_path: Path) -> None:
    """Between the intent and the bindings the checker says what is left to be settled; afterwards there is nothing."""
    untidy = 0
    for step in range(1, 40):
        disk = SimulatedDisk(volume_of(IDLE), kill_at=step)
        try:
            Process(disk).model(operation="pause", reason="r")
        except Killed:
            report = report_on(files_of(disk.volume), tmp_path / str(step))
            assert report.sound, report
            untidy += bool(report.untidy)
        else:
            break
    assert untidy


def test_a_case_moved_aside_is_named_and_binds_nobody(tmp_path: Path) -> None:
    """The checker skips it, says so, and finds the rest sound."""
    process = Process(SimulatedDisk(volume_of(DAMAGES["events.jsonl: garbage"](IDLE))))
    process.harness.quarantine("c1")
    report = report_on(files_of(process.disk.volume), tmp_path)  # type: ignore[attr-defined]  # a simulated one
    assert report.sound
    assert report.aside == ("c1.quarantined-1",)


def test_one_case_can_be_checked_by_itself(tmp_path: Path) -> None:
    """Another case's damage does not show in its report."""
    root = place_files(DAMAGES["events.jsonl: garbage"](IDLE), tmp_path)
    assert check_store(root, "other").sound
    assert not check_store(root, "c1").sound
    assert check_store(root, "none").cases == ()


def test_the_checker_reads_with_code_of_its_own() -> None:
    """Nothing that the store reads, frames, hashes or parses with is used by the checker: an error there shows here."""
    parts = {"fsck_bindings", "fsck_bytes", "fsck_meaning", "fsck_receipt", "fsck_verdicts"}
    for name in ("fsck.py", "legacy_fsck.py", *(f"{part}.py" for part in parts)):
        tree = ast.parse((HARNESS / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                own = node.level and (node.module or "") not in {"", *parts}
                assert not own, ast.unparse(node)
                assert node.module not in {"harness_core.wire"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def resealed(record: Mapping[str, Any]) -> bytes:
    body = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    return body[:-1] + b',"hash":"%s"}\n' % hashlib.sha256(body).hexdigest().encode()


@settings(max_examples=150)
@given(data=st.data())
def test_whatever_a_record_says_the_checker_answers(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A record with any content under a hash that holds gets a verdict, never a traceback."""
    own = lines(IDLE[LOG])
    number = data.draw(st.integers(0, len(own) - 1))
    record = {name: value for name, value in json.loads(own[number]).items() if name != "hash"}
    place = record if data.draw(st.booleans()) else record["payload"]
    name = data.draw(st.sampled_from(sorted(place)))
    place[name] = data.draw(JSON)
    root = tmp_path_factory.mktemp("fuzz")
    log = b"".join([*own[:number], resealed(record), *own[number + 1 :]])
    report = check_store(place_files({**IDLE, LOG: log}, root))
    assert log == IDLE[LOG] or not report.sound


@settings(max_examples=100)
@given(block=JSON, sessions=JSON, slot=st.binary(max_size=40), head=JSON)
def test_whatever_the_other_files_say_the_checker_answers(
    block: Any, sessions: Any, slot: bytes, head: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any machine block, any bindings and any intent get a verdict, never a traceback."""
    content = {**block, "integrity": head} if isinstance(block, dict) else block
    text = f"<!-- EPISTEMIC-HARNESS-DATA\n{json.dumps(content)}\nEND-EPISTEMIC-HARNESS-DATA -->\n"
    files = {
        **IDLE,
        PROJECTION: text.encode(),
        f"{CASE}/archive/case-v0002.md": text.encode(),
        "sessions.json": json.dumps({"sessions": sessions}).encode(),
        ".store.lock": slot,
    }
    assert not report_on(files, tmp_path_factory.mktemp("fuzz")).sound


def test_an_open_that_never_happened_is_untidy(tmp_path: Path) -> None:
    """An empty folder, or a torn first transition without a ``case.md``, is no damage: nothing was acknowledged."""
    folder = tmp_path / "c9"
    folder.mkdir()
    for content in (None, b"", IDLE[LOG][:30], b"\0" * 99, lines(IDLE[LOG])[0]):
        if content is not None:
            (folder / "events.jsonl").write_bytes(content)
        report = check_case(folder)
        assert report.sound
        assert report.untidy == ("an open was begun and never acknowledged",)


def test_a_case_marked_read_only_is_named(tmp_path: Path) -> None:
    """The mark of a write that could not be taken back is untidy: nothing is wrong, and somebody has to look."""
    root = place_files({**IDLE, f"{CASE}/.read-only": b"look at the disk"}, tmp_path)
    report = check_case(root / CASE)
    assert report.sound
    assert ".read-only" in report.untidy[0]


@pytest.mark.parametrize("path", [LOG, PROJECTION])
def test_what_cannot_be_read_is_not_called_damaged(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the operating system does not let one read makes its case not checkable, with the reason."""
    root, read = place_files(IDLE, tmp_path), Path.read_bytes

    def refuse(self: Path) -> bytes:
        if self == root / path:
            raise PermissionError(13, "Permission denied")
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    report = check_case(root / CASE)
    assert {check.verdict for check in report.checks} == {Verdict.NOT_CHECKABLE}
    assert "cannot be read: Permission denied" in report.checks[0].reasons[0]
