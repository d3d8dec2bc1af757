"""How ``sessions.json`` is spelled: a JSON object with a line for each session.

A change of one session changes one line, so that a store of ten thousand sessions is not spelled anew for each of them.
Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from harness_core.bindings import SCHEMA_VERSION, Binding, Bindings
from harness_core.wire import strict_json, to_json

_HEAD = b'{"schema_version": %d, "sessions": {' % SCHEMA_VERSION
_FOOT = b"\n}}\n"


@frozen
class Content:
    """The bytes of a ``sessions.json`` (none: it is not there) and their SHA-256."""

    data: bytes = field(repr=False)
    sha256: str
    _body: Any = field(repr=False, eq=False)  # the digest's state before the foot, in whose place a new line comes

    @classmethod
    def of(cls, data: bytes) -> Content:
        """The content with its digest."""
        end = max(len(data) - len(_FOOT), 0)
        body = hashlib.sha256(memoryview(data)[:end])
        return cls(data, _digest(body, data[end:]), body)

    def extended(self, line: bytes) -> Content:
        """The content with one line more before its foot; it costs no second look at the others."""
        body = self._body.copy()
        body.update(line)
        return Content(self.data[: -len(_FOOT)] + line + _FOOT, _digest(body, _FOOT), body)

    @property
    def mapping(self) -> Mapping[str, Any] | None:
        """The JSON object; ``None`` where there is none."""
        try:
            value = strict_json(self.data.decode("utf-8"))
        except ValueError:
            return None
        return value if type(value) is dict else None


def spelled(bindings: Bindings) -> Content:
    """The content that says these bindings, in the order of the sessions' names."""
    lines = b",".join(_line(session_id, binding) for session_id, binding in sorted(bindings.items()))
    return Content.of(_HEAD + lines + _FOOT)


def respelled(before: Content, had: Bindings, moved: Mapping[str, Binding]) -> Content:
    """The content after ``moved``, made of ``before``, which says what the sessions ``had``; spelled anew where
    ``before`` is spelled otherwise than here."""
    if not (before.data.startswith(_HEAD) and before.data.endswith(_FOOT)):
        return spelled({**had, **moved})
    content = before
    for session_id, binding in moved.items():
        line = _line(session_id, binding)
        if session_id in had:
            content = _changed(content.data, _key(session_id), line)
        else:
            content = content.extended(line if content.data == _HEAD + _FOOT else b"," + line)
    return content


def _changed(data: bytes, key: bytes, line: bytes) -> Content:
    begin = data.index(key)
    end = data.index(b"\n", begin + 1)
    end -= data[end - 1 : end] == b","
    return Content.of(b"".join((data[:begin], line, data[end:])))


def _digest(begun: Any, rest: bytes) -> str:
    whole = begun.copy()
    whole.update(rest)
    return str(whole.hexdigest())


def _key(session_id: str) -> bytes:
    # A line end stands nowhere within JSON's texts, so this is found at the beginning of a line alone.
    return b"\n%s: " % json.dumps(session_id).encode("ascii")


def _line(session_id: str, binding: Binding) -> bytes:
    return _key(session_id) + json.dumps(to_json(binding), sort_keys=True).encode("ascii")
