"""What runs inside a real Hermes: its agent class, driven turn by turn in one process.

``Profile.inside`` starts this module with the interpreter of a host; the function it names gets a ``Desk`` and gives a
JSON value back.  One process plays many scenes, so that each of them costs a fraction of a second.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness_hermes.demo.scripted import MODEL, Call, Message, Player, ScriptedModel, Turn, play
from harness_hermes.plugin.hosts import release
from harness_hermes.plugin.profiles import FOLDER
from harness_store import Harness

PLACEHOLDER = "http://127.0.0.1:9/v1"
"""The address in a profile's settings until the scripted model is up."""

BY_HAND = "it is direct"


class Lines(logging.Handler):
    """Keeps what our loggers say, as text."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(f"{record.levelname} {record.getMessage()}")


class Desk:
    """A Hermes with a scripted model in this process."""

    def __init__(self) -> None:
        self.home = Path(os.environ["HERMES_HOME"])
        self.player: Player = play(Turn("nothing to say"))
        self.model = ScriptedModel(lambda messages: self.player(messages))
        self.model.__enter__()
        config = self.home / "config.yaml"
        config.write_text(config.read_text(encoding="utf-8").replace(PLACEHOLDER, self.model.url), encoding="utf-8")
        self.log = Lines()
        for name in ("harness_hermes", "harness_store"):
            logging.getLogger(name).addHandler(self.log)
            logging.getLogger(name).setLevel(logging.INFO)
        import hermes_cli
        import run_agent
        from hermes_cli.config import load_config
        from hermes_cli.plugins import get_plugin_manager
        from hermes_cli.tools_config import _get_platform_tools
        from hermes_state import SessionDB

        self.version = release(hermes_cli.__version__)
        self.sessions = SessionDB()
        self.plugins = get_plugin_manager()
        self.plugins.discover_and_load()
        self._agent_class = run_agent.AIAgent
        self._toolsets = sorted(_get_platform_tools(load_config(), "cli"))
        self.harness = Harness(self.home / FOLDER)

    def agent(self, **options: Any) -> Any:
        """An agent as the host's one-shot command makes it; ``options`` are the agent class's own."""
        settings = {"base_url": self.model.url, "api_key": "none", "provider": "custom", "model": MODEL}
        usual = {"platform": "cli", "session_db": self.sessions, "enabled_toolsets": self._toolsets}
        agent = self._agent_class(**settings, quiet_mode=True, **{**usual, **options})
        agent._memory_nudge_interval = agent._skill_nudge_interval = 0  # no review that would play the script besides
        return agent

    def talk(
        self, agent: Any, *turns: Turn, prompt: str = "please look", history: Sequence[Message] = ()
    ) -> dict[str, Any]:
        """One turn of the user's, in which the model says ``turns``; the agent's own result."""
        self.player = play(*turns)
        return dict(agent.run_conversation(prompt, conversation_history=list(history) or None))

    def deferred(self, name: str, arguments: Mapping[str, Any], call_id: str = "") -> Call:
        """A call of a plugin's tool through the bridge, in the only shape that this host knows."""
        one = {"name": name, "arguments": dict(arguments)}
        return Call("tool_call", {"calls": [one]} if self.version >= "0.22" else one, call_id)

    def commit(self, session: str, case_id: str, tool: str, args: Mapping[str, Any], domain: str) -> None:
        """Open a case for a session and commit a probe of ``tool``, without a model's turn."""
        self.harness.model({"operation": "open", "case_id": case_id, "top_unknown": "what it says"}, session_id=session)
        self.harness.probe(commitment(tool, args, domain), session_id=session)

    def events(self, case_id: str, kind: str = "") -> list[dict[str, Any]]:
        """The records of a case, of one type where ``kind`` names it."""
        return [dict(each) for each in self.harness.timeline(case_id) if kind in ("", each["type"])]


def commitment(tool: str, args: Mapping[str, Any], domain: str = "system_state") -> dict[str, Any]:
    """The arguments of a commit."""
    return {
        "operation": "commit",
        "purpose": "learn",
        "unknown_or_goal": "what it says",
        "tool_name": tool,
        "tool_args": dict(args),
        "predicted_outcomes": ["something"],
        "would_change_belief": "nothing",
        "why_this_action": BY_HAND,
        "authority_domain": domain,
    }


def results(result: Mapping[str, Any]) -> list[str]:
    """The tool results that the model was shown in the last turn."""
    messages = result["messages"]
    last = max(n for n, each in enumerate(messages) if each["role"] == "user")
    return [str(each["content"]) for each in messages[last:] if each["role"] == "tool"]


def main() -> None:
    """Play the scene that the command line names, print what it gives on a line of its own, and leave at once."""
    module, _, name = sys.argv[1].partition(":")
    arguments = json.loads(sys.argv[2])
    found = getattr(importlib.import_module(module), name)(Desk(), **arguments)
    sys.stdout.flush()
    print(f"\n{json.dumps(found)}", flush=True)
    left = [each.name for each in threading.enumerate() if each is not threading.main_thread() and not each.daemon]
    print("left behind:", left, file=sys.stderr, flush=True)
    os._exit(0)  # as the host's one-shot does: its own threads are not waited for


if __name__ == "__main__":
    main()
