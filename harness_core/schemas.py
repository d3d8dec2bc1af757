"""The JSON schemas of the two tools, made from the request classes and the vocabularies.

One flat object per tool: providers and host catalogues handle that best.  What a field means is said where it first
stands; the same shape standing again carries types and words only.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from harness_core.arguments import MODEL_TOOL, PROBE_TOOL, REQUESTS
from harness_core.commands import LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, OutcomeDraft
from harness_core.vocabulary import ResponseDetail

DESCRIPTIONS: Mapping[str, str] = {
    # The first sentence is all that a catalogue of deferred tools shows, cut at 60 characters.
    MODEL_TOOL: (
        "Open, read, revise or close an epistemic case. The field operation is always needed."
        " open: case_id, top_unknown. record_evidence: evidence. revise: reason and new model fields. pause: reason."
        " resume: case_id. close: outcome, summary, transfer. show and list change nothing."
    ),
    PROBE_TOOL: (
        "Commit a prediction before a tool call, then compare. The field operation is always needed."
        " commit: purpose, unknown_or_goal, tool_name, tool_args, predicted_outcomes, would_change_belief,"
        " why_this_action, authority_domain. Then call that tool by itself; the host records what it returns."
        " compare: disposition, rationale. discard, recover: reason."
    ),
}
# Said once for both tools, and for fields whose class says nothing.
COMMON: Mapping[str, str] = {
    "operation": "what to do; always required",
    "response_detail": "response_detail compact leaves out the bodies of retrieved lessons",
    "case_id": "the case; at open a new id of a-z, 0-9, hyphens",
    "tool_args_json": "the arguments as text holding a JSON object; wins over tool_args",
    "updates": "revise: model fields to replace, each whole; they may also stand beside it",
    "reason": "why; for revise, pause, recover, discard",
}


def tool_schema(tool: str) -> dict[str, Any]:
    """The function schema of a tool: ``name``, ``description``, ``parameters`` (a JSON schema object)."""
    operations = REQUESTS[tool]
    properties: dict[str, Any] = {
        "operation": {"type": "string", "enum": [str(o) for o in operations], "description": COMMON["operation"]},
    }
    for request in operations.values():
        for name, schema in _properties(request, described=True).items():
            properties.setdefault(name, schema)
    if tool == PROBE_TOOL:
        properties["tool_args_json"] = {"type": "string", "description": COMMON["tool_args_json"]}
    if "limit" in properties:
        properties["limit"] |= {"minimum": 1, "maximum": LIST_LIMIT_MAX, "default": LIST_LIMIT_DEFAULT}
    properties["response_detail"] = {
        "type": "string",
        "enum": [d.value for d in ResponseDetail],
        "default": ResponseDetail.FULL.value,
        "description": COMMON["response_detail"],
    }
    return {
        "name": tool,
        "description": DESCRIPTIONS[tool],
        "parameters": {"type": "object", "properties": properties, "required": ["operation"]},
    }


def _properties(cls: Any, *, described: bool) -> dict[str, Any]:
    hints = get_type_hints(cls)
    found = {}
    for f in attrs.fields(cls):
        if f.metadata.get("server") or f.name in ECHOED:
            continue
        # Items are described where they first stand: in the first array of claims, not in its two siblings.
        deep = described and f.name not in REPEATED
        schema = _schema(hints[f.name], described=deep)
        doc = COMMON.get(f.name) or f.metadata.get("doc")
        found[f.name] = {**schema, "description": doc} if described and doc else schema
    return found


REPEATED = frozenset({"mechanisms", "alternatives", "updates", "initial_evidence"})
# Accepted when a model sends back what it was shown, and not advertised.
ECHOED = frozenset({"grounding_authority_domains", "calibration"})


def _schema(kind: Any, *, described: bool) -> dict[str, Any]:
    origin: Any = get_origin(kind)
    if origin in (Union, UnionType):
        (inner,) = (member for member in get_args(kind) if member is not type(None))
        return _schema(inner, described=described)
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0], described=described)}
    if origin is Mapping or kind is Mapping:
        return {"type": "object", "additionalProperties": True}
    if kind is OutcomeDraft or attrs.has(kind):
        required = [f.name for f in attrs.fields(kind) if f.default is attrs.NOTHING]
        properties = _properties(kind, described=described)
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}
    plain = getattr(kind, "__supertype__", kind)
    if issubclass(plain, StrEnum):
        return {"type": "string", "enum": [word.value for word in plain]}
    return {"type": {str: "string", int: "integer", bool: "boolean"}[plain]}


TOOLS: Mapping[str, Mapping[str, Any]] = {tool: tool_schema(tool) for tool in REQUESTS}
