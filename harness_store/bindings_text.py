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

    @classmethod
    def of(cls, data: bytes) -> Content:
        """The content with its digest."""
        return cls(data, hashlib.sha256(data).hexdigest())

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


def respelled(before: Content, bindings: Bindings, moved: Mapping[str, Binding]) -> Content:
    """The content after ``moved``, which is a part of ``bindings``: of ``before``, which said the rest, if it was
    spelled as here."""
    data = before.data
    if not (data.startswith(_HEAD) and data.endswith(_FOOT)):
        return spelled(bindings)
    for session_id, binding in moved.items():
        begin = data.find(_key(session_id))
        if begin < 0:
            begin = end = len(data) - len(_FOOT)
            separator = b"," if end > len(_HEAD) else b""
        else:
            end = data.index(b"\n", begin + 1)
            end -= data[end - 1 : end] == b","
            separator = b""
        data = b"".join((data[:begin], separator, _line(session_id, binding), data[end:]))
    return Content.of(data)


def _key(session_id: str) -> bytes:
    # A line end stands nowhere within JSON's texts, so this is found at the beginning of a line alone.
    return b"\n%s: " % json.dumps(session_id).encode("ascii")


def _line(session_id: str, binding: Binding) -> bytes:
    return _key(session_id) + json.dumps(to_json(binding), sort_keys=True).encode("ascii")
