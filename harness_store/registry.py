"""Which session has which case, and every transition that changes it.

A dormant session costs two ``stat``s and a dictionary lookup: the bindings are kept as long as ``sessions.json`` and
the intent slot look the same.  What a dead process left half-way is settled by the next one that needs the store's
lock, from the Timelines, which alone decide.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import frozen
from cattrs import BaseValidationError

from harness_core import bindings as rules
from harness_core.bindings import Binding, Bindings, from_mapping, legacy_numbers, of, rebuilt
from harness_core.case import Case
from harness_core.errors import Damaged, Unavailable, Written
from harness_core.persistent import HashTrieMap, Map

from .aside import Aside
from .bindings_text import Content, respelled, spelled
from .disk import Staged
from .heads import Head
from .logs import log
from .sessions_file import MISSING_SHA256, Intent, Loaded, SessionsFile, Signature, SlotState

CaseNow = Callable[[str], Case | None]
"""A case as it now is, by its id: ``None`` where it is not there, ``Damaged`` where it cannot be believed."""
Portfolio = Callable[[], Iterable[Case]]
"""Every case that can be read, the readable part of damaged ones included."""
Kept = Map[str, Binding]
"""The bindings as a process keeps them: the next ones share what did not change."""
_STANDING = frozenset({SlotState.SETTLED, SlotState.BEFORE, SlotState.BROKEN})
_READ_ANYHOW = frozenset({"not_permitted", "disk_full", "io_error"})


@frozen
class Held:
    """The store's lock, with the bindings as they are."""

    bindings: Kept
    _registry: Registry
    _loaded: Loaded

    @property
    def signature(self) -> Signature:
        """How the bindings look that these are."""
        return self._loaded.signature

    @contextlib.contextmanager
    def intend(
        self, moved: Mapping[str, Binding], case_id: str, sessions: tuple[str, ...], base: Head
    ) -> Iterator[Change]:
        """Say durably which sessions are about to have what; in the block the case's log is written and the change
        made.  ``base``: the case's head so far.
        """
        after = self.bindings.update(moved)
        said = self._loaded.state is SlotState.SETTLED  # else the Timelines say it, and the file may say less
        content = respelled(self._loaded.content, self.bindings, moved) if said else spelled(after)
        intent = Intent(
            case_id=case_id,
            sessions=sessions,
            base_count=base.count,
            base_hash=base.hash,
            before_sha256=self._loaded.sha256,
            after_sha256=content.sha256,
        )
        with self._registry.stage(content) as staged:  # the sync of the intent takes it along
            self._registry.write_intent(intent)
            yield Change(after, content, staged, self._registry)


@frozen
class Change:
    """A change of bindings that was announced."""

    _after: Kept
    _content: Content
    _staged: Staged
    _registry: Registry

    def make(self) -> Signature:
        """Make it durable, after the case's transition was acknowledged; how the bindings look now."""
        return self._registry.write(self._after, self._content, self._staged, written="yes").signature


