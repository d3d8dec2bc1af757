"""A program that is no Hermes, but fires the plugin's hooks in the same manner."""

from __future__ import annotations

import contextvars
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness_hermes import register
from harness_store import Harness

LOOK = {"path": "a.txt"}
IDS = {"session_id": "s1", "task_id": "t1", "turn_id": "u1", "api_request_id": "r1", "tool_call_id": "c1"}


class Bare:
    """The registration context, and the calls that a host makes."""

    def __init__(self, home: Path, settings: Mapping[str, Any] | None = None, *, manager: Any = None) -> None:
        self.root = home / "epistemic-harness"
        self.settings = dict(settings or {})
        self.tools: dict[str, Callable[..., str]] = {}
        self.hooks: dict[str, Callable[..., Any]] = {}
        self.middleware: dict[str, Callable[..., Any]] = {}
        self.skills: dict[str, Path] = {}
        self.ran = 0
        self._manager = manager
        register(self)

    def register_tool(self, name: str, toolset: str, schema: Mapping[str, Any], handler: Any, **_: Any) -> None:
        self.tools[name] = handler

    def register_hook(self, name: str, callback: Callable[..., Any]) -> None:
        self.hooks[name] = callback

    def register_middleware(self, kind: str, callback: Callable[..., Any]) -> None:
        self.middleware[kind] = callback

    def register_skill(self, name: str, path: Path, description: str = "") -> None:
        self.skills[name] = path

    def get_config(self, key: str, default: Any = None) -> Any:
        return self.settings.get(key, default)

    def ask(self, tool: str, session: str = "s1", **arguments: Any) -> dict[str, Any]:
        """Call one of the plugin's tools."""
        return dict(json.loads(self.tools[f"epistemic_{tool}"](arguments, session_id=session)))

    def commit(self, tool: str = "read_file", arguments: Mapping[str, Any] = LOOK) -> None:
        """Open a case and commit a probe of ``tool``."""
        opened = self.ask("model", operation="open", case_id="c1", top_unknown="what it says")
        assert "error" not in opened, opened
        committed = self.ask(
            "probe",
            operation="commit",
            purpose="learn",
            unknown_or_goal="what it says",
            tool_name=tool,
            tool_args=dict(arguments),
            predicted_outcomes=["42"],
            would_change_belief="another number",
            why_this_action="it is direct",
            authority_domain="system_state",
        )
        assert "error" not in committed, committed

    def call(
        self,
        inside: Callable[[Any], Any],
        *,
        tool: str = "read_file",
        arguments: Mapping[str, Any] = LOOK,
        **ids: str,
    ) -> Any:
        """One tool call through the middleware; ``inside`` stands for everything below it."""

        def next_call(given: Any) -> Any:
            self.ran += 1
            return inside(given)

        return self.middleware["tool_execution"](
            tool_name=tool, args=dict(arguments), next_call=next_call, **{**IDS, **ids}
        )

    def post(self, result: Any, **changes: Any) -> Any:
        """Fire ``post_tool_call``, in a copy of the context as a host does."""
        return self._fire("post_tool_call", result, changes)

    def transform(self, result: Any, **changes: Any) -> Any:
        """Fire ``transform_tool_result``."""
        return self._fire("transform_tool_result", result, changes)

    def _fire(self, hook: str, result: Any, changes: Mapping[str, Any]) -> Any:
        call = {"tool_name": "read_file", "args": dict(LOOK), "result": result, **IDS, **changes}
        return contextvars.copy_context().run(self.hooks[hook], **call)

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """The records of the case, of one type where ``kind`` names it."""
        harness = Harness(self.root)
        return [dict(each) for each in harness.timeline("c1") if kind in ("", each["type"])]

    def match(self) -> bool | None:
        """Whether the pending probe is said to have run with the committed arguments."""
        pending = self.ask("model", operation="show")["case"]["pending_probe"]
        found: bool | None = pending.get("execution_args_match_commitment")
        return found

    def observed(self) -> dict[str, Any]:
        """The payload of the only observation."""
        (event,) = self.events("probe_observed")
        return dict(event["payload"])
