"""``case.md``: the machine block first, then the case for a person to read.

Made anew from the case's document at every transition and never read back but for the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .heads import Head, render_block

TITLE = "This file is made from the case's Timeline, events.jsonl, which alone counts. Do not edit it."


def render(case: Mapping[str, Any], head: Head) -> str:
    """The whole text for a case's document and the head it stands at."""
    model = case["model"]
    parts = [
        f"> {TITLE}\n",
        render_block(case, head),
        f"# Case {case['case_id']}\n",
        _facts(case),
        _section("Question", [model["top_unknown"]]),
        _section("Decision", [model["decision"]]),
        _section("Stopping condition", [model["stopping_condition"]]),
        _section("How things stand", _claims(model["state_grounding"])),
        _section("Mechanisms", _claims(model["mechanisms"])),
        _section("Alternatives", _claims(model["alternatives"])),
        _section("Plan", [_step(step) for step in model["current_plan"]]),
        _section("Lessons retrieved", [_lesson(lesson) for lesson in model["retrieved_prior_lessons"]]),
        _section("Lessons applied", model["applied_prior_lessons"]),
        _section("Pending probe", _probe(case.get("pending_probe"))),
        _section("Closure", _closure(case.get("closure"))),
    ]
    return "\n".join(part for part in parts if part)


def _facts(case: Mapping[str, Any]) -> str:
    stale = f"yes: {', '.join(case['stale_claim_ids'])}" if case["stale"] else "no"
    facts = {
        "Status": case["status"],
        "Session": case["session_id"],
        "Model version": case["version"],
        "Events": case["event_count"],
        "Stale": stale,
        "Opened": case["created_at"],
        "Updated": case["updated_at"],
    }
    return "".join(f"- **{name}:** {_line(value)}\n" for name, value in facts.items())


def _section(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "".join(f"- {_line(line)}\n" for line in lines) if lines else ""


def _line(text: object) -> str:
    """A text of somebody's own on one line, so that it cannot pass for a part of this file's structure."""
    return " ".join(str(text).split())


def _claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"{claim['id']} ({claim['epistemic_status']}"
        + (f", on {', '.join(claim['evidence_event_ids'])}" if claim["evidence_event_ids"] else "")
        + f"): {claim['text']}"
        for claim in claims
    ]


def _step(step: Mapping[str, Any]) -> str:
    after = f" (after {', '.join(step['depends_on'])})" if step["depends_on"] else ""
    return f"{step['id']}{after}: {step['action']}"


def _lesson(lesson: Mapping[str, Any]) -> str:
    return f"from {lesson['case_id']} ({lesson['calibration']}): {lesson['lesson']}"


def _probe(probe: Mapping[str, Any] | None) -> list[str]:
    if probe is None:
        return []
    outcomes = ", or ".join(outcome["outcome"] for outcome in probe["predicted_outcomes"])
    return [
        f"{probe['probe_id']}, {probe['status']}: {probe['tool_name']}",
        f"To settle: {probe['unknown_or_goal']}",
        f"Predicted: {outcomes}",
        f"Would change the belief: {probe['would_change_belief']}",
    ]


def _closure(closure: Mapping[str, Any] | None) -> list[str]:
    if closure is None:
        return []
    lines = [f"{closure['outcome']} ({closure['calibration']['language']})", closure["summary"]]
    transfer = closure["transfer"]
    return lines if "lesson" not in transfer else [*lines, f"Lesson ({transfer['decision']}): {transfer['lesson']}"]
