"""How many characters an active case may add to a turn: our setting, below the host's own limit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from harness_core.injection import effective_ceiling


def ceiling(configured: Any) -> int:
    """The largest injection in characters: ``configured`` (default 9000), tightened under the host's present limit."""
    return effective_ceiling(configured, _spill())


def _spill() -> Mapping[str, Any] | None:
    """The host's ``hooks.output_spill`` settings as they are now; ``None`` where there is no Hermes."""
    resolver = getattr(sys.modules.get("tools.hook_output_spill"), "get_spill_config", None)
    if resolver is not None:  # the host has loaded its own resolver: its answer is the one that will be applied
        section = resolver()
    elif "hermes_cli" in sys.modules:
        from hermes_cli.config import cfg_get, load_config_readonly

        section = cfg_get(load_config_readonly(), "hooks", "output_spill")
    else:
        return None
    return section if isinstance(section, Mapping) else {}
