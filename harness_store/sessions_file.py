"""``sessions.json`` and the intent that protects it: which session is bound to what, at the root of the store.

The content of ``sessions.json`` means nothing here (see ``bindings_text``).  Before a binding changes, an *intent* is
written into ``.store.lock`` (in place: that file is never replaced, since it is the lock): which case, which sessions,
from which head, and the hash of ``sessions.json`` before and after.  Whoever comes next compares: after, the change is
through; before, it is settled from the case; neither, ``sessions.json`` counts as lost and is made again from the
Timelines.  All writing here is done under the store's lock; all reading may be done without.
"""

from __future__ import annotations

import hashlib
from enum import Enum
from pathlib import Path

import cattrs
from attrs import frozen

from harness_core.errors import Damaged, Written

from .bindings_text import Content
from .disk import Disk, Staged, Stamp, Stat, opened, read_file, reporting, stage, unavailable
from .locks import FileLock
from .records import ZERO_HASH, Reason, frame, unframe

SESSIONS = "sessions.json"
STORE_LOCK = ".store.lock"

MISSING_SHA256 = hashlib.sha256(b"").hexdigest()
"""Stands for a ``sessions.json`` that is not there."""

_converter = cattrs.Converter()
_LARGEST_SLOT = 1 << 20

Signature = tuple[Stamp | None, ...]
"""The ``stat``s of ``sessions.json`` and ``.store.lock``; equal ones mean that no binding changed in between."""


@frozen
class Intent:
    """A change of bindings about to be made: ``case_id`` and the ``sessions`` concerned, the case's head before it
    (``base_count`` records, the last with ``base_hash``), SHA-256 of ``sessions.json`` before and after.

    ``case_id`` is ``None`` in an intent that only says that ``sessions.json`` is as it should be.
    """

    case_id: str | None
    sessions: tuple[str, ...]
    base_count: int
    base_hash: str
    before_sha256: str
    after_sha256: str

    @classmethod
    def settled(cls, sha256: str) -> Intent:
        """What to write once ``sessions.json`` was made again from the Timelines and has this SHA-256."""
        return cls(None, (), 0, ZERO_HASH, sha256, sha256)


class SlotState(Enum):
    """What the intent slot and ``sessions.json`` say together."""

    EMPTY = "no intent was ever written: a new store, or one of release 1.2.0"
    SETTLED = "sessions.json is what the last intent was to make it"
    BEFORE = "sessions.json is as it was before the last intent"
    NEITHER = "sessions.json is neither what it was before the last intent nor what that was to make it"
    BROKEN = "the slot cannot be read: the last intent was cut short, and nothing had followed it"


@frozen
class Loaded:
    """The bindings and the intent slot as found."""

    content: Content
    state: SlotState
    intent: Intent | None
    signature: Signature

    @property
    def sha256(self) -> str:
        """Of the content."""
        return self.content.sha256

    @property
    def settled(self) -> bool:
        """Whether nothing needs the store's lock: the slot says so, or there is no store yet."""
        missing = self.sha256 == MISSING_SHA256
        return missing if self.state is SlotState.EMPTY else self.state is SlotState.SETTLED


