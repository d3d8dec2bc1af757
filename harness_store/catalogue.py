"""What every case of a store looks like from outside: its entry in a list, and the words of the lesson it taught.

A card is made once for each state of a case's files and kept while they look the same, which two ``stat``s tell; the
first time in a process it is read off the receipt of the case's last writer.  A list looks at all cases.  Who opens a
case does not: no lesson comes or goes without a change of bindings, and what this process changed itself it knows.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from harness_core.case import SUMMARY
from harness_core.errors import HarnessError
from harness_core.retrieval import LEAST_SHARED, family, tokens
from harness_core.structuring import is_case_id

from .case_files import LOG, PROJECTION
from .codec import Audited
from .disk import Disk, Stamp, reporting
from .journal import Journal
from .layout import Layout
from .receipts import RECEIPT, read_receipt
from .sessions_file import Signature


@frozen
class Card:
    """``summary``: the entry in a list.  ``taught``: the words of the lesson it recorded, none without one."""

    summary: Mapping[str, Any]
    taught: frozenset[str]


@frozen
class Entry:
    """What is known of one case: the names of its log and its ``case.md``, their look then, and the card (``None``: no
    case yet).

    ``lasting``: it holds while the look does.  What is damaged, or as release 1.2.0 left it, is looked at every time.
    """

    names: tuple[str, str]
    look: tuple[Stamp | None, ...]
    card: Card | None
    error: str = ""
    lasting: bool = True


_NOBODY: frozenset[str] = frozenset()


class Catalogue:
    """The cards of the cases under ``layout``, of which ``journal`` gives each.  Safe to share among threads."""

    def __init__(self, disk: Disk, layout: Layout, journal: Callable[[str], Journal[Audited]]) -> None:
        self._disk = disk
        self._layout = layout
        self._journal = journal
        self._folder = str(layout.cases)
        self._entries: dict[str, Entry] = {}
        self._taught: dict[str, frozenset[str]] = {}
        self._by_family: dict[str, set[str]] = {}
        self._guard = threading.Lock()  # over what is learnt of one case, which a list does without the store's lock
        self._complete: tuple[Signature, Signature] | None = None  # the store when all of it was last looked at
        self._passing: set[str] = set()  # the cases whose entry is not lasting

    def look(self) -> Mapping[str, Entry]:
        """Every case there is, in the order of the ids, as it is now.

        Raises ``Unavailable`` where they cannot be listed."""
        with reporting("listing the cases"):
            there = self._disk.stat(self._layout.cases) is not None
            names = self._disk.listdir(self._layout.cases) if there else ()
            for gone in set(self._entries).difference(names):
                self._current(gone)
            now: dict[str, Entry] = {}
            stamps = self._disk.stamps
            for name in names:  # one by one: ten thousand looks alive at once would wake the garbage collector
                entry = self._entries.get(name)
                holds = entry is not None and entry.lasting and entry.look == stamps(*entry.names)
                if not holds and (entry is not None or is_case_id(name)):
                    entry = self._current(name)
                if entry is not None:
                    now[name] = entry
        return now

    def near(self, words: frozenset[str], now: Signature) -> Mapping[str, frozenset[str]]:
        """The cases that taught something with as many word families in common as relevance needs, and its words.

        ``now``: the bindings as they are, under the store's lock.  Raises ``Unavailable``.
        """
        store = now, self._disk.stamps(self._folder)
        with reporting("looking at the cases"):
            for case_id in tuple(self._passing) if self._complete == store else ():
                self._current(case_id)
        if self._complete != store:
            self.look()
            self._complete = store
        with self._guard:
            having = [self._by_family.get(stem, _NOBODY) for stem in {family(word) for word in words}]
            met = [set[str]() for _ in range(LEAST_SHARED)]  # who shares one family so far, who two, and so on
            for cases in sorted(having, key=len):  # the widest come last, when few are left to be met again
                for more in range(LEAST_SHARED - 1, 0, -1):
                    met[more] |= met[more - 1] & cases
                met[0] |= cases
            return {case_id: self._taught[case_id] for case_id in met[-1]}

    def follow(self, case_id: str, before: Signature, after: Signature, *, opened: bool) -> None:
        """This process has changed a case under the store's lock, and with it the bindings from ``before`` to
        ``after``.  ``opened``: it has made the case, which has taught nothing yet and is not looked at."""
        known = self._complete
        if known is not None and known[0] == before and (opened or self._current(case_id) is not None):
            self._complete = after, self._disk.stamps(self._folder) if opened else known[1]

    def _current(self, case_id: str) -> Entry | None:
        while True:
            known = self._entries.get(case_id)
            if known is not None and known.lasting and known.look == self._disk.stamps(*known.names):
                return known
            found = self._read(case_id)
            with self._guard:
                if self._entries.get(case_id) is known:  # else somebody else has looked meanwhile, and maybe later
                    self._keep(case_id, found)
                    return found

    def _keep(self, case_id: str, found: Entry | None) -> None:
        if found is None:
            self._entries.pop(case_id, None)
        else:
            self._entries[case_id] = found
        (self._passing.discard if found is None or found.lasting else self._passing.add)(case_id)
        words = found.card.taught if found and found.card else frozenset()
        if words != self._taught.get(case_id, frozenset()):
            self._learn(case_id, words)

    def _read(self, case_id: str) -> Entry | None:
        folder = f"{self._folder}/{case_id}"
        names = f"{folder}/{LOG}", f"{folder}/{PROJECTION}"
        look = self._disk.stamps(*names)  # before the case is read, so that a change meanwhile counts
        receipt = read_receipt(self._disk, Path(f"{folder}/{RECEIPT}"))
        if receipt is not None and look == (receipt.log.stamp, receipt.projection.stamp):
            with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError):  # no card after all
                return Entry(names, look, _card(receipt.card))
        found = self._disk.stat(Path(folder))
        if found is None or found.kind != "folder":
            return None
        try:
            said, lasting = self._journal(case_id).card()
        except HarnessError as error:
            return Entry(names, look, None, str(error), lasting=False)
        return Entry(names, look, None if said is None else _card(said), lasting=lasting and said is not None)

    def _learn(self, case_id: str, words: frozenset[str]) -> None:
        before = self._taught.pop(case_id, frozenset())
        for stem in {family(word) for word in before}:
            self._by_family[stem].discard(case_id)
        for stem in {family(word) for word in words}:
            self._by_family.setdefault(stem, set()).add(case_id)
        if words:
            self._taught[case_id] = words


def _card(said: Mapping[str, Any]) -> Card:
    entry = said["summary"]
    texts = all(type(entry[name]) is str for name in ("case_id", "status", "updated_at"))
    if set(entry) != SUMMARY or not texts or {*map(type, entry["session_ids"])} != {str}:
        raise ValueError("no summary")
    return Card(entry, tokens(said["taught"]) if said["taught"] else frozenset())  # most taught nothing
