"""The life of a session in a real Hermes: turns, compressions, children, and how sessions end."""

from __future__ import annotations

import shutil
from typing import Any

from harness_hermes.demo.inquiry import CASE_ID, FILE_NAME, steps
from harness_hermes.demo.run import player
from harness_hermes.demo.scripted import Call, Turn, play
from tests.hermes.ends import ENDS, FINALIZE
from tests.hermes.inside import Desk, commitment, results
from tests.hermes.paths import until


def loop(desk: Desk) -> dict[str, Any]:
    """The demonstrated inquiry over a file that says what was predicted, and over one that does not."""
    found: dict[str, Any] = {}
    for name, content in (("predicted", "[http]\nretries = 3\n"), ("contrary", "[http]\nretries = 5\n")):
        file = desk.home.parent / FILE_NAME
        file.write_text(content, encoding="utf-8")
        desk.player = player(steps(file), lambda *_: None)
        final = desk.agent().run_conversation("find out")["final_response"]
        shown = desk.harness.model({"operation": "show", "case_id": CASE_ID}, session_id="reader")
        (seen,) = desk.events(CASE_ID, "probe_observed")
        (compared,) = desk.events(CASE_ID, "probe_compared")
        found[name] = {
            "said": final,
            "closure": shown["case"]["closure"],
            "stale": shown["case"]["stale"],
            "made stale": compared["payload"].get("stale_item_ids"),
            "provenance": seen["payload"]["raw_result_provenance"],
            "usable": shown["replay"]["usable"],
        }
        shutil.rmtree(desk.harness.root)
    return found


OPENING = {
    "operation": "open",
    "case_id": "told",
    "top_unknown": "how many retries are allowed",
    "decision": "raise the limit or not",
    "mechanisms": [{"id": "M1", "text": "the limit is three"}],
    "current_plan": [{"id": "P1", "action": "read the file", "depends_on": ["M1"]}],
}
PROMPT = "please go on"


def injected(desk: Desk) -> str:
    """What the plugin added to the user's last message, as the model was sent it."""
    asked = [str(each["content"]) for each in desk.model.requests[-1]["messages"] if each["role"] == "user"]
    return asked[-1].removeprefix(PROMPT).strip()


def sent(desk: Desk) -> list[str]:
    """What the model was sent of every user message of the talk, in the last request."""
    return [str(each["content"]) for each in desk.model.requests[-1]["messages"] if each["role"] == "user"]


def ten_turns(desk: Desk) -> dict[str, Any]:
    """Ten turns with a case that stays as it is, and ten with one that changes before two of them.

    Then one more after the transcript has lost the texts.
    """
    found: dict[str, Any] = {}
    for name, changing in (("still", ()), ("changing", (3, 6))):
        agent, history = desk.agent(), []
        case_id = f"told-{name}"
        desk.harness.model({**OPENING, "case_id": case_id}, session_id=agent.session_id)
        told = []
        for turn in range(10):
            if turn in changing:
                revision = {"mechanisms": [{"id": "M1", "text": f"the limit is {turn}"}], "reason": "seen"}
                desk.harness.model({"operation": "revise", **revision}, session_id=agent.session_id)
            history = desk.talk(agent, Turn("done"), prompt=PROMPT, history=history)["messages"]
            told.append(injected(desk))
        found[name] = {"told": told, "replayed": sum(text in "".join(sent(desk)) for text in told)}
        if name == "still":
            lost = [{k: v for k, v in each.items() if k != "api_content"} for each in history]
            desk.talk(agent, Turn("done"), prompt=PROMPT, history=lost)
            found["after compaction"] = injected(desk)
        desk.harness.model({"operation": "pause", "reason": "enough"}, session_id=agent.session_id)
    return found


def rotation(desk: Desk) -> dict[str, Any]:
    """A real compression that goes on under a new session id; then a branch of the session, which is another one."""
    agent = desk.agent()
    parent = agent.session_id
    desk.commit(parent, "moved", "look", {"what": "the sky"}, "system_state")
    history: list[Any] = []
    for turn in range(4):
        history = desk.talk(agent, Turn("words " * 400), prompt=f"{PROMPT} {turn}", history=history)["messages"]
    agent.context_compressor.protect_last_n = 1
    agent.context_compressor.protect_first_n = 1
    shorter, _ = agent._compress_context(history, None, force=True)
    child = agent.session_id
    # The turn in which it happened goes on with the new id: the committed call belongs to the case that moved.
    desk.talk(
        agent, Turn("look", [desk.deferred("look", {"what": "the sky"})]), Turn("done"), prompt=PROMPT, history=shorter
    )
    context = injected(desk)
    desk.sessions.create_session("branch", "cli", parent_session_id=child, model_config={"_branched_from": child})
    branch = desk.agent(session_id="branch")
    desk.talk(branch, Turn("done"), prompt=PROMPT)
    case = desk.harness.model({"operation": "show"}, session_id=child)["case"]
    return {
        "rotated": child != parent,
        "shorter": len(shorter) < len(history),
        "owner": case["session_id"] == child,
        "owners": case["session_ids"] == [parent, child],
        "status": case["status"],
        "told": context.splitlines()[0] if context else "",
        "observed": len(desk.events("moved", "probe_observed")),
        "branch told": injected(desk),
    }


