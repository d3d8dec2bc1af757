"""Moving a case aside: its folder is renamed within ``cases``, and the sessions that had it are free.

``cases/<id>`` becomes ``cases/<id>.quarantined-<N>``, which no case id can name.  Every byte of it stays as it was, so
it can be looked into, checked, exported, and put back by renaming it.  The rename is the tombstone: a case that is not
there binds nobody, so whoever settles an intent that a dead process left for it frees its sessions.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from harness_core.bindings import released
from harness_core.errors import Refused

from .aside import Aside
from .disk import Disk, reporting
from .heads import NO_HEAD
from .layout import Layout
from .locks import Lease
from .logs import log
from .portfolio import Portfolio
from .registry import Registry


@frozen
class Moved:
    """A case that was moved aside: the name of its folder in ``cases`` by now, and the sessions that are free."""

    case_id: str
    folder: str
    freed: tuple[str, ...]


class Quarantine:
    """Moves cases of one store aside.  ``name_format`` as in ``Transitions``.  Safe to share among threads."""

    def __init__(
        self,
        disk: Disk,
        layout: Layout,
        aside: Aside,
        cases: Portfolio,
        registry: Registry,
        name_format: Callable[[], None],
    ) -> None:
        self._disk = disk
        self._name_format = name_format
        self._aside = aside
        self._layout = layout
        self._cases = cases
        self._registry = registry

    def move(self, case_id: str, wait: float) -> Moved:
        """Move a case aside, whatever state it is in.

        Raises ``Refused``: ``no_case``, and ``still_running`` while an action of it is under way, whose observation
        would find no case any more.  Raises ``Unavailable``.
        """
        folder = self._layout.case(case_id)
        with self._registry.hold(wait) as held:
            self._cases.require(case_id)
            with self._cases.journal(case_id).lock(wait):
                if Lease(self._disk, self._layout.lease(case_id), "the execution").is_held():
                    raise Refused(f"an action of case {case_id} is running; wait for it", code="still_running")
                self._name_format()
                sessions = tuple(sorted(s for s, binding in held.bindings.items() if binding.active == case_id))
                target = self._aside.free_name(case_id)
                with held.intend(released(held.bindings, case_id), case_id, sessions, NO_HEAD) as change:
                    with reporting(f"moving case {case_id} aside", written="unknown"):
                        self._disk.replace(folder, target)
                        self._disk.sync_folder(self._layout.cases)
                    change.make()
        log.warning("quarantined", case=case_id, folder=target.name)
        return Moved(case_id, target.name, sessions)
