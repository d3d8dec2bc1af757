"""The keyed commitment to a tool's arguments: HMAC-SHA-256 under a key that only this store has.

A plain digest of arguments that were redacted on disk could be guessed offline; a keyed one cannot.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from harness_core.probes import Commitment
from harness_core.wire import canonical_json

from .disk import Disk, read_file, reporting, write_durably
from .locks import FileLock

KEY_FILE = ".commitment.key"
KEY_BYTES = 32


class CommitmentKey:
    """The store's key, read when it is first needed and made, durably, where it is missing."""

    def __init__(self, disk: Disk, root: Path) -> None:
        self._disk = disk
        self._path = root / KEY_FILE
        self._lock = FileLock(disk, root / ".commitment.lock", "the commitment key")

    def commit(self, args: Mapping[str, Any]) -> Commitment:
        """The commitment to exactly these arguments (a JSON object).  Raises ``Unavailable`` when the disk fails."""
        key = self._read() or self._make()
        keyed = HMAC(key, SHA256())
        keyed.update(canonical_json(args).encode("utf-8", "surrogatepass"))
        return Commitment(sha256=keyed.finalize().hex(), key_id=hashlib.sha256(key).hexdigest()[:16])

    def _read(self) -> bytes | None:
        with reporting("reading the commitment key"):
            found = read_file(self._disk, self._path)
        return found[0] if found and len(found[0]) == KEY_BYTES else None

    def _make(self) -> bytes:
        with self._lock.acquire(5.0):
            if (key := self._read()) is not None:
                return key
            key = secrets.token_bytes(KEY_BYTES)
            with reporting("making the commitment key"):
                write_durably(self._disk, self._path, key)
            return key
