"""What a user may rely on when a store's files are harmed: the verdict for each kind of harm, whatever is then tried.

A golden store is damaged in every way and everything is tried on it; docs/damage.md holds the resulting table.
``HARNESS_WRITE_DOCS=1`` writes that table anew; ``HARNESS_THOROUGH=1`` harms every byte instead of a sample.
"""

from __future__ import annotations

import errno
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness_core.errors import Damaged
from harness_store import Harness
from harness_store.disk import PosixDisk
from harness_store.fsck import CaseReport, Verdict, check_case, check_store
from tests.store.golden import (
    ATTEMPTS,
    CASE,
    DAMAGES,
    EVIDENCE,
    GOLDEN,
    LOG,
    PROJECTION,
    Files,
    files_of,
    harmed,
    lines,
    outcome,
    place_files,
    tried,
    volume_of,
)
from tests.store.script import PROBE, Process
from tests.store.simulator import SimulatedDisk

EVERY = 1 if os.environ.get("HARNESS_THOROUGH") else 23
"""Each so many-th byte is harmed; a prime, so that it meets every part of a line."""
TABLE = Path(__file__).resolve().parents[2] / "docs" / "damage.md"
BEGIN, END = "<!-- made by tests/store/test_golden.py -->\n", "<!-- end -->\n"

