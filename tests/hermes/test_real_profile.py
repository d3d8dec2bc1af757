"""The plugin inside a real host's settings, session store and plugin modes, without a model in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness_hermes.demo.scripted import Call, Turn, play
from harness_hermes.installer import status
from tests.hermes.host import Profile
from tests.hermes.test_the_loop import commit, opening

pytestmark = pytest.mark.hermes

CEILINGS = """
import json, pathlib, sys
import hermes_cli.config
from harness_hermes.plugin.settings import ceiling
config = pathlib.Path(sys.argv[1])
for spill in json.loads(sys.argv[2]):
    config.write_text(json.dumps({"hooks": {"output_spill": spill}}))
    print(ceiling(9000))
import tools.hook_output_spill  # from here on the host's own resolver is asked
for spill in json.loads(sys.argv[2]):
    config.write_text(json.dumps({"hooks": {"output_spill": spill}}))
    print(ceiling(9000))
"""

SPILLS: list[tuple[dict[str, Any], int]] = [
    ({}, 9000),
    ({"max_chars": 3000}, 2000),
    ({"max_chars": "777"}, 0),
    ({"max_chars": 12.7}, 0),
    ({"max_chars": 50_000}, 9000),
    ({"max_chars": 0}, 9000),
    ({"max_chars": "many"}, 9000),
    ({"enabled": False, "max_chars": 100}, 9000),
    ({"enabled": None, "max_chars": 5000}, 4000),
]


def test_the_hosts_limit_is_followed_as_it_changes(tmp_path: Path) -> None:
    """Each change of the host's own limit counts at once, read as the host reads it, before and after it has loaded."""
    profile = Profile(tmp_path)
    sent = json.dumps([spill for spill, _ in SPILLS])
    done = profile.python(CEILINGS, str(profile.hermes_home / "config.yaml"), sent)
    assert done.returncode == 0, done.stderr
    assert [int(line) for line in done.stdout.split()] == [expected for _, expected in SPILLS] * 2


LINEAGE = """
import json
from hermes_state import SessionDB
from hermes_cli.plugins import get_plugin_manager
from model_tools import handle_function_call
def ask(session, **arguments):
    calls = [{"name": "epistemic_model", "arguments": arguments}]
    return json.loads(handle_function_call("tool_call", {"calls": calls}, session_id=session))
manager = get_plugin_manager()
manager.discover_and_load()
database = SessionDB()
database.create_session("parent", "cli")
ask("parent", operation="open", case_id="moved", top_unknown="where it goes")
database.end_session("parent", "compression")
database.create_session("child", "cli", parent_session_id="parent")
told = manager.invoke_hook("pre_llm_call", session_id="child", user_message="go on")
print(json.dumps({"context": told, "case": ask("child", operation="show")["case"]}))
"""


def test_a_case_follows_its_session_through_a_compression(tmp_path: Path) -> None:
    """The host goes on under a new session id and tells nobody; the next turn has the case all the same."""
    done = Profile(tmp_path).python(LINEAGE)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["case"]["session_id"] == "child"
    assert found["case"]["status"] == "active"
    assert "moved" in found["context"][0]["context"]


def test_where_plugins_are_isolated_calls_go_through_and_nothing_is_captured(tmp_path: Path) -> None:
    """In the host's isolated mode middleware cannot work: the tool runs, the probe stays committed, status says why."""
    profile = Profile(tmp_path, extra={"plugins": {"isolation": "host"}})
    look = {"path": str(profile.file("look.txt", "in look\n"))}
    run = profile.run(
        play(
            Turn("open", [opening("apart")]),
            Turn("commit", [commit("read_file", look, "system_state")]),
            Turn("read", [Call("read_file", look)]),
            Turn("done"),
        )
    )
    assert "in look" in run.results[-1]
    assert [event["type"] for event in profile.events("apart")] == ["case_opened", "probe_committed"]
    assert "in_process" in status(profile.hermes_home).advice


def test_an_entry_point_alone_is_enough_for_the_host(tmp_path: Path) -> None:
    """Without a plugin directory the installed package's entry point is loaded, once it is enabled."""
    profile = Profile(tmp_path, harness=False)
    profile.enabled.append("epistemic-harness")
    profile.run(play(Turn("open", [opening("by-entry")]), Turn("done")))
    assert profile.events("by-entry")
