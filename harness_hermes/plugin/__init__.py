"""Registration: two tools, one middleware, six hooks, one skill."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness_core.errors import HarnessError
from harness_core.injection import DEFAULT_CEILING
from harness_core.schemas import TOOLS

from . import command
from .capture import Capture
from .hosts import between, running_version
from .lifecycle import LifecycleHooks
from .lineage import Lineage
from .log import log
from .profiles import Profiles
from .turns import Turns

__all__ = ["register"]

TOOLSET = "epistemic-harness"
SKILL_SAYS = "Inquire with predictions committed before looking, results captured by the host, and an honest end."
SKILL = Path(__file__).resolve().parent.parent / "skills" / "epistemic-inquiry" / "SKILL.md"


def handler(name: str, profiles: Profiles, lineage: Lineage) -> Callable[..., str]:
    """The host's handler of one tool: arguments and session id in, JSON text out; it never raises."""

    def handle(args: Any, *, session_id: str | None = None, **_: Any) -> str:
        try:
            harness = profiles.harness()
        except HarnessError as error:
            return json.dumps(error.answer())
        lineage.at_call(harness, session_id or "")
        return harness.tool(name, args, session_id=session_id or "")

    return handle


KEYWORDS = inspect.Signature([inspect.Parameter("payload", inspect.Parameter.VAR_KEYWORD)])


def plain(callback: Callable[..., Any]) -> Callable[..., Any]:
    """The callback as a function of keywords with its signature at hand: the host looks at it on every single call, and
    working out that of a wrapped method costs more than all that a sleeping plugin does."""

    def call(**payload: Any) -> Any:
        return callback(**payload)

    call.__name__ = callback.__name__
    vars(call)["__signature__"] = KEYWORDS
    return call


def register(ctx: Any) -> None:
    """Register everything with a Hermes plugin context.  No file is touched before a tool or hook needs one."""
    version = running_version()
    profiles, lineage, turns = Profiles(), Lineage(), Turns(version)
    for name, schema in TOOLS.items():
        ctx.register_tool(
            name=name,
            toolset=TOOLSET,
            schema=dict(schema),
            handler=handler(name, profiles, lineage),
            description=schema["description"],
        )

    setting = getattr(ctx, "get_config", lambda _, default: default)  # 0.19 keeps no settings for plugins
    manager = getattr(ctx, "_manager", None)
    capture = Capture(profiles, lineage, turns, version=version, between=lambda: between(manager, around))
    hooks = LifecycleHooks(profiles, lineage, turns, configured=lambda: setting("injection_max_chars", DEFAULT_CEILING))
    around = plain(capture.on_tool_execution)
    ctx.register_middleware("tool_execution", around)
    ctx.register_hook("pre_llm_call", plain(hooks.on_pre_llm_call))
    ctx.register_hook("post_tool_call", plain(capture.on_post_tool_call))
    ctx.register_hook("transform_tool_result", plain(capture.on_transform_tool_result))
    ctx.register_hook("subagent_stop", plain(hooks.on_subagent_stop))
    ctx.register_hook("on_session_reset", plain(hooks.on_session_reset))
    ctx.register_hook("on_session_finalize", plain(hooks.on_session_finalize))
    ctx.register_skill("epistemic-inquiry", SKILL, SKILL_SAYS)
    command.register(ctx)
    log.info("registered", host=version)
