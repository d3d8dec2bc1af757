"""What a user may rely on in a case's journal: what it costs, what readers see, and who may write."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import Factory, define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from harness_core.errors import Damaged, Refused, Unavailable
from harness_store.disk import PosixDisk, make_folder, write_durably
from harness_store.heads import Head, render_block
from harness_store.journal import Journal, Snapshot
from harness_store.records import Position
from tests.store.ledger import Ledger, Texts, Thorough, entries
from tests.store.simulator import Failure, Killed, SimulatedDisk, Volume
from tests.store.test_crashes import CASE, fresh, journal_on, write
from tests.store.test_records import LEGACY, _line


@define
class WatchedDisk(SimulatedDisk):
    """Counts the bytes that are read, and lets something happen before each opening of the log."""

    bytes_read: int = 0
    meanwhile: list[Callable[[], None]] = Factory(list)

    def open(self, path: Path, *, write: bool = False) -> int:
        if self.meanwhile and path.name == "events.jsonl":
            self.meanwhile.pop()()
        return SimulatedDisk.open(self, path, write=write)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        data = SimulatedDisk.read(self, fd, size, offset)
        self.bytes_read += len(data)
        return data


def kinds(trace: list[str]) -> list[str]:
    return [step.split()[0] for step in trace]


# -- what it costs --------------------------------------------------------------------------------------------------


def test_a_transition_costs_the_same_however_long_the_timeline_is() -> None:
    """A process that goes on from its own last write reads nothing, folds only what is new, and syncs three times."""
    disk, ledger = WatchedDisk(fresh()), Ledger()
    journal = Journal(disk, CASE, ledger)
    write(journal, ("opened",))
    for number in range(200):
        disk.trace.clear()
        disk.bytes_read = ledger.folded = 0
        write(journal, ("one more", f"number {number}"))
        assert disk.bytes_read == 0
        assert ledger.folded == 2
        receipt = ["write", "write"]
        assert kinds(disk.trace) == ["create", "write", "write", "sync", "sync", "replace", "sync_folder", *receipt]
    assert journal.read().count == 401


def test_opening_a_case_costs_a_bounded_number_of_syncs() -> None:
    """A new case is at most eight syncs more than a transition, a process that takes over at most four more."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), ("opened",))
    syncs = [kind for kind in kinds(disk.trace) if kind.startswith("sync")]
    assert len(syncs) <= 3 + 8
    disk.trace.clear()
    write(journal_on(disk), ("more",))
    assert len([kind for kind in kinds(disk.trace) if kind.startswith("sync")]) <= 3 + 4


def test_a_reader_reads_what_was_added_and_no_more() -> None:
    """A reader that comes back reads the new head and the new lines; if nothing changed it reads nothing."""
    writer, disk, ledger = journal_on(SimulatedDisk(volume := fresh())), WatchedDisk(volume), Ledger()
    reader = Journal(disk, CASE, ledger)
    write(writer, ("opened", "x" * 10_000))
    assert reader.read().count == 2
    disk.bytes_read = ledger.folded = 0
    assert reader.read().count == 2
    assert (disk.bytes_read, ledger.folded) == (0, 0)
    write(writer, ("short",))
    disk.bytes_read = 0
    assert reader.read().count == 3
    assert ledger.folded == 1
    assert disk.bytes_read == len(volume.files()["/store/cases/c1/case.md"]) + len(_last_line(volume))


def test_a_writer_after_somebody_elses_write_folds_only_what_is_new() -> None:
    """Without a receipt, what another process added is verified with all before it, but not folded from the start."""
    volume, ledger = fresh(), Thorough()
    mine, other = Journal(SimulatedDisk(volume), CASE, ledger), journal_on(SimulatedDisk(volume))
    write(mine, ("a", "b", "c"))
    write(other, ("d",))
    ledger.folded = 0
    write(mine, ("e",))
    assert ledger.folded == 2
    assert other.read().state == ("a", "b", "c", "d", "e")


