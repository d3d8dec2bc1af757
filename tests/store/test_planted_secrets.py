"""No secret that a prefix, a shape or a name gives away is in any file of the store, wherever it was said."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest

from tests.core.secret_examples import BY_NAME, BY_SHAPE
from tests.store.script import PROBE, SOURCE, Process
from tests.store.simulator import SimulatedDisk, Volume

LONG_ENOUGH = 8  # shorter ones might stand in a digest or a date by accident
EXAMPLES = [*(example for examples in BY_SHAPE.values() for example in examples), *BY_NAME]
PLANTED = [EXAMPLES[n : n + 12] for n in range(0, len(EXAMPLES), 12)]  # so many in one text, each in lines of its own


class Broke(Exception):
    """What a tool raises."""


def say_everywhere(process: Process, text: str) -> None:
    """A session in which every free text that a model, a tool or a host can give is this one."""
    claim = {"id": "S1", "text": text}
    source = {**SOURCE, "summary": text, "source_ref": text, "locator": text, "limitation": text}
    told = ("unknown_or_goal", "would_change_belief", "why_this_action")
    probe: dict[str, Any] = {**PROBE, **dict.fromkeys(told, text), "authority_domain": "external_source"}
    probe["predicted_outcomes"] = [text, {"outcome": text, "meaning": text}]
    args = probe["tool_args"] = {"path": "a", "note": text, "deep": [{"more": text}]}
    lesson = {"decision": "candidate", "lesson": text, "scope": text, "evidence_case_ids": ["c1"]}

    process.model(
        operation="open",
        case_id="c1",
        **dict.fromkeys(("top_unknown", "decision", "stopping_condition"), text),
        initial_evidence=[{**source, "id": "I1"}],
        state_grounding=[claim],
        mechanisms=[{**claim, "id": "M1"}],
        alternatives=[{**claim, "id": "A1"}],
        current_plan=[{"id": "P1", "action": text}],
        applied_prior_lessons=[text],
    )
    process.model(operation="record_evidence", evidence=[source])
    for result in (text, {"found": [text]}, "word " * 6_000 + text):
        process.probe(operation="commit", claim_id="M1", **probe)
        with process.harness.execution(session_id="s1", tool_name="read_file", args=args) as execution:
            execution.observed(result)
            execution.exposed(f"displayed: {text}")
        process.probe(
            operation="compare", disposition="match", rationale=text, belief_change="unchanged", evidence=source
        )
    process.probe(operation="commit", **probe)
    with (
        pytest.raises(Broke),
        process.harness.execution(session_id="s1", tool_name="read_file", args={**args, "other": text}),
    ):
        raise Broke(text)
    process.probe(operation="discard", reason=text)
    process.model(operation="revise", reason=text, updates={"decision": f"after all {text}"})
    process.model(operation="pause", reason=text)
    process.model(operation="resume", case_id="c1")
    process.harness.pause_for_lifecycle("s1", kind="session_finalize", reason=text)
    process.harness.proof_of_life("s1")
    process.model(operation="close", outcome="stopped", summary=text, transfer=lesson)


@pytest.mark.parametrize("planted", PLANTED, ids=[str(n) for n, _ in enumerate(PLANTED)])
def test_no_file_holds_a_planted_secret(planted: list[tuple[str, str, str]]) -> None:
    """Questions, claims, plans, evidence, predictions, arguments, results, displays, exceptions, reasons, lessons: a
    secret said in all of them is in no file under the root, neither as it is nor as JSON writes it."""
    volume = Volume()
    say_everywhere(Process(SimulatedDisk(volume)), "\n\n".join(["see:", *map("".join, planted), "end"]))
    held = {
        (path, line)
        for path, data in volume.files().items()
        for line in chain.from_iterable(secret.split("\n") for _, secret, _ in planted)
        for form in (line, json.dumps(line)[1:-1])
        if len(line.strip()) >= LONG_ENOUGH and form.encode() in data
    }
    assert not held


def test_more_than_thirty_kinds_are_planted() -> None:
    """Nearly all kinds of the table have an example that is long enough to be searched for."""
    searched = [kind for kind, examples in BY_SHAPE.items() if any(len(e[1]) >= LONG_ENOUGH for e in examples)]
    assert len(searched) > 80
