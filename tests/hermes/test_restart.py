"""A host that dies in the middle of an inquiry, and the one that comes after it."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness_hermes.demo.scripted import Call, Turn, play
from tests.hermes.host import Profile, bridged
from tests.hermes.test_the_loop import commit, opening

pytestmark = pytest.mark.hermes

DIES_AFTER = """
import os, signal
def register(ctx):
    ctx.register_hook("post_tool_call",
        lambda tool_name="", **kw: os.kill(os.getpid(), signal.SIGKILL) if tool_name == "read_file" else None)
"""
"""A plugin that kills its host once a file has been read, when the middleware has already returned."""

DIES_INSIDE = """
import os, signal
def register(ctx):
    ctx.register_hook("transform_tool_result",
        lambda tool_name="", **kw: os.kill(os.getpid(), signal.SIGKILL) if tool_name == "read_file" else None)
"""
"""A plugin that kills its host while a file is being read.  It is loaded before ours, so ours hears nothing."""


def died(home: Path, killer: str) -> tuple[Profile, str]:
    """A profile whose first process was killed around the look, and the session that it served."""
    profile = Profile(home, plugins={"a-killer": killer})
    look = {"path": str(profile.file("look.txt", "in look\\n"))}
    run = profile.run(
        play(
            Turn("open", [opening("died")]),
            Turn("commit", [commit("read_file", look, "system_state")]),
            Turn("read", [Call("read_file", look)]),
            Turn("never said"),
        )
    )
    assert run.status == -signal.SIGKILL
    return profile, str(profile.events("died")[0]["session_id"])


def probe(arguments: Mapping[str, Any]) -> Call:
    """A call of the probe tool."""
    return bridged("epistemic_probe", arguments)


def test_a_look_that_was_recorded_before_the_kill_is_compared_by_the_next_process(tmp_path: Path) -> None:
    """Killed between observation and comparison: the resumed session compares, and replay is usable."""
    profile, session = died(tmp_path, DIES_AFTER)
    (seen,) = profile.events("died", "probe_observed")
    assert "in look" in str(seen["payload"]["result"])
    compare = {"operation": "compare", "disposition": "match", "rationale": "it says so"}
    run = profile.run(play(Turn("compare", [probe(compare)]), Turn("done")), prompt="go on", session=session)
    assert "error" not in run.results[-1][:10]
    (compared,) = profile.events("died", "probe_compared")
    assert compared["payload"]["observation_event_id"] == seen["event_id"]
    assert profile.harness.replay("died")["usable"]


def test_a_look_that_the_kill_interrupted_is_recovered_and_never_repeated(tmp_path: Path) -> None:
    """Killed during the action: the record says it began; the next process records it as interrupted, by request."""
    profile, session = died(tmp_path, DIES_INSIDE)
    assert profile.events("died", "probe_started")
    assert not profile.events("died", "probe_observed")
    run = profile.run(
        play(Turn("recover", [probe({"operation": "recover", "reason": "the host died"})]), Turn("done")),
        prompt="go on",
        session=session,
    )
    assert "error" not in run.results[-1][:10]
    (seen,) = profile.events("died", "probe_observed")
    assert seen["payload"]["result_status"] == "interrupted"