# -- what readers see -----------------------------------------------------------------------------------------------


def test_every_process_sees_the_same_case() -> None:
    """The writer, a reader that came along and one that is new agree on state, head and transition."""
    volume = fresh()
    writer, reader = journal_on(SimulatedDisk(volume)), journal_on(SimulatedDisk(volume))
    assert writer.read() == reader.read() == Snapshot()
    for number, texts in enumerate((("opened", "because"), ("a",), ("b", "c", "d")), start=1):
        write(writer, texts)
        seen = writer.read()
        assert seen.transition == number
        assert seen.head.last_event_id == f"E{seen.count:06d}"
        assert reader.read() == journal_on(SimulatedDisk(volume)).read() == writer.verify().snapshot == seen


def test_an_earlier_state_can_be_asked_for_at_the_end_of_a_transition() -> None:
    """``as_of`` gives each earlier state as it was then; inside a transition, before the first and beyond the last it
    is refused with a number that would do, in a tool as well, which knows no state before the first."""
    journal = journal_on(SimulatedDisk(volume := fresh()))
    then = {0: Snapshot[Texts]()}
    for texts in (("opened", "because"), ("a",), ("b", "c", "d")):
        write(journal, texts)
        then[journal.read().count] = journal.read()
    for reader in (journal, journal_on(SimulatedDisk(volume))):
        for count in range(-1, 9):
            if count in then:
                assert reader.read(as_of=count) == then[count]
            else:
                with pytest.raises(Refused, match="not the end of a transition") as caught:
                    reader.read(as_of=count)
                assert caught.value.code == "as_of"
                assert caught.value.fields[0].send.split()[2] in map(str, then.keys() - {0})
        assert reader.read().count == 6


def test_an_earlier_state_of_a_damaged_log_is_not_shown() -> None:
    """A log that was cut or changed below the asked-for point is damage, also for a reader that remembers it whole."""
    for code, change in (
        ("records_lost", lambda data: data[: data.index(b"\n") + 1]),
        ("record_broken", lambda data: data.replace(b"opened", b"0pened")),
    ):
        disk = SimulatedDisk(fresh())
        journal = journal_on(disk)
        for texts in (("opened",), ("a",), ("b",)):
            write(journal, texts)
        _replace(disk, "events.jsonl", change)
        with pytest.raises(Damaged) as caught:
            journal.read(as_of=2)
        assert caught.value.code == code


def test_a_reader_looks_again_before_it_says_damage() -> None:
    """A log that runs away from the head while it is read is not damage: under the lock all is well."""
    volume = fresh()
    writer = journal_on(SimulatedDisk(volume))
    write(writer, ("opened",))

    def runs_away() -> None:
        for text in ("a", "b", "c"):
            write(writer, (text,))

    disk = WatchedDisk(volume, meanwhile=[runs_away])
    assert Journal(disk, CASE, Ledger()).verify().findings == ()
    disk.meanwhile = [runs_away, runs_away]
    assert Journal(disk, CASE, Thorough()).read().count == 10
    assert disk.meanwhile == []


def test_a_reader_does_not_wait_for_a_writer() -> None:
    """While somebody holds the lock, reads of a sound case and of one with a tail go on as ever."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), ("opened",))
    for _ in range(2):
        with journal_on(SimulatedDisk(disk.volume)).lock(0):
            assert journal_on(disk).read().state == ("opened",)
            assert journal_on(disk).verify().findings == ()
        _replace(disk, "events.jsonl", lambda data: data + b"half a line")


def test_a_case_with_no_lock_file_is_read_without_making_one() -> None:
    """A copied or older case that was never written to here is judged as it is, and stays as it is."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), ("opened",))
    disk.unlink(CASE / ".case.lock")
    _replace(disk, "events.jsonl", lambda data: data.replace(b"opened", b"0pened"))
    before = disk.volume.files()
    with pytest.raises(Damaged):
        journal_on(disk).read()
    assert disk.volume.files() == before


