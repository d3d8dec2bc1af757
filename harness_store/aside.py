"""The cases that were moved aside: ``cases/<id>.quarantined-<N>``, a name that no case id can be.

They bind nobody; what they still say is how far their sessions had counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness_core.case import Case
from harness_core.errors import Damaged, Unavailable

from .codec import CaseCodec
from .disk import Disk, reporting
from .journal import Journal
from .layout import Layout
from .logs import log

_NAME = re.compile(r"([a-z0-9][a-z0-9-]*)\.quarantined-\d+")


class Aside:
    """What was moved aside in one store."""

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout

    def free_name(self, case_id: str) -> Path:
        """A folder that is not there yet, for this case.  Raises ``Unavailable``."""
        number = 1
        while True:
            target = self._layout.cases / f"{case_id}.quarantined-{number}"
            with reporting("looking for a name"):
                if self._disk.stat(target) is None:
                    return target
            number += 1

    def make_durable(self) -> None:
        """What was moved stays moved, before bindings are written that say so.  Raises ``Unavailable``."""
        with reporting("looking at the cases"):
            if self._disk.stat(self._layout.cases) is not None:
                self._disk.sync_folder(self._layout.cases)

    def high_waters(self) -> Mapping[str, int]:
        """Each session's highest number in these cases: it never falls, also where nothing else tells it."""
        numbers: dict[str, int] = {}
        for case in self._cases():
            for session_id, seq in case.high_waters.items():
                numbers[session_id] = max(seq, numbers.get(session_id, 0))
        return numbers

    def _cases(self) -> Iterator[Case]:
        with reporting("listing the cases"):
            names = self._disk.listdir(self._layout.cases) if self._disk.stat(self._layout.cases) is not None else ()
        for name in names:
            if (found := _NAME.fullmatch(name)) is None:
                continue
            try:
                state = Journal(self._disk, self._layout.cases / name, CaseCodec(found[1])).verify().snapshot.state
            except (Damaged, Unavailable) as error:
                log.warning("case_unreadable", case=name, error=str(error))
                continue
            if state is not None:
                yield state.case
