"""Large evidence, kept by its content: ``archive/artifacts/<sha256>.txt`` in the folder of its case.

The caller redacts; what comes here is stored as it is.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path

from attrs import frozen

from .disk import Disk, make_folder, read_file, reporting, sync_name, write_durably

_FOLDER = ("archive", "artifacts")
_counter = itertools.count()


@frozen
class Artifact:
    """A stored text: its ``path`` relative to the case's folder, the SHA-256 of its bytes, and how many there are."""

    path: str
    sha256: str
    bytes: int


def artifact_bytes(text: str) -> bytes:
    """The bytes that stand for ``text``: UTF-8, with a lone surrogate (which has none) written as ``\\udXXX``."""
    return text.encode("utf-8", "backslashreplace")


def store_artifact(disk: Disk, case_folder: Path, text: str) -> Artifact:
    """Keep ``text`` durably and say how it is found again.  The case's folder exists.  Needs no lock.

    Raises ``Unavailable(written="no")``.
    """
    data = artifact_bytes(text)
    digest = hashlib.sha256(data).hexdigest()
    folder = case_folder.joinpath(*_FOLDER)
    path = folder / f"{digest}.txt"
    # Two threads may keep the same text at once: each has a temporary file of its own.
    temporary = folder / f".{digest}.{os.getpid()}-{next(_counter)}.tmp"
    with reporting("keeping an artifact"):
        make_folder(disk, folder)
        # Synced and written also where they are there: what a dead process left may never have reached the disk.
        sync_name(disk, folder)
        write_durably(disk, path, data, temporary=temporary)
    return Artifact("/".join((*_FOLDER, path.name)), digest, len(data))


def check_artifact(disk: Disk, case_folder: Path, artifact: Artifact) -> str | None:
    """What is wrong with a stored artifact, as a clause for people; ``None`` when it is what the record says.

    The path is not believed: only the one place that belongs to the digest is looked at, and no link is followed.
    Raises ``Unavailable`` when the disk fails.
    """
    digest = artifact.sha256
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        return "its SHA-256 is not one"
    if artifact.path != "/".join((*_FOLDER, f"{digest}.txt")):
        return f"its path {artifact.path!r} is not where an artifact of that SHA-256 lies"
    with reporting("checking an artifact"):
        folder = case_folder
        for name in _FOLDER:
            folder /= name
            found = disk.stat(folder)
            if found is None:
                return "it is missing"
            if found.kind != "folder":
                return f"{name} is not a folder"
        try:
            read = read_file(disk, folder / f"{digest}.txt")
        except IsADirectoryError:
            return "it is not a regular file"
    if read is None:
        return "it is missing"
    data = read[0]
    if len(data) != artifact.bytes:
        return f"it has {len(data)} bytes where the record says {artifact.bytes}"
    if hashlib.sha256(data).hexdigest() != digest:
        return "its content has another SHA-256"
    return None