# -- who may write --------------------------------------------------------------------------------------------------


def test_locking_a_case_that_is_not_there_changes_nothing() -> None:
    """A decision against opening a case leaves no folder and no file; a reader finds nothing."""
    disk = SimulatedDisk(fresh())
    with journal_on(disk).lock(0) as writer:
        assert writer.refresh() == Snapshot()
        assert writer.verify().findings == ()
    assert journal_on(disk).read() == Snapshot()
    assert disk.steps == 0


def test_an_empty_folder_does_not_burn_the_name() -> None:
    """What a crash left of an opening, a folder, a lock or an empty log, is a case that can be opened."""
    for leftovers in ([], [".case.lock"], ["events.jsonl"], [".case.lock", "events.jsonl"]):
        disk = SimulatedDisk(fresh())
        disk.mkdir(CASE)
        for name in leftovers:
            disk.close(disk.create(CASE / name))
        journal = journal_on(disk)
        assert journal.read() == Snapshot()
        write(journal, ("opened",))
        assert journal.read().state == ("opened",)


def test_a_case_opened_by_somebody_else_meanwhile_is_not_written_over() -> None:
    """Who locked a case before it existed and finds it there writes nothing."""
    volume = fresh()
    with journal_on(SimulatedDisk(volume)).lock(0) as writer:
        write(journal_on(SimulatedDisk(volume)), ("theirs",))
        with pytest.raises(Unavailable, match="opened by somebody else") as caught:
            writer.append(entries(0, "mine"))
    assert (caught.value.code, caught.value.written) == ("changed", "no")
    assert journal_on(SimulatedDisk(volume)).read().state == ("theirs",)


def test_a_writer_is_of_no_use_after_its_block() -> None:
    """Without the lock nothing is written."""
    disk = SimulatedDisk(fresh())
    with journal_on(disk).lock(0) as writer:
        writer.append(entries(0, "opened"))
    for use in (writer.refresh, writer.verify, writer.lift_read_only, lambda: writer.append(entries(1, "more"))):
        with pytest.raises(RuntimeError, match="no longer held"):
            use()


def test_two_writers_exclude_each_other() -> None:
    """While one holds the case, another is told who is in the way, and that nothing was written."""
    volume = fresh()
    write(journal_on(SimulatedDisk(volume)), ("opened",))
    with (
        journal_on(SimulatedDisk(volume)).lock(0),
        pytest.raises(Unavailable, match="case c1 is locked") as caught,
        journal_on(SimulatedDisk(volume)).lock(0),
    ):
        pytest.fail("two writers at once")
    assert caught.value.code == "locked"


class Wrong(Thorough):
    """A codec with a fault: what it projects names another head, or it does not fold."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def fold(self, state: Texts | None, records: Any) -> Texts:
        if self.fault == "fold":
            raise ZeroDivisionError
        if self.fault == "damaged":
            raise Damaged("record means nothing", code="record_meaningless")
        return super().fold(state, records)

    def project(self, state: Texts, head: Head) -> str:
        return {"head": render_block({}, Head(head.count, "0" * 64)), "text": "no block"}[self.fault]


@pytest.mark.parametrize("fault", ["fold", "head", "text"])
def test_a_fault_of_the_domain_is_found_before_anything_is_written(fault: str) -> None:
    """A fold that fails, or a projection without its head, leaves the log as it was."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), ("opened",))
    before = disk.volume.files()
    with pytest.raises((ZeroDivisionError, ValueError)), Journal(disk, CASE, Wrong(fault)).lock(0) as writer:
        writer.append(entries(0, "x"))
    assert disk.volume.files() == before


