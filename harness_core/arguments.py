"""A tool's JSON arguments into a request, with every fault of the input reported at once, each with its path.

A few convenient spellings are put into their plain form first; ``structuring`` does the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from cattrs.errors import BaseValidationError

from harness_core.commands import (
    Close,
    Commit,
    Compare,
    Discard,
    List,
    Open,
    Pause,
    RecordEvidence,
    Recover,
    Request,
    Resume,
    Revise,
    Show,
    Updates,
)
from harness_core.errors import Fault, refused
from harness_core.structuring import CONVERTER, SERVER_MANAGED, faults_of, kind_of
from harness_core.vocabulary import ModelOperation, ProbeOperation, ResponseDetail
from harness_core.wire import canonical_json, strict_json

MODEL_TOOL = "epistemic_model"
PROBE_TOOL = "epistemic_probe"

REQUESTS: Mapping[str, Mapping[str, type]] = {
    MODEL_TOOL: {
        ModelOperation.OPEN: Open,
        ModelOperation.LIST: List,
        ModelOperation.SHOW: Show,
        ModelOperation.RECORD_EVIDENCE: RecordEvidence,
        ModelOperation.REVISE: Revise,
        ModelOperation.PAUSE: Pause,
        ModelOperation.RESUME: Resume,
        ModelOperation.CLOSE: Close,
    },
    PROBE_TOOL: {
        ProbeOperation.COMMIT: Commit,
        ProbeOperation.COMPARE: Compare,
        ProbeOperation.RECOVER: Recover,
        ProbeOperation.DISCARD: Discard,
    },
}
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    MODEL_TOOL: {"operation": "open", "case_id": "my-case", "top_unknown": "what is to be found out"},
    PROBE_TOOL: {
        "operation": "commit",
        "purpose": "learn",
        "unknown_or_goal": "what it is to settle",
        "tool_name": "read_file",
        "tool_args": {"path": "notes.txt"},
        "predicted_outcomes": [{"outcome": "what may be seen", "meaning": "what it would mean"}],
        "would_change_belief": "what would count against the present judgment",
        "why_this_action": "why this look",
        "authority_domain": "system_state",
    },
}
MODEL_FIELDS = tuple(f.name for f in attrs.fields(Updates))

Sent = dict[str, Any]
Spelling = Callable[[Sent], list[Fault]]


@attrs.frozen
class Call:
    """A parsed tool call: what is asked, and how much of retrieved lessons the answer is to carry."""

    request: Request
    detail: ResponseDetail


def parse(tool: str, arguments: Any) -> Call:
    """What a call of ``tool`` (``epistemic_model`` or ``epistemic_probe``) asks for.

    ``arguments`` is the JSON object of the call.  Raises ``Refused`` with every fault found (code
    ``invalid_arguments``), or, where the operation is missing or unknown, with the valid ones and an example
    (``invalid_operation``).  Touches nothing.
    """
    if tool not in REQUESTS:
        raise refused("no_tool", Fault("tool", f"there is no tool {tool}", " or ".join(REQUESTS)))
    if not isinstance(arguments, Mapping):
        example = json.dumps(EXAMPLES[tool])
        raise refused("invalid_arguments", Fault("arguments", f"must be an object, not {kind_of(arguments)}", example))
    sent = _json_object(arguments)
    kind = REQUESTS[tool][_operation(tool, sent)]
    faults = _detail_faults(sent)
    detail = sent.pop("response_detail", ResponseDetail.FULL)
    faults += SPELLINGS.get(kind, _as_sent)(sent)
    told = {fault.path.partition(".")[0] for fault in faults}
    request: Request | None = None
    try:
        request = CONVERTER.structure(sent, kind)
    except BaseValidationError as error:
        # A field that a spelling has found unfit was taken out, and is not reported a second time as missing.
        faults += [f for f in faults_of(error, kind) if not (f.path in told and f.problem == "is missing")]
    if faults or request is None:
        raise refused("invalid_arguments", *faults)
    return Call(request, ResponseDetail(detail))


def _json_object(arguments: Mapping[str, Any]) -> Sent:
    """The arguments as a dict; what an embedder in the same process hands over can be told with its path later, unless
    it has no end or no digits that can be printed."""
    sent = dict(arguments)
    try:
        _spelled(sent)
    except (TypeError, ValueError, RecursionError):
        problem = "hold what no JSON can say (keys that are no text, thousands of digits, bottomless nesting)"
        raise refused("invalid_arguments", Fault("arguments", problem, "a plain JSON object")) from None
    return sent


_spelled = json.JSONEncoder(default=repr).encode


def _operation(tool: str, sent: Sent) -> str:
    given = "operation" in sent
    value = sent.pop("operation", None)
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in REQUESTS[tool]:
        return word
    problem = f"{json.dumps(value, default=str)[:80]} is no operation of {tool}" if given else "is missing"
    names = ", ".join(str(o) for o in REQUESTS[tool])
    raise refused(
        "invalid_operation",
        Fault("operation", problem, f"one of {names}"),
        hint=f"For example {json.dumps(EXAMPLES[tool])}",
    )


def _detail_faults(sent: Sent) -> list[Fault]:
    value = sent.get("response_detail", ResponseDetail.FULL)
    if isinstance(value, str) and value in set(ResponseDetail):
        return []
    words = " or ".join(d.value for d in ResponseDetail)
    return [Fault("response_detail", f"{json.dumps(value, default=str)[:80]} is not allowed", words)]


# --- convenient spellings: each changes ``sent`` into its plain form and says what is wrong with it ---


def _as_sent(sent: Sent) -> list[Fault]:
    return []


def _decoded(sent: Sent, name: str, shape: str) -> list[Fault]:
    """A value that a provider flattened into text becomes what the text holds."""
    if not isinstance(sent.get(name), str):
        return []
    try:
        sent[name] = strict_json(sent[name])
    except ValueError:
        del sent[name]
        return [Fault(name, f"must be {shape}, not plain text", shape)]
    return []


def _evidence(sent: Sent) -> list[Fault]:
    faults = _decoded(sent, "evidence", "a JSON array of evidence objects")
    if isinstance(sent.get("evidence"), Mapping):
        sent["evidence"] = [sent["evidence"]]
    return faults


def _transfer(sent: Sent) -> list[Fault]:
    return _decoded(sent, "transfer", 'a JSON object such as {"decision": "none"}')


def _updates(sent: Sent) -> list[Fault]:
    """Model fields may stand under ``updates`` or beside it, each in one place only."""
    faults = [Fault(name, SERVER_MANAGED[name], "nothing here") for name in SERVER_MANAGED if name in sent]
    for fault in faults:
        del sent[fault.path]
    beside = {name: sent.pop(name) for name in MODEL_FIELDS if name in sent}
    under = sent.get("updates", {})
    if not isinstance(under, Mapping):
        faults.append(Fault("updates", f"must be an object, not {kind_of(under)}", "an object of model fields"))
        under = {}
    try:
        CONVERTER.structure(beside, Updates)  # here, so that what is wrong is named where it stands
    except BaseValidationError as error:
        faults += faults_of(error, Updates)
    faults += [
        Fault(f"updates.{name}", "stands both under updates and beside it", "it once")
        for name in MODEL_FIELDS
        if name in beside and name in under
    ]
    unfit = {fault.path.partition(".")[0].partition("[")[0] for fault in faults}
    sent["updates"] = {name: value for name, value in {**beside, **under}.items() if name not in unfit}
    if not sent["updates"] and not faults:
        names = ", ".join(MODEL_FIELDS)
        faults.append(Fault("updates", "is missing: a revision changes at least one model field", f"some of {names}"))
    return faults


def _tool_args(sent: Sent) -> list[Fault]:
    """``tool_args_json`` is authoritative where present; a nonempty ``tool_args`` beside it must agree with it."""
    if "tool_args_json" not in sent:
        return []
    text = sent.pop("tool_args_json")
    plain = sent.pop("tool_args", None)
    shape = "text that holds one JSON object"
    try:
        if not isinstance(text, str):
            raise ValueError(f"it is {kind_of(text)}")
        decoded = strict_json(text)
        if not isinstance(decoded, dict):
            raise ValueError(f"it holds {kind_of(decoded)}")
    except ValueError as error:
        sent["tool_args"] = {}  # so that it is not reported as missing when its other spelling is at fault
        return [Fault("tool_args_json", f"must be {shape}: {error}", shape)]
    sent["tool_args"] = decoded
    if plain in (None, {}) or (isinstance(plain, dict) and _same(plain, decoded)):
        return []
    problem = "does not agree with tool_args_json, which is authoritative"
    return [Fault("tool_args", problem, "tool_args_json alone, or the same object in both")]


def _same(one: Any, other: Any) -> bool:
    try:
        return canonical_json(one) == canonical_json(other)
    except (TypeError, ValueError):
        return False


SPELLINGS: Mapping[type, Spelling] = {
    RecordEvidence: _evidence,
    Close: _transfer,
    Revise: _updates,
    Commit: _tool_args,
}
