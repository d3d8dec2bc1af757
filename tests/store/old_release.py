"""Stores of release 1.2.0 for tests: one that it wrote itself, and a writer of more by the same rules.

``release_1_2_0/store`` was made by that release; ``release_1_2_0/expected.json`` is what it said about each case.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from harness_store.disk import make_folder
from tests.store.simulator import SimulatedDisk, Volume

HERE = Path(__file__).parent / "release_1_2_0"
EXPECTED: Mapping[str, Mapping[str, Any]] = json.loads((HERE / "expected.json").read_text())
Files = dict[str, bytes]
AT = "2026-11-30T00:00:00+00:00"
JOURNAL = "archive/.pending-transition.json"


def original() -> Files:
    """The files of the store that it wrote, by their paths below the root."""
    root = HERE / "store"
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def place(files: Mapping[str, bytes], root: Path) -> Path:
    """Lay files out in a folder."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root


def found(root: Path) -> Files:
    """The files in a folder, with their content; folders too, as empty bytes under a name of their own."""
    return {
        str(path.relative_to(root)) + ("/" if path.is_dir() else ""): path.read_bytes() if path.is_file() else b""
        for path in sorted(root.rglob("*"))
    }


def volume_of(files: Mapping[str, bytes], root: Path) -> Volume:
    """The files on a simulated disk, all of it durable."""
    disk = SimulatedDisk(Volume())
    for path, data in files.items():
        make_folder(disk, (root / path).parent)
        fd = disk.create(root / path)
        disk.write(fd, data, 0)
        disk.sync(fd)
        disk.close(fd)
        disk.sync_folder((root / path).parent)
    return next(disk.volume.survivors(1))


def digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


@define
class OldCase:
    """A case as release 1.2.0 kept it; ``add`` makes one transition of events and changes of the state."""

    case_id: str = "old"
    session_id: str = "s1"
    records: list[dict[str, Any]] = field(factory=list)
    state: dict[str, Any] = field(factory=dict)
    sizes: list[int] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        model: dict[str, Any] = {"decision": "none", "stopping_condition": "enough", "top_unknown": "u"}
        lists = ("state_grounding", "mechanisms", "alternatives", "current_plan", "prior_case_ids")
        model |= {name: [] for name in (*lists, "retrieved_prior_lessons", "applied_prior_lessons")}
        self.state |= {"case_id": self.case_id, "created_at": AT, "model": model, "pending_probe": None}
        self.state |= {"runtime_revision": 0, "schema_version": 1, "session_id": self.session_id, "stale": False}
        self.state |= {"status": "active", "updated_at": AT, "version": 1}

    def opened(self, **model: Any) -> OldCase:
        self.state["model"] |= model
        return self.add(("case_opened", {"model_version": 1}, 1))

    def add(self, *events: tuple[Any, ...], **changes: Any) -> OldCase:
        """Events are type, payload and, if need be, ``seq`` and session."""
        self.state |= changes
        self.state["runtime_revision"] += 1
        first = len(self.records) + 1
        last_event_id = f"E{first + len(events) - 1:06d}"
        self.state["integrity"] = {"last_event_id": last_event_id}
        self.state["integrity"]["state_sha256"] = digest({**self.state, "integrity": {"last_event_id": last_event_id}})
        for number, (type_, payload, *more) in enumerate(events, start=first):
            record: dict[str, Any] = {"event_id": f"E{number:06d}", "type": type_, "timestamp": AT}
            record |= {"session_id": more[1] if len(more) > 1 else self.state["session_id"], "payload": dict(payload)}
            record |= {"seq": more[0]} if more and more[0] is not None else {}
            if record["event_id"] == last_event_id:
                record["payload"]["case_state_sha256"] = self.state["integrity"]["state_sha256"]
            record["prev_hash"] = self.records[-1]["hash"] if self.records else "0" * 64
            self.records.append({**record, "hash": digest(record)})
        self.sizes.append(len(events))
        self.state = json.loads(json.dumps(self.state))
        return self

    @property
    def log(self) -> bytes:
        return b"".join(map(line, self.records))

    @property
    def projection(self) -> bytes:
        block = json.dumps(self.state, sort_keys=True, indent=2)
        return f"<!-- EPISTEMIC-HARNESS-DATA\n{block}\nEND-EPISTEMIC-HARNESS-DATA -->\n\n# Case\n".encode()

    def journal(self, before: OldCase) -> bytes:
        """The journal of the transitions that came after ``before``."""
        events = self.records[len(before.records) :]
        journal = {"schema_version": 1, "case_id": self.case_id, "case": self.state, "events": events}
        return json.dumps({**journal, "write_snapshot": False}, indent=2).encode()

    def copy(self) -> OldCase:
        copied: OldCase = OldCase(self.case_id, self.session_id)
        copied.records, copied.sizes = list(self.records), list(self.sizes)
        copied.state = json.loads(json.dumps(self.state))
        return copied

    def files(self) -> Files:
        folder = f"cases/{self.case_id}"
        return {f"{folder}/events.jsonl": self.log, f"{folder}/case.md": self.projection}


def probe(**more: Any) -> dict[str, Any]:
    """A committed probe as that release kept it."""
    told = {"probe_id": "PR000001", "purpose": "learn", "unknown_or_goal": "g", "tool_name": "read_file"}
    kept = {"tool_args": {"path": "a"}, "tool_args_sha256": "0" * 64, "status": "committed"}
    said = {"would_change_belief": "w", "why_this_action": "y", "authority_domain": "system_state"}
    return {**told, **kept, **said, "predicted_outcomes": [{"outcome": "42", "meaning": "so"}], **more}


def observation(**more: Any) -> dict[str, Any]:
    seen = {"probe_id": "PR000001", "tool_name": "read_file", "authority_domain": "system_state"}
    return {**seen, "result": "42", "result_sha256": hashlib.sha256(b"42").hexdigest(), "storage": "inline", **more}


OK = {"result_status": "ok", "execution_result_status": "ok", "display_result_status": "ok"}
