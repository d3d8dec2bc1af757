"""Logging for the plugin: structlog's calls, the host's own handlers."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import structlog

P = ParamSpec("P")
T = TypeVar("T")

logging.getLogger("harness_hermes").addHandler(logging.NullHandler())

_logfmt = structlog.processors.LogfmtRenderer(key_order=["event"], drop_missing=True)


def _line(logger: Any, method: str, event: structlog.typing.EventDict) -> tuple[tuple[str], dict[str, Any]]:
    """One line of key=value pairs; a trace goes to the handlers as logging's own ``exc_info``."""
    trace = event.pop("exc_info", None)
    return (str(_logfmt(logger, method, event)),), {"exc_info": trace}


log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
    logging.getLogger("harness_hermes"),
    processors=[structlog.stdlib.filter_by_level, _line],
    wrapper_class=structlog.stdlib.BoundLogger,
)

_reported: set[tuple[str, str, str]] = set()


def report(what: str, error: Exception) -> None:
    """Log a failure of our own: the first of its kind with its trace, every repetition at debug level."""
    kind = (what, type(error).__name__, str(error)[:200])
    if kind in _reported:
        log.debug("failed again", what=what, error=str(error))
        return
    if len(_reported) >= 1000:
        _reported.clear()
    _reported.add(kind)
    log.warning("failed, the turn goes on", what=what, error=f"{type(error).__name__}: {error}", exc_info=error)


def harmless(function: Callable[P, T]) -> Callable[P, T | None]:
    """Make a failure of ours cost the host nothing: it is logged and answered with None.

    Only for bookkeeping.  Nothing that runs the host's own work may stand inside such a function.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - an own failure of any kind must not reach the host's turn
            report(function.__qualname__, error)
            return None

    return call
