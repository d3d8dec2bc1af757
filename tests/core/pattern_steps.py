"""Counts the steps that a regular expression takes, which the real matcher cannot tell.

A small backtracking matcher: it tries what ``re`` tries in the same order, without any of its short cuts, so its count
grows as fast with a text as the real one's at least.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from re import _constants as op
from re import _parser
from typing import Any

Then = Callable[[int], int | None]
Matcher = Callable[[int, Then], int | None]


class Steps:
    """One pattern and one text: ``matches`` are the spans found, ``count`` the steps that it took to find them.

    ``anchored``: tried at the beginning of the text alone, as ``match`` does, instead of everywhere.
    """

    def __init__(self, pattern: re.Pattern[str], text: str, *, anchored: bool = False) -> None:
        self.count = 0
        self.text = text
        self.groups: dict[int, tuple[int, int]] = {}
        self.matches: list[tuple[int, int]] = []
        run = self._sequence(
            _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), bool(pattern.flags & re.IGNORECASE)
        )
        at = 0
        while at <= len(text):
            self.groups.clear()
            end = run(at, lambda pos: pos)
            if end is not None:
                self.matches.append((at, end))
            if anchored:
                break
            at = end if end is not None and end > at else at + 1

    def _sequence(self, nodes: Sequence[Any], loose: bool) -> Matcher:
        parts = [self._node(kind, arg, loose) for kind, arg in nodes]

        def run(at: int, then: Then, index: int = 0) -> int | None:
            self.count += 1
            if index == len(parts):
                return then(at)
            return parts[index](at, lambda pos: run(pos, then, index + 1))

        return run

    def _node(self, kind: Any, arg: Any, loose: bool) -> Matcher:
        if test := _character(kind, arg, loose):
            return lambda at, then: then(at + 1) if at < len(self.text) and test(self.text[at]) else None
        if kind is op.SUBPATTERN:
            return self._group(arg[0], self._sequence(arg[3], loose or bool(arg[1] & re.IGNORECASE)))
        if kind is op.BRANCH:
            parts = [self._sequence(part, loose) for part in arg[1]]
            return lambda at, then: next((end for part in parts if (end := part(at, then)) is not None), None)
        if kind is op.GROUPREF:
            return lambda at, then: self._again(arg, at, then)
        if kind in (op.ASSERT, op.ASSERT_NOT):
            width = arg[1].getwidth()[0] if arg[0] < 0 else 0
            inner = self._sequence(arg[1], loose)

            def look(at: int, then: Then) -> int | None:
                found = at >= width and inner(at - width, lambda pos: pos) is not None
                return then(at) if found == (kind is op.ASSERT) else None

            return look
        if kind is op.AT:
            return lambda at, then: then(at) if self._stands(arg, at) else None
        least, most, body = arg
        test = _character(*body[0], loose) if len(body) == 1 else None
        if test and kind is op.MIN_REPEAT:
            return self._lazy_run_of(test, least, most)
        if test:
            return self._run_of(test, least, most, give_back=kind is op.MAX_REPEAT)
        inner = self._sequence(body, loose)
        if kind is op.POSSESSIVE_REPEAT:
            return self._possessive(inner, least, most)
        return self._repeat(inner, least, most, greedy=kind is op.MAX_REPEAT)

    def _group(self, number: int | None, inner: Matcher) -> Matcher:
        if number is None:
            return inner

        def run(at: int, then: Then) -> int | None:
            def close(pos: int) -> int | None:
                self.groups[number] = (at, pos)
                return then(pos)

            return inner(at, close)

        return run

    def _again(self, group: int, at: int, then: Then) -> int | None:
        start, end = self.groups[group]
        self.count += end - start
        return then(at + end - start) if self.text.startswith(self.text[start:end], at) else None

    def _run_of(self, test: Callable[[str], bool], least: int, most: int, *, give_back: bool) -> Matcher:
        def run(at: int, then: Then) -> int | None:
            end = at
            while end - at < most and end < len(self.text) and test(self.text[end]):
                end += 1
            self.count += end - at
            for pos in range(end, at + least - 1, -1) if give_back else [end] * (end - at >= least):
                if (found := then(pos)) is not None:
                    return found
            return None

        return run

    def _lazy_run_of(self, test: Callable[[str], bool], least: int, most: int) -> Matcher:
        def run(at: int, then: Then) -> int | None:
            for pos in range(at, min(at + most, len(self.text)) + 1):
                self.count += 1
                if pos > at and not test(self.text[pos - 1]):
                    return None
                if pos - at >= least and (found := then(pos)) is not None:
                    return found
            return None

        return run

    def _possessive(self, inner: Matcher, least: int, most: int) -> Matcher:
        def run(at: int, then: Then) -> int | None:
            times = 0
            while times < most and (end := inner(at, lambda pos: pos)) is not None and end > at:
                at, times = end, times + 1
            return then(at) if times >= least else None

        return run

    def _repeat(self, inner: Matcher, least: int, most: int, *, greedy: bool) -> Matcher:
        def run(at: int, then: Then, times: int = 0) -> int | None:
            def more() -> int | None:
                again: Then = lambda pos: run(pos, then, times + 1) if pos > at else None  # noqa: E731  # reads best inline
                return inner(at, again) if times < most else None

            def stop() -> int | None:
                return then(at) if times >= least else None

            first, second = (more, stop) if greedy else (stop, more)
            found = first()
            return second() if found is None else found

        return run

    def _stands(self, where: Any, at: int) -> bool:
        text = self.text
        if where is op.AT_BOUNDARY:
            return (at > 0 and _is_word(text[at - 1])) != (at < len(text) and _is_word(text[at]))
        assert where in (op.AT_END, op.AT_END_STRING)
        return at == len(text) or (where is op.AT_END and text[at] == "\n")


def _character(kind: Any, arg: Any, loose: bool) -> Callable[[str], bool] | None:
    """What one character must be, where a node is about one character."""
    if kind is op.ANY:
        return lambda char: True  # also where it is "." without the line break: more steps, not fewer
    if kind is op.NOT_LITERAL:
        return lambda char: ord(char) != arg
    if kind is op.LITERAL:
        return lambda char: ord(char) == arg or (loose and ord(char.swapcase()) == arg)
    if kind is op.RANGE:
        return lambda char: any(arg[0] <= ord(c) <= arg[1] for c in (char, char.swapcase() if loose else char))
    if kind is op.CATEGORY:
        test = _CATEGORIES[str(arg).removeprefix("CATEGORY_").removeprefix("NOT_")]
        return lambda char: test(char) != ("NOT_" in str(arg))
    if kind is op.IN:
        tests = [t for k, a in arg if k is not op.NEGATE and (t := _character(k, a, loose))]
        negated = arg[0][0] is op.NEGATE
        return lambda char: any(test(char) for test in tests) != negated
    return None


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[str, Callable[[str], bool]] = {"DIGIT": str.isdigit, "SPACE": str.isspace, "WORD": _is_word}
