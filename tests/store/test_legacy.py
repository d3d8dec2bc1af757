"""What a user may rely on who comes from release 1.2.0: nothing is converted, nothing is lost, everything goes on.

The store is one that release wrote itself, with a case of every kind; see ``old_release``.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness_core.errors import Damaged, Refused
from harness_store import Harness
from harness_store.disk import PosixDisk
from harness_store.fsck import Verdict, check_case, check_store
from harness_store.locks import Lease
from tests.store.old_release import EXPECTED, JOURNAL, Files, found, original, place

LESSON = "Check that the cache is consulted before tuning its size"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return place(original(), tmp_path / "store")


def model(harness: Harness, session: str, **args: Any) -> dict[str, Any]:
    return harness.model(args, session_id=session)


def probe(harness: Harness, session: str, **args: Any) -> dict[str, Any]:
    return harness.probe(args, session_id=session)


def acted(harness: Harness, session: str, args: Mapping[str, Any]) -> dict[str, Any]:
    with harness.execution(session_id=session, tool_name="read_file", args=args) as execution:
        assert execution.recording, execution.blocked
        seen = execution.observed("as expected")
    assert seen is not None
    return seen


COMMIT = {
    "operation": "commit",
    "purpose": "learn",
    "unknown_or_goal": "g",
    "tool_name": "read_file",
    "tool_args": {"path": "a"},
    "predicted_outcomes": ["x"],
    "would_change_belief": "w",
    "why_this_action": "y",
    "authority_domain": "system_state",
}
COMPARED = {"operation": "compare", "disposition": "match", "rationale": "r", "belief_change": "strengthened"}
REPAIR = {
    "operation": "revise",
    "reason": "it was renamed",
    "addresses_event_ids": ["E000005"],
    "mechanisms": [{"id": "M1", "text": "quite different"}],
    "current_plan": [],
}
CONTINUED: Mapping[str, tuple[Callable[[Harness], object], str]] = {
    "active-observed": (lambda h: probe(h, "s-active", **COMPARED), "probe_compared"),
    "executing": (lambda h: probe(h, "s-exec", operation="recover", reason="it died"), "probe_observed"),
    "stale": (lambda h: model(h, "s-stale", **REPAIR), "model_revised"),
    "paused-operator": (lambda h: model(h, "s-new", operation="resume", case_id="paused-operator"), "case_resumed"),
    "paused-marked": (lambda h: h.proof_of_life("s-life"), "case_resumed"),
    "crashed": (lambda h: acted(h, "s-crash", {"path": "notes.txt"}), "probe_observed"),
    "intent": (lambda h: h.context("s-intent-child", 9_000), "session_migrated"),
    "migrated": (lambda h: probe(h, "s-child", **COMMIT), "probe_committed"),
    "failed-execution": (
        lambda h: model(
            h, "s-fail", operation="close", outcome="unresolved", summary="s", transfer={"decision": "none"}
        ),
        "case_closed",
    ),
}


# --- as it lies ---


def test_every_case_is_listed(root: Path) -> None:
    """All cases stand in ``list``, none among the errors."""
    answer = model(Harness(root), "reader", operation="list")
    assert {entry["case_id"] for entry in answer["cases"]} == EXPECTED.keys()
    assert answer["case_errors"] == {}


@pytest.mark.parametrize("case_id", EXPECTED)
def test_a_case_shows_what_release_1_2_0_said_of_it(root: Path, case_id: str) -> None:
    """Status, version, staleness, probe, closure, count of events and the verdict of replay are the same."""
    expected = EXPECTED[case_id]
    answer = model(Harness(root), expected["session_id"], operation="show", case_id=case_id)
    case, replay = answer["case"], answer["replay"]
    assert {
        "closure": case["closure"]["calibration"]["label"] if "closure" in case else None,
        "events": case["event_count"],
        "pending_probe": case["pending_probe"] and case["pending_probe"]["status"],
        "reason": replay["reason"],
        "session_id": case["session_id"],
        "stale": case["stale"],
        "stale_claim_ids": case.get("stale_claim_ids", []),
        "status": case["status"],
        "timeline_valid": replay["timeline"]["valid"],
        "usable": replay["usable"],
        "version": case["version"],
    } == expected


def read_everything(harness: Harness) -> None:
    model(harness, "reader", operation="list")
    for case_id, expected in EXPECTED.items():
        model(harness, expected["session_id"], operation="show", case_id=case_id)
        harness.replay(case_id)
        assert len(harness.timeline(case_id)) == expected["events"]
        harness.context(expected["session_id"], 9_000)
        harness.is_bound(expected["session_id"])
    with harness.execution(session_id="s-op", tool_name="read_file", args={}) as execution:
        execution.observed("an ordinary call")
    harness.replay("closed-supported")


def test_reading_changes_no_byte(root: Path) -> None:
    """Listing, showing, replaying, injecting and ordinary calls leave every file and folder as it is."""
    before = found(root)
    read_everything(Harness(root))
    assert found(root) == before


def test_what_is_refused_changes_no_byte(root: Path) -> None:
    """A refused operation does not begin a conversion either."""
    before = {name: data for name, data in found(root).items() if not name.endswith(".lock")}
    harness = Harness(root)
    with pytest.raises(Refused):
        model(harness, "s-stale", operation="close", outcome="resolved", summary="s", transfer={"decision": "none"})
    with pytest.raises(Refused):
        model(harness, "s-active", operation="resume", case_id="paused-operator")
    with pytest.raises(Refused):
        probe(harness, "s-exec", operation="compare", disposition="match", rationale="r")
    assert {name: data for name, data in found(root).items() if not name.endswith(".lock")} == before


def test_the_checker_finds_nothing_in_it(root: Path) -> None:
    """The checker, which has code of its own, agrees; it names the journal that a crash left."""
    report = check_store(root)
    assert [c for case in report.cases for c in case.checks if c.verdict is not Verdict.OK] == []
    assert report.sound
    assert [case.case_id for case in report.cases if case.untidy] == ["crashed"]


def test_an_earlier_point_before_the_adoption_is_refused(root: Path) -> None:
    """Release 1.2.0 kept only its last state; ``as_of`` says which counts can be shown."""
    harness = Harness(root)
    with pytest.raises(Refused, match="as_of"):
        model(harness, "s-stale", operation="show", case_id="stale", as_of=3)
    shown = model(harness, "s-stale", operation="show", case_id="stale", as_of=5)
    assert shown["case"]["stale"]
    model(harness, "s-stale", **REPAIR)
    for impossible in (3, 5, 6):
        with pytest.raises(Refused, match="as_of"):
            model(harness, "s-stale", operation="show", case_id="stale", as_of=impossible)


# --- going on ---


def in_a_fresh_process(root: Path, case_id: str) -> dict[str, Any]:
    code = "from harness_store import Harness; print(json.dumps(Harness(sys.argv[1]).replay(sys.argv[2])))"
    command: list[str | Path] = [sys.executable, "-c", f"import json, sys; {code}", root, case_id]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("case_id", CONTINUED)
def test_a_case_goes_on_and_verifies_from_the_first_record_to_the_last(root: Path, case_id: str) -> None:
    """The fitting operation works at once; the old records stay byte for byte, and all of them hold for ever."""
    operation, last = CONTINUED[case_id]
    log = root / "cases" / case_id / "events.jsonl"
    before = log.read_bytes()
    events = EXPECTED[case_id]["events"]
    operation(Harness(root))
    assert log.read_bytes().startswith(before)
    records = Harness(root).timeline(case_id)
    assert [record["event_id"] for record in records] == [f"E{n:06d}" for n in range(1, len(records) + 1)]
    assert records[events]["type"] == "case_adopted"
    assert records[-1]["type"] == last
    replay = in_a_fresh_process(root, case_id)
    assert (replay["timeline"]["valid"], replay["case_snapshot"]["valid"]) == (True, True)
    assert replay["timeline"]["event_count"] == len(records)
    assert replay["violations"] == []
    report = check_store(root)
    assert [c for case in report.cases for c in case.checks if c.verdict is not Verdict.OK] == []
    assert report.sound


def test_all_of_them_go_on_in_one_store(root: Path) -> None:
    """One after another, through many harnesses; at the end everything is sound and bound as the Timelines say."""
    for operation, _ in CONTINUED.values():
        operation(Harness(root))
    model(
        Harness(root), "s-next", operation="open", case_id="next", top_unknown="u", prior_case_ids=["closed-supported"]
    )
    assert check_store(root).sound
    bound = json.loads((root / "sessions.json").read_text())["sessions"]
    active = {session: entry["active"] for session, entry in bound.items() if "active" in entry}
    assert active == {
        "s-active": "active-observed",
        "s-exec": "executing",
        "s-stale": "stale",
        "s-new": "paused-operator",
        "s-life": "paused-marked",
        "s-crash": "crashed",
        "s-intent-child": "intent",
        "s-child": "migrated",
        "s-next": "next",
    }
    assert not (root / "cases/crashed" / JOURNAL).exists()


def test_a_whole_cycle_on_an_old_case_ends_in_a_supported_closure(root: Path) -> None:
    """What 1.2.0 observed supports a claim here as it did there, up to a resolved closure."""
    harness = Harness(root)
    probe(harness, "s-active", **COMPARED)
    claim = {"id": "M1", "text": "consulted", "epistemic_status": "grounded", "evidence_event_ids": ["E000004"]}
    model(
        harness, "s-active", operation="revise", reason="r", mechanisms=[{**claim, "authority_domain": "system_state"}]
    )
    close = {"operation": "close", "outcome": "resolved", "summary": "s", "transfer": {"decision": "none"}}
    closed = model(harness, "s-active", **close)
    assert closed["case"]["closure"]["calibration"]["label"] == "supported"
    assert closed["case"]["version"] == 2


def test_what_failed_under_release_1_2_0_supports_nothing_here(root: Path) -> None:
    """An observation with the status ``error`` cannot carry a resolved closure."""
    harness = Harness(root)
    claim = {"id": "M1", "text": "m", "epistemic_status": "grounded", "evidence_event_ids": ["E000004"]}
    model(harness, "s-fail", operation="revise", reason="r", mechanisms=[{**claim, "authority_domain": "system_state"}])
    with pytest.raises(Refused, match="E000004"):
        model(harness, "s-fail", operation="close", outcome="resolved", summary="s", transfer={"decision": "none"})


def test_committed_arguments_are_known_again(root: Path) -> None:
    """The key is the same, so the actual arguments match a commitment of 1.2.0; others are said to be not known to."""
    seen = acted(Harness(root), "s-crash", {"path": "notes.txt"})
    assert seen["payload"]["probe_id"] == "PR000001"
    started = Harness(root).timeline("crashed")[3]
    assert (started["type"], started["payload"]["args_match_commitment"]) == ("probe_started", True)


def test_other_arguments_than_the_committed_ones_need_a_reason(root: Path) -> None:
    """A digest under an unnamed key proves equality only; the comparison asks for the reason of the drift."""
    harness = Harness(root)
    acted(harness, "s-crash", {"path": "other.txt"})
    with pytest.raises(Refused, match="argument_drift_reason"):
        probe(harness, "s-crash", operation="compare", disposition="match", rationale="r")


def test_the_lesson_of_an_old_closed_case_is_found_and_imported(root: Path) -> None:
    """By name, and by itself where a new question is near."""
    harness = Harness(root)
    opened = model(harness, "n1", operation="open", case_id="n1", top_unknown="u", prior_case_ids=["closed-supported"])
    assert [lesson["lesson"] for lesson in opened["prior_case_lessons"]] == [LESSON]
    near = model(harness, "n2", operation="open", case_id="n2", top_unknown="is the cache consulted before tuning it")
    assert [lesson["case_id"] for lesson in near["prior_case_lessons"]] == ["closed-supported"]
    assert harness.replay("closed-supported")["usable"]


def test_a_new_version_of_an_old_case_is_archived_beside_the_old_ones(root: Path) -> None:
    """The snapshots that 1.2.0 wrote stay; the checker reads both kinds."""
    model(Harness(root), "s-stale", **REPAIR)
    names = sorted(path.name for path in (root / "cases/stale/archive").glob("case-v*.md"))
    assert names == ["case-v0001.md", "case-v0002.md"]
    assert check_store(root).sound


def test_answers_tell_the_operations_own_event(root: Path) -> None:
    """The adoption is a record of the Timeline and nobody's answer."""
    harness = Harness(root)
    source = {"summary": "a", "source_ref": "u", "authority_domain": "external_source"}
    source |= {"source_role": "primary", "access_scope": "full"}
    answer = model(harness, "s-intent", operation="record_evidence", evidence=[source, source])
    assert answer["evidence_event_ids"] == ["E000003", "E000004"]
    assert answer["case"]["event_count"] == 4
    assert answer["case"]["runtime_revision"] == 2


