"""A golden store, stage by stage, everything that can be done to its files, and what is then tried on it.

Files are values here: a store is a mapping of paths (relative to its root) to bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from harness_core.errors import Damaged, Refused, Unavailable
from harness_store.disk import make_folder
from harness_store.records import frame
from tests.store.script import PROBE, ROOT, SOURCE, Process, large, started
from tests.store.simulator import SimulatedDisk, Volume

Files = Mapping[str, bytes]

CASE = "cases/c1"
LOG, PROJECTION = f"{CASE}/events.jsonl", f"{CASE}/case.md"
LESSON = {"decision": "candidate", "lesson": "read it twice", "scope": "files", "evidence_case_ids": ["c1"]}


# --- the golden store ---


def files_of(volume: Volume) -> Files:
    """The files under the root of a store on a simulated disk."""
    prefix = f"{ROOT}/"
    return {path.removeprefix(prefix): data for path, data in volume.files().items() if path.startswith(prefix)}


def volume_of(files: Files) -> Volume:
    """A simulated disk with these files, under the root of a store."""
    disk = SimulatedDisk(Volume())
    make_folder(disk, ROOT / "cases")
    for path, data in files.items():
        make_folder(disk, (ROOT / path).parent)
        fd = disk.create(ROOT / path)
        disk.write(fd, data, 0)
        disk.close(fd)
    return disk.volume


def place_files(files: Files, root: Path) -> Path:
    """The same files in a real folder."""
    (root / "cases").mkdir(parents=True, exist_ok=True)
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


@frozen
class Golden:
    """The store at each stage of case ``c1``, and ``c1`` after each of its transitions up to ``idle``."""

    stages: Mapping[str, Files]
    history: tuple[Files, ...]


def golden() -> Golden:
    """Case ``c1`` of session ``s1``, with an artifact and two versions of its model, beside one of somebody else."""
    process = Process(SimulatedDisk(Volume()))
    process.model(
        "other", operation="open", case_id="other", top_unknown="o", initial_evidence=[{"id": "I1", **EVIDENCE}]
    )
    process.probe("other", operation="commit", **PROBE)
    history = []

    def now() -> Files:
        return files_of(process.disk.volume)  # type: ignore[attr-defined]  # a simulated one

    def then(done: Any) -> None:
        history.append(now())

    then(
        process.model(
            operation="open",
            case_id="c1",
            top_unknown="u",
            initial_evidence=[{"id": "I1", **EVIDENCE}],
            mechanisms=[{"id": "M1", "text": "42"}],
            current_plan=[{"id": "P1", "action": "read", "depends_on": ["M1"]}],
        )
    )
    then(process.probe(operation="commit", claim_id="M1", **PROBE))
    started(process)
    then(None)
    large(process)
    then(None)
    stages = {"observed": now()}
    then(
        process.probe(
            operation="compare", disposition="mismatch", rationale="r", belief_change="weakened", material=True
        )
    )
    material = history[-1][LOG].count(b"\n")
    then(
        process.model(
            operation="revise",
            reason="r",
            mechanisms=[{"id": "M1", "text": "41"}],
            current_plan=[],
            addresses_event_ids=[f"E{material:06d}"],
        )
    )
    stages["idle"] = history[-1]
    for stage, operation in ENDS.items():
        branch = Process(SimulatedDisk(volume_of(stages["idle"])))
        operation(branch)
        stages[stage] = files_of(branch.disk.volume)  # type: ignore[attr-defined]  # a simulated one
    return Golden(stages, tuple(history))


EVIDENCE = {"summary": "seen", **SOURCE}
ENDS: Mapping[str, Callable[[Process], object]] = {
    "committed": lambda p: p.probe(operation="commit", claim_id="M1", **PROBE),
    "paused": lambda p: p.model(operation="pause", reason="r"),
    "left": lambda p: p.harness.pause_for_lifecycle("s1", kind="session_finalize", reason="x"),
    "closed": lambda p: p.model(operation="close", outcome="unresolved", summary="s", transfer=LESSON),
}
GOLDEN = golden()


# --- what is done to it ---


Damage = Callable[[Files], Files]


def lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def put(path: str, change: Callable[[bytes], bytes | None]) -> Damage:
    """A damage that gives one file another content, or takes it away."""

    def damage(files: Files) -> Files:
        after = dict(files)
        content = change(files[path])
        if content is None:
            del after[path]
        else:
            after[path] = content
        return after

    return damage


def flipped(data: bytes, place: int) -> bytes:
    """One bit of one byte turned over; which bit depends on the place."""
    return data[:place] + bytes([data[place] ^ 1 << (place % 8)]) + data[place + 1 :]


def _log(change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    return put(LOG, lambda data: b"".join(change(lines(data))))


def _foreign(files: Files) -> Files:
    """A whole, valid line of the other case in the place of one of ours."""
    own, other = lines(files[LOG]), lines(files["cases/other/events.jsonl"])
    return {**files, LOG: b"".join([*own[:3], other[2], *own[4:]])}


def _older(steps: int) -> Damage:
    """``case.md`` as it was so many transitions before the last."""
    return lambda files: {**files, PROJECTION: _projections(files)[-1 - steps]}


def _projections(files: Files) -> list[bytes]:
    seen = [stage[PROJECTION] for stage in GOLDEN.history]
    return [*seen, files[PROJECTION]] if files[PROJECTION] not in seen else seen[: seen.index(files[PROJECTION]) + 1]


def _rolled_back(files: Files) -> Files:
    return {**files, LOG: GOLDEN.history[1][LOG], PROJECTION: GOLDEN.history[1][PROJECTION]}


def _path(part: str) -> Callable[[Files], str]:
    return lambda files: next(path for path in sorted(files) if path.startswith(CASE) and part in path)


def _at(part: str, change: Callable[[bytes], bytes | None]) -> Damage:
    return lambda files: put(_path(part)(files), change)(files)


def _case_md_words(data: bytes) -> bytes:
    return data.replace(b"## Question", b"## Whatever")


def _newer(data: bytes) -> bytes:
    """The last record as a newer release might write it: its own hash holds."""
    *before, last = lines(data)
    record = {name: value for name, value in json.loads(last).items() if name != "hash"}
    return b"".join([*before, frame({**record, "format": 3})[0]])


DAMAGES: Mapping[str, Damage] = {
    "nothing": lambda files: files,
    "events.jsonl: a bit flipped": put(LOG, lambda data: flipped(data, len(data) // 2)),
    "events.jsonl: cut in a line": put(LOG, lambda data: data[: len(data) // 2]),
    "events.jsonl: the last line dropped": _log(lambda all_: all_[:-1]),
    "events.jsonl: a line dropped": _log(lambda all_: [*all_[:3], *all_[4:]]),
    "events.jsonl: two lines swapped": _log(lambda all_: [*all_[:3], all_[4], all_[3], *all_[5:]]),
    "events.jsonl: a line twice": _log(lambda all_: [*all_[:4], *all_[3:]]),
    "events.jsonl: in another order": _log(lambda all_: all_[::-1]),
    "events.jsonl: a line of another case": _foreign,
    "events.jsonl: another case's": lambda files: {**files, LOG: files["cases/other/events.jsonl"]},
    "events.jsonl: garbage": put(LOG, lambda data: b"\x00garbage\n" * 9),
    "events.jsonl: empty": put(LOG, lambda data: b""),
    "events.jsonl: deleted": put(LOG, lambda data: None),
    "events.jsonl: a record of a newer release": put(LOG, _newer),
    "events.jsonl: a broken tail": put(LOG, lambda data: data + b'{"half'),
    "case.md: a bit of the block flipped": put(PROJECTION, lambda data: flipped(data, data.index(b'"version"') + 3)),
    "case.md: the text edited": put(PROJECTION, _case_md_words),
    "case.md: one transition older": _older(1),
    "case.md: older": _older(2),
    "case.md: another case's": lambda files: {**files, PROJECTION: files["cases/other/case.md"]},
    "case.md: garbage": put(PROJECTION, lambda data: b"\x00garbage\n" * 9),
    "case.md: empty": put(PROJECTION, lambda data: b""),
    "case.md: deleted": put(PROJECTION, lambda data: None),
    "both put back together": _rolled_back,
    "artifact: altered": _at("archive/artifacts/", lambda data: flipped(data, len(data) // 2)),
    "artifact: deleted": _at("archive/artifacts/", lambda data: None),
    "archive snapshot: altered": _at("archive/case-v0001.md", lambda data: data.replace(b'"u"', b'"v"')),
    "archive snapshot: deleted": _at("archive/case-v0001.md", lambda data: None),
    "the whole case: a copy of another": lambda files: {
        **files,
        LOG: files["cases/other/events.jsonl"],
        PROJECTION: files["cases/other/case.md"],
    },
    "sessions.json: garbage": put("sessions.json", lambda data: b"{"),
    "sessions.json: deleted": put("sessions.json", lambda data: None),
    ".store.lock: empty": put(".store.lock", lambda data: b""),
}
"""Every kind of damage, by file."""


# --- what is then tried ---


@frozen
class Attempt:
    """Something a user or a host does: at which stage of the case it is in place, and the doing."""

    stage: str
    act: Callable[[Process], object]


def _show(process: Process) -> object:
    return process.model("s1", operation="show", case_id="c1")


def _list(process: Process) -> object:
    return process.model("reader", operation="list")


def _call(tool: str) -> Callable[[Process], object]:
    def act(process: Process) -> object:
        execution = process.harness.execution(session_id="s1", tool_name=tool, args={"path": "a"}, host=True)
        if execution.blocked:
            return execution
        with execution:
            execution.observed("41")
        return execution

    return act


ATTEMPTS: Mapping[str, Attempt] = {
    "show": Attempt("idle", _show),
    "list": Attempt("idle", _list),
    "injection": Attempt("idle", lambda p: p.harness.context("s1", 4_000)),
    "ordinary call": Attempt("committed", _call("write_file")),
    "committed call": Attempt("committed", _call("read_file")),
    "record_evidence": Attempt("idle", lambda p: p.model(operation="record_evidence", evidence=[EVIDENCE])),
    "commit": Attempt("idle", ENDS["committed"]),
    "compare": Attempt(
        "observed",
        lambda p: p.probe(operation="compare", disposition="mismatch", rationale="r", belief_change="weakened"),
    ),
    "discard": Attempt("committed", lambda p: p.probe(operation="discard", reason="r")),
    "revise": Attempt("idle", lambda p: p.model(operation="revise", reason="r", top_unknown="v")),
    "pause": Attempt("idle", ENDS["paused"]),
    "resume": Attempt("paused", lambda p: p.model(operation="resume", case_id="c1")),
    "resume elsewhere": Attempt("paused", lambda p: p.model("s2", operation="resume", case_id="c1")),
    "close": Attempt("idle", ENDS["closed"]),
    "open another": Attempt("idle", lambda p: p.model(operation="open", case_id="c2", top_unknown="v")),
    "learn from it": Attempt(
        "closed",
        lambda p: p.model("s2", operation="open", case_id="c2", top_unknown="v", prior_case_ids=["c1"]),
    ),
    "session ends": Attempt("idle", ENDS["left"]),
    "proof of life": Attempt("left", lambda p: p.harness.proof_of_life("s1")),
    "compression child": Attempt("idle", lambda p: p.harness.adopt_lineage("s9", ["s1", "s9"])),
}
"""Everything that can be asked of a case."""


SOUND = {"valid": True}


def outcome(act: Callable[[Process], object], process: Process) -> str:
    """What came of an attempt, in a few words."""
    try:
        answer = act(process)
    except Damaged:
        return "damaged"
    except Refused as refusal:
        return f"refused: {refusal.code}"
    except Unavailable as error:
        return f"unavailable: {error.code}"
    if answer is None or answer is False:
        return "nothing"
    if isinstance(answer, Mapping):
        if "case_errors" in answer:
            return "in case_errors" if "c1" in answer["case_errors"] else "listed"
        replay = answer.get("replay", {})
        if not all(replay.get(part, SOUND)["valid"] for part in ("timeline", "case_snapshot", "artifacts")):
            return "done, damage named"
    if isinstance(answer, str) and "integrity failure" in answer:
        return "done, damage named"
    if getattr(answer, "blocked", None):
        return "blocked"
    if getattr(answer, "recording", None) is False:
        return "runs"
    if getattr(answer, "recording", None):
        return "runs, recorded" if answer.finished else "runs, not recorded"  # type: ignore[attr-defined]  # an Execution
    return "done"


def tried(damage: Damage, attempt: Attempt) -> tuple[str, Files, Files]:
    """What comes of an attempt on the damaged golden store, and the files before and after it."""
    before = damage(GOLDEN.stages[attempt.stage])
    process = Process(SimulatedDisk(volume_of(before)))
    said = outcome(attempt.act, process)
    return said, before, files_of(process.disk.volume)  # type: ignore[attr-defined]  # a simulated one


def harmed(data: bytes, every: int) -> Iterator[tuple[str, int, bytes]]:
    """``data`` with each ``every``-th byte flipped in one of its bits, and cut before each ``every``-th byte."""
    for place in range(0, len(data), every):
        yield "flip", place, flipped(data, place)
        yield "cut", place, data[:place]
