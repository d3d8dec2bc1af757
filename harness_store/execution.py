"""One real action under a committed probe: started, observed once, and ended whatever happens.

The lease is held across the action and dies with its holder, so a probe left ``executing`` tells a dead process.  The
holder may record what it saw whatever has become of the case meanwhile; the first observation stands, later ones are
dropped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from harness_core.commands import Expose, Observe
from harness_core.errors import Fault, HarnessError, Refused, refused
from harness_core.probes import Commitment
from harness_core.vocabulary import Boundary, Provenance, ResultStatus

from . import observations
from .locks import Hold
from .logs import log

if TYPE_CHECKING:
    from .executions import Executions

GATEWAY = "EPISTEMIC GATEWAY BLOCKED"
NOT_REPORTED = "The action ended and its result was not reported."


class Execution:
    """What ``Harness.execution`` gives; a context manager around one action.

    ``recording``: false where nothing is to be recorded (no committed probe is meant).  ``blocked``: the JSON text to
    hand back instead of running the action, or ``None``.  ``finished``: whether the observation was recorded.

    For a host (``host=True``) nothing of ours ever raises out of it: failures are logged and the action goes on.
    """

    recording = False
    blocked: str | None = None
    finished = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the action.  An exception of the action is recorded and goes on its way."""

    def observed(
        self,
        result: Any,
        *,
        boundary: Boundary | str = Boundary.LIBRARY_EXECUTION,
        provenance: Provenance | str = Provenance.NATIVE_HANDLER_RESULT,
        status: ResultStatus | str | None = None,
        args: Mapping[str, Any] | None = None,
        args_known: bool = True,
    ) -> dict[str, Any] | None:
        """Record what the action returned; the event's record, or ``None`` where nothing was recorded.

        ``result``: text, or any value (kept as JSON).  ``status``: how the execution ended (``ok``, ``tool_error``,
        ``error``, ``blocked``, ``interrupted``, ``unknown``); by default it is read off the result: ``tool_error`` for
        a JSON error envelope, else ``ok``.  ``provenance``: ``native_handler_result`` where the caller vouches that
        this is what the handler returned, else ``unknown``, which supports no conclusion.  Only the first call records.
        ``args``: the arguments that the action was seen to run with, where they are others than those that
        ``execution`` was given; ``args_known``: false where somebody in between may have changed them unseen.

        Raises ``HarnessError`` (not for a host); a word that is none leaves the observation still to be made.
        """
        return None

    def meant(self, args: Mapping[str, Any]) -> bool:
        """Whether these are the committed arguments, as far as can be told."""
        return False

    def exposed(self, display: Any) -> dict[str, Any] | None:
        """Record the representation that was handed on, where it differs from the observed one; else ``None``."""
        return None


W = TypeVar("W", bound=StrEnum)


def _word(kind: type[W], name: str, value: str) -> W:
    """A word of a vocabulary, given as such or as its text."""
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(member.value for member in kind)
        raise refused("invalid_arguments", Fault(name, f"{value!r} is not allowed", f"one of {allowed}")) from None


DORMANT = Execution()
"""The execution of every ordinary call."""


class Blocked(Execution):
    """The call would run a committed action a second time, or on a damaged case: it does not run."""

    def __init__(self, why: str) -> None:
        self.blocked = json.dumps({"error": f"{GATEWAY}: {why}", "code": "gateway_blocked"}, ensure_ascii=False)