# --- bindings ---


def test_high_waters_go_on_from_the_old_numbers(tmp_path: Path) -> None:
    """A number in sessions.json never falls, also where no Timeline accounts for it any more."""
    files = original()
    numbers = json.loads(files["sessions.json"])
    numbers["sessions"] |= {"s-op": 41, "gone": 7}
    files["sessions.json"] = json.dumps(numbers).encode()
    root = place(files, tmp_path / "store")
    model(Harness(root), "s-op", operation="resume", case_id="paused-operator")
    bound = json.loads((root / "sessions.json").read_text())["sessions"]
    assert bound["s-op"] == {"seq": 42, "active": "paused-operator"}
    assert bound["gone"] == {"seq": 7}


def test_a_marker_older_than_the_sessions_number_is_dead(tmp_path: Path) -> None:
    """What 1.2.0 would not have revived is not revived here."""
    files = original()
    numbers = json.loads(files["sessions.json"])
    numbers["sessions"]["s-life"] = 3
    files["sessions.json"] = json.dumps(numbers).encode()
    assert not Harness(place(files, tmp_path / "store")).proof_of_life("s-life")


@pytest.mark.parametrize("data", [None, b"", b"[]", b'{"schema_version": 1, "sessions": []}'])
def test_bindings_are_found_without_sessions_json(tmp_path: Path, data: bytes | None) -> None:
    """The Timelines say who has what; a missing or broken file is not missed, and not written by a reader."""
    files = original()
    del files["sessions.json"]
    root = place(files if data is None else {**files, "sessions.json": data}, tmp_path / "store")
    before = found(root)
    harness = Harness(root)
    assert harness.is_bound("s-active")
    assert harness.is_bound("s-life")
    assert not harness.is_bound("s-op")
    assert found(root) == before
    assert harness.proof_of_life("s-life")
    assert json.loads((root / "sessions.json").read_text())["sessions"]["s-life"]["seq"] == 3


