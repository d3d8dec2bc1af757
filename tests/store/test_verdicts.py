"""What a user may rely on when a log and its head disagree: the table of verdicts, row by row."""

from __future__ import annotations

import pytest

from harness_store.heads import NO_HEAD, Head
from harness_store.records import START, scan
from harness_store.verdicts import Verdict, judge
from tests.store.test_records import LOG, POSITIONS, _line

ZERO, ONE, TWO, THREE = POSITIONS
HEADS = [Head(position.count, position.hash) for position in POSITIONS]


def judged(data: bytes, head: Head) -> Verdict:
    return judge(scan(data), data, head)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_log_that_ends_at_its_head_is_sound(number: int) -> None:
    """Same: sound, nothing to do."""
    position = POSITIONS[number]
    assert judged(LOG[: position.end], HEADS[number]) == Verdict(position, position, 0)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_one_whole_transition_more_is_sound(number: int) -> None:
    """Committed and not yet acknowledged: it stands, the projection is brought up."""
    assert judged(LOG[: POSITIONS[number + 1].end], HEADS[number]) == Verdict(
        POSITIONS[number], POSITIONS[number + 1], 0
    )


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("tail", [b"x", b'{"half', LOG[-200:-1], b"\0" * 100, b"\n\n"])
def test_a_broken_tail_beyond_the_head_never_happened(number: int, tail: bytes) -> None:
    """Behind the head, or behind one whole transition more, broken bytes are cut; everything before them stands."""
    for end in POSITIONS[number : number + 2]:
        assert judged(LOG[: end.end] + tail, HEADS[number]) == Verdict(POSITIONS[number], end, len(tail))


def test_without_a_whole_first_transition_the_open_never_happened() -> None:
    """No ``case.md`` and no whole first transition: an empty case with a tail to cut."""
    for length in range(ONE.end):
        assert judged(LOG[:length], NO_HEAD) == Verdict(START, START, length)


def test_a_break_at_or_before_the_head_is_damage() -> None:
    """A broken acknowledged record is damage, with its line and offset, and what lies before can be read."""
    verdict = judged(LOG.replace(b"then", b"Then"), HEADS[3])
    (finding,) = verdict.findings
    assert (finding.code, finding.line, finding.offset) == ("record_broken", 3, ONE.end)
    assert verdict.acknowledged == ONE
    assert "line 3" in str(finding)


def test_a_log_shorter_than_its_head_is_damage() -> None:
    """Acknowledged records that are gone are called lost, not broken."""
    for length in range(THREE.end):
        (finding,) = judged(LOG[:length], HEADS[3]).findings
        assert finding.code == "records_lost"


@pytest.mark.parametrize(("number", "code"), [(1, "projection_rolled_back"), (0, "projection_lost")])
def test_two_transitions_beyond_the_head_are_a_rolled_back_projection(number: int, code: str) -> None:
    """No crash leaves two: ``case.md`` was put back, or taken away, and that is what is said."""
    for tail in (b"", b"tail"):
        (finding,) = judged(LOG + tail, HEADS[number]).findings
        assert (finding.code, finding.where) == (code, "case.md")


def test_a_head_of_another_timeline_is_damage() -> None:
    """A ``case.md`` that names another hash, or a point inside a transition, is no state of this Timeline."""
    for head in (Head(2, "f" * 64), Head(1, "f" * 64), Head(4, "f" * 64)):
        (finding,) = judged(LOG, head).findings
        assert finding.code == "projection_foreign"


def test_a_break_that_is_no_crash_is_damage() -> None:
    """A broken tail with an unharmed later transition in it was no crash: nothing is cut."""
    for number in (0, 1):
        data = LOG[: POSITIONS[number].end] + LOG[POSITIONS[number].end :].replace(b"e", b"E", 1)
        (finding,) = judged(data, HEADS[number]).findings
        assert finding.code == "record_broken"


def test_a_newer_release_is_not_called_damage_of_the_record() -> None:
    """Lines of a newer format, at the head or beyond it, make the case read-only under a code of its own."""
    data = LOG + _line(THREE, format=3)
    for head in (HEADS[3], Head(7, "f" * 64)):
        (finding,) = judged(data, head).findings
        assert finding.code == "newer_format"


@pytest.mark.parametrize("known", [0, 1, 2])
def test_judging_on_from_a_known_position_gives_the_same_verdict(known: int) -> None:
    """What a process has verified before need not be read again to judge what follows."""
    start = POSITIONS[known]
    for data in (LOG, LOG + b"tail", LOG[: TWO.end]):
        for head in HEADS[known:]:
            rest = data[start.end :]
            whole, part = judged(data, head), judge(scan(rest, start), rest, head)
            assert part == whole
