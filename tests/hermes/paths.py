"""Every path on which a committed tool can run in a Hermes, walked once, and what is recorded on each."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from harness_core.vocabulary import Boundary
from harness_hermes.demo.scripted import Call, Turn, play, since_last_user
from harness_hermes.plugin.capture import Capture
from tests.hermes.inside import Desk, results

OTHER = """
import os, pathlib, threading
HOME = pathlib.Path(os.environ["HERMES_HOME"])
RUNS, STARTED, GO, LATE, STOPPED = [], threading.Event(), threading.Event(), [], []
NOT_BEFORE, RETURNED, MISSED = {}, {}, []
NAMES = ("read_file", "clarify", "memory", "todo_list", "look")

def does():
    return os.environ.get("OTHER", "")
def look(args, **kw):
    RUNS.append(dict(args))
    if args.get("what") == "fails":
        raise ValueError("no such thing")
    if args.get("what") == "slow":
        STARTED.set()
        GO.wait(60)
        LATE.append(1)
    return "seen " + str(args.get("what"))
def transform(tool_name="", **kw):
    return "REWRITTEN" if does() == "rewrite" and tool_name in NAMES else None
def before(tool_name="", args=None, **kw):
    if tool_name not in NAMES:
        return None
    if does() == "block":
        return {"action": "block", "message": "not today"}
    if does() == "modify":
        return {"action": "modify", "args": {**args, "what": "modified"}}
    if does() == "change in place":
        args["what"] = "modified"
def around(**kw):
    if does() == "answer" and kw["tool_name"] in NAMES:
        return "MADE UP"
    if kw["tool_name"] in NOT_BEFORE:
        NOT_BEFORE[kw["tool_name"]].wait(60) or MISSED.append(kw["tool_name"])
    try:
        return kw["next_call"](kw["args"])
    finally:
        if kw["tool_name"] in RETURNED:
            RETURNED[kw["tool_name"]].set()
