"""What a user may rely on when processes are killed, disks fail and power is lost: the journal on the simulator.

Every run drives the product's own code through every step it takes.  After each crash a fresh process must find the
state before or after the transition that was under way, everything acknowledged, and a case that can be written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness_core.errors import Damaged, Unavailable
from harness_store.artifacts import Artifact, check_artifact, store_artifact
from harness_store.disk import make_folder
from harness_store.journal import Journal
from harness_store.layout import create_store, read_format
from harness_store.sessions_file import Intent, SessionsFile, SlotState
from tests.store.ledger import Ledger, Texts, entries
from tests.store.simulator import Failure, Killed, SimulatedDisk, SyncFailure, Volume
from tests.store.test_sessions_file import says

STORE = Path("/store")
CASE = STORE / "cases" / "c1"

Transitions = tuple[tuple[str, ...], ...]
SCRIPT: Transitions = (("opened", "because"), ("first",), ("second", "third", "fourth"), ("fifth",))


def fresh() -> Volume:
    """A store without cases, all of it on the platter."""
    volume = Volume()
    make_folder(SimulatedDisk(volume), CASE.parent)
    return volume


def journal_on(disk: SimulatedDisk) -> Journal[Texts]:
    return Journal(disk, CASE, Ledger())


def write(journal: Journal[Texts], texts: tuple[str, ...]) -> None:
    with journal.lock(0) as writer:
        count = writer.refresh().count
        writer.append(entries(count, *texts))


def texts_of(script: Transitions) -> Texts:
    return tuple(text for texts in script for text in texts)


def perform(disk: SimulatedDisk, script: Transitions, *, warm: bool) -> int:
    """Write the script until the process dies; how many transitions were acknowledged."""
    journal = journal_on(disk)
    for done, texts in enumerate(script):
        try:
            write(journal if warm else journal_on(disk), texts)
        except Killed:
            return done
    return len(script)


def check(volume: Volume, acknowledged: int, under_way: int = 1, script: Transitions = SCRIPT) -> None:
    """A reader sees what is acknowledged, or what was under way; a writer takes over, appends, and it stays."""
    counts = range(acknowledged, min(acknowledged + under_way, len(script)) + 1)
    allowed = [texts_of(script[:count]) for count in counts]
    assert (journal_on(SimulatedDisk(volume.copy())).read().state or ()) in allowed
    files = volume.files()
    journal = journal_on(SimulatedDisk(volume))
    assert journal.verify().findings == ()
    assert volume.files() == files, "reading changes no byte"
    write(journal, ("after",))
    state = journal.read().state or ()
    assert state[-1] == "after"
    assert state[:-1] in allowed
    for found in (volume.copy(), *volume.survivors(4)):
        report = journal_on(SimulatedDisk(found)).verify()
        assert report.findings == ()
        assert report.snapshot.state == state


def steps_of(volume: Volume, work: Callable[[SimulatedDisk], object]) -> int:
    return len(_trace_of(volume, work))


def _trace_of(volume: Volume, work: Callable[[SimulatedDisk], object]) -> list[str]:
    disk = SimulatedDisk(volume.copy())
    work(disk)
    return disk.trace


def crashes(volume: Volume, work: Callable[[SimulatedDisk], int], most: int) -> Iterator[tuple[Volume, int]]:
    """Every state after a crash in ``work``: memory intact after a kill, or the platter after a power failure; with
    what ``work`` returned (a process that is killed says so by returning early)."""
    for step, what in enumerate([*_trace_of(volume, work), "end"], start=1):
        for torn in (False, True) if what == "write" else (False,):
            disk = SimulatedDisk(volume.copy(), kill_at=step, torn=torn)
            acknowledged = work(disk)
            yield disk.volume.copy(), acknowledged
            for found in disk.volume.survivors(most, seed=step):
                yield found, acknowledged


@pytest.mark.parametrize("warm", [True, False], ids=["one process", "a process each"])
def test_no_crash_loses_an_acknowledged_transition(warm: bool) -> None:
    """Killed or without power at any step of opening and appending, the case is as before or after, and goes on."""
    states = 0
    for found, acknowledged in crashes(fresh(), lambda disk: perform(disk, SCRIPT[:3], warm=warm), most=300):
        check(found, acknowledged, script=SCRIPT[:3])
        states += 1
    assert states > 150  # every one there is: little is ever unsynced


def test_a_crash_while_recovering_from_a_crash_loses_nothing() -> None:
    """A second crash, at any step of taking over and appending after the first, changes none of these promises."""

    def second(disk: SimulatedDisk) -> int:
        try:
            write(journal_on(disk), ("again",))
        except Killed:
            return 0
        return 1

    script = SCRIPT[:2]
    for found, acknowledged in crashes(fresh(), lambda disk: perform(disk, script, warm=True), most=3):
        for again, written in crashes(found, second, most=3):
            state = journal_on(SimulatedDisk(again.copy())).read().state or ()
            assert state[: len(texts_of(script[:acknowledged]))] == texts_of(script[:acknowledged])
            if written:
                assert state[-1] == "again"
            journal = journal_on(SimulatedDisk(again))
            write(journal, ("after",))
            assert journal.verify().findings == ()
            assert (journal.read().state or ())[-1] == "after"


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("reached", ["nothing", "half", "all"])
def test_a_failing_disk_tells_what_stands(reached: SyncFailure, lasting: bool) -> None:
    """Whatever call fails, the error says whether the transition stands, and after a power failure that is true."""
    told = set()
    for step in range(1, steps_of(fresh(), lambda disk: perform(disk, SCRIPT[:3], warm=True)) + 1):
        disk = SimulatedDisk(fresh(), failure=Failure(step, reached, until=10**6 if lasting else None))
        journal, stands, unknown = journal_on(disk), list[tuple[str, ...]](), 0
        for texts in SCRIPT[:3]:
            try:
                write(journal, texts)
            except Unavailable as error:
                told.add(error.written)
                stands += [texts] if error.written != "no" else []
                unknown = int(error.written == "unknown")
                if lasting:
                    break
            else:
                stands.append(texts)
        for found in (disk.volume.copy(), *disk.volume.survivors(16)):
            disk = SimulatedDisk(found)
            with journal_on(disk).lock(0) as writer:
                writer.lift_read_only()
                state = writer.refresh().state or ()
            assert state in (texts_of(tuple(stands)), texts_of(tuple(stands[: len(stands) - unknown])))
            check(found, len(stands) - unknown, under_way=unknown, script=tuple(stands))
    assert told == ({"no", "yes", "unknown"} if lasting else {"no", "yes"})


@pytest.mark.parametrize("reached", ["nothing", "half", "all"])
def test_a_crash_after_a_failed_sync_loses_nothing(reached: SyncFailure) -> None:
    """A process that is killed between a failed sync and the end of taking it back leaves the state before or after."""
    script = SCRIPT[:2]
    steps = steps_of(fresh(), lambda disk: perform(disk, script, warm=True))
    for step in range(1, steps + 1):
        for kill_at in range(step + 1, step + 6):
            disk = SimulatedDisk(fresh(), kill_at=kill_at, failure=Failure(step, reached))
            journal, acknowledged = journal_on(disk), 0
            try:
                for texts in script:
                    write(journal, texts)
                    acknowledged += 1
            except (Killed, Unavailable):
                pass
            for found in (disk.volume.copy(), *disk.volume.survivors(6, seed=kill_at)):
                check(found, acknowledged, script=script)


def test_what_fails_before_the_log_has_its_first_byte_was_not_written() -> None:
    """Where the new head finds no room nothing of the transition was written: it may be tried again as it stands."""
    for failing in (1, 2):  # making the file that the head is written to, and writing it
        disk = SimulatedDisk(fresh())
        journal = journal_on(disk)
        write(journal, ("opened",))
        before = disk.volume.files()
        disk.failure = Failure(disk.steps + failing)
        with pytest.raises(Unavailable) as caught:
            write(journal, ("full",))
        assert caught.value.written == "no"
        assert disk.volume.files() == before
        write(journal, ("full",))
        assert journal.read().state == ("opened", "full")


def test_a_write_that_cannot_be_taken_back_makes_the_case_read_only() -> None:
    """When cutting fails as well the case is marked: it is read, not written to, and the error says what to do."""
    disk = SimulatedDisk(fresh())
    journal = journal_on(disk)
    write(journal, ("opened",))
    # The sync of the log fails, then taking it back; the disk recovers in time for the mark.
    disk.failure = Failure(disk.steps + 4, until=disk.steps + 6)
    others = [journal_on(SimulatedDisk(disk.volume)) for _ in range(2)]
    assert others[0].read().state == ("opened",)
    with pytest.raises(Unavailable) as caught:
        write(journal, ("lost?",))
    assert caught.value.written == "unknown"
    for process in (journal, *others):
        assert process.read().state == ("opened",)
        with pytest.raises(Unavailable, match=r"remove \.read-only") as caught, process.lock(0) as writer:
            writer.refresh()
        assert (caught.value.code, caught.value.written) == ("read_only", "no")
    with journal.lock(0) as writer:
        assert writer.lift_read_only()
        assert not writer.lift_read_only()
    write(journal, ("after",))
    assert journal.verify().findings == ()


def test_a_tail_that_never_happened_is_kept_beside_the_log() -> None:
    """What recovery cuts from a log is in the log or under a name of its own, whenever the power fails."""
    disk, tail, log = SimulatedDisk(fresh()), b'{"half": "a li', CASE / "events.jsonl"
    write(journal_on(disk), ("opened",))

    def take_over(disk: SimulatedDisk) -> int:
        try:
            with journal_on(disk).lock(0) as writer:
                writer.refresh()
        except Killed:
            return 0
        return 1

    for number in (1, 2):
        fd = disk.open(log, write=True)
        disk.write(fd, tail, disk.fstat(fd).size)
        disk.sync(fd)
        for found, done in crashes(disk.volume, take_over, most=64):
            kept = found.files().get(f"{log}.broken-{number}")
            assert kept == tail if done else (kept == tail or found.files()[str(log)].endswith(tail))
            assert journal_on(SimulatedDisk(found)).read().state == ("opened",)
        take_over(disk)


def test_a_reader_beside_a_writer_sees_acknowledged_states_only() -> None:
    """A lock-free reader at any moment of a write finds the state before or after it, never damage, never between."""
    for step in range(1, steps_of(fresh(), lambda disk: perform(disk, SCRIPT, warm=True)) + 2):
        disk = SimulatedDisk(fresh(), kill_at=step, torn=True)
        done = perform(disk, SCRIPT, warm=True)
        reader = journal_on(SimulatedDisk(disk.volume))
        before = disk.volume.files()
        state = reader.read().state or ()
        assert state in (texts_of(SCRIPT[:done]), texts_of(SCRIPT[: done + 1]))
        assert reader.read().state == (state or None)
        assert disk.volume.files() == before


def test_an_artifact_is_there_before_its_record() -> None:
    """Once an artifact was stored no power failure takes it away; before, there is no harm in half of one."""
    volume = fresh()
    make_folder(SimulatedDisk(volume), CASE)

    def work(disk: SimulatedDisk) -> int:
        try:
            store_artifact(disk, CASE, "evidence " * 50)
        except Killed:
            return 0
        return 1

    kept = store_artifact(SimulatedDisk(volume.copy()), CASE, "evidence " * 50)
    for found, stored in crashes(volume, work, most=64):
        problem = check_artifact(SimulatedDisk(found), CASE, kept)
        assert problem is None or (not stored and problem == "it is missing")
        work(SimulatedDisk(found))
        for again in found.survivors(16):
            assert check_artifact(SimulatedDisk(again), CASE, Artifact(*_values(kept))) is None


def _values(artifact: Artifact) -> tuple[str, str, int]:
    return artifact.path, artifact.sha256, artifact.bytes


def test_bindings_are_old_or_new_and_the_slot_tells_which() -> None:
    """After a crash anywhere between the intent and the bindings, the slot says before or after, or that it was cut."""
    volume = Volume()
    old, new = {"sessions": {"s1": 1}}, {"sessions": {"s1": 2, "s2": 1}}
    disk = SimulatedDisk(volume)
    create_store(disk, STORE, "test")
    sessions = SessionsFile(disk, STORE)
    before = sessions.write(says(old)).sha256
    sessions.write_intent(Intent.settled(before))
    intent = Intent("c1", ("s1", "s2"), 3, "a" * 64, before, says(new).sha256)

    def work(disk: SimulatedDisk) -> int:
        sessions, reached = SessionsFile(disk, STORE), 0
        try:
            sessions.write_intent(intent)
            reached = 1
            sessions.write(says(new))
            reached = 2
        except Killed:
            pass
        return reached

    met = set()
    for found, reached in crashes(volume, work, most=64):
        loaded = SessionsFile(SimulatedDisk(found), STORE).load()
        met.add((reached, loaded.state))
        assert loaded.content.mapping in (old, new)
        if reached == 0:
            assert loaded.content.mapping == old
            assert loaded.intent in (intent, Intent.settled(before), None)
        if reached == 1:
            assert loaded.intent == intent
            assert loaded.state is (SlotState.SETTLED if loaded.content.mapping == new else SlotState.BEFORE)
        if reached == 2:
            assert (loaded.content.mapping, loaded.settled) == (new, True)
    assert (0, SlotState.BROKEN) in met
    assert (1, SlotState.BEFORE) in met
    assert not {state for _, state in met} & {SlotState.NEITHER, SlotState.EMPTY}


def test_an_intent_is_overwritten_only_when_what_it_protected_is_durable() -> None:
    """A process that goes on from a dead one's bindings makes them durable before it uses the slot for its own."""
    disk = SimulatedDisk(Volume())
    create_store(disk, STORE, "test")
    sessions = SessionsFile(disk, STORE)
    one, two = {"n": 1}, {"n": 2}
    sessions.write_intent(Intent("c1", (), 0, "0" * 64, sessions.load().sha256, says(one).sha256))
    for step in range(1, 20):  # killed after the rename, before it is durable
        dying = SimulatedDisk(disk.volume.copy(), kill_at=step)
        try:
            SessionsFile(dying, STORE).write(says(one))
        except Killed:
            pass
        else:
            break
        heir = SessionsFile(SimulatedDisk(dying.volume.copy()), STORE)
        before = heir.load()
        heir.write_intent(Intent("c2", (), 0, "0" * 64, before.sha256, says(two).sha256))
        for found in heir._disk.volume.survivors(64):  # type: ignore[attr-defined]  # a simulated one
            assert SessionsFile(SimulatedDisk(found), STORE).load().state is SlotState.BEFORE
    else:
        pytest.fail("the write never got through")


