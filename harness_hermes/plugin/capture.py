"""Taking a committed probe's result from the host's own hands.

One middleware surrounds every tool call; two hooks observe what the host hands over while it runs.  They meet in a
``Scope``, which a context variable carries to the host's hook threads.  The first observation of a scope stands:

1. ``post_tool_call`` inside the scope, or
2. the input of ``transform_tool_result`` inside the scope, or
3. what the middleware itself gets back, or the exception that came instead.

Which of them is proven to be the handler's own result is for ``hosts.PROVEN`` to say.  A host that gives a call up
while its worker goes on says so from outside of the scope; that ends the scope, and what the worker brings later is
dropped.  Both hooks return None always, and the middleware returns what it got: nothing here changes, repeats or loses
a result.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from attrs import define, field

from harness_core.schemas import TOOLS
from harness_core.vocabulary import Boundary, ModelOperation, Provenance, ResultStatus

from .hosts import GIVEN_UP, STATUS, Between, is_proven
from .lineage import Lineage
from .log import harmless
from .profiles import Profiles
from .turns import Turns

if TYPE_CHECKING:
    from harness_store import Execution

IDS = ("session_id", "task_id", "turn_id", "api_request_id", "tool_call_id")


def correlation(tool_name: Any, ids: dict[str, Any]) -> tuple[str, ...]:
    """What tells one call from another: the tool's name and the host's ids, absent ones as empty text."""
    return (str(tool_name or ""), *(str(ids.get(name) or "") for name in IDS))


@define(eq=False)
class Scope:
    """One execution of a committed probe, from the middleware's entry to its exit."""

    key: tuple[str, ...]
    args: Any
    execution: Execution
    version: str
    between: Between
    open: bool = field(default=True, init=False)
    heard: bool = field(default=False, init=False)
    ran_with: Any = field(default=None, init=False)
    """The arguments of a report of this very call, where they are others than those it came with."""

    def hear(self, boundary: Boundary, args: Any, result: Any, status: Any) -> None:
        """Record what a hook was handed.  ``status`` is the host's word, absent on hosts that send none.

        With arguments that are neither those it came with nor the committed ones it was another call that ran: its
        result is left to the middleware's return.
        """
        if args != self.args:
            self.ran_with = args
            if not self.execution.meant(args):
                return
        self.heard = True
        ended = STATUS.get(str(status)) if status else None
        if ended in NOT_RUN:  # the host's own words, in place of a result
            self._unproven(boundary, result, ended)
        elif self._proven(boundary, status_given=bool(status)):
            self._native(boundary, result, ended)
        else:
            self._unproven(boundary, result)

    def given_up(self, args: Any, result: Any, status: Any) -> None:
        """The host gave the call up: record that, and let go of the action whose worker may still run."""
        self.open, self.heard = False, True
        if args != self.args:
            self.ran_with = args
        self._unproven(Boundary.POST_TOOL_CALL, result, STATUS[status])
        self.end()

    @harmless
    def returned(self, result: Any) -> None:
        """Record what the middleware got back: the display of a recorded result, or the result itself."""
        self.open = False
        if self.execution.finished:
            self.execution.exposed(result)
        elif not self._is_told and self._proven(Boundary.MIDDLEWARE_RETURN, status_given=False):
            self._native(Boundary.MIDDLEWARE_RETURN, result, None)
        else:
            self._unproven(Boundary.MIDDLEWARE_RETURN, result)

    @harmless
    def raised(self, error: BaseException) -> None:
        """Record an exception that came out of the call: the action may or may not have completed."""
        self.open = False
        error = getattr(error, "original", error)  # the host wraps what comes from below a middleware
        status = ResultStatus.UNKNOWN if isinstance(error, Exception) else ResultStatus.INTERRUPTED
        self._unproven(Boundary.MIDDLEWARE_RETURN, f"{type(error).__name__}: {error}", status)

    @harmless
    def end(self) -> None:
        """Finalise: from here on every hook of this scope is late, in whatever copied context it runs."""
        self.open = False
        self.execution.__exit__(None, None, None)

    @property
    def _is_told(self) -> bool:
        """Whether a hook has said with which arguments the tool ran."""
        return self.heard or self.ran_with is not None

    def _proven(self, boundary: Boundary, *, status_given: bool) -> bool:
        innermost = self.between.innermost
        return is_proven(self.version, boundary, self.key[0], status_given=status_given, innermost=innermost)

    def _native(self, boundary: Boundary, result: Any, status: ResultStatus | None) -> None:
        """Proven.  Without a word of the host's the harness reads the status off the result."""
        self._observed(boundary, result, Provenance.NATIVE_HANDLER_RESULT, status)

    def _unproven(self, boundary: Boundary, result: Any, status: ResultStatus = ResultStatus.UNKNOWN) -> None:
        self._observed(boundary, result, Provenance.UNKNOWN, status)

    def _observed(self, boundary: Boundary, result: Any, provenance: Provenance, status: ResultStatus | None) -> None:
        self.execution.observed(
            result,
            boundary=boundary,
            provenance=provenance,
            status=status,
            args=self.ran_with,
            args_known=self._is_told or not self.between.changers,
        )


NOT_RUN = frozenset({ResultStatus.BLOCKED, ResultStatus.INTERRUPTED})
"""How a call ends of which the host has no result of the handler's."""

READING = (ModelOperation.LIST.value, ModelOperation.SHOW.value)
SIDE_AGENT = {
    "error": "this is a side agent of the session, and the session's inquiry is not its to change; "
    "epistemic_model(list) and epistemic_model(show) read it",
    "code": "side_agent",
    "fields": [],
}
"""The answer to a fork that would change an inquiry."""

