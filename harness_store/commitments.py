"""The keyed commitment to a tool's arguments: HMAC-SHA-256 under a key that only this store has.

A plain digest of arguments that were redacted on disk could be guessed offline; a keyed one cannot.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from harness_core.probes import Commitment
from harness_core.wire import canonical_json

from .disk import Disk, Stamp, read_file, reporting, write_durably
from .locks import FileLock

KEY_FILE = ".commitment.key"
KEY_BYTES = 32


UNTOLD = Commitment(sha256="0" * 64, scheme="none")
"""Stands for arguments that have no canonical form: whether they match is unknown."""


class CommitmentKey:
    """The store's key, read when it is first needed and made, durably, where it is missing."""

    def __init__(self, disk: Disk, root: Path) -> None:
        self._disk = disk
        self._path = root / KEY_FILE
        self._known: tuple[Stamp, bytes, str] | None = None  # how the file looked, the key in it, and the key's id
        self._lock = FileLock(disk, root / ".commitment.lock", "the commitment key")

    def commit(self, args: Any) -> Commitment:
        """The commitment to exactly these arguments (a JSON object).

        Arguments that are no JSON have a commitment that nothing can be told by.  Raises ``Unavailable`` when the disk
        fails.
        """
        try:
            exact = canonical_json(args).encode("utf-8", "surrogatepass")
        except (TypeError, ValueError, RecursionError):
            return UNTOLD
        key, key_id = self._key()
        keyed = HMAC(key, SHA256())
        keyed.update(exact)
        return Commitment(sha256=keyed.finalize().hex(), key_id=key_id)

    def _key(self) -> tuple[bytes, str]:
        with reporting("looking at the commitment key"):
            (stamp,) = self._disk.stamps(str(self._path))
        known = self._known
        if known is None or known[0] != stamp:
            key, stamp = self._read() or self._make()
            self._known = known = stamp, key, hashlib.sha256(key).hexdigest()[:16]
        return known[1:]

    def _read(self) -> tuple[bytes, Stamp] | None:
        with reporting("reading the commitment key"):
            found = read_file(self._disk, self._path)
        return (found[0], found[1].stamp) if found and len(found[0]) == KEY_BYTES else None

    def _make(self) -> tuple[bytes, Stamp]:
        with self._lock.acquire(5.0):
            while (found := self._read()) is None:
                with reporting("making the commitment key"):
                    write_durably(self._disk, self._path, secrets.token_bytes(KEY_BYTES))
            return found
