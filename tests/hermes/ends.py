"""How hosts tell that a session ends or begins: each call as it stands in the source of the hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

THIS, NEXT = "{this}", "{next}"
"""Stand for the id of the session that the case belongs to, and of the one that comes after it."""

FINALIZE, RESET, STOP = "on_session_finalize", "on_session_reset", "subagent_stop"


@frozen
class End:
    """One call: its hook, what it sends, and for each host that makes it the file and the words found there."""

    hook: str
    sends: Mapping[str, Any]
    made: Mapping[str, tuple[str, str]] = field(factory=dict)

    def sent(self, this: str, following: str) -> dict[str, Any]:
        """The arguments with the ids of two sessions in them."""
        ids = {THIS: this, NEXT: following}
        return {name: ids.get(value, value) if isinstance(value, str) else value for name, value in self.sends.items()}

    def written(self) -> str:
        """Hook and arguments as a table shows them."""
        words = {THIS: "the session", NEXT: "the new one"}
        told = (f"{name}={words.get(str(value)) or repr(value)}" for name, value in self.sends.items())
        return f"`{self.hook}`: {', '.join(told)}"


BOUNDARY = '"new_session" if event_type == "on_session_reset" else "session_boundary"'
NEW = 'reason="new_session", old_session_id=old_sid, new_session_id=new_sid'
RESETTING = 'invoke_hook("on_session_reset", session_id=_new_sid,'
SHUTDOWN = 'session_id=getattr(agent, "session_id", None), platform="gateway", reason="shutdown"'
CLOSING = "finalize_session(session_id=session_id, platform=platform, reason=reason)"
TUI = "finalize_session(session_id=session_id, platform=_resolve_agent_platform(platform))"
BUILT = '_notify_session_boundary("on_session_reset", key, _session_source(current))'
CHILD = '"subagent_stop", parent_session_id='

ENDS: Mapping[str, End] = {
    "CLI /new, first call": End(
        FINALIZE,
        {"session_id": THIS, "platform": "cli", "reason": "session_boundary"},
        {"0.22.2": ("hermes_cli/cli_session_mixin.py", BOUNDARY), "0.21.0": ("cli.py", BOUNDARY)},
    ),
    "CLI /new, second call": End(
        RESET,
        {"session_id": NEXT, "platform": "cli", "reason": "new_session"},
        {"0.22.2": ("hermes_cli/cli_session_mixin.py", BOUNDARY), "0.21.0": ("cli.py", BOUNDARY)},
    ),
    "CLI exit": End(
        FINALIZE,
        {"session_id": THIS, "platform": "cli", "reason": "shutdown"},
        {"0.22.2": ("hermes_cli/cli_shutdown.py", CLOSING), "0.21.0": ("cli.py", CLOSING)},
    ),
    "gateway /new, first call": End(
        FINALIZE,
        {
            "session_id": THIS,
            "platform": "telegram",
            "reason": "new_session",
            "old_session_id": THIS,
            "new_session_id": NEXT,
        },
        {
            "0.22.2": ("gateway/slash_commands_session.py", NEW),
            "0.21.0": ("gateway/slash_commands.py", 'reason="new_session", old_session_id=_old_sid'),
        },
    ),
    "gateway /new, second call": End(
        RESET,
        {
            "session_id": NEXT,
            "platform": "telegram",
            "reason": "new_session",
            "old_session_id": THIS,
            "new_session_id": NEXT,
        },
        {
            "0.22.2": ("gateway/slash_commands_session.py", RESETTING),
            "0.21.0": ("gateway/slash_commands.py", RESETTING),
        },
    ),
    "gateway idle": End(
        FINALIZE,
        {"session_id": THIS, "platform": "telegram", "reason": "session_expired"},
        {"0.21.0": ("gateway/run.py", 'platform=_platform, reason="session_expired"')},
    ),
    "gateway shutdown": End(
        FINALIZE,
        {"session_id": THIS, "platform": "gateway", "reason": "shutdown"},
        {"0.22.2": ("gateway/run_shutdown.py", SHUTDOWN), "0.21.0": ("gateway/run.py", SHUTDOWN)},
    ),
    "TUI or desktop end": End(
        FINALIZE,
        {"session_id": THIS, "platform": "tui"},
        {"0.22.2": ("tui_gateway/session_lifecycle.py", TUI), "0.21.0": ("tui_gateway/server.py", TUI)},
    ),
    "TUI session built": End(
        RESET,
        {"session_id": THIS, "platform": "tui"},
        {"0.22.2": ("tui_gateway/server.py", BUILT), "0.21.0": ("tui_gateway/server.py", BUILT)},
    ),
    "a delegated child ends": End(
        STOP,
        {
            "parent_session_id": "the parent",
            "parent_turn_id": "",
            "child_session_id": THIS,
            "child_role": "leaf",
            "child_summary": "done",
            "child_status": "completed",
            "tool_call_history": [],
            "duration_ms": 1,
        },
        {"0.22.2": ("tools/delegate_tool_results.py", CHILD), "0.21.0": ("tools/delegate_tool.py", CHILD)},
    ),
    "a reason nobody knows": End(FINALIZE, {"session_id": THIS, "platform": "cli", "reason": "moon phase"}),
    "no session at all": End(FINALIZE, {"session_id": None, "platform": "cli", "reason": "shutdown"}),
}
