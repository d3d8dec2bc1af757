"""Redaction of a whole request before anything of it is decided or kept.

Every free text of the request is redacted, whatever field it stands in; what the arguments of a probe keep under a
secret's name is scrubbed from the other texts of the same call too.  Ids are treated as texts, the same id always
alike, so that references still fit; a case id cannot be redacted, since it names a folder, and is refused instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

import attrs

from harness_core.commands import Commit, Request
from harness_core.errors import Fault, refused
from harness_core.redaction import Known, redact_known, redact_text, secret_values

T = TypeVar("T", bound=Request)
CASE_IDS = frozenset({"case_id", "prior_case_ids", "evidence_case_ids"})


def argument_secrets(request: Request) -> frozenset[str]:
    """The secrets that the arguments of a probe hold; of any other request none."""
    return secret_values(request.tool_args) if isinstance(request, Commit) else frozenset()


def cleaned(request: T, secrets: frozenset[str]) -> T:
    """The request with every secret redacted, and with them ``secrets``, which are its ``argument_secrets``.

    Raises ``Refused`` where a case id looks like a secret.
    """
    faults: list[Fault] = []
    clean: T = _clean(request, "", Known(secrets), faults)
    if faults:
        raise refused("invalid_arguments", *faults)
    return clean


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The names of its fields, where it is a frozen value."""
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else ()


def _clean(value: Any, path: str, secrets: Known, faults: list[Fault]) -> Any:
    if isinstance(value, StrEnum):
        return value
    if isinstance(value, str):
        return redact_text(value, secrets)
    if isinstance(value, tuple):
        clean = tuple(_clean(item, f"{path}[{n}]", secrets, faults) for n, item in enumerate(value))
        return value if clean == value else clean
    kind: Any = type(value)
    if names := _fields(kind):
        changed = {}
        for name in names:
            before = getattr(value, name)
            where = f"{path}.{name}" if path else name
            after = _clean(before, where, secrets, faults)
            if name in CASE_IDS and after != before:
                faults.append(Fault(where, "looks like a secret", "another case id"))
            if after is not before:
                changed[name] = after
        return attrs.evolve(value, **changed) if changed else value
    if isinstance(value, Mapping):  # a probe's arguments, and nothing else in a request: the secrets are theirs
        return redact_known(dict(value), secrets)
    return value
