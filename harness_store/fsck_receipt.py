"""The checker's own look at what the last writer of a case left beside it (see ``fsck``, which this is a part of).

A receipt is only ever believed while log and ``case.md`` look as it says.  Then what it says must be the case; at any
other time it means nothing, and neither does a torn one.
"""

from __future__ import annotations

import json
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import asdict

from harness_core.case import Artifact, Case, summary
from harness_core.evidence import Citation
from harness_core.transfer import lesson_of

from .fsck_bytes import parse, read, unsealed


def receipt_faults(case: Case, folder: Path) -> Iterator[str]:
    """What a receipt that would be believed says of a case and is not so."""
    receipt = _believed(folder)
    if receipt is None:
        return
    log = read(folder / "events.jsonl")
    count, hash_, _, end, _ = receipt["position"]
    last = log[:end].splitlines()[-1:] if isinstance(log, bytes) else []
    if count != case.event_count or not last or not last[0].endswith(f'"hash":"{hash_}"}}'.encode("utf-8", "replace")):
        yield ".receipt: it names another end of the Timeline"
    lesson = lesson_of(case)
    taught = f"{lesson.lesson}\n{lesson.scope}" if lesson else ""
    if receipt["card"] != {"summary": _as_json(summary(case)), "taught": taught}:
        yield ".receipt: its card is not that of the case"
    rest = {
        "probe_count": case.probe_count,
        "high_waters": dict(case.high_waters.items()),
        "unaccounted": list(case.unaccounted),
    }
    if receipt["rest"] != rest:
        yield ".receipt: what it adds to case.md is not so"
    data = read(folder / ".index")
    end, checksum = receipt["index"]
    lines = data[:end] if isinstance(data, bytes) else b""
    if (len(lines), zlib.crc32(lines)) == (end, checksum) and _told(lines.splitlines()) != _meant(case):
        yield ".index: its lines are not what the events may be cited for"


def _believed(folder: Path) -> Mapping[str, Any] | None:
    data = read(folder / ".receipt")
    found = unsealed(data.partition(b"\n")[0]) if isinstance(data, bytes) else None
    if found is None or found.get("format") != 1 or not _has_its_shape(found):
        return None
    looks = [_look(folder / name) for name in ("events.jsonl", "case.md")]
    return found if looks == [found["log"], found["projection"]] else None


def _has_its_shape(found: Mapping[str, Any]) -> bool:
    """Whether somebody could take it for a receipt at all."""
    position, index = found.get("position"), found.get("index")
    lists = isinstance(position, list) and len(position) == 5 and isinstance(index, list) and len(index) == 2
    numbers = [*position[:1], *position[2:4], *index] if lists and position and index else [None]
    there = {"log", "projection"} <= found.keys() and {type(found.get(name)) for name in ("rest", "card")} == {dict}
    return there and {*map(type, numbers)} == {int}


def _look(path: Path) -> list[Any]:
    try:
        at = path.lstat()
    except OSError:
        return []
    kind = "file" if stat.S_ISREG(at.st_mode) else "other"
    return [at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns, kind]


def _told(lines: Iterable[bytes]) -> dict[str, Any]:
    told = {}
    for line in lines:
        name, _, text = line.decode("ascii", "replace").partition(" ")
        try:
            told[name] = parse(text)
        except (ValueError, RecursionError):
            told[name] = None
    return told


def _meant(case: Case) -> dict[str, Any]:
    cited = {event_id: _plain(citation) for event_id, citation in case.citations.items()}
    return cited | {f"#{event_id}": _plain(kept) for event_id, kept in case.artifacts.items()}


def _plain(value: Citation | Artifact) -> Any:
    """The members of a value as JSON; an optional one that is not there is left out."""
    return _as_json(asdict(value, filter=lambda member, content: content is not None or member.default is not None))


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))