def child(desk: Desk) -> dict[str, Any]:
    """A delegated child opens a case of its own and leaves it unfinished."""
    goal = "look into it for me"
    opening = desk.deferred("epistemic_model", {"operation": "open", "case_id": "childs", "top_unknown": "x"})
    own = play(Turn("open", [opening]), Turn("that is all"))
    parents = play(Turn("give away", [Call("delegate_task", {"goal": goal, "context": "none"})]), Turn("done"))
    agent = desk.agent()
    desk.commit(agent.session_id, "parents", "look", {"what": "the sky"}, "system_state")

    def both(messages: Any) -> Turn:
        asked = next(str(each["content"]) for each in messages if each["role"] == "user")
        return (own if goal in asked else parents)(messages)

    desk.player = both
    agent.run_conversation("please delegate")
    until(lambda: "childs" in _cases(desk) and bool(desk.events("childs", "case_paused")))  # it runs in the background
    shown = desk.harness.model({"operation": "show", "case_id": "childs"}, session_id=agent.session_id)["case"]
    paused = desk.events("childs", "case_paused")
    parent = desk.harness.model({"operation": "show"}, session_id=agent.session_id)["case"]
    return {
        "child": shown["status"],
        "lifecycle": [each["payload"].get("lifecycle") for each in paused],
        "other session": shown["session_id"] != agent.session_id,
        "parent": (parent["case_id"], parent["status"]),
    }


def ends(desk: Desk) -> dict[str, list[str]]:
    """For each way: the case's status after it, and after the session's next turn."""
    found = {}
    from hermes_cli.lifecycle import finalize_session, invoke_hook

    for number, (name, end) in enumerate(ENDS.items()):
        session, case_id = f"ending-{number}", f"ending-{number}"
        desk.harness.model({"operation": "open", "case_id": case_id, "top_unknown": "x"}, session_id=session)
        sent = end.sent(session, "next")
        if end.hook == FINALIZE:  # hosts have a function of their own for it
            finalize_session(**sent)
        else:
            invoke_hook(end.hook, **sent)
        after = _status(desk, case_id)
        desk.plugins.invoke_hook("pre_llm_call", session_id=session, turn_id="t", user_message="x", platform="cli")
        found[name] = [after, _status(desk, case_id)]
    return found


def _cases(desk: Desk) -> list[str]:
    listed = desk.harness.model({"operation": "list", "limit": 200}, session_id="reader")["cases"]
    return [str(each["case_id"]) for each in listed]


def _status(desk: Desk, case_id: str) -> str:
    listed = desk.harness.model({"operation": "list", "limit": 200}, session_id="reader")["cases"]
    return next(str(each["status"]) for each in listed if each["case_id"] == case_id)


def model_view(desk: Desk) -> dict[str, Any]:
    """What a model sees of us: the catalogue, the schemas as sent, the skill through the host's own tool, answers."""
    agent = desk.agent()
    name = "epistemic-harness:epistemic-inquiry"
    searched = Call("tool_search", {"queries": ["epistemic"]})
    described = Call("tool_describe", {"names": ["epistemic_model", "epistemic_probe"]})
    said = desk.talk(
        agent,
        Turn("skill", [Call("skill_view", {"name": name})]),
        Turn("search", [searched]),
        Turn("describe", [described]),
        Turn("open", [desk.deferred("epistemic_model", {**OPENING, "response_detail": "compact"})]),
        Turn("wrong", [desk.deferred("epistemic_probe", {"operation": "commit", "tool_name": "look"})]),
        Turn("right", [desk.deferred("epistemic_probe", commitment("look", {"what": "the sky"}))]),
        Turn("done"),
        prompt=PROMPT,
    )
    tools = {each["function"]["name"]: each["function"] for each in desk.model.requests[0]["tools"]}
    return {
        "system": str(desk.model.requests[0]["messages"][0]["content"]),
        "tools": tools,
        "results": results(said),
    }


def direct(desk: Desk) -> dict[str, Any]:
    """The schemas of our tools as the model is sent them where nothing is deferred."""
    desk.talk(desk.agent(), Turn("done"))
    tools = [each["function"] for each in desk.model.requests[0]["tools"]]
    return {each["name"]: each for each in tools if each["name"].startswith("epistemic")}


def one_after_the_other(desk: Desk) -> dict[str, Any]:
    """What these scenes give, by their names."""
    found = {}
    for scene in (child, ten_turns, model_view, ends, loop):
        desk.model.requests.clear()
        found[scene.__name__] = scene(desk)
    return found