def test_records_that_mean_nothing_are_damage() -> None:
    """A codec that cannot make sense of records whose hashes hold makes the case damaged, not the program crash."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), ("opened",))
    journal = Journal(disk, CASE, Wrong("damaged"))
    with pytest.raises(Damaged, match="record means nothing") as caught:
        journal.read()
    assert caught.value.code == "record_meaningless"
    assert [finding.code for finding in journal.verify().findings] == ["record_meaningless"]


@pytest.mark.parametrize("texts", [("\ud800",), ("line\nend\r\u2028",), ("<!-- EPISTEMIC-HARNESS-DATA", "-->")])
def test_any_text_can_be_recorded(texts: tuple[str, ...]) -> None:
    """Lone surrogates, every kind of line end and our own markers are only text."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), texts)
    assert journal_on(disk).read().state == texts
    assert journal_on(disk).verify().findings == ()


def test_processes_and_threads_write_one_case_in_turn(tmp_path: Path) -> None:
    """Several processes, each with several threads, append to one real case: every record is there, in one chain."""
    program = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from harness_store.disk import PosixDisk\n"
        "from harness_store.journal import Journal\n"
        "from tests.store.ledger import Ledger, entries\n"
        "journal = Journal(PosixDisk(), Path(sys.argv[1]), Ledger())\n"
        "def work():\n"
        "    for _ in range(10):\n"
        "        with journal.lock() as writer:\n"
        "            writer.append(entries(writer.refresh().count, sys.argv[2]))\n"
        "threads = [threading.Thread(target=work) for _ in range(2)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
    )
    case = tmp_path / "cases" / "c1"
    journal = Journal(PosixDisk(), case, Ledger())
    write(journal, ("opened",))
    processes = [subprocess.Popen([sys.executable, "-c", program, str(case), f"p{n}"]) for n in range(3)]
    counts = [journal.read().count]
    while any(process.poll() is None for process in processes):
        counts.append(journal.read().count)
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert counts == sorted(counts)
    report = Journal(PosixDisk(), case, Ledger()).verify()
    assert report.findings == ()
    assert report.snapshot.state is not None
    assert sorted(report.snapshot.state) == sorted(["opened", *(f"p{n}" for n in range(3) for _ in range(20))])


def test_a_killed_writer_leaves_a_case_that_goes_on(tmp_path: Path) -> None:
    """A real process killed while it writes leaves a case whose acknowledged records are there and which goes on."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from harness_store.disk import PosixDisk\n"
        "from harness_store.journal import Journal\n"
        "from tests.store.ledger import Ledger, entries\n"
        "journal = Journal(PosixDisk(), Path(sys.argv[1]), Ledger())\n"
        "while True:\n"
        "    with journal.lock() as writer:\n"
        "        count = writer.refresh().count\n"
        "        writer.append(entries(count, *(['x' * 20_000] * 3)))\n"
        "        print(count + 3, flush=True)\n"
    )
    case = tmp_path / "cases" / "c1"
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", program, str(case)], stdout=subprocess.PIPE, text=True, bufsize=1
        ) as process:
            assert process.stdout is not None
            acknowledged = int(process.stdout.readline())
            process.kill()
            acknowledged = max([acknowledged, *(int(line) for line in process.stdout.read().split())])
        journal = Journal(PosixDisk(), case, Ledger())
        assert journal.read().count >= acknowledged
        with journal.lock(0) as writer:
            assert writer.refresh().count in (acknowledged, acknowledged + 3)
        assert journal.verify().findings == ()


def test_a_journal_is_shared_by_threads() -> None:
    """Threads that read one ``Journal`` while another writes through it never see the count fall."""
    journal = journal_on(SimulatedDisk(fresh()))
    write(journal, ("opened",))
    done, counts = threading.Event(), list[int]()

    def look() -> None:
        seen = 0
        while not done.is_set():
            count = journal.read().count
            assert count >= seen
            seen = count
        counts.append(seen)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(100):
        write(journal, (str(number),))
    done.set()
    for thread in threads:
        thread.join()
    assert len(counts) == 3
    assert journal.read().count == 101


# -- other formats, other shapes ------------------------------------------------------------------------------------


def test_a_case_of_a_newer_release_is_read_as_far_as_it_is_known_and_not_written_to() -> None:
    """Records of a newer format beyond the head do not disturb reading; writing is refused with a clear text."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), ("opened", "because"))
    position = journal_on(disk).read()
    end = len(disk.volume.files()["/store/cases/c1/events.jsonl"])
    line = _line(Position(2, position.head.hash, 1, end), format=3)
    _replace(disk, "events.jsonl", lambda data: data + line)
    before = disk.volume.files()
    assert journal_on(disk).read().state == ("opened", "because")
    with pytest.raises(Damaged, match="newer release") as caught:
        write(journal_on(disk), ("x",))
    assert caught.value.code == "newer_format"
    assert "a later one" in caught.value.works
    assert disk.volume.files() == before


