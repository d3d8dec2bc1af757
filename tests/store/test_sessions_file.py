"""What a user may rely on for the bindings file: it is whole, and the slot tells whether it is the one that belongs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from harness_core.bindings import SCHEMA_VERSION, Binding, from_mapping
from harness_core.errors import Damaged, Unavailable
from harness_core.wire import to_json
from harness_store.bindings_text import Content, respelled, spelled
from harness_store.disk import PosixDisk
from harness_store.records import frame
from harness_store.sessions_file import MISSING_SHA256, Intent, SessionsFile, SlotState
from tests.store.simulator import Failure, SimulatedDisk, Volume
from tests.store.test_records import payloads, texts

ROOT = Path("/")


def on(disk: SimulatedDisk) -> SessionsFile:
    return SessionsFile(disk, ROOT)


def says(mapping: dict[str, Any]) -> Content:
    return Content.of(json.dumps(mapping).encode())


def intents(before: str, after: str) -> st.SearchStrategy[Intent]:
    return st.builds(
        Intent,
        st.none() | texts,
        st.lists(texts, max_size=3).map(tuple),
        st.integers(0, 10**6),
        st.text("0123456789abcdef", min_size=64, max_size=64),
        st.just(before),
        st.just(after),
    )


@given(payloads, payloads, st.data())
def test_bindings_and_intents_read_back_in_another_process(
    old: dict[str, Any], new: dict[str, Any], data: st.DataObject
) -> None:
    """Any content comes back as it was written, with the state that the slot gives it."""
    disk = SimulatedDisk(Volume())
    writer, reader = on(disk), on(SimulatedDisk(disk.volume))
    before = writer.write(says(old)).sha256
    assert before == says(old).sha256
    intent = data.draw(intents(before, says(new).sha256))
    writer.write_intent(intent)
    expected = SlotState.SETTLED if intent.before_sha256 == intent.after_sha256 else SlotState.BEFORE
    assert (reader.load().content.mapping, reader.load().intent, reader.load().state) == (old, intent, expected)
    written = writer.write(says(new))
    assert reader.load() == written
    assert (written.content.mapping, written.intent, written.state) == (new, intent, SlotState.SETTLED)
    assert written.settled


bindings = st.dictionaries(
    texts | st.sampled_from(["a", "aa", "a\n", '"', "}}", "sessions"]),
    st.builds(Binding, seq=st.integers(0, 9), active=st.none() | texts, marked=st.none() | texts),
    max_size=5,
)


@given(bindings, st.lists(bindings, max_size=4))
def test_a_change_of_some_sessions_is_spelled_in_their_lines_alone(
    before: dict[str, Binding], changes: list[dict[str, Binding]]
) -> None:
    """However many changes are spelled one on the other, the file says all of them, and each untouched line stays."""
    content = spelled(before)
    for moved in changes:
        lines = {line.rstrip(b",") for line in content.data.splitlines()}
        old, before = before, {**before, **moved}
        content = respelled(content, old, moved)
        assert from_mapping(content.mapping or {}) == before
        assert content == Content.of(content.data)
        kept = spelled({name: old[name] for name in old.keys() - moved.keys()}).data.splitlines()[1:-1]
        assert {line.rstrip(b",") for line in kept} <= lines & {line.rstrip(b",") for line in content.data.splitlines()}


@given(bindings, bindings)
def test_a_file_that_was_spelled_otherwise_is_spelled_anew(
    before: dict[str, Binding], moved: dict[str, Binding]
) -> None:
    """What an earlier release wrote as it liked comes out as if it had always been written here."""
    after = {**before, **moved}
    otherwise = {"schema_version": SCHEMA_VERSION, "sessions": to_json(before)}
    assert respelled(says(otherwise), before, moved) == spelled(after)
    assert respelled(Content.of(b""), before, moved) == spelled(after)


@given(st.data())
def test_a_shorter_intent_over_a_longer_one_is_read_alone(data: st.DataObject) -> None:
    """The slot is written in place; what an earlier intent left behind it means nothing."""
    disk = SimulatedDisk(Volume())
    sessions = on(disk)
    for intent in data.draw(st.lists(intents(MISSING_SHA256, "a" * 64), min_size=1, max_size=4)):
        sessions.write_intent(intent)
        assert on(SimulatedDisk(disk.volume)).load().intent == intent


def test_a_new_store_needs_no_settling() -> None:
    """Where nothing was ever written there is nothing to settle; looking makes nothing."""
    disk = SimulatedDisk(Volume())
    loaded = on(disk).load()
    assert (loaded.content.mapping, loaded.state, loaded.settled) == (None, SlotState.EMPTY, True)
    assert loaded.sha256 == MISSING_SHA256
    assert disk.steps == 0


def test_a_store_of_release_1_2_0_is_read_and_settled_once(tmp_path: Path) -> None:
    """Its ``sessions.json`` is handed through; with an empty lock file it asks to be settled, and then stays so."""
    (tmp_path / "sessions.json").write_text('{\n  "schema_version": 1,\n  "sessions": {\n    "s": 2\n  }\n}\n')
    (tmp_path / ".store.lock").touch()
    sessions = SessionsFile(PosixDisk(), tmp_path)
    loaded = sessions.load()
    assert loaded.content.mapping == {"schema_version": 1, "sessions": {"s": 2}}
    assert (loaded.state, loaded.settled) == (SlotState.EMPTY, False)
    assert sessions.write_intent(Intent.settled(loaded.sha256)).settled


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1, "a": 1}', "\x00", '{"a": NaN}'])
def test_broken_bindings_are_lost_bindings(text: str) -> None:
    """A file that is no JSON object gives no mapping and is never settled: it is to be made again."""
    disk = SimulatedDisk(Volume())
    sessions = on(disk)
    sessions.write_intent(Intent.settled(sessions.write(says({"a": 1})).sha256))
    _overwrite(disk, Path("/sessions.json"), text.encode())
    loaded = sessions.load()
    assert loaded.content.mapping is None
    assert loaded.state is SlotState.NEITHER
    assert not loaded.settled


def test_bindings_of_another_time_are_told() -> None:
    """A ``sessions.json`` that is deleted, or put back from before the last change but one, is neither."""
    disk = SimulatedDisk(Volume())
    sessions = on(disk)
    digests = [sessions.write(says({"n": number})).sha256 for number in range(3)]
    sessions.write_intent(Intent("c1", ("s",), 1, "0" * 64, digests[1], digests[2]))
    sessions.write(says({"n": 1}))
    assert sessions.load().state is SlotState.BEFORE
    sessions.write(says({"n": 0}))
    assert sessions.load().state is SlotState.NEITHER
    disk.unlink(Path("/sessions.json"))
    assert sessions.load().state is SlotState.NEITHER
    assert not sessions.load().settled


def test_a_harmed_slot_is_never_believed() -> None:
    """Flip any byte of an intent, or cut it anywhere: it is broken or empty, and never another intent."""
    disk = SimulatedDisk(Volume())
    sessions = on(disk)
    sessions.write_intent(Intent.settled(sessions.write(says({"a": 1})).sha256))
    slot = disk.volume.files()["/.store.lock"]
    for place in range(len(slot) - 1):
        changed = bytearray(slot)
        changed[place] ^= 1
        for harmed in (bytes(changed), slot[:place]):
            _overwrite(disk, Path("/.store.lock"), harmed)
            loaded = sessions.load()
            assert loaded.state is (SlotState.BROKEN if harmed else SlotState.EMPTY)
            assert loaded.intent is None
            assert not loaded.settled


def test_an_intent_of_a_later_release_is_not_guessed_at() -> None:
    """A slot whose checksum holds and whose content is no intent of ours is broken as well."""
    disk = SimulatedDisk(Volume())
    for content in ({"case_id": "c1"}, {"case_id": "c1", "base_count": "many"}):
        _overwrite(disk, Path("/.store.lock"), frame(content)[0])
        assert on(disk).load().state is SlotState.BROKEN


def test_unchanged_bindings_are_not_read_again() -> None:
    """While the signature stays the same, ``load`` gives the same object; any change gives another."""
    disk = SimulatedDisk(Volume())
    sessions = on(disk)
    first = sessions.write(says({"a": 1}))
    assert sessions.load() is first
    assert sessions.signature() == first.signature
    other = on(SimulatedDisk(disk.volume))
    other.write_intent(Intent.settled(first.sha256))
    assert sessions.signature() != first.signature
    second = sessions.load()
    assert second.settled
    other.write(says({"a": 2}))
    assert sessions.load().content.mapping == {"a": 2}


def test_the_lock_file_is_the_same_file_for_ever(tmp_path: Path) -> None:
    """Intents are written into the lock file in place: who waits for the lock waits for the one that counts."""
    sessions = SessionsFile(PosixDisk(), tmp_path)
    with sessions.lock.acquire(0):
        inode = (tmp_path / ".store.lock").stat().st_ino
        for number in range(3):
            sessions.write_intent(Intent.settled(sessions.write(says({"n": number})).sha256))
            with pytest.raises(Unavailable, match="locked"):
                SessionsFile(PosixDisk(), tmp_path).lock.acquire(0)
    assert (tmp_path / ".store.lock").stat().st_ino == inode
    assert json.loads((tmp_path / "sessions.json").read_text()) == {"n": 2}


def test_a_process_that_goes_on_syncs_only_its_own() -> None:
    """Bindings this process wrote are not synced a second time: an intent costs one sync, the bindings two."""
    disk = SimulatedDisk(Volume())
    sessions = on(disk)
    sessions.write_intent(Intent.settled(sessions.write(says({"n": 0})).sha256))
    disk.trace.clear()
    sessions.write_intent(Intent("c1", (), 0, "0" * 64, sessions.load().sha256, says({"n": 1}).sha256))
    sessions.write(says({"n": 1}))
    assert [step.split()[0] for step in disk.trace].count("sync") == 2
    assert [step.split()[0] for step in disk.trace].count("sync_folder") == 1


@pytest.mark.parametrize("written", ["yes", "unknown"])
def test_a_failing_disk_says_what_stands(written: Any) -> None:
    """An intent that fails wrote nothing that counts; bindings that fail say what the caller knows."""
    disk = SimulatedDisk(Volume())
    sessions = on(disk)
    settled = Intent.settled(sessions.write(says({"n": 0})).sha256)
    for step in range(1, 3):
        disk.failure = Failure(disk.steps + step)
        with pytest.raises(Unavailable) as caught:
            sessions.write_intent(evolve(settled, case_id="c1"))
        assert caught.value.written == "no"
        disk.failure = Failure(disk.steps + step)
        with pytest.raises(Unavailable) as caught:
            sessions.write(says({"n": 1}), written=written)
        assert caught.value.written == written


def test_bindings_that_are_no_file_are_damage(tmp_path: Path) -> None:
    """A folder in the place of ``sessions.json`` is named, not read."""
    (tmp_path / "sessions.json").mkdir()
    with pytest.raises(Damaged, match="not a regular file"):
        SessionsFile(PosixDisk(), tmp_path).load()


def _overwrite(disk: SimulatedDisk, path: Path, data: bytes) -> None:
    fd = disk.open(path, write=True) if disk.stat(path) else disk.create(path)
    disk.truncate(fd, 0)
    disk.write(fd, data, 0)
    disk.close(fd)
