"""Which store a call belongs to: one under each Hermes profile's home."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from harness_store import Harness

FOLDER = "epistemic-harness"


def hermes_home() -> Path:
    """The home of the profile in force: what the host says, else ``HERMES_HOME``, else ``~/.hermes``."""
    if "hermes_cli" in sys.modules:  # a gateway serves several profiles from one process and knows which one this is
        from hermes_constants import get_hermes_home

        return Path(get_hermes_home())
    return Path(os.environ.get("HERMES_HOME", "").strip() or "~/.hermes").expanduser()


class Profiles:
    """The harness of the profile in force, built when it is first asked for and kept."""

    def __init__(self) -> None:
        self._harnesses: dict[str, Harness] = {}
        self._lock = threading.Lock()

    def harness(self) -> Harness:
        """The harness over ``<home>/epistemic-harness``.  Building one writes no file.

        Raises ``Damaged`` for a store that a newer release wrote, ``Unavailable`` where there are no POSIX locks.
        """
        home = hermes_home()
        found = self._harnesses.get(str(home))
        if found is None:
            with self._lock:
                found = self._harnesses.setdefault(str(home), Harness(home / FOLDER))
        return found