GROUPS = {
    "show": ["show"],
    "list": ["list"],
    "injection": ["injection"],
    "ordinary call": ["ordinary call"],
    "committed call": ["committed call"],
    "commit": ["commit"],
    "close": ["close"],
    "any other write": ["record_evidence", "compare", "discard", "revise", "pause", "resume", "resume elsewhere"],
    "host's events": ["session ends", "proof of life", "compression child"],
    "learn from it": ["learn from it"],
    "another case in the session": ["open another"],
}
WHOLE = tried(DAMAGES["nothing"], ATTEMPTS["show"])[1]
HEALED = {
    "nothing",
    "events.jsonl: a broken tail",
    "case.md: the text edited",
    "case.md: one transition older",
    "both put back together",
    "archive snapshot: altered",
    "archive snapshot: deleted",
    "sessions.json: garbage",
    "sessions.json: deleted",
    ".store.lock: empty",
}
"""What is no damage to a Timeline: it is made good, concerns nobody, or cannot be told (docs/damage.md says which)."""
OF_ARTIFACTS = {name for name in DAMAGES if name.startswith("artifact")}
OF_TIMELINES = sorted(DAMAGES.keys() - HEALED - OF_ARTIFACTS)
WRITES = [*GROUPS["any other write"], *GROUPS["host's events"], "commit", "close"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("damage", OF_TIMELINES)
def test_no_write_builds_on_damage(damage: str, write: str) -> None:
    """Every write to a case whose log or ``case.md`` is damaged says so, and changes no byte of the case."""
    said, before, after = tried(DAMAGES[damage], ATTEMPTS[write])
    assert said == "damaged"
    assert of_case(after) == of_case(before)


@pytest.mark.parametrize("damage", OF_TIMELINES)
def test_a_damaged_case_is_named_and_protects_its_session(damage: str) -> None:
    """It stands in ``case_errors``, its session opens no other case, an ordinary call runs, and no lesson is taken."""
    assert tried(DAMAGES[damage], ATTEMPTS["list"])[0] == "in case_errors"
    assert tried(DAMAGES[damage], ATTEMPTS["show"])[0] in {"done, damage named", "damaged"}
    assert tried(DAMAGES[damage], ATTEMPTS["injection"])[0] in {"done, damage named", "damaged"}
    assert tried(DAMAGES[damage], ATTEMPTS["ordinary call"])[0] == "runs"
    assert tried(DAMAGES[damage], ATTEMPTS["open another"])[0] == "refused: session_has_case"
    assert tried(DAMAGES[damage], ATTEMPTS["learn from it"])[0] == "refused: invalid_arguments"


@pytest.mark.parametrize("damage", [*OF_TIMELINES, *sorted(OF_ARTIFACTS)])
def test_a_committed_action_does_not_run_on_a_damaged_record(damage: str) -> None:
    """As long as anything that can still be read names the commitment, its call is blocked and does not run."""
    gone = damage == "the whole case: a copy of another"  # nothing of the case itself is left
    assert tried(DAMAGES[damage], ATTEMPTS["committed call"])[0] == ("runs" if gone else "blocked")


@pytest.mark.parametrize("damage", sorted(OF_ARTIFACTS))
def test_a_damaged_artifact_stops_only_what_relies_on_it(damage: str) -> None:
    """Commit, close and learning are refused; recording more is not, and each answer names the damage."""
    for attempt in ("commit", "close"):
        assert tried(DAMAGES[damage], ATTEMPTS[attempt])[0] == "refused: not_usable"
    assert tried(DAMAGES[damage], ATTEMPTS["learn from it"])[0] == "refused: invalid_arguments"
    for attempt in ("show", *GROUPS["any other write"]):
        assert tried(DAMAGES[damage], ATTEMPTS[attempt])[0] == "done, damage named"


@pytest.mark.parametrize("damage", sorted(HEALED - {"both put back together"}))
def test_what_a_crash_may_leave_is_made_good(damage: str) -> None:
    """What is no damage keeps nobody from anything."""
    passing = {"learn from it"} if damage == "case.md: one transition older" else set()  # not acknowledged yet
    for name, attempt in ATTEMPTS.items():
        if name not in passing:
            assert tried(DAMAGES[damage], attempt)[0] == tried(DAMAGES["nothing"], attempt)[0], name


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_other_sessions_never_notice(damage: str) -> None:
    """Another session calls, records, compares and goes on as if nothing were."""
    process = Process(SimulatedDisk(volume_of(DAMAGES[damage](GOLDEN.stages["idle"]))))
    with process.harness.execution(session_id="other", tool_name="read_file", args={"path": "a"}) as execution:
        assert execution.recording
        execution.observed("42")
    process.probe("other", operation="compare", disposition="match", rationale="r", belief_change="unchanged")
    assert process.probe("other", operation="commit", **PROBE)["probe"]["tool_name"] == "read_file"
    process.probe("other", operation="discard", reason="r")
    done = process.model("other", operation="close", outcome="unresolved", summary="s", transfer={"decision": "none"})
    assert done["replay"]["usable"]
    assert process.model("new", operation="open", case_id="new", top_unknown="n")["replay"]["usable"]


def of_case(files: Files) -> Files:
    return {path: data for path, data in files.items() if path.startswith(f"{CASE}/") and ".lock" not in path}


# -- every byte, every line -----------------------------------------------------------------------------------------


def looked_at(files: Files, where: Path) -> tuple[str, str, CaseReport]:
    """What ``show`` and ``list`` come to, and what the checker finds."""
    process = Process(SimulatedDisk(volume_of(files)))
    shown, listed = outcome(ATTEMPTS["show"].act, process), outcome(ATTEMPTS["list"].act, process)
    assert files_of(process.disk.volume) == files, "reading changes no byte"  # type: ignore[attr-defined]
    (where / CASE).mkdir(parents=True, exist_ok=True)
    (where / LOG).write_bytes(files[LOG])
    (where / PROJECTION).write_bytes(files[PROJECTION])
    return shown, listed, check_case(where / CASE)


def assert_told(files: Files, where: Path) -> None:
    """The harm is told by everybody, with file and reason, and by the checker too."""
    shown, listed, report = looked_at(files, where)
    assert shown in {"done, damage named", "damaged"}
    assert listed == "in case_errors"
    assert any(check.verdict is Verdict.VIOLATED for check in report.checks), report
    with pytest.raises(Damaged) as caught, Process(SimulatedDisk(volume_of(files))).harness as harness:
        harness.model({"operation": "pause", "reason": "r"}, session_id="s1")
    assert caught.value.code
    assert caught.value.where.startswith(("events.jsonl", "case.md")), caught.value.where


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return place_files(WHOLE, tmp_path_factory.mktemp("golden"))


def test_every_byte_of_the_timeline_counts(where: Path) -> None:
    """A flipped byte and a cut anywhere in the log are told by show, list, every write and the checker."""
    for _, _, data in harmed(WHOLE[LOG], EVERY):
        assert_told({**WHOLE, LOG: data}, where)


def test_every_byte_of_the_machine_block_counts(where: Path) -> None:
    """So are those in the block of ``case.md``; the text below it is for people and is not read back."""
    data = WHOLE[PROJECTION]
    begin, end = data.index(b"<!-- EPISTEMIC"), data.index(b"END-EPISTEMIC-HARNESS-DATA -->\n") + 30
    for kind, place, changed in harmed(data, EVERY):
        if begin <= place < end or (kind == "cut" and place < begin):
            assert_told({**WHOLE, PROJECTION: changed}, where)
        elif place > end:
            assert looked_at({**WHOLE, PROJECTION: changed}, where)[:2] == ("done", "listed")


def disordered(own: list[bytes], foreign: list[bytes]) -> Iterator[list[bytes]]:
    """Each line dropped, doubled, swapped with each other, replaced by or followed by each foreign one."""
    for n in range(len(own)):
        yield own[:n] + own[n + 1 :]
        yield own[: n + 1] + own[n:]
        for line in foreign:
            yield [*own[:n], line, *own[n + 1 :]]
            if n + 1 < len(own):
                yield [*own[: n + 1], line, *own[n + 1 :]]
    for one, two in itertools.combinations(range(len(own)), 2):
        changed = [*own]
        changed[one], changed[two] = own[two], own[one]
        yield changed
    for n in range(1, len(own)):
        yield own[n:] + own[:n]


def test_every_line_has_its_place(where: Path) -> None:
    """A line dropped, doubled, moved, or of another case is told; only what follows the head is no more than a tail."""
    own, foreign = lines(WHOLE[LOG]), lines(WHOLE["cases/other/events.jsonl"])
    for changed in disordered(own, foreign):
        if changed[: len(own)] == own:  # doubled or foreign lines beyond the head: never acknowledged
            assert looked_at({**WHOLE, LOG: b"".join(changed)}, where)[:2] == ("done", "listed")
        else:
            assert_told({**WHOLE, LOG: b"".join(changed)}, where)


def test_a_log_replaced_under_a_running_process_is_noticed(tmp_path: Path) -> None:
    """A process that knows the case verifies what is there when another log is renamed into its place."""
    root = place_files(WHOLE, tmp_path / "store")
    harness = Harness(root)
    evidence = {"operation": "record_evidence", "evidence": [EVIDENCE]}
    harness.model(evidence, session_id="s1")
    log = root / LOG
    whole = log.read_bytes()
    for replacement, sound in ((whole, True), (whole[: len(whole) // 2], False), (whole.replace(b"42", b"43"), False)):
        aside = log.with_name("aside")
        aside.write_bytes(replacement)
        aside.rename(log)
        if sound:
            harness.model({"operation": "show"}, session_id="s1")
            continue
        with pytest.raises(Damaged):
            harness.model(evidence, session_id="s1")
        assert log.read_bytes() == replacement


# -- the table ------------------------------------------------------------------------------------------------------


def cell(damage: str, attempts: list[str]) -> str:
    return " / ".join(dict.fromkeys(tried(DAMAGES[damage], ATTEMPTS[name])[0] for name in attempts))


def checked(damage: str) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        report = check_store(place_files(DAMAGES[damage](GOLDEN.stages["idle"]), Path(scratch)))
    checks = [*report.cases[0].checks, *report.checks]
    wrong = [check.name for check in checks if check.verdict is Verdict.VIOLATED]
    if wrong:
        return f"violated: {', '.join(wrong)}"
    untidy = [
        *report.cases[0].untidy,
        *report.untidy,
        *(r for c in checks if c.verdict is not Verdict.OK for r in c.reasons),
    ]
    return f"said: {'; '.join(untidy)}" if untidy else "ok"


def mended(damage: str) -> str:
    disk = SimulatedDisk(volume_of(DAMAGES[damage](GOLDEN.stages["idle"])))
    return ", ".join(f"{r.file}" for r in Process(disk).harness.repairs())


def table() -> str:
    head = ["damage", *GROUPS, "fsck", "fsck --repair makes anew"]
    rows = [
        [damage, *(cell(damage, attempts) for attempts in GROUPS.values()), checked(damage), mended(damage)]
        for damage in DAMAGES
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def test_the_documented_table_is_what_happens() -> None:
    """docs/damage.md says of each damage what show, list, injection, calls and writes then do; it is made from runs."""
    text = TABLE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    made = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if os.environ.get("HARNESS_WRITE_DOCS"):
        TABLE.write_text(made, encoding="utf-8")
    assert made == text or os.environ.get("HARNESS_WRITE_DOCS")


def test_an_answer_stands_though_an_artifact_cannot_be_read(tmp_path: Path) -> None:
    """A disk error in looking at an artifact after a transition does not deny the transition, and is named."""

    class Sick(PosixDisk):
        def open(self, path: Path, *, write: bool = False) -> int:
            if "artifacts" in path.parts:
                raise OSError(errno.EIO, "Input/output error")
            return PosixDisk.open(self, path, write=write)

    harness = Harness(place_files(WHOLE, tmp_path), disk=Sick())
    done = harness.model({"operation": "record_evidence", "evidence": [EVIDENCE]}, session_id="s1")
    assert done["evidence_event_ids"] == [harness.timeline("c1")[-1]["event_id"]]
    assert done["replay"]["artifacts"] == {
        "valid": False,
        "errors": ["the artifacts could not be looked at (io_error)"],
    }