def test_the_session_of_an_old_case_cannot_open_another(root: Path) -> None:
    """One active case per session holds across the releases."""
    with pytest.raises(Refused, match="active-observed"):
        model(Harness(root), "s-active", operation="open", case_id="second", top_unknown="u")


# --- damage ---


def broken(files: Files, name: str, change: Callable[[bytes], bytes]) -> Files:
    return {**files, name: change(files[name])}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("case.md", lambda data: data.replace(b'"top_unknown": "u"', b'"top_unknown": "v"')),
        ("case.md", lambda data: b"nothing"),
        ("events.jsonl", lambda data: data.replace(b'"args_match_commitment":false', b'"args_match_commitment":true')),
        ("events.jsonl", lambda data: data[:-40]),
        ("events.jsonl", lambda data: data[: data.rindex(b'{"event_id')]),
        ("events.jsonl", lambda data: b""),
    ],
)
def test_a_broken_old_case_is_named_refused_and_left_alone(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    """It stands among the errors, its session is told, no write heals it, and the others go on."""
    files = broken(original(), f"cases/stale/{name}", change)
    root = place(files, tmp_path / "store")
    before = {path: data for path, data in found(root).items() if path.startswith("cases/stale/")}
    harness = Harness(root)
    assert list(model(harness, "reader", operation="list")["case_errors"]) == ["stale"]
    for args in (REPAIR, {"operation": "pause", "reason": "r"}):
        with pytest.raises(Damaged):
            model(harness, "s-stale", **args)
    with pytest.raises(Refused, match="stale"):
        model(harness, "s-stale", operation="open", case_id="second", top_unknown="u")
    with contextlib.suppress(Damaged):  # where not even case.md can be read
        replay = harness.replay("stale")
        assert not replay["usable"]
        assert not (replay["timeline"]["valid"] and replay["case_snapshot"]["valid"])
    probe(harness, "s-active", **COMPARED)
    model(harness, "free", operation="open", case_id="third", top_unknown="u")
    after = {path: data for path, data in found(root).items() if path.startswith("cases/stale/")}
    assert {path: data for path, data in after.items() if not path.endswith("/.case.lock")} == before
    assert not check_case(root / "cases/stale").sound


def test_a_broken_artifact_of_an_old_case_refuses_what_relies_on_it(root: Path) -> None:
    """Comparing goes on, closing does not."""
    (artifact,) = (root / "cases/active-observed/archive/artifacts").iterdir()
    artifact.write_text("something else")
    harness = Harness(root)
    assert not harness.replay("active-observed")["artifacts"]["valid"]
    probe(harness, "s-active", **COMPARED)
    with pytest.raises(Refused, match="artifact"):
        model(harness, "s-active", operation="close", outcome="unresolved", summary="s", transfer={"decision": "none"})


def test_every_byte_of_an_old_record_counts_after_the_adoption(root: Path) -> None:
    """No bit of the old lines can be turned without being found, escapes included."""
    harness = Harness(root)
    model(harness, "s-stale", **REPAIR)
    folder = root / "cases/stale"
    whole = (folder / "events.jsonl").read_bytes()
    old = whole.index(b'{"event_id":"E000006"')
    for place_ in range(old):
        turned = bytearray(whole)
        turned[place_] ^= 1 << place_ % 8
        (folder / "events.jsonl").write_bytes(turned)
        assert not Harness(root).replay("stale")["timeline"]["valid"], place_
        assert not check_case(folder).sound, place_
    (folder / "events.jsonl").write_bytes(whole)
    assert Harness(root).replay("stale")["usable"]


# --- a compression that was prepared ---


def arrivals() -> Mapping[str, Callable[[Harness], object]]:
    child = "s-intent-child"
    return {
        "lineage": lambda h: h.adopt_lineage(child, ["s-intent", child]),
        "lineage without a parent": lambda h: h.adopt_lineage(child, [child]),
        "context": lambda h: h.context(child, 9_000),
        "tool": lambda h: model(h, child, operation="revise", reason="r", decision="d"),
        "show": lambda h: model(h, child, operation="show"),
        "ordinary call": lambda h: h.execution(session_id=child, tool_name="x", args={}),
        "host's call": lambda h: h.execution(session_id=child, tool_name="x", args={}, host=True),
        "being asked for": lambda h: h.is_bound(child),
    }


@pytest.mark.parametrize("how", arrivals())
def test_a_prepared_compression_is_carried_through_when_the_child_comes(root: Path, how: str) -> None:
    """Whatever the child does first, the case is its own; the intent is gone, and the parent has nothing."""
    harness = Harness(root)
    arrivals()[how](harness)
    shown = model(harness, "s-intent-child", operation="show")["case"]
    assert (shown["case_id"], shown["session_ids"]) == ("intent", ["s-intent", "s-intent-child"])
    assert list((root / "compression-boundaries").iterdir()) == []
    assert not harness.is_bound("s-intent")
    assert check_store(root).sound


def test_a_prepared_compression_waits_for_a_running_probe(root: Path) -> None:
    """While the parent's action runs the child is refused and its ordinary calls go on; then the case follows."""
    harness = Harness(root)
    probe(harness, "s-intent", **COMMIT)
    with harness.execution(session_id="s-intent", tool_name="read_file", args={"path": "a"}) as execution:
        with pytest.raises(Refused, match="already executing"):
            model(harness, "s-intent-child", operation="pause", reason="r")
        assert not harness.execution(session_id="s-intent-child", tool_name="x", args={}).recording
        assert harness.context("s-intent-child", 9_000) is None
        execution.observed("42")
    assert harness.context("s-intent-child", 9_000) is not None
    types = [record["type"] for record in harness.timeline("intent")]
    assert types[-3:] == ["probe_started", "probe_observed", "session_migrated"]


def test_the_intent_of_a_case_that_was_paused_meanwhile_is_taken_away(root: Path) -> None:
    """The child's call goes on, and the paused case stays where it is."""
    harness = Harness(root)
    model(harness, "s-intent", operation="pause", reason="r")
    assert not harness.execution(session_id="s-intent-child", tool_name="x", args={}).recording
    assert list((root / "compression-boundaries").iterdir()) == []
    assert not harness.is_bound("s-intent-child")


def test_a_child_with_a_case_of_its_own_keeps_it(root: Path) -> None:
    """Nothing moves into a session that has an active case; the intent stays for later."""
    intent = next((root / "compression-boundaries").iterdir())
    kept = intent.read_bytes()
    intent.unlink()
    model(Harness(root), "s-intent-child", operation="open", case_id="own", top_unknown="u")
    intent.write_bytes(kept)
    harness = Harness(root)
    assert model(harness, "s-intent-child", operation="show")["case"]["case_id"] == "own"
    assert harness.is_bound("s-intent")
    assert intent.exists()


@pytest.mark.parametrize("data", [b"", b"[]", b'{"case_id": "intent"}', None])
def test_an_unreadable_intent_concerns_nobody(root: Path, data: bytes | None) -> None:
    """It is left where it lies; the child is a session like any other."""
    intent = next((root / "compression-boundaries").iterdir())
    if data is None:  # its content belongs under another name
        intent.rename(intent.with_name("0" * 64 + ".json"))
    else:
        intent.write_bytes(data)
    harness = Harness(root)
    assert not harness.is_bound("s-intent-child")
    assert harness.is_bound("s-intent")
    assert list((root / "compression-boundaries").iterdir())


def test_an_executing_probe_is_recovered_only_when_nobody_holds_it(root: Path) -> None:
    """The lease is the same file in both releases: while its holder lives there is nothing to recover."""
    harness = Harness(root)
    lease = Lease(PosixDisk(), root / "cases/executing/archive/.probe-execution.lock", "somebody's execution")
    hold = lease.try_acquire()
    assert hold is not None
    with hold, pytest.raises(Refused, match="still running"):
        probe(harness, "s-exec", operation="recover", reason="r")
    blocked = harness.execution(session_id="s-exec", tool_name="read_file", args={"path": "notes.txt"}).blocked
    assert blocked is not None
    probe(harness, "s-exec", operation="recover", reason="r")
    assert harness.timeline("executing")[-1]["payload"]["result_status"] == "interrupted"
