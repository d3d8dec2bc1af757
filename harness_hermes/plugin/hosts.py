"""Where each host really hands over a handler's result: the one table of proven capture boundaries.

A capture counts as proven (``native_handler_result``) only where a row of ``PROVEN`` says so for the running host's
version, and behind every row stands a contract test on that host (tests/hermes/test_host_order.py).  Any other
capture is recorded all the same, with provenance ``unknown``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from harness_core.vocabulary import Boundary, ResultStatus

NO_HERMES = "no hermes"
"""The version of a host that is not Hermes: a program that fires the hooks itself, in the manner of Hermes."""


@frozen
class Row:
    """One seam at which a host version hands over the untouched result of the handler.

    ``tools``: the row holds for these tools only; empty means every tool.
    ``needs_status``: only together with the host's own ``status`` word, which that seam always carries.
    ``needs_innermost``: only while no other middleware stands between ours and the handler.
    """

    boundary: Boundary
    order: str
    tools: frozenset[str] = frozenset()
    needs_status: bool = False
    needs_innermost: bool = False

    def holds(self, tool_name: str, *, status_given: bool, innermost: bool) -> bool:
        """Whether a capture of ``tool_name`` under these circumstances is the one this row speaks of."""
        return (
            (not self.tools or tool_name in self.tools)
            and (status_given or not self.needs_status)
            and (innermost or not self.needs_innermost)
        )


BATCH = Row(Boundary.POST_TOOL_CALL, "parallel batch: the hook fires inside the execution, before any rewriting")
ALONE = Row(
    Boundary.TRANSFORM_TOOL_RESULT_INPUT,
    "one registry tool at a time: every callback of the hook is handed the same untransformed result",
    needs_status=True,
)


def _inline(*tools: str) -> Row:
    return Row(
        Boundary.MIDDLEWARE_RETURN,
        "tools the agent runs itself: the hooks fire later, the innermost middleware gets the raw result",
        tools=frozenset(tools),
        needs_innermost=True,
    )


PROVEN: Mapping[str, tuple[Row, ...]] = MappingProxyType(
    {
        NO_HERMES: (
            Row(Boundary.POST_TOOL_CALL, "the hook fires inside the execution, with what the handler returned"),
        ),
        "0.21.0": (BATCH, ALONE, _inline("clarify", "memory", "todo")),
        "0.22.2": (BATCH, ALONE, _inline("clarify", "memory", "todo_list")),
    }
)

STATUS: Mapping[str, ResultStatus] = MappingProxyType(
    {
        "ok": ResultStatus.OK,
        "error": ResultStatus.TOOL_ERROR,
        "blocked": ResultStatus.BLOCKED,
        "cancelled": ResultStatus.INTERRUPTED,
        "timeout": ResultStatus.INTERRUPTED,
    }
)
"""The host's word for how a call ended, and ours."""


@frozen
class Between:
    """Who stands between our middleware and the handler.

    ``innermost``: our middleware is known to be the last one.  ``changers``: somebody is known to be there who can
    change the arguments below us, another middleware or a callback of ``pre_tool_call``.
    """

    innermost: bool
    changers: bool


def between(manager: Any, middleware: Any) -> Between:
    """The same as a host's plugin manager has it.

    Hermes has no public answer.  Its manager keeps middleware in calling order, and hooks by their names; where these
    are not found as expected, ours is not known to be the last, and what depends on that counts as unproven.
    """
    chain, hooks = getattr(manager, "_middleware", None), getattr(manager, "_hooks", None)
    around = chain.get("tool_execution") if isinstance(chain, dict) else None
    innermost = isinstance(around, list) and around[-1:] == [middleware]
    below = isinstance(around, list) and middleware in around and not innermost
    before = isinstance(hooks, dict) and bool(hooks.get("pre_tool_call"))
    return Between(innermost=innermost, changers=below or before)


ANNOUNCE_EVERY_TURN = frozenset({"0.22.2"})
"""Hosts that call ``pre_llm_call`` for each turn of a session's own and for none of a fork's.  0.21 is not among them:
it may drop a callback that another session keeps busy, and a turn that was not announced is then no fork's."""

GIVEN_UP = frozenset({"cancelled", "timeout"})
"""The host's words for a call that it no longer waits for, although its worker may still run."""


def running_version() -> str:
    """The version of the Hermes this process is, as three numbers ("0.22.2"), or ``NO_HERMES``.

    The distributions of Hermes differ in name, its package ``hermes_cli`` does not.  A process that Hermes does not
    run has not imported it, so the loaded modules are asked and nothing is imported.
    """
    host = sys.modules.get("hermes_cli")
    if host is None:
        return NO_HERMES
    try:
        version = str(host.__version__)
    except Exception:  # noqa: BLE001 - the host computes it, and one that cannot is as good as an unknown version
        version = ""
    return release(version) or version or "unknown"


def release(text: str) -> str:
    """The first three-part number in a text, as in "Hermes Agent v0.22.2.post1": "0.22.2"; empty without one."""
    found = re.search(r"\d+\.\d+\.\d+", text)
    return found[0] if found else ""


def is_proven(version: str, boundary: Boundary, tool_name: str, *, status_given: bool, innermost: bool) -> bool:
    """Whether a capture at ``boundary`` on host ``version`` is known to be the handler's own result."""
    return any(
        row.boundary is boundary and row.holds(tool_name, status_given=status_given, innermost=innermost)
        for row in PROVEN.get(version, ())
    )
