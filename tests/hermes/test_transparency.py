"""What a session feels of the plugin while it has no case: nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harness_hermes.demo.scripted import Call, Player, Turn, play
from tests.hermes.host import Profile, Run, bridged

pytestmark = pytest.mark.hermes

FREE = re.compile(r"\d{8}_\d{6}_[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\d[T ][\d:.]+|\b\d+\.\d+s?\b")
"""Session ids, UUIDs, times and durations: what differs between any two runs."""


def script(folder: Path) -> Player:
    """A turn of the usual kinds of calls: alone, inline, in a batch, failing, writing."""
    one, two = ({"path": str(folder / f"{name}.txt")} for name in ("one", "two"))
    return play(
        Turn("alone", [Call("read_file", one)]),
        Turn("ask", [Call("clarify", {"questions": [{"question": "which?", "choices": ["a", "b"]}]})]),
        Turn("note", [bridged("todo_list", {"todos": [{"id": "1", "content": "look", "status": "pending"}]})]),
        Turn("both", [Call("read_file", two), Call("search_files", {"pattern": "in", "path": str(folder)})]),
        Turn("absent", [Call("read_file", {"path": str(folder / "absent.txt")})]),
        Turn("write", [Call("write_file", {"path": str(folder / "new.txt"), "content": "new"})]),
        Turn("done"),
    )


def talk(run: Run) -> Any:
    """The messages after the system prompt, with what differs between any two runs masked."""
    return json.loads(FREE.sub("<free>", json.dumps(run.messages)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profile, Run, Run]:
    """The same script without and with the plugin, over the same folder."""
    folder = tmp_path_factory.mktemp("files")
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(f"in {name}\n", encoding="utf-8")
    without = Profile(tmp_path_factory.mktemp("without"), harness=False).run(script(folder))
    (folder / "new.txt").unlink()
    profile = Profile(tmp_path_factory.mktemp("with"))
    return profile, without, profile.run(script(folder))


def test_the_talk_is_the_same_with_and_without_the_plugin(runs: tuple[Profile, Run, Run]) -> None:
    """Every message after the system prompt and every tool result is that of a Hermes without the plugin."""
    _, without, with_plugin = runs
    assert len(without.results) == 7
    assert talk(with_plugin) == talk(without)
    assert with_plugin.output == without.output


def test_nothing_is_written_before_a_case_is_opened(runs: tuple[Profile, Run, Run]) -> None:
    """A session that never opens a case leaves no folder of ours behind."""
    profile, *_ = runs
    assert not profile.root.exists()


def test_the_plugin_was_there_all_the_same(runs: tuple[Profile, Run, Run]) -> None:
    """The comparison means something: in one run the skill was offered, in the other it was not."""
    _, without, with_plugin = runs
    assert "epistemic-inquiry" in str(with_plugin.requests[0]["messages"][0])
    assert "epistemic" not in str(without.requests[0]["messages"][0])


def test_bad_arguments_are_answered_and_create_nothing(tmp_path: Path) -> None:
    """A call without an operation, or with an unknown one, gets one clear answer, and no folder appears."""
    profile = Profile(tmp_path)
    run = profile.run(
        play(
            Turn("a", [bridged("epistemic_model", {"operation": "ponder"})]),
            Turn("b", [bridged("epistemic_probe", {"operation": "commit", "tool_args_json": '{"a": 1, "a": 2}'})]),
            Turn("done"),
        )
    )
    unknown, doubled = (json.loads(result) for result in run.results)
    assert "open" in unknown["error"]
    assert doubled["code"]
    assert not profile.root.exists()
