"""A tool's result as it is observed: its text, how it reads, and where its redacted form is kept.

Nothing here touches what the caller gets; the result itself is handed on by whoever called.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness_core.probes import StoredResult
from harness_core.redaction import redact_text, redact_value
from harness_core.vocabulary import ResultStatus, Storage

from .artifacts import artifact_bytes, store_artifact
from .disk import Disk

INLINE_LIMIT = 12_000
"""Bytes up to which a redacted result stands in the record itself."""


def reads_as(result: Any) -> ResultStatus:
    """How a result reads by itself: ``tool_error`` for a JSON error envelope (an ``error`` that says something, or
    ``success`` that is false, at the top of an object), else ``ok``.  Prose is never searched for the word error."""
    value = _decoded(result)
    if not isinstance(value, Mapping):
        return ResultStatus.OK
    failed = value.get("success") is False or value.get("error") not in (None, False, "", [], {})
    return ResultStatus.TOOL_ERROR if failed else ResultStatus.OK


def _decoded(result: Any) -> Any:
    if isinstance(result, str) and result.lstrip()[:1] == "{":
        try:
            return json.loads(result)
        except ValueError:
            return result
    return result


def text_of(result: Any, secrets: frozenset[str] = frozenset()) -> str:
    """The redacted text of a result: text as it is, anything else as JSON with sorted keys."""
    if isinstance(result, str):
        return redact_text(result, secrets)
    try:
        plain = json.loads(json.dumps(result, default=repr))
        return redact_text(json.dumps(redact_value(plain, secrets), sort_keys=True, ensure_ascii=False), secrets)
    except (TypeError, ValueError, RecursionError):
        return redact_text(repr(result), secrets)


def digest_of(text: str) -> str:
    """The SHA-256 that a redacted text is known by."""
    return hashlib.sha256(artifact_bytes(text)).hexdigest()


def keep(disk: Disk, case_folder: Path, text: str) -> StoredResult:
    """Keep a redacted text: inline up to ``INLINE_LIMIT`` bytes, else as an artifact, durable before this returns."""
    digest = digest_of(text)
    if len(artifact_bytes(text)) <= INLINE_LIMIT:
        return StoredResult(storage=Storage.INLINE, result_sha256=digest, result=text)
    kept = store_artifact(disk, case_folder, text)
    return StoredResult(
        storage=Storage.ARTIFACT,
        result_sha256=digest,
        artifact_path=kept.path,
        artifact_sha256=kept.sha256,
        artifact_bytes=kept.bytes,
    )
