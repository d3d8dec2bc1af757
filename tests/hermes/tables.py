"""The tables of docs/hermes.md that come from real runs.

``python -m tests.hermes.tables`` walks every path on each host that is installed and writes them anew.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness_hermes.agent import Hermes
from tests.hermes.ends import ENDS
from tests.hermes.host import ROOT, Profile, hosts
from tests.hermes.paths import OTHER

DOCUMENT = ROOT / "docs" / "hermes.md"
NOTHING = "nothing; the probe stays committed"
ARGUMENTS = {True: "", False: "; drift recorded", None: "; the arguments in doubt"}
SHORT = {"native_handler_result": "proven", "unknown": "unknown"}


def walked(home: Path, host: Hermes) -> dict[str, str]:
    """Walk every path on a host; for each what was recorded, as a cell of the table."""
    rows = Profile(home, plugins={"a-other": OTHER}).inside("tests.hermes.paths:walk_all", host=host)
    return {row["path"]: cell(row) for row in rows}


def cell(row: Mapping[str, Any]) -> str:
    """What is recorded on a path: boundary, provenance, status, and what else differs."""
    if not row["observations"]:
        assert row["probe"] == "committed", row
        return NOTHING
    more = "; the display beside it" if row["exposed"] else ""
    drift = ARGUMENTS[row["args"]]
    return f"`{row['boundary']}`, {SHORT[row['provenance']]}, {row['status']}{drift}{more}"


def section(name: str) -> str:
    """The text between the marks with this name in the document."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert found, name
    return found[1]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    line = "|" + "---|" * len(heads)
    first, *others = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return "\n".join([first, line, *others]) + "\n"


def column(name: str, head: str) -> dict[str, str]:
    """One column of a table of the document, by the first one."""
    lines = [[each.strip() for each in line.strip("|").split(" | ")] for line in section(name).strip().splitlines()]
    at = lines[0].index(head)
    return {line[0]: line[at] for line in lines[2:]}


WAYS = ["how the host tells it", "what it calls", *hosts(), "then", "after the next turn"]


def ended(home: Path, host: Hermes) -> list[list[str]]:
    """For each way in which a session can end: the call, where hosts make it, and what becomes of the case."""
    found = Profile(home).inside("tests.hermes.lives:ends", host=host)
    return [
        [way, end.written(), *(f"`{end.made[each][0]}`" if each in end.made else "" for each in hosts()), *found[way]]
        for way, end in ENDS.items()
    ]


def told(home: Path, host: Hermes) -> list[tuple[str, str, str]]:
    """Characters injected over ten turns: for each way, those of release 1.2.0 and ours."""
    found = Profile(home).inside("tests.hermes.lives:ten_turns", host=host)
    return [(name, "41550", str(sum(map(len, found[name]["told"])))) for name in ("still", "changing")]


def write(name: str, text: str) -> None:
    """Put a table between its marks in the document."""
    new = f"<!-- {name} -->\n{text}<!-- /{name} -->"
    old = DOCUMENT.read_text(encoding="utf-8")
    changed = re.sub(rf"<!-- {name} -->\n.*?<!-- /{name} -->", lambda _: new, old, flags=re.DOTALL)
    DOCUMENT.write_text(changed, encoding="utf-8")


def main() -> None:
    """Write the tables anew."""
    found = {}
    for version, host in hosts().items():
        assert host is not None, version
        with tempfile.TemporaryDirectory() as scratch:
            found[version] = walked(Path(scratch) / "home", host)
    (first, *_) = found.values()
    rows = [[path, *(cells[path] for cells in found.values())] for path in first]
    write("paths", table(["path", *found], rows))
    newest = hosts()["0.22.2"]
    assert newest is not None
    with tempfile.TemporaryDirectory() as scratch:
        write("ends", table(WAYS, ended(Path(scratch) / "h", newest)))
    with tempfile.TemporaryDirectory() as scratch:
        write("told", table(["a small case, ten turns", "1.2.0", "ours"], told(Path(scratch) / "h", newest)))


if __name__ == "__main__":
    main()