class SessionsFile:
    """The bindings at ``root``.  Safe to share among threads."""

    def __init__(self, disk: Disk, root: Path) -> None:
        self._disk = disk
        self._path = root / SESSIONS
        self._slot = root / STORE_LOCK
        self._names = str(self._path), str(self._slot)
        self._loaded: Loaded | None = None
        self._durable: Stat | None = None  # sessions.json as this process last wrote or synced it
        self.lock = FileLock(disk, self._slot, "the store's bindings")
        """The store's lock."""

    def signature(self) -> Signature:
        """Two ``stat``s.  Whoever keeps what he made of ``load()`` may keep it while this stays the same."""
        try:
            return self._disk.stamps(*self._names)
        except OSError as error:
            raise unavailable(error, "looking at the bindings") from error

    def load(self) -> Loaded:
        """The bindings and the state of the slot; read again only when the signature has changed.

        Without the store's lock a writer may be seen half-way: then ``settled`` is false, and under the lock it tells
        the truth.  Raises ``Unavailable`` when the disk fails.
        """
        with reporting("reading the bindings"):
            return self._load()

    def stage(self, content: Content) -> Staged:
        """Write ``content`` aside, for ``write``.  Under the store's lock.  Raises ``Unavailable(written="no")``."""
        with reporting("writing the bindings aside"):
            return stage(self._disk, self._path, content.data)

    def write(self, content: Content, staged: Staged | None = None, *, written: Written = "unknown") -> Loaded:
        """Make this, which may have been staged, the content of ``sessions.json``, durably.  Under the store's lock.

        Raises ``Unavailable`` with the ``written`` that is given: ``yes`` where the transition behind this change is
        committed already.  After a failure ``load`` says which content stands.
        """
        with reporting("writing the bindings", written):
            before = self._load()
            with staged or stage(self._disk, self._path, content.data) as aside:
                aside.publish()
            self._durable = self._disk.stat(self._path)
            return self._keep(before.intent or before.state, content, self._signature())

    def write_intent(self, intent: Intent) -> Loaded:
        """Put ``intent`` into the slot, durably.  Under the store's lock.

        What the slot protected so far is made durable first, unless this process wrote it: the rename of a process
        that died may exist in memory only.  With it all names in the root are, the folder of the cases among them: who
        opens a case builds on that.  Raises ``Unavailable(written="no")``.
        """
        line, _ = frame(_converter.unstructure(intent))
        with reporting("writing an intent to change bindings"):
            before = self._load()
            self._make_durable()
            with opened(self._disk, self._slot, create=True) as fd:
                self._disk.write(fd, line, 0)
                self._disk.sync(fd)
            return self._keep(intent, before.content, self._signature())

    def _signature(self) -> Signature:
        return self._disk.stamps(*self._names)

    def _load(self) -> Loaded:
        signature, loaded = self._signature(), self._loaded
        if loaded is None or loaded.signature != signature:
            loaded = self._keep(self._read_slot(), Content.of(self._read_sessions()), signature)
        return loaded

    def _keep(self, slot: Intent | SlotState, content: Content, signature: Signature) -> Loaded:
        """Remember what was read, or written under the store's lock: neither is read again while it looks the same."""
        if isinstance(slot, Intent):
            found = Loaded(content, _compare(slot, content.sha256), slot, signature)
        else:
            found = Loaded(content, slot, None, signature)
        self._loaded = found
        return found

    def _make_durable(self) -> None:
        found = self._disk.stat(self._path)
        if found is not None and found == self._durable:
            return
        if found is not None and found.kind == "file":
            with opened(self._disk, self._path, write=True) as fd:
                self._disk.sync(fd)
        self._disk.sync_folder(self._path.parent)
        self._durable = found

    def _read_slot(self) -> Intent | SlotState:
        """The intent, or why there is none.  What follows the first line is left from a longer intent before."""
        try:
            with opened(self._disk, self._slot) as fd:
                data = self._disk.read(fd, _LARGEST_SLOT, 0)
        except FileNotFoundError:
            return SlotState.EMPTY
        if not data:
            return SlotState.EMPTY
        found = unframe(data.partition(b"\n")[0])
        if isinstance(found, Reason):
            return SlotState.BROKEN
        try:
            return _converter.structure(found[0], Intent)
        except (cattrs.BaseValidationError, TypeError, ValueError):
            return SlotState.BROKEN

    def _read_sessions(self) -> bytes:
        try:
            found = read_file(self._disk, self._path)
        except IsADirectoryError as error:
            raise Damaged(f"{SESSIONS} is not a regular file", code="not_a_file", where=SESSIONS) from error
        return found[0] if found else b""


def _compare(intent: Intent, sha256: str) -> SlotState:
    if sha256 == intent.after_sha256:
        return SlotState.SETTLED
    return SlotState.BEFORE if sha256 == intent.before_sha256 else SlotState.NEITHER