def test_a_store_is_made_whole_or_made_again() -> None:
    """A crash while a store is made leaves one that the next process completes; once made it survives."""
    root = Path("/a/b/store")

    def work(disk: SimulatedDisk) -> int:
        try:
            create_store(disk, root, "test", 0)
        except Killed:
            return 0
        return 1

    for found, made in crashes(Volume(), work, most=24):
        if made:
            assert read_format(SimulatedDisk(found), root) == 2
        disk = SimulatedDisk(found)
        create_store(disk, root, "test", 0)
        bindings = SessionsFile(disk, root)  # who opens a case says so first, and makes the root's names durable
        bindings.write_intent(Intent("c1", (), 0, "0" * 64, bindings.load().sha256, "1" * 64))
        case = Journal(disk, root / "cases" / "c1", Ledger())
        write(case, ("kept",))
        for again in found.survivors(8):
            assert read_format(SimulatedDisk(again), root) == 2
            assert Journal(SimulatedDisk(again), root / "cases" / "c1", Ledger()).read().state == ("kept",)


def test_damage_is_never_taken_for_a_crash_on_a_dying_disk() -> None:
    """A journal that finds acknowledged records gone refuses, and leaves every byte as it is."""
    disk = SimulatedDisk(fresh())
    perform(disk, SCRIPT, warm=True)
    fd = disk.open(CASE / "events.jsonl", write=True)
    disk.truncate(fd, disk.fstat(fd).size // 2)
    disk.close(fd)
    before = disk.volume.files()
    with pytest.raises(Damaged), journal_on(disk).lock(0) as writer:
        writer.append(entries(7, "on sand"))
    assert disk.volume.files() == before
