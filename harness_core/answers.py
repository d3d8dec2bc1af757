"""What a tool answers, and its compact form.

Compact is presentation only: it leaves out the bodies of retrieved lessons, at the two paths where they stand, marks
what it left out and says how to read it back.  Everything else is untouched (seed, "Deliberate activation").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness_core.arguments import MODEL_TOOL
from harness_core.vocabulary import ModelOperation, ResponseDetail

LESSON_PATHS: tuple[tuple[str, ...], ...] = (("case", "model", "retrieved_prior_lessons"), ("prior_case_lessons",))


def presented(answer: Mapping[str, Any], detail: ResponseDetail) -> Mapping[str, Any]:
    """The answer in the asked detail: the very same object for ``full``, a new one for ``compact``."""
    if detail is ResponseDetail.FULL:
        return answer
    shown: Any = dict(answer)
    omitted: list[str] = []
    for path in LESSON_PATHS:
        shown = _without_bodies(shown, path, ".".join(path), omitted)
    shown |= {"response_detail": ResponseDetail.COMPACT.value, "omitted_field_paths": omitted}
    if omitted:
        arguments = {"operation": ModelOperation.SHOW.value, "case_id": _case_id(answer), "response_detail": "full"}
        shown["readback"] = {"tool": MODEL_TOOL, "arguments": arguments}
    return dict(shown)


def _case_id(answer: Mapping[str, Any]) -> Any:
    case = answer.get("case")
    return case.get("case_id") if isinstance(case, Mapping) else None


def _without_bodies(value: Any, path: tuple[str, ...], name: str, omitted: list[str]) -> Any:
    if not path:
        return [_without_body(item, f"{name}[{n}]", omitted) for n, item in enumerate(value)]
    if not isinstance(value, Mapping) or path[0] not in value:
        return value
    return {**value, path[0]: _without_bodies(value[path[0]], path[1:], name, omitted)}


def _without_body(lesson: Any, name: str, omitted: list[str]) -> Any:
    if not isinstance(lesson, Mapping) or "lesson" not in lesson:
        return lesson
    omitted.append(f"{name}.lesson")
    return {**{key: value for key, value in lesson.items() if key != "lesson"}, "omitted_fields": ["lesson"]}
