"""Where this package logs: structlog on top of the standard ``logging``, silent until the embedding program listens.

An embedder gives the logger ``harness_store`` a handler of its own, or a level; structlog's global configuration is
neither used nor changed.
"""

from __future__ import annotations

import logging

import structlog

logging.getLogger("harness_store").addHandler(logging.NullHandler())

log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
    logging.getLogger("harness_store"),
    processors=[
        structlog.stdlib.filter_by_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["event"], sort_keys=True),
    ],
    wrapper_class=structlog.stdlib.BoundLogger,
)