def test_a_forged_case_of_release_1_2_0_is_damage() -> None:
    """The old shape alone makes nobody believe a log or a ``case.md``, and nothing is changed."""
    disk = SimulatedDisk(fresh())
    make_folder(disk, CASE)
    block = '{"integrity": {"last_event_id": "E000001", "state_sha256": "00"}}'
    projection = f"<!-- EPISTEMIC-HARNESS-DATA\n{block}\nEND-EPISTEMIC-HARNESS-DATA -->\n"
    write_durably(disk, CASE / "events.jsonl", LEGACY)
    write_durably(disk, CASE / "case.md", projection.encode())
    before = disk.volume.files()
    with pytest.raises(Damaged) as caught:
        journal_on(disk).read()
    assert caught.value.code == "projection_foreign"
    codes = [finding.code for finding in journal_on(disk).verify().findings]
    assert codes == ["projection_foreign"]
    assert disk.volume.files() == before


@pytest.mark.parametrize("name", ["events.jsonl", "case.md"])
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_something_else_in_the_place_of_a_file_is_damage(tmp_path: Path, name: str, kind: str) -> None:
    """A folder or a link where the log or the projection belongs is named; it is not followed and not replaced."""
    case = tmp_path / "c1"
    write(Journal(PosixDisk(), case, Ledger()), ("opened",))
    (case / name).rename(tmp_path / name)
    if kind == "link":
        (case / name).symlink_to(tmp_path / name)
    else:
        (case / name).mkdir()
    journal = Journal(PosixDisk(), case, Ledger())
    for use in (journal.read, lambda: write(journal, ("x",))):
        with pytest.raises(Damaged, match="not a regular file"):
            use()
    assert "not_a_file" in [finding.code for finding in journal.verify().findings]


def test_a_disk_that_cannot_be_read_is_no_damage(tmp_path: Path) -> None:
    """An I/O error while reading is ``Unavailable``: nothing is known about the case."""

    class Failing(PosixDisk):
        def read(self, fd: int, size: int, offset: int) -> bytes:
            raise OSError(5, "Input/output error")

    write(Journal(PosixDisk(), tmp_path / "c1", Ledger()), ("opened",))
    journal = Journal(Failing(), tmp_path / "c1", Ledger())
    for use in (journal.read, journal.verify, lambda: write(journal, ("x",))):
        with pytest.raises(Unavailable, match="Input/output error while") as caught:
            use()
        assert caught.value.written == "no"


def test_a_repr_leaks_nothing() -> None:
    """The journal names its case and nothing of its content."""
    journal = journal_on(SimulatedDisk(fresh()))
    write(journal, ("secret",))
    assert repr(journal) == "<Journal of case c1>"


# -- anything in any order ------------------------------------------------------------------------------------------


