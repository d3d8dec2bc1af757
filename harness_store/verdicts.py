"""What a log and the head in its ``case.md`` say together: sound, unfinished, or damaged.

The head is what tells a crash from damage.  Beyond it a broken tail never happened; at or before it something was
lost.  Pure, and the only place where that is decided; ``journal`` acts on it.
"""

from __future__ import annotations

from attrs import frozen

from .heads import Head
from .records import TORN, Position, Reason, Scan, later_transition


@frozen
class Finding:
    """One thing that is wrong: a stable ``code``, the file, what is wrong as a sentence, and for a log the line (from
    1) and the byte offset."""

    code: str
    where: str
    problem: str
    line: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        place = "" if self.line is None else f", line {self.line} (byte {self.offset})"
        return f"{self.where}{place}: {self.problem}"


@frozen
class Verdict:
    """``acknowledged``: where the head points.  ``sound``: where what stands ends, the same or one transition later.
    ``tail``: bytes beyond ``sound`` that never happened.  With ``findings`` it is damage and nothing may be built on
    it; ``acknowledged`` is then the furthest point at or before the head that can still be read."""

    acknowledged: Position
    sound: Position
    tail: int
    findings: tuple[Finding, ...] = ()


def judge(scan: Scan, data: bytes, head: Head) -> Verdict:
    """Judge a log against a head.

    ``scan`` is the scan of ``data``, the log's bytes from ``scan.positions[0].end`` on (the start of the log, or a
    position at or before ``head`` up to which this process knows the log).
    """
    end, stop, origin = scan.end, scan.stop, scan.positions[0].end
    known = [position for position in scan.positions if position.count <= head.count]
    beyond = [position for position in scan.positions if position.count > head.count]
    acknowledged = known[-1]
    findings = []
    if stop is not None and stop.reason is Reason.NEWER:
        findings.append(_at(stop.line, stop.offset, "newer_format", stop.reason))
    elif acknowledged.count < head.count and beyond:
        findings.append(Finding("projection_foreign", "case.md", "its head lies in the middle of a transition"))
    elif acknowledged.count < head.count:
        lost = f"case.md acknowledges {head.count} records, of which only the first {end.count} are there"
        if stop is None or stop.reason in TORN:
            findings.append(_at(end.count + 1, end.end, "records_lost", f"committed records were lost: {lost}"))
        else:
            findings.append(_at(stop.line, stop.offset, "record_broken", f"{stop.reason}; {lost}"))
    elif acknowledged.hash != head.hash:
        findings.append(Finding("projection_foreign", "case.md", "it is no state of this Timeline: other last hash"))
    elif len(beyond) > 1:
        findings.append(_rolled_back(head, f"the log goes on to record {end.count}"))
        if head.count == 0:  # it names no record to read up to
            acknowledged = end
    elif stop is not None and (later := later_transition(data[end.end - origin :], end.transition + 1)) is not None:
        findings.append(_at(stop.line, stop.offset, "record_broken", f"{stop.reason}, yet transition {later} follows"))
    return Verdict(acknowledged, end, origin + len(data) - end.end, tuple(findings))


def _at(line: int, offset: int, code: str, problem: str) -> Finding:
    return Finding(code, "events.jsonl", problem, line, offset)


def _rolled_back(head: Head, log: str) -> Finding:
    if head.count == 0:
        return Finding("projection_lost", "case.md", f"it is missing, although {log}")
    return Finding("projection_rolled_back", "case.md", f"it was rolled back: it names record {head.count}, {log}")
