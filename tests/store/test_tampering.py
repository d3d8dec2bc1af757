"""What a user may rely on when somebody edits a case's files: it is said, nothing is healed, nothing is believed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness_core.errors import Damaged
from harness_store.heads import BLOCK_END
from harness_store.journal import Journal
from tests.store.ledger import Texts
from tests.store.simulator import SimulatedDisk, Volume
from tests.store.test_crashes import CASE, fresh, journal_on, write

TRANSITIONS = (("opened", "because"), ("first",), ("second", "third"))
LOG, PROJECTION = CASE / "events.jsonl", CASE / "case.md"


def history() -> list[Volume]:
    """The case after each transition, before the first included."""
    volumes = [fresh()]
    disk = SimulatedDisk(fresh())
    journal = journal_on(disk)
    for texts in TRANSITIONS:
        write(journal, texts)
        volumes.append(disk.volume.copy())
    return volumes


HISTORY = history()


def content(volume: Volume, path: Path) -> bytes:
    return volume.files()[str(path)]


def with_file(volume: Volume, path: Path, data: bytes | None) -> Volume:
    """The same disk with one file edited in place, or deleted."""
    disk = SimulatedDisk(volume.copy())
    if data is None:
        disk.unlink(path)
        return disk.volume
    fd = disk.open(path, write=True)
    disk.truncate(fd, 0)
    disk.write(fd, data, 0)
    disk.close(fd)
    return disk.volume


def harmed(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    """``data`` with each byte flipped in one of its bits, and cut at each length."""
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << (place % 8)
        yield "flip", place, bytes(flipped)
        yield "cut", place, data[:place]


def assert_damaged(volume: Volume, warm: Journal[Texts] | None = None) -> str:
    """Reading says damage, writing is refused, verifying names it, and no byte has changed; gives the code."""
    before = volume.files()
    cold = journal_on(SimulatedDisk(volume))
    with pytest.raises(Damaged) as read:
        cold.read()
    with pytest.raises(Damaged) as written:
        write(warm or cold, ("on sand",))
    (code,) = {read.value.code, written.value.code, cold.verify().findings[0].code}
    assert volume.files() == before
    return code


def test_every_byte_of_an_acknowledged_log_counts() -> None:
    """Flip any byte of the log, or cut it anywhere: damage, however one looks, and nothing is healed."""
    volume, last = HISTORY[3], len(content(HISTORY[3], LOG)) - 1
    for kind, place, data in harmed(content(volume, LOG)):
        code = assert_damaged(with_file(volume, LOG, data))
        # Without its last byte, the last line has no end: then, too, something is missing.
        assert code == ("records_lost" if kind == "cut" or place == last else "record_broken")


def test_a_process_that_knows_the_log_notices_too() -> None:
    """A writer that has the whole case in mind verifies again as soon as the file is not as it left it."""
    for place in range(0, len(content(HISTORY[3], LOG)), 97):
        disk = SimulatedDisk(HISTORY[0].copy())
        warm = journal_on(disk)
        for texts in TRANSITIONS:
            write(warm, texts)
        data = bytearray(content(disk.volume, LOG))
        data[place] ^= 1
        fd = disk.open(LOG, write=True)
        disk.write(fd, bytes(data), 0)
        disk.close(fd)
        assert assert_damaged(disk.volume, warm) == "record_broken" or place == len(data) - 1


def test_only_the_tail_beyond_the_head_is_given_up() -> None:
    """With the last transition not yet acknowledged, harm within it undoes it and keeps the bytes; harm before it is
    damage."""
    log, head = content(HISTORY[3], LOG), content(HISTORY[2], PROJECTION)
    lagging = with_file(HISTORY[3], PROJECTION, head)
    acknowledged = len(content(HISTORY[2], LOG))
    for _, place, data in harmed(log):
        volume = with_file(lagging, LOG, data)
        if place < acknowledged:
            if place % 10 == 0:  # every byte of it has its turn above
                assert_damaged(volume)
            continue
        disk = SimulatedDisk(volume)
        assert journal_on(disk).read().state == ("opened", "because", "first")
        write(journal_on(disk), ("after",))
        assert journal_on(disk).verify().snapshot.state == ("opened", "because", "first", "after")
        if len(data) > acknowledged:
            assert disk.volume.files()[f"{LOG}.broken-1"] == data[acknowledged:]


def test_every_byte_of_the_machine_block_counts() -> None:
    """Flip any byte of the block in ``case.md``, or cut the file within it: damage.  The text below is only text."""
    volume = HISTORY[3]
    data = content(volume, PROJECTION)
    block = data.index(BLOCK_END.encode()) + len(BLOCK_END)
    for _, place, changed in harmed(data):
        found = with_file(volume, PROJECTION, changed)
        if place <= block - (changed == data[:place]):
            assert assert_damaged(found) in {"projection_unreadable", "projection_foreign", "records_lost"}
        else:
            assert journal_on(SimulatedDisk(found)).read().state is not None


@pytest.mark.parametrize(
    ("log", "projection", "code"),
    [
        (3, 2, None),
        (3, 1, "projection_rolled_back"),
        (3, 0, "projection_lost"),
        (2, 3, "records_lost"),
        (1, 3, "records_lost"),
        (0, 3, "log_missing"),
        (1, 0, None),
        (2, 0, "projection_lost"),
        (0, 0, None),
        (2, 2, None),
    ],
)
def test_files_of_different_times_are_told(log: int, projection: int, code: str | None) -> None:
    """A log or a ``case.md`` put back or deleted is damage, but for the step back that a crash leaves as well."""
    volume = HISTORY[3]
    for path, number in ((LOG, log), (PROJECTION, projection)):
        volume = with_file(volume, path, content(HISTORY[number], path) if number else None)
    if code is not None:
        assert assert_damaged(volume) == code
        return
    disk = SimulatedDisk(volume)
    write(journal_on(disk), ("after",))
    expected = tuple(text for texts in TRANSITIONS[:log] for text in texts)
    assert journal_on(disk).read().state == (*expected, "after")


def test_the_projection_of_another_case_is_told() -> None:
    """A ``case.md`` that fits in form and not in content is no state of this Timeline."""
    disk = SimulatedDisk(fresh())
    write(journal_on(disk), ("other", "words"))
    write(journal_on(disk), ("quite",))
    write(journal_on(disk), ("so", "much"))
    assert assert_damaged(with_file(HISTORY[3], PROJECTION, content(disk.volume, PROJECTION))) == "projection_foreign"
    edited = content(HISTORY[3], PROJECTION).replace(b'"first"', b'"fist!"')
    assert assert_damaged(with_file(HISTORY[3], PROJECTION, edited)) == "projection_foreign"


def test_damage_says_where_it_is_and_what_still_works() -> None:
    """The error names the file, the line and the byte; the report gives what can still be read."""
    data = content(HISTORY[3], LOG).replace(b"first", b"worst")
    volume = with_file(HISTORY[3], LOG, data)
    with pytest.raises(Damaged) as caught:
        journal_on(SimulatedDisk(volume)).read()
    offset = len(content(HISTORY[1], LOG))
    assert caught.value.where.startswith(f"events.jsonl, line 3 (byte {offset}): ")
    assert "the first 2 records can still be read" in caught.value.works
    assert "case c1: events.jsonl, line 3" in str(caught.value)
    assert journal_on(SimulatedDisk(volume)).verify().snapshot.state == ("opened", "because")


def test_a_case_without_a_readable_projection_can_still_be_looked_at() -> None:
    """With ``case.md`` unreadable, the report still gives all that holds in the log."""
    volume = with_file(HISTORY[3], PROJECTION, b"gone")
    assert journal_on(SimulatedDisk(volume)).verify().snapshot.count == 5
    assert assert_damaged(volume) == "projection_unreadable"
