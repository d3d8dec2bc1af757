"""Compressions that release 1.2.0 had prepared and not carried through when it was left.

It wrote down which case was to follow from a session to its compression child (``compression-boundaries/``).  The child
gets the case when it is first heard of, as a migration like any other; then the intent is taken away.  This release
prepares none, so a store without any costs one look at the folder per process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness_core import bindings as rules
from harness_core.commands import Migrate
from harness_core.errors import HarnessError, Refused

from .disk import Disk, read_file, reporting
from .layout import Layout
from .legacy import Boundary, read_boundary
from .locks import Lease
from .logs import log
from .registry import Registry
from .transitions import Transitions

FOLDER = "compression-boundaries"


class Boundaries:
    """The prepared intents of one store.  Safe to share among threads."""

    def __init__(self, disk: Disk, layout: Layout, registry: Registry, transitions: Transitions) -> None:
        self._disk = disk
        self._layout = layout
        self._registry = registry
        self._transitions = transitions
        self._prepared: Mapping[str, Boundary] | None = None

    def arrive(self, session_id: str, wait: float) -> str | None:
        """Carry through what was prepared for a session; the id of the case that moved to it, or ``None``.

        Raises ``Refused(code="still_running")`` while a probe of the case is being executed, ``Damaged`` and
        ``Unavailable``; the intent stays.
        """
        intent = self._load().get(session_id)
        if intent is None or self._registry.binding(session_id, wait).active is not None:
            return None  # most sessions; or one with a case of its own, into which nothing moves
        with self._registry.hold(wait) as held:
            if rules.of(held.bindings, intent.old_session_id).active != intent.case_id:
                self._remove(intent)  # it was paused, closed or moved meanwhile
                return None
            if rules.of(held.bindings, session_id).active is not None:
                return None
            if Lease(self._disk, self._layout.lease(intent.case_id), "the execution").is_held():
                text = f"the probe of case {intent.case_id} is already executing; it follows to this session afterwards"
                raise Refused(text, code="still_running")
            move = Migrate(
                new_session_id=session_id,
                reason="compression prepared by release 1.2.0",
                pristine=rules.of(held.bindings, session_id).seq == 0,
            )
            self._transitions.bind_held(held, intent.case_id, move, session_id, claims=True, wait=wait)
            self._remove(intent)
        return intent.case_id

    def try_arrive(self, session_id: str, wait: float) -> str | None:
        """As ``arrive``, where a session goes on also without: what is in the way is logged."""
        try:
            return self.arrive(session_id, wait)
        except HarnessError as error:
            log.warning("prepared_compression_waits", session=session_id, error=str(error))
            return None

    def _load(self) -> Mapping[str, Boundary]:
        if self._prepared is None:
            folder = self._layout.root / FOLDER
            with reporting("looking for prepared compressions"):
                names = self._disk.listdir(folder) if self._disk.stat(folder) is not None else ()
                read = [self._read(folder / name) for name in names if name.endswith(".json")]
            self._prepared = {intent.new_session_id: intent for intent in read if intent is not None}
        return self._prepared

    def _read(self, path: Path) -> Boundary | None:
        found = read_file(self._disk, path)
        intent = None if found is None else read_boundary(found[0])
        if intent is None or intent.name != path.name:
            log.warning("prepared_compression_unreadable", file=path.name)
            return None
        return intent

    def _remove(self, intent: Boundary) -> None:
        path = self._layout.root / FOLDER / intent.name
        with reporting("taking a prepared compression away", written="yes"):
            if self._disk.stat(path) is not None:
                self._disk.unlink(path)
                self._disk.sync_folder(path.parent)
        self._prepared = {key: other for key, other in self._load().items() if other != intent}