class Processes(RuleBasedStateMachine):
    """Two processes and a disk that may lose power, against a list of what was acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.volume = fresh()
        self.acknowledged: Texts = ()
        self.possible: Texts = ()  # acknowledged, and perhaps what a crash left under way
        self.number = 0

    @initialize()
    def start(self) -> None:
        self.journals = [journal_on(SimulatedDisk(self.volume)) for _ in range(2)]

    def texts(self, size: int) -> Texts:
        self.number += 1
        return tuple(f"{self.number}.{part}" for part in range(size))

    @rule(process=st.integers(0, 1), size=st.integers(1, 3))
    def append(self, process: int, size: int) -> None:
        texts = self.texts(size)
        write(self.journals[process], texts)
        state = self.journals[process].read().state or ()
        assert state in (self.acknowledged + texts, self.possible + texts)
        self.acknowledged = self.possible = state

    @rule(process=st.integers(0, 1), size=st.integers(1, 3), step=st.integers(1, 14), torn=st.booleans())
    def die(self, process: int, size: int, step: int, torn: bool) -> None:
        disk = self.journals[process]._files.disk
        assert isinstance(disk, SimulatedDisk)
        disk.kill_at, disk.torn = disk.steps + step, torn
        self._attempt(process, self.texts(size), Killed)
        disk.kill_at = None
        self.journals[process] = journal_on(SimulatedDisk(self.volume))

    @rule(process=st.integers(0, 1), size=st.integers(1, 3), step=st.integers(1, 14))
    def fail(self, process: int, size: int, step: int) -> None:
        disk = self.journals[process]._files.disk
        assert isinstance(disk, SimulatedDisk)
        disk.failure = Failure(disk.steps + step)
        self._attempt(process, self.texts(size), Unavailable)
        disk.failure = None

    def _attempt(self, process: int, texts: Texts, error: type[BaseException]) -> None:
        try:
            write(self.journals[process], texts)
        except error:
            found = self._taken_over()
            assert found in [old + new for old in (self.acknowledged, self.possible) for new in ((), texts)]
            self.possible = found
        else:
            self.acknowledged = self.possible = self.journals[process].read().state or ()

    def _taken_over(self) -> Texts:
        """What a new process would find and build on; the disk stays as it is."""
        with journal_on(SimulatedDisk(self.volume.copy())).lock(0) as writer:
            return writer.refresh().state or ()

    @rule(seed=st.integers(0, 10**6))
    def lose_power(self, seed: int) -> None:
        *_, self.volume = self.volume.survivors(8, seed)
        self.journals = [journal_on(SimulatedDisk(self.volume)) for _ in range(2)]
        found = self._taken_over()
        assert found in [self.possible[:count] for count in range(len(self.acknowledged), len(self.possible) + 1)]
        self.possible = found

    @precondition(lambda self: self.acknowledged == self.possible and self.acknowledged)
    @rule(tail=st.binary(min_size=1, max_size=40))
    def garble(self, tail: bytes) -> None:
        disk = SimulatedDisk(self.volume)
        fd = disk.open(CASE / "events.jsonl", write=True)
        disk.write(fd, tail, disk.fstat(fd).size)

    @invariant()
    def readers_see_what_is_acknowledged(self) -> None:
        for journal in (*self.journals, journal_on(SimulatedDisk(self.volume))):
            state = journal.read().state or ()
            assert len(state) >= len(self.acknowledged)
            assert state == self.possible[: len(state)]


def test_any_sequence_of_writes_and_disasters_keeps_what_was_acknowledged() -> None:
    """Writes, deaths, failing disks, power losses and garbage in any order never lose an acknowledged record."""
    run_state_machine_as_test(Processes, settings=settings(max_examples=40, stateful_step_count=30, deadline=None))


def _last_line(volume: Volume) -> bytes:
    return volume.files()["/store/cases/c1/events.jsonl"].splitlines(keepends=True)[-1]


def _replace(disk: SimulatedDisk, name: str, change: Callable[[bytes], bytes]) -> None:
    """Edit a file in place, as an editor or an attacker would."""
    fd = disk.open(CASE / name, write=True)
    data = change(disk.read(fd, 10**9, 0))
    disk.truncate(fd, 0)
    disk.write(fd, data, 0)
    disk.close(fd)
