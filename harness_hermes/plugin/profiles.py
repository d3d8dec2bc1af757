"""Which store a call belongs to: one under each Hermes profile's home."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
            from harness_store import Harness  # not before there is something to do: a host loads us at every start

            with self._lock:
                found = self._harnesses.setdefault(str(home), Harness(home / FOLDER))
        return found

    def existing(self) -> Harness | None:
        """The same where the profile has a store; ``None``, for the price of a ``stat``, where no case was ever opened.

        Raises as ``harness``.
        """
        home = hermes_home()
        found = self._harnesses.get(str(home))
        return found if found is not None else self.harness() if (home / FOLDER).exists() else None
