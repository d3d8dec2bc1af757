"""One case as one archive: what another store, or only the checker, needs to verify it elsewhere.

A tar file with the case's files as they are, under the id of the case: log, ``case.md``, archive and artifacts, and
whatever recovery kept beside them.  Locks, temporary files and receipts are not part of a case.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from .disk import FILE_MODE, Disk, make_folder, read_file, write_undurably
from .receipts import INDEX, RECEIPT


def export(disk: Disk, folder: Path, name: str) -> bytes:
    """The bytes of a tar file with the files in ``folder``, named ``<name>/...``.  The same files give the same bytes.

    The caller keeps writers away.  Raises ``OSError``.
    """
    packed = io.BytesIO()
    with tarfile.TarFile(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, data in files_below(disk, folder):
            member = tarfile.TarInfo(f"{name}/{path.relative_to(folder).as_posix()}")
            member.size, member.mode = len(data), FILE_MODE
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def files_below(disk: Disk, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The regular files of a case with their content, in the order of their paths; links are not followed."""
    for name in disk.listdir(folder):
        path = folder / name
        found = disk.stat(path)
        if found is not None and found.kind == "folder":
            yield from files_below(disk, path)
        elif found is not None and found.kind == "file" and not _passing(name):
            content = read_file(disk, path)
            if content is not None:
                yield path, content[0]


def _passing(name: str) -> bool:
    return name.endswith((".lock", ".tmp")) or name in (RECEIPT, INDEX)


def unpacked(disk: Disk, archive: Path, into: Path) -> Path:
    """Lay the files of an export out in the folder ``into``, and say which folder the case is.

    Only plain files under one plain name are taken.  Raises ``ValueError`` for what is no export, ``OSError``.
    """
    roots = set()
    packed = read_file(disk, archive)
    if packed is None:
        raise ValueError(f"there is no file {archive.name}")
    try:
        with tarfile.TarFile(fileobj=io.BytesIO(packed[0])) as tar:
            for member in tar:
                parts = Path(member.name).parts
                content = tar.extractfile(member) if member.isfile() else None
                if content is None or len(parts) < 2 or ".." in parts or Path(member.name).is_absolute():
                    raise ValueError(f"{archive.name} is no export: it holds {member.name!r}")
                roots.add(parts[0])
                target = into.joinpath(*parts)
                make_folder(disk, target.parent)
                write_undurably(disk, target, content.read())
    except tarfile.TarError as error:
        raise ValueError(f"{archive.name} is no tar file: {error}") from error
    if len(roots) != 1:
        raise ValueError(f"{archive.name} is no export of one case")
    return into / roots.pop()
