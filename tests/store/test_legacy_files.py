"""What a user may rely on for the files of release 1.2.0 themselves: their hashes, their journals, their odd spellings.

The cases here are written by the rules of that release (``old_release.OldCase``), so that they can be of any shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_core.errors import Damaged, HarnessError, Refused
from harness_store import Harness
from harness_store.fsck import check_case, check_store
from harness_store.legacy import Pending, line, read_boundary, read_pending, record_hash, state_hash
from harness_store.records import START, Reason, Stop, event_id, scan, seal
from tests.store.old_release import AT, JOURNAL, OK, OldCase, found, observation, original, place, probe

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def long_case() -> OldCase:
    """A case of several events per transition, with text beyond ASCII."""
    case = OldCase(state={"note": "héllo"}).add(
        (
            "initial_observation",
            {"summary": "naïve \u2028 – 日本", "source_ref": "x", "authority_domain": "user_intent"},
        ),
        ("case_opened", {"model_version": 1}, 1),
    )
    return case.add(("case_paused", {"reason": "für später"}, 2), status="paused")


def show(root: Path, session: str = "s1", case_id: str = "old") -> dict[str, Any]:
    return Harness(root).model({"operation": "show", "case_id": case_id}, session_id=session)


def resume(root: Path, session: str = "s1", case_id: str = "old") -> dict[str, Any]:
    return Harness(root).model({"operation": "resume", "case_id": case_id}, session_id=session)


# --- hashes ---


def test_every_record_and_state_of_the_original_store_hashes_by_the_rules() -> None:
    """Ten cases that the release wrote itself: record hashes, state hashes, spelling, names of intents."""
    files = original()
    lines = 0
    for name, data in files.items():
        if name.endswith("events.jsonl"):
            whole = scan(data)
            assert whole.stop is None
            assert b"".join(map(line, whole.records)) == data
            assert all(record["hash"] == record_hash(record) for record in whole.records)
            block = files[name.replace("events.jsonl", "case.md")].decode().split("EPISTEMIC-HARNESS-DATA\n")[1]
            state = json.loads(block.split("\nEND-")[0])
            assert state["integrity"]["state_sha256"] == state_hash(state)
            assert whole.records[-1]["payload"]["case_state_sha256"] == state_hash(state)
            lines += len(whole.records)
        if name.startswith("compression-boundaries/"):
            intent = read_boundary(data)
            assert intent is not None
            assert name == f"compression-boundaries/{intent.name}"
    assert lines == 33


@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_log_of_that_release_is_believed_transition_by_transition(texts: list[list[str]]) -> None:
    """Whatever the texts, all records are believed, and each transition ends where the record with a state does."""
    case = OldCase()
    for group in texts:
        case.add(*(("evidence_recorded", {"summary": text}) for text in group))
    whole = scan(case.log)
    assert whole.stop is None
    assert list(whole.records) == case.records
    counts = [sum(case.sizes[:n]) for n in range(len(case.sizes) + 1)]
    assert [position.count for position in whole.positions] == counts


def test_a_log_that_holds_separators_raw_is_read() -> None:
    """Only LF ends a record; the hash is of the meaning, so an unescaped spelling holds as well."""
    data = long_case().log
    raw = "\n".join(json.dumps(json.loads(text), ensure_ascii=False) for text in data.decode().splitlines()) + "\n"
    assert "\u2028" in raw
    assert scan(raw.encode()).records == scan(data).records
    assert scan(raw.encode()).end.legacy != scan(data).end.legacy


def test_every_byte_of_an_old_log_is_read_as_meant_or_refused() -> None:
    """A turned bit ends believing, or it leaves every record saying what it said."""
    data = long_case().log
    records = scan(data).records
    for place_ in range(len(data)):
        for bit in range(8):
            turned = bytearray(data)
            turned[place_] ^= 1 << bit
            seen = scan(bytes(turned))
            assert seen.stop is not None or seen.records == records, place_
            assert seen.records == records[: len(seen.records)]


def adoption(case: OldCase, **payload: Any) -> dict[str, Any]:
    digest = scan(case.log).end.legacy
    told = {"release": "1.2.0", "legacy_state": case.state, "legacy_log_sha256": digest, "case": {}} | payload
    number = len(case.records) + 1
    return {"event_id": event_id(number), "type": "case_adopted", "timestamp": AT, "session_id": "s1", "payload": told}


def test_after_an_adoption_no_record_of_that_release_is_believed() -> None:
    """Once a record of this format follows, the old form is over."""
    case = long_case()
    sealed = seal([adoption(case)], scan(case.log).end)
    whole = case.log + sealed.data
    assert scan(whole).stop is None
    case.add(("case_resumed", {}, 3))
    after = scan(whole + line({**case.records[-1], "prev_hash": sealed.position.hash})).stop
    assert after == Stop(len(case.records) + 1, len(whole), Reason.NO_HASH)


def test_nothing_but_an_adoption_of_exactly_these_bytes_follows_them() -> None:
    """Neither an ordinary record, nor the adoption of other bytes, nor one where there is nothing to adopt."""
    case = long_case()
    end = scan(case.log).end
    with pytest.raises(ValueError, match="adoption"):
        seal([{**adoption(case), "type": "case_resumed"}], end)
    with pytest.raises(ValueError, match="adoption"):
        seal([adoption(case, legacy_log_sha256="0" * 64)], end)
    with pytest.raises(ValueError, match="adoption"):
        seal([{**adoption(case), "event_id": "E000001"}], START)
    sealed = seal([adoption(case)], end)
    raw = "\n".join(json.dumps(json.loads(text), ensure_ascii=False) for text in case.log.decode().splitlines()) + "\n"
    stop = scan(raw.encode() + sealed.data).stop
    assert stop is not None
    assert stop.reason is Reason.NOT_ADOPTED


def test_the_middle_of_an_old_transition_cannot_be_adopted() -> None:
    """A last line that was cut off the old log leaves its transition open; what follows is not believed."""
    case = OldCase().add(("evidence_recorded", {}), ("case_opened", {}, 1))
    sealed = seal([adoption(case)], scan(case.log).end)
    first = case.log[: case.log.index(b"\n") + 1]
    assert scan(first).stop == Stop(2, len(first), Reason.INCOMPLETE)
    assert scan(first + sealed.data).stop is not None
    assert scan(first + sealed.data).records == ()


def test_unescaping_an_old_record_after_its_adoption_is_found(tmp_path: Path) -> None:
    """The same words in another spelling are other bytes; before the adoption they would have been the same record."""
    root = place(long_case().files(), tmp_path)
    log = root / "cases/old/events.jsonl"
    raw = log.read_bytes().replace(b"f\\u00fcr", "für".encode())
    assert raw != log.read_bytes()
    log.write_bytes(raw)
    assert show(root)["replay"]["usable"]
    resume(root)
    assert show(root)["replay"]["usable"]
    assert check_store(root).sound
    log.write_bytes(log.read_bytes().replace("für".encode(), b"f\\u00fcr", 1))
    assert not show(root)["replay"]["timeline"]["valid"]
    assert not check_case(log.parent).sound


def test_members_that_are_not_known_are_kept_with_the_adoption(tmp_path: Path) -> None:
    """Metadata that somebody put into a case stays in the record, exactly."""
    root = place(long_case().files(), tmp_path)
    resume(root)
    record = Harness(root).timeline("old")[3]
    assert record["payload"]["legacy_state"] == long_case().state
    assert record["payload"]["legacy_state"]["note"] == "héllo"


# --- the journal of a transition ---


def committed() -> tuple[OldCase, OldCase]:
    """A case before and after a transition of two events."""
    before = OldCase().opened()
    after = before.copy().add(("evidence_recorded", {}), ("probe_committed", {"probe": probe()}))
    after = before.copy().add(
        ("evidence_recorded", {"summary": "é", "source_ref": "x", "authority_domain": "system_state"}),
        ("probe_committed", {"probe": probe(), "args_sha256": "0" * 64}),
        pending_probe=probe(commit_event_id="E000003"),
    )
    return before, after


STAGES: dict[str, Callable[[OldCase, OldCase], dict[str, bytes]]] = {
    "only the journal": lambda before, after: before.files(),
    "the log too": lambda before, after: {**before.files(), "cases/old/events.jsonl": after.log},
    "all but taking it away": lambda before, after: after.files(),
    "half of it, by a later adoption": lambda before, after: {
        **before.files(),
        "cases/old/events.jsonl": after.log[: after.log.rindex(b'{"event_id') + 20],
    },
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_journal_counts_however_far_its_release_came(tmp_path: Path, stage: str) -> None:
    """Before and after each step of applying it, the case shows the transition; the first write settles it."""
    before, after = committed()
    files = {**STAGES[stage](before, after), f"cases/old/{JOURNAL}": after.journal(before)}
    root = place(files, tmp_path)
    unread = found(root)
    shown = show(root)
    assert shown["replay"]["usable"], shown["replay"]
    assert (shown["case"]["event_count"], shown["case"]["pending_probe"]["status"]) == (3, "committed")
    assert Harness(root).timeline("old") == after.records
    assert found(root) == unread
    assert check_case(root / "cases/old").sound
    Harness(root).probe({"operation": "discard", "reason": "r"}, session_id="s1")
    log = (root / "cases/old/events.jsonl").read_bytes()
    assert log.startswith(after.log)
    assert not (root / "cases/old" / JOURNAL).exists()
    assert show(root)["replay"]["usable"]
    assert check_store(root).sound


def test_an_open_that_only_its_journal_tells_of_counts(tmp_path: Path) -> None:
    """Release 1.2.0 died before it wrote the first line; the case is there."""
    case = OldCase().opened()
    root = place({f"cases/old/{JOURNAL}": case.journal(OldCase())}, tmp_path)
    assert show(root)["case"]["event_count"] == 1
    Harness(root).model({"operation": "pause", "reason": "r"}, session_id="s1")
    assert [record["type"] for record in Harness(root).timeline("old")] == [
        "case_opened",
        "case_adopted",
        "case_paused",
    ]
    assert check_store(root).sound


def test_a_journal_left_beside_an_adopted_case_is_taken_away_by_the_next_writer(tmp_path: Path) -> None:
    """A crash may leave it there; its records are in the log, so nothing is told twice."""
    before, after = committed()
    root = place({**before.files(), f"cases/old/{JOURNAL}": after.journal(before)}, tmp_path)
    Harness(root).probe({"operation": "discard", "reason": "r"}, session_id="s1")
    (root / "cases/old" / JOURNAL).write_bytes(after.journal(before))
    assert show(root)["replay"]["usable"]
    assert show(root)["case"]["event_count"] == 5
    Harness(root).model({"operation": "pause", "reason": "r"}, session_id="s1")
    assert not (root / "cases/old" / JOURNAL).exists()
    assert show(root)["case"]["event_count"] == 6


def harmful() -> dict[str, Callable[[dict[str, Any]], Any]]:
    def events(journal: dict[str, Any]) -> Any:
        return journal["events"]

    return {
        "of another case": lambda j: j | {"case_id": "other"},
        "with the case of another": lambda j: j | {"case": {**j["case"], "case_id": "other"}},
        "without events": lambda j: j | {"events": []},
        "with no records": lambda j: j | {"events": [1]},
        "no journal": lambda j: [j],
        "an event changed": lambda j: events(j)[0].update(timestamp="later") or j,
        "an event missing": lambda j: j | {"events": events(j)[1:]},
        "the last event missing": lambda j: j | {"events": events(j)[:1]},
        "the state changed": lambda j: j["case"].update(version=7) or j,
        "events of an odd number": lambda j: events(j)[0].update(event_id="E2") or j,
    }


@pytest.mark.parametrize("harm", [*harmful(), "not JSON", "not following"])
def test_a_journal_that_does_not_hold_is_damage_of_its_case_alone(tmp_path: Path, harm: str) -> None:
    """It is named, nothing is applied or taken away, and every other session goes on."""
    before, after = committed()
    journal = after.journal(before)
    if harm == "not following":
        before.add(("case_paused", {"reason": "r"}, 2), status="paused")
    elif harm == "not JSON":
        journal = journal[:-9]
    else:
        journal = json.dumps(harmful()[harm](json.loads(journal))).encode()
    other = OldCase("other", "s2").opened().files()
    root = place({**before.files(), **other, f"cases/old/{JOURNAL}": journal}, tmp_path)
    unread = found(root)
    listed = Harness(root).model({"operation": "list"}, session_id="s2")
    assert list(listed["case_errors"]) == ["old"]
    assert harm not in ("of another case", "with the case of another") or "storage slot" in listed["case_errors"]["old"]
    for operation in ("pause", "resume"):
        with pytest.raises(HarnessError):
            Harness(root).model({"operation": operation, "reason": "r", "case_id": "old"}, session_id="s1")
    assert {k: v for k, v in found(root).items() if not k.endswith(".lock")} == unread
    assert not check_case(root / "cases/old").sound
    Harness(root).model({"operation": "pause", "reason": "r"}, session_id="s2")
    assert {k: v for k, v in found(root / "cases/old").items() if not k.endswith(".lock")} == found_in(unread)


def found_in(unread: dict[str, bytes]) -> dict[str, bytes]:
    prefix = "cases/old/"
    return {k.removeprefix(prefix): v for k, v in unread.items() if k.startswith(prefix) and k != prefix}


def test_what_is_read_of_a_journal_is_what_was_put_into_it() -> None:
    """Its lines are those that its release would have written."""
    before, after = committed()
    pending = read_pending(after.journal(before), "old")
    assert isinstance(pending, Pending)
    assert (pending.first, before.log + pending.lines) == (1, after.log)


# --- the head ---


def test_a_case_md_put_back_by_one_transition_is_damage(tmp_path: Path) -> None:
    """Without a journal that release never left its case.md behind its log."""
    before, after = committed()
    root = place({**after.files(), "cases/old/case.md": before.projection}, tmp_path)
    assert show(root)["replay"]["case_snapshot"]["valid"] is False
    with pytest.raises(Damaged, match="kept the case nowhere else"):
        Harness(root).model({"operation": "pause", "reason": "r"}, session_id="s1")
    assert not check_case(root / "cases/old").sound


@pytest.mark.parametrize("last", ["E1", "E000000", "X000001", "E" + "9" * 30, "E٠٠٠٠٠١", None, 1])
def test_a_head_that_is_none_is_damage(tmp_path: Path, last: Any) -> None:
    """A ``case.md`` that names no event by its id is not taken at its word."""
    case = OldCase().opened()
    block = json.dumps({**case.state, "integrity": {**case.state["integrity"], "last_event_id": last}})
    projection = f"<!-- EPISTEMIC-HARNESS-DATA\n{block}\nEND-EPISTEMIC-HARNESS-DATA -->\n"
    root = place({**case.files(), "cases/old/case.md": projection.encode()}, tmp_path)
    with pytest.raises(Damaged, match=r"case\.md"):
        Harness(root).model({"operation": "pause", "reason": "r"}, session_id="s1")
    assert not show(root)["replay"]["usable"]


def test_a_state_of_another_point_is_damage(tmp_path: Path) -> None:
    """Its own hash holds, and the record that it names leads to another state."""
    case, other = OldCase().opened(), OldCase().opened(top_unknown="another question")
    root = place({**case.files(), "cases/old/case.md": other.projection}, tmp_path)
    with pytest.raises(Damaged, match="no state of this Timeline"):
        Harness(root).model({"operation": "pause", "reason": "r"}, session_id="s1")
    assert not check_case(root / "cases/old").sound


def test_a_journal_in_whose_place_other_records_stand_is_damage(tmp_path: Path) -> None:
    """Two continuations of one case cannot both be true; neither is applied."""
    before, after = committed()
    else_ = before.copy().add(("case_paused", {"reason": "r"}, 2), status="paused")
    files = {**before.files(), "cases/old/events.jsonl": else_.log, f"cases/old/{JOURNAL}": after.journal(before)}
    root = place(files, tmp_path)
    with pytest.raises(Damaged, match="where its events belong"):
        resume(root)
    assert not check_case(root / "cases/old").sound


def test_a_missing_case_md_is_damage_that_its_session_meets(tmp_path: Path) -> None:
    """The records still say whose case it was, so the session is not told that it has none."""
    case = OldCase().opened().add(("session_migrated", {"new_session_id": "s2"}, 1, "s2"), session_id="s2")
    root = place({"cases/old/events.jsonl": case.log}, tmp_path)
    harness = Harness(root)
    with pytest.raises(Damaged):
        harness.model({"operation": "revise", "reason": "r", "decision": "d"}, session_id="s2")
    with pytest.raises(Refused, match="already has the active case old"):
        harness.model({"operation": "open", "case_id": "new", "top_unknown": "u"}, session_id="s2")
    harness.model({"operation": "open", "case_id": "new", "top_unknown": "u"}, session_id="s1")
    assert not check_case(root / "cases/old").sound


@pytest.mark.parametrize(
    "change",
    [
        {"model": None},
        {"status": "sleeping"},
        {"version": "1"},
        {"pending_probe": {"probe_id": "PR000001"}},
        {"closure": {}},
        {"case_id": "another"},
    ],
)
def test_a_state_that_is_no_case_is_said_to_be_none(tmp_path: Path, change: dict[str, Any]) -> None:
    """Its hashes hold and it cannot be understood: it is damage with a name, and no traceback."""
    case = OldCase().opened()
    case.add(("case_paused", {"reason": "r"}, 2), **change)
    root = place({**case.files(), **OldCase("other", "s2").opened().files()}, tmp_path)
    assert list(Harness(root).model({"operation": "list"}, session_id="s2")["case_errors"]) == ["old"]
    with pytest.raises(Damaged):
        Harness(root).model({"operation": "resume", "case_id": "old"}, session_id="s3")
    Harness(root).model({"operation": "pause", "reason": "r"}, session_id="s2")


def test_observations_without_a_status_never_support(tmp_path: Path) -> None:
    """A record of an older release yet, without any status: it can be cited and carries no resolved closure."""
    for more, resolved in (({}, False), (OK, True), ({**OK, "raw_result_provenance": "unknown"}, False)):
        case = OldCase().opened()
        claim = {"id": "M1", "text": "m", "epistemic_status": "grounded", "evidence_event_ids": ["E000003"]}
        claim["authority_domain"] = "system_state"
        case.add(("probe_committed", {"probe": probe()}), pending_probe=probe())
        case.add(("probe_observed", observation(**more)))
        compared = {"probe_id": "PR000001", "authority_domain": "system_state", "disposition": "match"}
        case.add(("probe_compared", {**compared, "observation_event_id": "E000003"}), pending_probe=None)
        case.state["model"]["mechanisms"] = [claim]
        case.add(("model_revised", {"model_version": 2}), version=2)
        root = place(case.files(), tmp_path / str(len(more)))
        close = {"operation": "close", "outcome": "resolved", "summary": "s", "transfer": {"decision": "none"}}
        assert show(root)["replay"]["usable"]
        if resolved:
            assert Harness(root).model(close, session_id="s1")["case"]["status"] == "closed"
        else:
            with pytest.raises(Refused, match="E000003"):
                Harness(root).model(close, session_id="s1")
