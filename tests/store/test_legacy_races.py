"""What a user may rely on when several processes come upon a case of release 1.2.0 at once.

Every harness here has a memory and locks of its own, as processes have.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness_core.errors import HarnessError, Refused, Unavailable
from harness_store import Harness
from harness_store.disk import PosixDisk
from harness_store.fsck import check_store
from harness_store.locks import FileLock
from tests.store.old_release import JOURNAL, original, place
from tests.store.test_legacy_files import committed


def at_once(*actions: Callable[[], object]) -> list[object]:
    """Do all of them in threads that start together; what they gave or raised."""
    ready = threading.Barrier(len(actions))

    def one(action: Callable[[], object]) -> object:
        ready.wait()
        try:
            return action()
        except HarnessError as error:
            return error

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(one, actions))


def test_of_many_who_take_up_a_paused_case_one_gets_it(tmp_path: Path) -> None:
    """The case is adopted once, by the winner; the others are told, and nothing of theirs was written."""
    root = place(original(), tmp_path / "store")
    args = {"operation": "resume", "case_id": "paused-operator"}

    def resume(number: int) -> Callable[[], object]:
        return lambda: Harness(root).model(args, session_id=f"new-{number}")

    results = at_once(*map(resume, range(6)))
    assert sum(isinstance(result, dict) for result in results) == 1
    assert all(isinstance(result, dict | Refused) for result in results)
    types = [record["type"] for record in Harness(root).timeline("paused-operator")]
    assert types == ["case_opened", "case_paused", "case_adopted", "case_resumed"]
    assert check_store(root).sound


def test_cases_of_different_sessions_are_adopted_side_by_side(tmp_path: Path) -> None:
    """Each waits for its turn at the store's lock and gets it; the bindings have them all."""
    root = place(original(), tmp_path / "store")

    def pause(session: str) -> Callable[[], object]:
        return lambda: Harness(root).model({"operation": "pause", "reason": "r"}, session_id=session)

    results = at_once(*map(pause, ("s-fail", "s-intent", "s-child")), lambda: Harness(root).proof_of_life("s-life"))
    assert not [result for result in results if isinstance(result, HarnessError)]
    assert check_store(root).sound


def test_a_reader_never_takes_an_adoption_for_damage(tmp_path: Path) -> None:
    """Whoever lists and shows meanwhile sees the case before or after, and says nothing of damage."""
    before, after = committed()
    for number in range(8):
        root = place({**before.files(), f"cases/old/{JOURNAL}": after.journal(before)}, tmp_path / str(number))
        done = threading.Event()

        def write(root: Path = root, done: threading.Event = done) -> None:
            try:
                Harness(root).probe({"operation": "discard", "reason": "r"}, session_id="s1")
            finally:
                done.set()

        def read(root: Path = root, done: threading.Event = done) -> set[int]:
            counts = set()
            while not done.is_set():
                harness = Harness(root)
                assert harness.model({"operation": "list"}, session_id="reader")["case_errors"] == {}
                shown = harness.model({"operation": "show", "case_id": "old"}, session_id="s1")
                assert shown["replay"]["timeline"]["valid"], shown["replay"]
                assert shown["replay"]["case_snapshot"]["valid"], shown["replay"]
                counts.add(shown["case"]["event_count"])
            return counts

        _, *seen = at_once(write, read, read)
        assert all(isinstance(counts, set) and counts <= {3, 5} for counts in seen), seen


def test_an_old_case_is_not_adopted_past_a_process_of_its_release(tmp_path: Path) -> None:
    """Release 1.2.0 writes under the store's lock: meanwhile a write is refused in time, and nothing is changed."""
    root = place(original(), tmp_path / "store")
    log = root / "cases/stale/events.jsonl"
    whole = log.read_bytes()
    harness = Harness(root, wait=0.0)
    source = {"summary": "a", "source_ref": "u", "source_role": "primary", "access_scope": "full"}
    evidence = {"operation": "record_evidence", "evidence": [{**source, "authority_domain": "external_source"}]}
    with FileLock(PosixDisk(), root / ".store.lock", "the store").acquire(0.0), pytest.raises(Unavailable) as caught:
        harness.model(evidence, session_id="s-stale")
    assert caught.value.written == "no"
    assert log.read_bytes() == whole
    harness.model(evidence, session_id="s-stale")
    assert log.read_bytes().startswith(whole)
