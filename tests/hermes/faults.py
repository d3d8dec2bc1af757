"""Faults planted in each of our callbacks, while a real agent goes on with its work."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from harness_hermes.demo.scripted import Call, Turn
from harness_store.disk import PosixDisk
from harness_store.layout import Layout
from harness_store.locks import FileLock
from harness_store.portfolio import Portfolio
from harness_store.sessions_file import STORE_LOCK
from tests.hermes.inside import Desk
from tests.hermes.paths import LOOK, plugin

FREE = re.compile(
    r"\d{8}_\d{6}_[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[T ][\d:.]+|\b\d+\.\d+s?\b|/home\d\b"
)
"""Session ids, UUIDs, times and durations: what differs between any two runs."""


class Planted(Exception):
    """A fault of ours."""


def transcript(desk: Desk, agent: Any) -> list[Any]:
    """A talk of the usual kinds of calls, as it stays: who said what, which calls, which results."""
    file = desk.home.parent / "one.txt"
    file.write_text("in one\n", encoding="utf-8")
    read = {"path": str(file)}
    said = desk.talk(
        agent,
        Turn("look", [desk.deferred("look", LOOK, "c1")]),
        Turn("again", [desk.deferred("look", {"what": "the sea"}, "c2")]),
        Turn("both", [Call("read_file", read, "c4"), Call("search_files", {"pattern": "in", "path": str(file)}, "c5")]),
        Turn("done"),
    )

    def masked(value: Any) -> str:
        return FREE.sub("*", str(value).replace(str(desk.home.parent), "*"))

    return [
        {
            **{name: masked(message[name]) for name in ("role", "content", "tool_call_id", "name") if name in message},
            "calls": [masked((call["id"], call["function"])) for call in message.get("tool_calls") or []],
        }
        for message in said["messages"]
    ]


def without(desk: Desk) -> dict[str, Any]:
    """The talk in a Hermes that has not loaded our plugin."""
    agent = desk.agent()
    said = transcript(desk, agent)
    desk.plugins.invoke_hook("on_session_finalize", session_id=agent.session_id, platform="cli", reason="shutdown")
    return {"talk": said, "ran": len(plugin().RUNS), "session": agent.session_id}


def raising(where: str) -> Callable[[Desk, str], contextlib.AbstractContextManager[Any]]:
    """A fault that raises wherever ``where`` ("module:Class.method") is called."""
    module, _, name = where.partition(":")

    def fault(desk: Desk, case_id: str) -> contextlib.AbstractContextManager[Any]:
        return mock.patch(f"{module}.{name}", side_effect=Planted(where))

    return fault


@contextlib.contextmanager
def held(desk: Desk, case_id: str) -> Iterator[None]:
    """Another process holds the case's lock and the store's, and does not let go."""
    with (
        FileLock(PosixDisk(), desk.harness.root / STORE_LOCK, "the store").acquire(1),
        Portfolio(PosixDisk(), Layout(desk.harness.root)).journal(case_id).lock(1),
    ):
        yield


@contextlib.contextmanager
def full(desk: Desk, case_id: str) -> Iterator[None]:
    """No write finds room on the disk."""
    no_room = OSError(errno.ENOSPC, "No space left on device")
    with (
        mock.patch.object(PosixDisk, "write", side_effect=no_room),
        mock.patch.object(PosixDisk, "create", side_effect=no_room),
        mock.patch.object(PosixDisk, "mkdir", side_effect=no_room),
    ):
        yield


@contextlib.contextmanager
def unreadable(desk: Desk, case_id: str) -> Iterator[None]:
    """Where our state should be is something else."""
    root = desk.harness.root
    aside = root.with_name("aside")
    root.rename(aside)
    root.write_text("not a folder", encoding="utf-8")
    try:
        yield
    finally:
        root.unlink()
        aside.rename(root)


@contextlib.contextmanager
def damaged(desk: Desk, case_id: str) -> Iterator[None]:
    """The case's record has a byte that nobody wrote."""
    log = desk.harness.root / "cases" / case_id / "events.jsonl"
    data = bytearray(log.read_bytes())
    data[data.index(b"top_unknown")] ^= 1
    log.write_bytes(data)
    yield


CAPTURE, LIFECYCLE = "harness_hermes.plugin.capture", "harness_hermes.plugin.lifecycle"
FAULTS: dict[str, Callable[[Desk, str], contextlib.AbstractContextManager[Any]]] = {
    "the middleware's beginning raises": raising("harness_store.engine:Harness.execution"),
    "the hooks raise": raising(f"{CAPTURE}:Capture._hear"),
    "the innermost check raises": raising(f"{CAPTURE}:is_proven"),
    "recording the observation raises": raising("harness_store.execution:Recording.observed"),
    "recording the display raises": raising("harness_store.execution:Recording.exposed"),
    "the end raises": raising("harness_store.execution:Recording.__exit__"),
    "composing the context raises": raising("harness_store.engine:Harness.context_since"),
    "the lineage raises": raising("harness_store.engine:Harness.is_bound"),
    "waking raises": raising("harness_store.engine:Harness.proof_of_life"),
    "pausing raises": raising("harness_store.engine:Harness.pause_for_lifecycle"),
    "no harness can be had": raising("harness_hermes.plugin.profiles:Profiles.existing"),
    "a lock is held": held,
    "the disk is full": full,
    "the state is unreadable": unreadable,
    "the case is damaged": damaged,
}


def on_a_full_disk(desk: Desk) -> dict[str, Any]:
    """The talk with the store on a file system without a byte left, where the look was committed when there still was
    room."""
    agent = desk.agent()
    desk.commit(agent.session_id, "full", "look", LOOK, "system_state")
    before, said = len(plugin().RUNS), len(desk.log.said)
    with (desk.harness.root / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(b"x" * 512):
            pass
    talk = transcript(desk, agent)
    return {"talk": talk, "ran": len(plugin().RUNS) - before, "log": desk.log.said[said:]}


def with_faults(desk: Desk) -> dict[str, Any]:
    """The same talk under each fault, in a session whose case has the call committed (of a damaged case: another)."""
    found = {}
    for number, (name, fault) in enumerate(FAULTS.items()):
        agent = desk.agent()
        case_id = f"f{number}"
        tool = "terminal" if fault is damaged else "look"
        desk.commit(agent.session_id, case_id, tool, LOOK if tool == "look" else {"command": "true"}, "system_state")
        before, said = len(plugin().RUNS), len(desk.log.said)
        with fault(desk, case_id):
            talk = transcript(desk, agent)
            for hook, more in (
                ("on_session_reset", {"old_session_id": agent.session_id, "reason": "new_session"}),
                ("on_session_finalize", {"reason": "session_boundary"}),
                ("subagent_stop", {"child_session_id": agent.session_id, "child_status": "completed"}),
            ):
                desk.plugins.invoke_hook(hook, session_id=agent.session_id, platform="cli", **more)
        found[name] = {"talk": talk, "ran": len(plugin().RUNS) - before, "log": desk.log.said[said:]}
    return found
