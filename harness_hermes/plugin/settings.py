"""How many characters an active case may add to a turn: our setting, below the host's own limit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from attrs import frozen

DEFAULT_CHARS = 9_000
SPILL_CHARS = 10_000
"""What the host lets a hook inject where its operator has set nothing (host document, output spill)."""
SPILL_MARGIN = 1_000
"""How far below the host's limit we stay: above it the host replaces the text by a pointer to a file."""


@frozen
class Spill:
    """The host's limit for injected text: in force or not, and how many characters."""

    enabled: bool
    chars: int


def positive(value: Any, default: int) -> int:
    """``value`` as a whole number above zero, else ``default``; the host coerces its own settings the same way."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return default
    return number if number > 0 else default


def _spill_section() -> Mapping[str, Any]:
    """The host's ``hooks.output_spill`` settings as they are now; empty where there are none or no Hermes."""
    resolver = getattr(sys.modules.get("tools.hook_output_spill"), "get_spill_config", None)
    if resolver is not None:  # the host has loaded its own resolver: its answer is the one that will be applied
        section = resolver()
    elif "hermes_cli" in sys.modules:
        from hermes_cli.config import cfg_get, load_config_readonly

        section = cfg_get(load_config_readonly(), "hooks", "output_spill")
    else:
        return {}
    return section if isinstance(section, Mapping) else {}


def spill() -> Spill:
    """The host's present limit, with the host's own defaults where its operator set nothing."""
    section = _spill_section()
    enabled = section.get("enabled")
    chars = positive(section.get("max_chars"), SPILL_CHARS)
    return Spill(enabled=enabled is None or bool(enabled), chars=chars)


def ceiling(configured: Any) -> int:
    """The largest injection in characters: ``configured`` (default 9000), tightened under the host's limit."""
    own = positive(configured, DEFAULT_CHARS)
    limit = spill()
    return min(own, limit.chars - SPILL_MARGIN) if limit.enabled else own