class Registry:
    """The bindings of a store.  Safe to share among threads."""

    def __init__(self, sessions: SessionsFile, case_now: CaseNow, portfolio: Portfolio, aside: Aside) -> None:
        self._sessions = sessions
        self._case_now = case_now
        self._portfolio = portfolio
        self._aside = aside
        self._cached: tuple[Signature, Kept] | None = None

    def binding(self, session_id: str, wait: float | None) -> Binding:
        """What the session has.  Takes the store's lock, within ``wait`` seconds, only to settle what was left
        half-way.  Raises ``Unavailable``."""
        return of(self.bindings(wait), session_id)

    def bindings(self, wait: float | None) -> Bindings:
        """All bindings."""
        cached = self._cached
        if cached is not None and cached[0] == self._sessions.signature():
            return cached[1]
        loaded = self._sessions.load()
        found = self._found(loaded)
        if found is None:
            try:
                return self._settled(wait)
            except Unavailable as error:
                if error.code not in _READ_ANYHOW:
                    raise
                # A store that cannot be written to is still read; what a dead process left stays to be settled.
                found = self._rebuilt(loaded)
                if error.code != "not_permitted":  # a sick disk may get well, and then there is something to settle
                    return found
        self._cached = (loaded.signature, found)
        return found

    def _settled(self, wait: float | None) -> Kept:
        """What is to be settled first, and while a live holder of the store's lock is at it, what stands until then."""
        for patience in (0.0, wait):
            try:
                with self.hold(patience) as held:
                    return held.bindings
            except Unavailable as error:
                standing = self._standing() if error.code == "locked" else None
                if standing is not None:
                    return standing
                if error.code != "locked" or patience == wait:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _standing(self) -> Kept | None:
        """The bindings while a live holder of the store's lock changes them: until it is through, they are what they
        were.  ``None`` where the file tells neither.  What a case itself says is asked before anything is done on it.
        """
        loaded = self._sessions.load()
        if loaded.state not in _STANDING:
            return None
        found = _parsed(loaded)
        return self._rebuilt(loaded) if found is None else found  # None before the very first change

    @contextlib.contextmanager
    def hold(self, wait: float | None) -> Iterator[Held]:
        """Hold the store's lock over a change of bindings; what was left half-way is settled first.

        Raises ``Unavailable(code="locked")`` when ``wait`` seconds were not enough.
        """
        with self._sessions.lock.acquire(wait):
            loaded, cached = self._sessions.load(), self._cached
            known = cached is not None and cached[0] == loaded.signature
            bindings = cached[1] if cached is not None and known else self._found(loaded)
            if bindings is None:
                bindings = self._settle(loaded)
                loaded = self._sessions.load()
            yield Held(bindings, self, loaded)

    def write_intent(self, intent: Intent) -> None:
        """Under the store's lock: see ``Held.intend``."""
        self._sessions.write_intent(intent)

    def stage(self, content: Content) -> Staged:
        """Under the store's lock: write what ``sessions.json`` is to hold aside."""
        return self._sessions.stage(content)

    def write(self, after: Kept, content: Content, staged: Staged | None = None, *, written: Written) -> Loaded:
        """Under the store's lock: make ``content``, which says ``after``, what ``sessions.json`` holds."""
        loaded = self._sessions.write(content, staged, written=written)
        if loaded.settled:
            self._cached = loaded.signature, after
        return loaded

    def _found(self, loaded: Loaded) -> Kept | None:
        """The bindings, where nothing has to be settled first.

        In a store where none was ever changed by this release, sessions.json holds numbers at most: the Timelines say
        the rest, and nothing is written until there is a transition to write.
        """
        if loaded.state is SlotState.EMPTY and not _parsed(loaded):
            return self._rebuilt(loaded)
        return _parsed(loaded) if loaded.settled else None

    def _rebuilt(self, loaded: Loaded) -> Kept:
        """What the Timelines amount to; numbers that only ``sessions.json`` or a case moved aside knows do not fall."""
        least = dict(legacy_numbers(loaded.content.mapping))
        for session_id, binding in (_parsed(loaded) or {}).items():
            least[session_id] = max(binding.seq, least.get(session_id, 0))
        for session_id, seq in self._aside.high_waters().items():
            least[session_id] = max(seq, least.get(session_id, 0))
        return HashTrieMap(rebuilt(self._portfolio(), least))

    def differs(self) -> bool:
        """Whether the bindings are not what the Timelines amount to, settled or not.  Changes nothing."""
        loaded = self._sessions.load()
        if not loaded.settled and loaded.state is not SlotState.EMPTY:
            return True
        have, want = self._found(loaded) or HashTrieMap(), self._rebuilt(loaded)
        return any(of(have, session_id) != of(want, session_id) for session_id in {*have, *want})

    def rebuild(self, wait: float | None) -> None:
        """Make ``sessions.json`` anew from the Timelines, whatever it says.  For repair only."""
        with self._sessions.lock.acquire(wait):
            self._write_settled(self._rebuilt(self._sessions.load()))

    def _write_settled(self, after: Kept) -> None:
        self._aside.make_durable()
        content = spelled(after)
        self.write(after, content, written="no")
        self._sessions.write_intent(Intent.settled(content.sha256))

    def _settle(self, loaded: Loaded) -> Kept:
        """Bring ``sessions.json`` up to the Timelines, durably, before the intent slot is overwritten."""
        before = _parsed(loaded)
        if before is None or loaded.state not in (SlotState.BROKEN, SlotState.BEFORE):
            log.warning("bindings_rebuilt", state=loaded.state.name)
            before = self._rebuilt(loaded)
        # Its transition may be written and not acknowledged.  After an intent that was cut short nothing had followed.
        after = before if loaded.intent is None else self._after(before, loaded.intent)
        self._write_settled(after)
        return after

    def _after(self, before: Kept, intent: Intent) -> Kept:
        if intent.case_id is None:
            return before
        try:
            case = self._case_now(intent.case_id)
        except Damaged as error:
            # Its sessions stay bound to it, so that they meet the damage instead of an empty desk.
            log.warning("damaged_case_keeps_its_sessions", case=intent.case_id, error=str(error))
            return before.update({s: _bound(of(before, s), intent.case_id) for s in intent.sessions})
        return before.update(rules.released(before, intent.case_id) if case is None else rules.moved(before, case))


def _bound(binding: Binding, case_id: str) -> Binding:
    return binding if binding.active is not None else Binding(seq=binding.seq, active=case_id)


def _parsed(loaded: Loaded) -> Kept | None:
    mapping = loaded.content.mapping
    if mapping is None:
        nothing = loaded.settled and loaded.sha256 == MISSING_SHA256
        return HashTrieMap() if nothing or loaded.state is SlotState.BROKEN else None
    try:
        found = from_mapping(mapping)
    except (BaseValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        log.warning("bindings_unreadable", error=type(error).__name__)
        return None
    return None if found is None else HashTrieMap(found)
