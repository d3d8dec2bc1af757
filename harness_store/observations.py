"""A tool's result as it is observed: its text, how it reads, and where its redacted form is kept.

Nothing here touches what the caller gets; the result itself is handed on by whoever called.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness_core.probes import StoredResult
from harness_core.redaction import redact_text, redact_value, secret_values
from harness_core.vocabulary import ResultStatus, Storage

from .artifacts import artifact_bytes, store_artifact
from .disk import Disk
from .logs import log

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


_CUT_ENVELOPE = re.compile(r'\{\s*(?:"error"\s*:\s*(?!null|false|""|\[\]|\{\})|"success"\s*:\s*false)')


def _decoded(result: Any) -> Any:
    """The object that a result begins with, whatever follows it, as in a result that was cut or annotated."""
    text = result.decode("utf-8", "replace") if isinstance(result, bytes | bytearray) else result
    if not isinstance(text, str):
        return text
    text = text.lstrip().removeprefix("\ufeff").lstrip()
    if text[:1] != "{":
        return None
    try:
        return _LENIENT.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return {"error": "cut"} if _CUT_ENVELOPE.match(text) else None


_LENIENT = json.JSONDecoder(parse_int=str, parse_float=str)  # a number of any length is no reason to look away


def secrets_of(args: Any) -> frozenset[str]:
    """The secrets in actual arguments, which may be anything a host hands over."""
    try:
        return secret_values(args)
    except RecursionError:
        return frozenset()


def text_of(result: Any, secrets: frozenset[str] = frozenset()) -> str:
    """The redacted text of a result: text as it is, anything else as JSON with sorted keys.

    Whatever it is, there is a text: what cannot be written as JSON is told by its ``repr``, and what has none by its
    type.
    """
    if isinstance(result, bytes | bytearray):
        result = result.decode("utf-8", "replace")
    for attempt in (_as_json, _as_repr):
        try:
            return attempt(result, secrets)
        except Exception as error:  # noqa: BLE001 - a result of somebody else's making may fail in any way
            log.warning("result_not_written", kind=type(result).__name__, error=type(error).__name__)
    return f"<a {type(result).__name__} that cannot be written>"


def _as_json(result: Any, secrets: frozenset[str]) -> str:
    if isinstance(result, str):
        return redact_text(result, secrets)
    plain = json.loads(json.dumps(result, default=repr))
    return redact_text(json.dumps(redact_value(plain, secrets), sort_keys=True, ensure_ascii=False), secrets)


def _as_repr(result: Any, secrets: frozenset[str]) -> str:
    return redact_text(repr(result), secrets)


def error_text(error: BaseException) -> str:
    """What an exception says, where it can say something."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - its own text failed, and that it was raised is still to be recorded
        return type(error).__name__


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
