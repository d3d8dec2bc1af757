"""The contract of the host that every row of the table of proven boundaries rests on.

A spy plugin, without ours, writes down which seam of a real Hermes sees what.  A second plugin rewrites every result,
so that raw and rewritten texts cannot be mistaken for each other.  When one of these tests fails on a new version of
the host, the row of that version must not be written.
"""

from __future__ import annotations

import pytest

from harness_hermes.demo.scripted import Call, Turn, play
from harness_hermes.plugin.hosts import PROVEN
from tests.hermes.host import BLOCKER, REWRITER, SPY, Profile, Run, bridged, hosts

pytestmark = pytest.mark.hermes


TODO = {"todos": [{"id": "1", "content": "look", "status": "pending"}]}
CLARIFY = Call("clarify", {"questions": [{"question": "which?", "choices": ["a", "b"]}]})
MEMORY = Call("memory", {"action": "add", "target": "memory", "content": "the sky is blue"})
INLINE = {
    "0.22.2": {"clarify": CLARIFY, "memory": MEMORY, "todo_list": bridged("todo_list", TODO)},
    "0.21.0": {"clarify": CLARIFY, "memory": MEMORY, "todo": Call("todo", TODO)},
}
LEAVES_OUT_BUSY_HOOKS = {"0.21.0"}
"""Hosts that skip a hook's callback while the same callback still runs for another call (its ``invoke_hook``)."""


@pytest.fixture(scope="module", params=sorted(INLINE))
def version(request: pytest.FixtureRequest) -> str:
    """The version of the host under contract."""
    if hosts()[request.param] is None:
        pytest.skip(f"no Hermes {request.param} is installed")
    return str(request.param)


@pytest.fixture(scope="module")
def run(version: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run with a sequential read, each inline tool, a failing read and a parallel batch."""
    profile = Profile(tmp_path_factory.mktemp("order"), harness=False, plugins={"a-rewriter": REWRITER, "spy": SPY})
    one, two, three = (str(profile.file(f"{name}.txt", f"in {name}\n")) for name in ("one", "two", "three"))
    return profile.run(
        play(
            Turn("alone", [Call("read_file", {"path": one}, "alone")]),
            *(Turn(name, [call]) for name, call in INLINE[version].items()),
            Turn("missing", [Call("read_file", {"path": str(profile.home / "absent.txt")}, "missing")]),
            Turn("both", [Call("read_file", {"path": two}, "two"), Call("read_file", {"path": three}, "three")]),
            Turn("done"),
        ),
        host=hosts()[version],
    )


def seams(run: Run, call_id: str) -> list[tuple[str, bool, str]]:
    """Of one call: the seams in order, whether inside the execution, and "raw" or "rewritten" by what they saw."""
    return [
        (line["seam"], line["inside"], "rewritten" if line["result"] == "REWRITTEN" else "raw")
        for line in run.seen
        if line["ids"][-1] == call_id and line["seam"] != "before"
    ]


def test_one_registry_tool_alone_hands_its_raw_result_to_transform_tool_result_inside_the_execution(run: Run) -> None:
    """With a plugin that rewrites results loaded before ours, ours is still handed what the handler returned."""
    assert seams(run, "alone") == [
        ("transform", True, "raw"),
        ("after", False, "rewritten"),
        ("post", False, "rewritten"),
    ]
    line = next(line for line in run.seams("read_file") if line["seam"] == "transform")
    assert "1|in one" in line["result"]
    assert line["status"] == "ok"


def test_a_failing_registry_tool_carries_the_hosts_own_word_for_it(run: Run) -> None:
    """The seam that counts as proven brings the status ``error`` for a read of a file that is not there."""
    line = next(line for line in run.seen if line["ids"][-1] == "missing" and line["seam"] == "transform")
    assert line["inside"]
    assert line["status"] == "error"


@pytest.mark.parametrize("tool", ["clarify", "memory", "todo"])
def test_a_tool_the_agent_runs_itself_gives_its_raw_result_to_the_middleware(run: Run, version: str, tool: str) -> None:
    """For inline tools the hooks fire only after the middleware, which got the raw result; 0.21 offers no rewriting."""
    (name,) = (each for each in INLINE[version] if each.startswith(tool))
    call_id = run.seams(name)[0]["ids"][-1]
    rewriting = [("transform", False, "raw")] if version == "0.22.2" else []
    assert seams(run, call_id) == [("after", False, "raw"), ("post", False, "raw"), *rewriting]


def test_the_table_lists_no_inline_tool_without_a_contract() -> None:
    """Every tool that a row of a version names is one that the test above runs on it."""
    for version, inline in INLINE.items():
        assert {tool for row in PROVEN[version] for tool in row.tools} == set(inline)


def in_batch(run: Run) -> tuple[str, str]:
    """The two calls of the batch: the one whose report lasts while the other runs to its end, and the other one."""
    held = next(line["ids"][-1] for line in run.seen if line["seam"] == "post" and line["ids"][-1] in ("two", "three"))
    return held, "two" if held == "three" else "three"


def test_a_parallel_batch_reports_each_raw_result_inside_its_own_execution(run: Run, version: str) -> None:
    """In a batch, post_tool_call and the input of transform_tool_result are raw and inside the execution; a host that
    leaves out a hook which is busy with another call still comes to the next one."""
    held, other = in_batch(run)
    whole = [("post", True, "raw"), ("transform", True, "raw"), ("after", False, "rewritten")]
    assert seams(run, held) == whole
    assert seams(run, other) == (whole[1:] if version in LEAVES_OUT_BUSY_HOOKS else whole)
    for line in run.seen:
        if line["ids"][-1] in (held, other) and line["inside"]:
            assert f"1|in {line['ids'][-1]}" in line["result"]
            assert line["status"] == "ok"


def test_every_seam_of_a_call_carries_the_same_ids(run: Run) -> None:
    """Session, task, turn, API request and tool call ids are all there, and agree between the seams of one call."""
    for call_id in ("alone", "two", "three"):
        ids = {tuple(line["ids"]) for line in run.seen if line["ids"][-1] == call_id}
        assert len(ids) == 1
        assert all(ids.pop())


def test_a_blocked_call_is_reported_inside_the_execution(
    version: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A call that another plugin blocks is reported as blocked at post_tool_call, inside the execution."""
    profile = Profile(tmp_path_factory.mktemp("blocked"), harness=False, plugins={"blocker": BLOCKER, "spy": SPY})
    path = str(profile.file("one.txt", "in one"))
    script = play(Turn("read", [Call("read_file", {"path": path}, "blocked")]), Turn("done"))
    run = profile.run(script, host=hosts()[version])
    assert [seam for seam, *_ in seams(run, "blocked")] == ["post", "after"]
    post = next(line for line in run.seen if line["seam"] == "post")
    assert post["inside"]
    assert post["status"] == "blocked"
