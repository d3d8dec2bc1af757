"""Where things lie under the root of a store, and which format the store as a whole has.

``format.json`` says ``{"format": 2, "written_by": "..."}``.  A store without one is new, or was made by release 1.2.0;
one with a higher number belongs to a newer release and is left alone.
"""

from __future__ import annotations

import json
from pathlib import Path

from attrs import field, frozen

from harness_core.errors import Damaged, Refused
from harness_core.structuring import is_case_id
from harness_core.wire import strict_json

from .disk import Disk, make_folder, open_or_create, read_file, reporting, write_durably
from .locks import FileLock
from .records import FORMAT
from .sessions_file import STORE_LOCK

FORMAT_FILE = "format.json"


def no_case(case_id: object) -> Refused:
    """There is no case of that id."""
    named = case_id if isinstance(case_id, str) and case_id.isprintable() else repr(case_id)[:80]
    return Refused(f'there is no case {named}; epistemic_model(operation="list") names those there are', code="no_case")


@frozen
class Layout:
    """The paths of a store at ``root``."""

    root: Path
    cases: Path = field(init=False)
    """The folder of all cases."""

    @cases.default
    def _cases(self) -> Path:
        return self.root / "cases"

    def case(self, case_id: str) -> Path:
        """The folder of one case.  Raises ``Refused(code="no_case")`` for what cannot name one: a path, for example."""
        if not isinstance(case_id, str) or not is_case_id(case_id):
            raise no_case(case_id)
        return self.cases / case_id

    def lease(self, case_id: str) -> Path:
        """The lease of one case's real action."""
        return self.case(case_id) / "archive" / ".probe-execution.lock"


def read_format(disk: Disk, root: Path) -> int | None:
    """The format of the store; ``None`` where it names none (new, or 1.2.0's).  Changes nothing.

    Raises ``Damaged``: ``newer_format`` for a store of a newer release, ``format_broken`` for an unreadable file.
    """
    where = FORMAT_FILE
    with reporting("reading the store's format"):
        try:
            found = read_file(disk, root / FORMAT_FILE)
        except IsADirectoryError:
            raise Damaged(f"{where} is not a regular file", code="format_broken", where=where) from None
    if found is None:
        return None
    try:
        value = strict_json(found[0].decode("utf-8"))
    except ValueError:
        value = None
    number = value.get("format") if type(value) is dict else None
    if type(number) is not int or number < 1:
        works = f"if this release made the store, write {{'format': {FORMAT}}} into it, with double quotes"
        raise Damaged(f"{where} does not say which format the store has; {works}", code="format_broken", where=where)
    if number > FORMAT:
        raise Damaged(
            f"the store has format {number} and was written by a newer release; this one knows format {FORMAT}. "
            "Nothing was changed; use the newer release.",
            code="newer_format",
            where=where,
            works="the newer release reads and continues it",
        )
    return number


def create_store(disk: Disk, root: Path, written_by: str, wait: float | None = None) -> None:
    """Make the store at ``root`` where it is missing, durably; a store that is whole costs three ``stat``s.

    ``written_by`` names this release for people.  Raises ``Damaged`` as ``read_format`` does, ``Unavailable`` when
    the disk fails or the store's lock is not had within ``wait`` seconds.
    """
    layout = Layout(root)
    parts = (layout.cases, root / STORE_LOCK, root / FORMAT_FILE)
    with reporting("looking for the store"):
        if all(disk.stat(part) is not None for part in parts):
            return
    read_format(disk, root)
    with reporting("making the store"):
        make_folder(disk, root)
        disk.close(open_or_create(disk, root / STORE_LOCK))
        with FileLock(disk, root / STORE_LOCK, "the store").acquire(wait):
            make_folder(disk, layout.cases)
            name_format(disk, root, written_by)


def name_format(disk: Disk, root: Path, written_by: str) -> None:
    """Say in the store which format it has, durably, where nothing says it yet.  Under the store's lock.

    Raises as ``read_format`` does.
    """
    if read_format(disk, root) is None:
        text = json.dumps({"format": FORMAT, "written_by": written_by}, sort_keys=True)
        with reporting("naming the store's format"):
            write_durably(disk, root / FORMAT_FILE, f"{text}\n".encode())