def register(ctx):
    schema = {"name": "look", "description": "Look.", "parameters": {
        "type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}}
    ctx.register_tool(name="look", toolset="a-other", schema=schema, handler=look, description="Look.")
    ctx.register_hook("transform_tool_result", transform)
    ctx.register_hook("pre_tool_call", before)
    ctx.register_hook("subagent_stop", lambda **kw: STOPPED.append(kw))
    ctx.register_middleware("tool_execution", around)
"""
"""Another plugin, loaded before ours: a tool that counts its runs, and what ``OTHER`` tells it to do to results.

A tool named in ``NOT_BEFORE`` waits for that event before it runs, one in ``RETURNED`` sets that event when it has
returned; ``STOPPED`` holds the children that have ended."""


@contextlib.contextmanager
def other(does: str) -> Iterator[None]:
    """Let the other plugin do something for a while."""
    os.environ["OTHER"] = does
    try:
        yield
    finally:
        del os.environ["OTHER"]


def plugin() -> Any:
    """The module of the other plugin, as the host imported it."""
    return next(module for name, module in list(sys.modules.items()) if name.endswith("a_other"))


LOOK = {"what": "the sky"}
QUESTION = {"questions": [{"question": "which?", "choices": ["a", "b"]}]}
REMEMBER = {"action": "add", "target": "memory", "content": "the sky is blue"}
TODO = {"todos": [{"id": "1", "content": "look", "status": "pending"}]}


def answered(*asked: Any, **_: Any) -> Any:
    """The user's part of ``clarify``: one answer to a question on 0.21, an answer to each of a list since 0.22."""
    if isinstance(asked[0], str):
        return "a"
    return {"answers": {each["qid"]: "a" for each in asked[0]}, "outcome": "answered"}


class Walk:
    """One path after the other, each with a session and a case of its own."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.rows: list[dict[str, Any]] = []
        self.file = desk.home / "look.txt"
        self.file.write_text("in look\n", encoding="utf-8")

    def walk(
        self,
        path: str,
        tool: str,
        args: Mapping[str, Any],
        act: Callable[[Any], Any],
        *,
        domain: str = "system_state",
    ) -> None:
        """Commit a probe of ``tool`` in a new session, act, and note what the record says."""
        case_id = f"c{len(self.rows)}"
        agent = self.desk.agent(clarify_callback=answered)
        self.desk.commit(agent.session_id, case_id, tool, args, domain)
        ran = len(plugin().RUNS)
        act(agent)
        self.note(path, case_id, agent.session_id, len(plugin().RUNS) - ran if tool == "look" else None)

    def note(self, path: str, case_id: str, session: str, ran: int | None) -> None:
        """The row of a path."""
        observed = self.desk.events(case_id, "probe_observed")
        seen: dict[str, Any] = dict(observed[0]["payload"]) if observed else {}
        exposed = [each["payload"] for each in self.desk.events(case_id, "probe_exposed")]
        case = self.desk.harness.model({"operation": "show", "case_id": case_id}, session_id=session)["case"]
        self.rows.append(
            {
                "path": path,
                "boundary": seen.get("observation_boundary", ""),
                "provenance": seen.get("raw_result_provenance", ""),
                "status": seen.get("result_status", ""),
                "observations": len(observed),
                "exposed": [str(each["result"]) for each in exposed],
                "result": str(seen.get("result", ""))[:200],
                "args": (case.get("pending_probe") or {}).get("execution_args_match_commitment"),
                "probe": (case.get("pending_probe") or {}).get("status"),
                "ran": ran,
            }
        )

    def saying(self, *calls: Call) -> Callable[[Any], Any]:
        """Let the model say these calls in one message, then be done."""
        return lambda agent: self.desk.talk(agent, Turn("look", calls), Turn("done"))

    def look(self, call_id: str = "", **args: Any) -> Call:
        """A call of the other plugin's tool."""
        return self.desk.deferred("look", args or LOOK, call_id)


def walk_all(desk: Desk) -> list[dict[str, Any]]:
    """All of them; one row each."""
    walk = Walk(desk)
    read = {"path": str(walk.file)}
    reading = Call("read_file", read, "one")
    search = Call("search_files", {"pattern": "look", "path": str(desk.home), "target": "files"}, "two")
    modern = desk.version >= "0.22"
    todo = "todo_list" if modern else "todo"
    listing = desk.deferred(todo, TODO) if modern else Call(todo, TODO)

    walk.walk("one tool alone", "read_file", read, walk.saying(reading))
    walk.walk("a plugin's tool, through the bridge", "look", LOOK, walk.saying(walk.look()))
    both = walk.saying(search, reading)  # the host starts them in this order
    with apart():
        walk.walk("in a parallel batch", "read_file", read, both)
    with overlapping():
        walk.walk("in a parallel batch, while the other call is being reported", "read_file", read, both)
    walk.walk("the same tool twice in a batch", "read_file", read, walk.saying(reading, Call("read_file", read, "two")))
    asking = walk.saying(Call("clarify", QUESTION))
    remembering = walk.saying(Call("memory", REMEMBER))
    with unchanged(desk):
        walk.walk("the agent's own `clarify`", "clarify", QUESTION, asking, domain="user_intent")
        walk.walk("the agent's own `memory`", "memory", REMEMBER, remembering)
        walk.walk("the agent's own list of things to do", todo, TODO, walk.saying(listing))
    walk.walk("the agent's own `memory`, where a plugin hooks `pre_tool_call`", "memory", REMEMBER, remembering)
    walk.walk("the handler raises", "look", {"what": "fails"}, walk.saying(walk.look(what="fails")))
    walk.walk(
        "the tool reports an error",
        "read_file",
        {"path": str(desk.home / "absent.txt")},
        walk.saying(Call("read_file", {"path": str(desk.home / "absent.txt")})),
    )
    walk.walk("an unknown tool", "no_such_tool", {}, walk.saying(Call("no_such_tool", {})))
    sent, meant = {**read, "limit": "5"}, {**read, "limit": 5}
    walk.walk("a number that the model sends as text", "read_file", meant, walk.saying(Call("read_file", sent)))
    walk.walk("other arguments than committed", "look", LOOK, walk.saying(walk.look(what="the sea")))
    for does, path in (
        ("rewrite", "another plugin rewrites the result"),
        ("block", "another plugin blocks the call"),
        ("modify", "another plugin changes the arguments"),
        ("change in place", "another plugin changes the arguments where they are"),
        ("answer", "another middleware answers instead"),
    ):
        with other(does):
            walk.walk(path, "look", LOOK, walk.saying(walk.look()))
    walk.walk("the lower dispatch", "look", LOOK, lambda agent: lower(agent, desk))
    walk.walk("inside `execute_code`", "read_file", read, lambda agent: nested(agent, desk, walk.file))
    walk.walk("interrupted, the worker finishes late", "look", {"what": "slow"}, lambda agent: interrupted(agent, walk))
    walk.walk("a delegated child makes the same call", "read_file", read, lambda agent: delegated(agent, desk, reading))
    walk.walk("a fork that shares the session", "look", LOOK, lambda agent: forked(agent, desk, walk))
    walk.walk("the host's own review of a turn", "read_file", read, lambda agent: reviewed(agent, desk, reading))
    walk.walk("the tool call id of an earlier turn again", "look", LOOK, lambda agent: repeated(agent, desk, walk))
    walk.walk("a background process ends later", "terminal", SLEEP, walk.saying(Call("terminal", SLEEP)))
    return walk.rows


@contextlib.contextmanager
def ordered(not_before: Mapping[str, threading.Event], returned: Mapping[str, threading.Event]) -> Iterator[None]:
    """Give the other plugin these events for a while."""
    with mock.patch.multiple(plugin(), NOT_BEFORE=not_before, RETURNED=returned):
        yield
    assert not plugin().MISSED, "the host runs the calls of a batch in another order"


def unchanged(desk: Desk) -> contextlib.AbstractContextManager[Any]:
    """Let no plugin look at a call before it runs: nobody can change its arguments unseen."""
    return mock.patch.dict(desk.plugins._hooks, {"pre_tool_call": []})


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """Within a batch, the file is read once the search has returned: no report of one meets one of the other."""
    done = threading.Event()
    with ordered({"read_file": done}, {"search_files": done}):
        yield


@contextlib.contextmanager
def overlapping() -> Iterator[None]:
    """Within a batch, the file is read from beginning to end while our own hook still hears of the search."""
    hearing, done, hear = threading.Event(), threading.Event(), Capture._hear

    def slowly(capture: Capture, boundary: Boundary, tool_name: str, *more: Any) -> None:
        if tool_name == "search_files" and boundary is Boundary.POST_TOOL_CALL:
            hearing.set()
            done.wait(60)
        hear(capture, boundary, tool_name, *more)

    with ordered({"read_file": hearing}, {"read_file": done}), mock.patch.object(Capture, "_hear", slowly):
        yield


SLEEP = {"command": "echo started", "background": True}


def lower(agent: Any, desk: Desk) -> None:
    """The host's own lower path, without an agent's turn."""
    from model_tools import handle_function_call

    handle_function_call("look", dict(LOOK), session_id=agent.session_id, tool_call_id="low", turn_id="", task_id="t")


def nested(agent: Any, desk: Desk, file: Path) -> None:
    """The agent's own code calls the tool."""
    code = f"from hermes_tools import read_file\nprint(read_file(path={str(file)!r}))"
    desk.talk(agent, Turn("code", [Call("execute_code", {"code": code})]), Turn("done"))


def interrupted(agent: Any, walk: Walk) -> None:
    """A user interrupts while the tool runs; it finishes after the turn has ended."""
    other_plugin = plugin()

    def stop() -> None:
        other_plugin.STARTED.wait(60)
        agent.interrupt("stop")

    stopper = threading.Thread(target=stop)
    stopper.start()
    walk.desk.talk(agent, Turn("look", [walk.look(what="slow")]), Turn("done"))
    stopper.join()
    before = len(walk.desk.events(f"c{len(walk.rows)}"))
    assert before, "no case"
    other_plugin.GO.set()
    until(lambda: bool(other_plugin.LATE) and not running("look"))


def running(name: str) -> bool:
    """Whether a case still has an execution under way."""
    from harness_store.disk import PosixDisk
    from harness_store.layout import Layout
    from harness_store.locks import Lease

    layout = Layout(Path(os.environ["HERMES_HOME"]) / "epistemic-harness")
    disk = PosixDisk()
    return any(Lease(disk, layout.lease(each.name), name).is_held() for each in layout.cases.iterdir())


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that another thread brings about."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def delegated(agent: Any, desk: Desk, reading: Call) -> None:
    """The parent delegates; the child calls the very tool that the parent has committed."""
    child = play(Turn("child", [reading]), Turn("child done"))
    task = {"goal": "read the file for me", "context": "none"}
    parent = play(Turn("give away", [Call("delegate_task", task)]), Turn("done"))

    def player(messages: Any) -> Turn:
        asked = next(str(each["content"]) for each in messages if each["role"] == "user")
        return (child if "read the file for me" in asked else parent)(messages)

    desk.player = player
    desk.model.requests.clear()
    ended = len(plugin().STOPPED)
    agent.run_conversation("please delegate")

    def has_read() -> bool:
        tools = [each for request in desk.model.requests for each in request["messages"] if each["role"] == "tool"]
        return any("in look" in str(each["content"]) and "child" not in str(each["content"]) for each in tools)

    until(lambda: has_read() and len(plugin().STOPPED) > ended)  # delegations run in the background


def forked(agent: Any, desk: Desk, walk: Walk) -> None:
    """The session's own turn has been; then a fork of it, as the host's reviews are, makes the committed call."""
    history = desk.talk(agent, Turn("nothing yet"))["messages"]
    fork = desk.agent(session_id=agent.session_id, parent_session_id=agent.session_id)
    fork._persist_disabled = True
    discard = desk.deferred("epistemic_probe", {"operation": "discard", "reason": "tidying up"})
    said = desk.talk(
        fork, Turn("look", [walk.look()]), Turn("drop", [discard]), Turn("done"), prompt="review", history=history
    )
    assert "side_agent" in results(said)[-1], results(said)


def reviewed(agent: Any, desk: Desk, reading: Call) -> None:
    """The host reviews the turn in a fork, with a prompt of its own; the review makes the committed call, which its
    list of tools allows, and would drop the probe."""
    discard = desk.deferred("epistemic_probe", {"operation": "discard", "reason": "tidying up"})
    review = play(Turn("look", [reading]), Turn("drop", [discard]), Turn("nothing to keep"))
    asked, said = "please look", []

    def player(messages: Any) -> Turn:
        last = [str(each["content"]) for each in messages if each["role"] == "user"][-1]
        if asked in last:
            return Turn("nothing yet")
        said.append([str(each["content"]) for each in since_last_user(messages) if each["role"] == "tool"])
        return review(messages)

    desk.player = player
    agent._memory_nudge_interval = 1
    agent.run_conversation(asked)
    until(lambda: len(said) == 3)
    until(lambda: not any(each.name == "bg-review" for each in threading.enumerate()))
    assert "in look" in said[-1][0], said


def repeated(agent: Any, desk: Desk, walk: Walk) -> None:
    """The same call with the same id in two turns."""
    history = desk.talk(agent, Turn("look", [walk.look("same")]), Turn("done"))["messages"]
    desk.talk(agent, Turn("look", [walk.look("same")]), Turn("done"), prompt="again", history=history)