SCOPE: ContextVar[Scope | None] = ContextVar("epistemic_harness_scope", default=None)

CALLER: ContextVar[str] = ContextVar("epistemic_harness_caller", default="")
"""The session of the tool call around: calls that a tool makes itself (``execute_code``) come without one."""


def _would_change(args: Any) -> bool:
    """Whether a call of one of our tools asks for more than reading."""
    return not isinstance(args, dict) or args.get("operation") not in READING


class Capture:
    """The middleware and the two observing hooks of one registration.

    ``turns`` tells a session's own calls from those of a fork of its agent.  ``version`` is the host's
    (``hosts.running_version``); ``between`` answers who stands between our middleware and the handler.
    """

    def __init__(
        self, profiles: Profiles, lineage: Lineage, turns: Turns, *, version: str, between: Callable[[], Between]
    ) -> None:
        self._profiles = profiles
        self._lineage = lineage
        self._turns = turns
        self._version = version
        self._between = between
        self._open: dict[tuple[str, ...], Scope] = {}

    def on_tool_execution(self, *, tool_name: str, args: Any, next_call: Callable[[Any], Any], **ids: Any) -> Any:
        """Run the call exactly once and give back what it gave, recording it where it is a committed probe.

        Only calls that the harness refuses do not run: a probe that would run a second time or on a damaged record, and
        a fork's attempt to change the session's inquiry.  They get the refusal as an ordinary result.  Raises
        ``TypeError``, before anything begins, where ``next_call`` is none.
        """
        if not callable(next_call):  # an isolated plugin host hands over a stand-in; raising lets the host go on alone
            raise TypeError("next_call cannot be called: tool_execution does not work in this kind of plugin host")
        session_id = self._session(ids)
        if tool_name in TOOLS and ids.get("session_id") and not session_id and _would_change(args):
            return json.dumps(SIDE_AGENT)
        caller = CALLER.set(session_id)
        try:
            scope = self._begin(tool_name, args, session_id, ids) if session_id and tool_name not in TOOLS else None
            return next_call(args) if scope is None else self._inside(scope, args, next_call)
        finally:
            CALLER.reset(caller)

    def _session(self, ids: dict[str, Any]) -> str:
        """The session that a call belongs to; empty where it is nobody's, or that of a fork of the session's agent."""
        session_id = str(ids.get("session_id") or "")
        if not session_id:
            return CALLER.get()
        return "" if self._turns.is_foreign(session_id, str(ids.get("turn_id") or "")) else session_id

    def _inside(self, scope: Scope, args: Any, next_call: Callable[[Any], Any]) -> Any:
        """The call itself, in its scope."""
        if scope.execution.blocked is not None:
            scope.end()
            return scope.execution.blocked
        token = SCOPE.set(scope)
        self._open[scope.key] = scope
        try:
            result = next_call(args)
        except BaseException as error:
            scope.raised(error)
            raise
        else:
            scope.returned(result)
            return result
        finally:
            SCOPE.reset(token)
            self._open.pop(scope.key, None)
            scope.end()

    @harmless
    def _begin(self, tool_name: str, args: Any, session_id: str, ids: dict[str, Any]) -> Scope | None:
        """The scope of a call that has something to record or to refuse, else None."""
        harness = self._profiles.existing()
        if harness is None:
            return None
        around = SCOPE.get()
        if around is not None and around.open and ids.get("tool_call_id") and around.key == correlation(tool_name, ids):
            return None  # 0.19 leads a call of a batch through its middleware twice, one within the other
        self._lineage.at_call(harness, session_id)
        if not harness.is_active(session_id):
            return None
        own = copy.deepcopy(args)  # another plugin may change what it is handed in its place
        execution = harness.execution(
            session_id=session_id,
            tool_name=tool_name,
            args=args,
            task_id=str(ids.get("task_id") or ""),
            tool_call_id=str(ids.get("tool_call_id") or ""),
            turn_id=str(ids.get("turn_id") or ""),
            api_request_id=str(ids.get("api_request_id") or ""),
            host=True,
        ).__enter__()
        if not execution.recording and execution.blocked is None:
            execution.__exit__(None, None, None)
            return None
        return Scope(correlation(tool_name, ids), own, execution, self._version, self._between())

    @harmless
    def on_post_tool_call(
        self, *, tool_name: str = "", args: Any = None, result: Any = None, status: Any = None, **ids: Any
    ) -> None:
        """Hear the host report a finished call."""
        self._hear(Boundary.POST_TOOL_CALL, tool_name, args, result, status, ids)

    @harmless
    def on_transform_tool_result(
        self, *, tool_name: str = "", args: Any = None, result: Any = None, status: Any = None, **ids: Any
    ) -> None:
        """Hear the host offer a result for rewriting; it is never rewritten here."""
        self._hear(Boundary.TRANSFORM_TOOL_RESULT_INPUT, tool_name, args, result, status, ids)

    def _hear(
        self, boundary: Boundary, tool_name: str, args: Any, result: Any, status: Any, ids: dict[str, Any]
    ) -> None:
        scope = SCOPE.get()
        if scope is None:
            if not self._open or status not in GIVEN_UP:
                return
            scope = self._open.get(correlation(tool_name, ids))
            if scope is not None and scope.open and not scope.heard:
                scope.given_up(args, result, status)
            return
        # A nested, replayed or late call is not the one that was committed: it is left alone.
        if scope.open and not scope.heard and scope.key == correlation(tool_name, ids):
            scope.hear(boundary, args, result, status)
