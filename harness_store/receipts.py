"""What the last writer of a case leaves beside it, so that the next process need not read the whole Timeline.

``.receipt`` says how the log and ``case.md`` looked when that transition was acknowledged, and what of the state
``case.md`` does not say; ``.index`` has a line for each event that may be referred to.  While the files look exactly
so, nobody but us has written them since, and the state is what was verified then.

Neither is ever needed: both are written without a sync after the acknowledgement, in place, and a torn, stale, foreign
or missing one means that the Timeline is read.  Nothing they say outlives a change of the files they speak of.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from .disk import Disk, Stat, opened, write_undurably
from .records import Position, Reason, frame, unframe

RECEIPT = ".receipt"
INDEX = ".index"
FORMAT = 1
_LARGEST = 1 << 20
"""Bytes of a receipt that are read: many times what one of a case with thousands of sessions has."""


@frozen
class Index:
    """How far ``.index`` goes: its bytes, and their CRC-32, which tells a write that a power failure tore."""

    end: int = 0
    crc32: int = 0

    def after(self, data: bytes) -> Index:
        """The index with more lines."""
        return Index(self.end + len(data), zlib.crc32(data, self.crc32))


NO_LINES = Index()


@frozen
class Receipt:
    """``log`` and ``projection``: the files as they were left; ``position``: the end of the Timeline then.

    ``rest``: what of the state stands neither in the machine block of ``case.md`` nor in ``.index``.  ``card``: what a
    list shows of the case.
    """

    log: Stat
    projection: Stat
    position: Position
    index: Index
    rest: Mapping[str, Any]
    card: Mapping[str, Any]


def read_receipt(disk: Disk, path: Path) -> Receipt | None:
    """As ``Receipts.read``, of the file at ``path``."""
    try:
        with opened(disk, path) as fd:
            data = disk.read(fd, min(disk.fstat(fd).size, _LARGEST), 0)
    except OSError:  # missing, a link, a folder: nothing to go by
        return None
    found = unframe(data.partition(b"\n")[0])  # what follows is left of a longer one
    return None if isinstance(found, Reason) else _receipt(found[0])


class Receipts:
    """The two files in the folder of a case.  Every method may raise ``OSError``."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self._disk = disk
        self._receipt = folder / RECEIPT
        self._index = folder / INDEX

    def read(self) -> Receipt | None:
        """The receipt, whatever it is worth by now; ``None`` where there is none that holds."""
        return read_receipt(self._disk, self._receipt)

    def write(self, receipt: Receipt) -> None:
        """Leave this one.  Under the case's lock."""
        place = receipt.position
        line, _ = frame(
            {
                "format": FORMAT,
                "log": (*receipt.log.stamp, receipt.log.kind),
                "projection": (*receipt.projection.stamp, receipt.projection.kind),
                "position": (place.count, place.hash, place.transition, place.end, place.legacy),
                "index": (receipt.index.end, receipt.index.crc32),
                "rest": receipt.rest,
                "card": receipt.card,
            }
        )
        with opened(self._disk, self._receipt, create=True) as fd:
            self._disk.write(fd, line, 0)

    def lines(self, index: Index) -> bytes | None:
        """The lines of ``.index`` as far as ``index`` says; ``None`` where they are not those."""
        if index == NO_LINES:
            return b""
        try:
            with opened(self._disk, self._index) as fd:
                data = self._disk.read(fd, min(index.end, self._disk.fstat(fd).size), 0)
        except OSError:
            return None
        return data if NO_LINES.after(data) == index else None

    def add(self, index: Index | None, data: bytes) -> Index:
        """Put lines after those of ``index``; without one, in the place of whatever is there.  Under the lock.

        No lines are written nowhere: most cases are opened without anything that may be cited."""
        if index is None:
            index = NO_LINES
            if data:
                write_undurably(self._disk, self._index, data)
        elif data:
            with opened(self._disk, self._index, create=True) as fd:
                self._disk.write(fd, data, index.end)
        return index.after(data)


def _receipt(said: Mapping[str, Any]) -> Receipt | None:
    """What a line says whose hash holds; ``None`` where that is no receipt of this format."""
    try:
        shaped = [len(said[name]) for name in ("log", "projection", "position", "index")] == [6, 6, 5, 2]
        if said["format"] != FORMAT or not shaped or {int} != {type(number) for number in _numbers(said)}:
            return None
        return Receipt(
            log=Stat(*said["log"]),
            projection=Stat(*said["projection"]),
            position=Position(*said["position"]),
            index=Index(*said["index"]),
            rest={**said["rest"]},
            card={**said["card"]},
        )
    except (KeyError, TypeError, ValueError):
        return None


def _numbers(said: Mapping[str, Any]) -> list[Any]:
    count, _, transition, end, _ = said["position"]
    return [*said["log"][:5], *said["projection"][:5], count, transition, end, *said["index"]]
