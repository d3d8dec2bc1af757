"""What stands below a heading that names a secret: the columns of a table in text.

Lines of comma- or semicolon-separated values, of tab-separated ones, and tables of Markdown.  A heading is a line of
names; its table goes on as long as lines have as many cells.  Behind commas and semicolons a heading has no blanks:
with blanks it is an enumeration in prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from harness_core.secret_names import KEYS_ALONE, Guess, secret_name

Span = tuple[int, int]

_AROUND = " \r\"'*`"

_NAME = r"[\"*]{0,2}[^\W\d][\w.-]{0,40}[\"*]{0,2}"
_WORDS = r"[ ]{0,20}[\"*]{0,2}[^\W\d][\w.-]{0,40}(?: [\w.-]{1,40}){0,3}[\"*]{0,2}[ ]{0,20}"
_HEADINGS: Mapping[str, re.Pattern[str]] = {
    ",": re.compile(rf"{_NAME}(?:,{_NAME})++"),
    ";": re.compile(rf"{_NAME}(?:;{_NAME})++"),
    "\t": re.compile(rf"{_WORDS}(?:\t{_WORDS})++"),
    "|": re.compile(rf"[ ]{{0,20}}\|?{_WORDS}(?:\|{_WORDS})*+\|?[ ]{{0,20}}"),
}
_CELLS: Mapping[str, re.Pattern[str]] = {
    sign: re.compile(rf"(?:(?<!.)|{part})(\"(?:[^\"]|\"\")*+\"(?![^{part}])|[^{part}]*+)")
    for sign in _HEADINGS
    for part in [re.escape(sign)]
}


def cells(text: str) -> Iterator[tuple[Guess, Span]]:
    """Each cell below a secret-naming heading, without what surrounds it, and what its heading leads to expect."""
    sign, guesses, at = "", list[Guess | None](), 0
    for line in text.split("\n"):
        if sign and len(found := _cells(line, sign)) == len(guesses):
            for guess, (start, end) in zip(guesses, found, strict=True):
                if guess and any(map(str.isalnum, line[start:end])):
                    yield guess, (at + start, at + end)
        else:
            sign, guesses = _heading(line.rstrip("\r"))
        at += len(line) + 1


def _heading(line: str) -> tuple[str, list[Guess | None]]:
    """What separates the columns below this line, and what each leads to expect; nothing if it is no such heading."""
    for sign, pattern in _HEADINGS.items():
        if sign in line and pattern.fullmatch(line):
            names = [line[start:end] for start, end in _cells(line, sign)]
            guesses = [None if name.casefold() in KEYS_ALONE else secret_name(name) for name in names]
            if any(guesses):
                return sign, guesses
    return "", []


def _cells(line: str, sign: str) -> Sequence[Span]:
    return [_bare(line, *cell.span(1)) for cell in _CELLS[sign].finditer(line)]


def _bare(line: str, start: int, end: int) -> Span:
    """The cell without blanks, quotes and emphasis around it."""
    while start < end and line[start] in _AROUND:
        start += 1
    while start < end and line[end - 1] in _AROUND:
        end -= 1
    return start, end