class Recording(Execution):
    """A started execution.  Safe to report to from several threads."""

    recording = True

    def __init__(
        self,
        executions: Executions,
        *,
        case_id: str,
        probe_id: str,
        session_id: str,
        commitment: Commitment,
        lease: Hold,
        secrets: frozenset[str],
        wait: float | None,
        host: bool,
    ) -> None:
        self._executions = executions
        self._case_id = case_id
        self._probe_id = probe_id
        self._session_id = session_id
        self._commitment = commitment
        self._lease = lease
        self._secrets = secrets
        self._wait = wait
        self._quiet = host
        self._guard = threading.Lock()
        self._seen: Observe | None = None  # what was observed first, recorded or not
        self._observation: dict[str, Any] | None = None
        self._ended = False

    def observed(
        self,
        result: Any,
        *,
        boundary: Boundary | str = Boundary.LIBRARY_EXECUTION,
        provenance: Provenance | str = Provenance.NATIVE_HANDLER_RESULT,
        status: ResultStatus | str | None = None,
        args: Mapping[str, Any] | None = None,
        args_known: bool = True,
    ) -> dict[str, Any] | None:
        with self._guard:
            if self._ended or self._seen is not None:
                return None
            return self._attempt(
                lambda: self._observe(
                    result,
                    _word(Boundary, "boundary", boundary),
                    _word(Provenance, "provenance", provenance),
                    None if status is None else _word(ResultStatus, "status", status),
                    args,
                    args_known,
                )
            )

    def _observe(
        self,
        result: Any,
        boundary: Boundary,
        provenance: Provenance,
        status: ResultStatus | None,
        args: Mapping[str, Any] | None = None,
        args_known: bool = True,
    ) -> dict[str, Any] | None:
        reads = observations.reads_as(result)
        known = status or reads
        unknown = known is ResultStatus.UNKNOWN
        if args is not None:
            self._secrets |= observations.secrets_of(args)
        text = observations.text_of(result, self._secrets)
        self._seen = Observe(
            probe_id=self._probe_id,
            result=self._executions.keep(self._case_id, text),
            status=known,
            display_status=known if unknown or known is not ResultStatus.OK else reads,
            provenance=provenance,
            boundary=boundary,
            actual=None if args is None else self._executions.commitment(args),
            args_known=args_known,
        )
        return self._record(self._seen)

    def _record(self, seen: Observe) -> dict[str, Any] | None:
        try:
            self._observation = self._executions.report(self._case_id, seen, self._session_id, self._wait)
        except Refused as refusal:
            # Somebody else has reported for this execution meanwhile: a forked child, or who recovered it.
            log.warning("observation_came_late", case=self._case_id, probe=self._probe_id, error=str(refusal))
        self.finished = True
        return self._observation

    def meant(self, args: Mapping[str, Any]) -> bool:
        return self._commitment.matches(self._executions.commitment(args)) is True

    def exposed(self, display: Any) -> dict[str, Any] | None:
        with self._guard:
            if self._ended or self._observation is None:
                return None
            return self._attempt(lambda: self._expose(display, self._observation or {}))

    def _expose(self, display: Any, observation: dict[str, Any]) -> dict[str, Any] | None:
        text = observations.text_of(display, self._secrets)
        if observations.digest_of(text) == observation["payload"]["result_sha256"]:
            return None
        shown = Expose(
            probe_id=self._probe_id,
            observation_event_id=observation["event_id"],
            result=self._executions.keep(self._case_id, text),
            display_status=observations.reads_as(display),
            boundary=Boundary.MIDDLEWARE_RETURN,
        )
        # The next display supersedes this one.
        self._observation = self._executions.report(self._case_id, shown, self._session_id, self._wait)
        return self._observation

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._guard:
            # What the action raised goes on its way; a failure of ours must not take its place.
            self._quiet = self._quiet or error is not None
            try:
                self._attempt(lambda: self._last_words(error))
            finally:
                self._ended = True
                self._lease.release()

    def _last_words(self, error: BaseException | None) -> dict[str, Any] | None:
        if self.finished:
            return None
        if self._seen is not None:  # observed, and the lock was not had then
            return self._record(self._seen)
        if error is not None:
            text = observations.error_text(error)
            interrupted = not isinstance(error, Exception)
            status = ResultStatus.INTERRUPTED if interrupted else ResultStatus.ERROR
            return self._observe(text, Boundary.LIBRARY_EXECUTION, Provenance.NATIVE_HANDLER_RESULT, status)
        return self._observe(NOT_REPORTED, Boundary.LIBRARY_EXECUTION, Provenance.UNKNOWN, ResultStatus.UNKNOWN)

    def _attempt(self, record: Any) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] | None = record()
            return found
        except HarnessError as error:
            if not self._quiet:
                raise
            log.warning("observation_not_recorded", case=self._case_id, probe=self._probe_id, error=str(error))
            return None
        except Exception:  # a host is never harmed by a fault of ours
            if not self._quiet:
                raise
            log.exception("observation_failed", case=self._case_id, probe=self._probe_id)
            return None
