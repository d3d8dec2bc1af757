"""A desk to work at: the harness in memory, with short words for what the tests do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from harness_core.arguments import MODEL_TOOL, PROBE_TOOL, REQUESTS
from harness_core.case import Case
from harness_core.testing import Memory
from harness_core.vocabulary import Provenance, ResultStatus

JSON = Any

PREDICTION: Mapping[str, JSON] = {
    "purpose": "learn",
    "unknown_or_goal": "whether the file holds 42",
    "tool_name": "read_file",
    "tool_args": {"path": "a.txt"},
    "predicted_outcomes": [{"outcome": "it holds 42", "meaning": "the claim stands"}],
    "would_change_belief": "it holds another number",
    "why_this_action": "reading is direct",
    "authority_domain": "system_state",
}
SOURCE: Mapping[str, JSON] = {
    "summary": "it says 42",
    "source_ref": "https://example.org/42",
    "source_role": "primary",
    "access_scope": "full",
    "authority_domain": "external_source",
}
TESTIMONY: Mapping[str, JSON] = {
    "summary": "the user said 42",
    "source_ref": "the conversation",
    "authority_domain": "user_testimony",
}


class Desk(Memory):
    """``Memory`` with one case ``c1`` in mind, worked on in session ``s1`` unless told otherwise."""

    def ask(self, operation: str, session: str = "s1", **fields: JSON) -> Mapping[str, JSON]:
        """Make a call, whatever becomes of it."""
        tool = next(name for name in REQUESTS if operation in REQUESTS[name])
        return self.tool(tool, {"operation": operation, **fields}, session)

    def do(self, operation: str, session: str = "s1", **fields: JSON) -> Mapping[str, JSON]:
        """Make a call that is accepted; its answer."""
        answer = self.ask(operation, session, **fields)
        assert "error" not in answer, answer["error"]
        return answer

    def refused(self, operation: str, session: str = "s1", **fields: JSON) -> Refusal:
        """Make a call that is refused and changes nothing; the refusal."""
        before = self.snapshot()
        answer = self.ask(operation, session, **fields)
        assert "error" in answer, f"{operation} was accepted"
        assert self.snapshot() == before
        return Refusal(answer)

    def snapshot(self) -> str:
        """Everything that is kept, as text."""
        return json.dumps([self.timeline(case_id) for case_id in sorted(self.events)]) + repr(self.bindings)

    # --- the usual steps ---

    def open(self, case_id: str = "c1", session: str = "s1", **fields: JSON) -> Mapping[str, JSON]:
        return self.do("open", session, case_id=case_id, **{"top_unknown": "whether the file holds 42", **fields})

    def commit(self, session: str = "s1", **fields: JSON) -> Mapping[str, JSON]:
        return self.do("commit", session, **{**PREDICTION, **fields})

    def act(
        self,
        result: JSON = "42",
        *,
        args: Mapping[str, JSON] | None = None,
        session: str = "s1",
        displays: Sequence[JSON] = (),
        provenance: Provenance = Provenance.NATIVE_HANDLER_RESULT,
        status: ResultStatus | None = None,
    ) -> str:
        """Run the committed tool; the id of what is now to be compared."""
        probe = self.at(session).pending_probe
        assert probe is not None
        with self.execution(session, probe.tool_name, probe.tool_args if args is None else args) as execution:
            execution.observed(result, provenance=provenance, status=status)
            for display in displays:
                execution.exposed(display)
        return self.observation(session)

    def observation(self, session: str = "s1") -> str:
        probe = self.at(session).pending_probe
        assert probe is not None
        assert probe.observation_event_id is not None
        return probe.observation_event_id

    def compare(self, session: str = "s1", **fields: JSON) -> Mapping[str, JSON]:
        return self.do("compare", session, **{"disposition": "match", "rationale": "as predicted", **fields})

    def look(self, result: JSON = "42", **fields: JSON) -> tuple[str, str]:
        """A whole probe cycle; the ids of the observation and of the comparison.

        ``fields`` go to the commitment or to the comparison, each to the one that knows it.
        """
        asked = {name: value for name, value in fields.items() if name in PREDICTION or name == "claim_id"}
        self.commit(**asked)
        seen = self.act(result)
        told = self.compare(**{name: value for name, value in fields.items() if name not in asked})
        return seen, told["event"]["event_id"]

    def mismatch(self, **fields: JSON) -> str:
        """A probe cycle that ends in a material mismatch; its id."""
        bound = {"belief_change": "weakened"} if "claim_id" in fields else {}
        return self.look("41", **{"disposition": "mismatch", "material": True, **bound, **fields})[1]

    def close_case(self, outcome: str = "unresolved", session: str = "s1", **fields: JSON) -> Mapping[str, JSON]:
        return self.do(
            "close", session, **{"outcome": outcome, "summary": "done", "transfer": {"decision": "none"}, **fields}
        )

    # --- what is there ---

    def at(self, session: str = "s1") -> Case:
        """The session's active case."""
        active = self.bindings[session].active
        assert active is not None
        return self.cases[active]

    @property
    def c1(self) -> Case:
        return self.cases["c1"]

    def types(self, case_id: str = "c1") -> list[str]:
        """The types of a case's events."""
        return [record["type"] for record in self.timeline(case_id)]

    def last(self, case_id: str = "c1") -> Mapping[str, JSON]:
        """The payload of a case's last event."""
        payload: Mapping[str, JSON] = self.timeline(case_id)[-1]["payload"]
        return payload


class Refusal:
    """A refused call's answer."""

    def __init__(self, answer: Mapping[str, JSON]) -> None:
        self.text: str = answer["error"]
        self.code: str = answer["code"]
        self.paths = [fault["path"] for fault in answer["fields"]]
        self.sends = {fault["path"]: fault["send"] for fault in answer["fields"]}

    def __repr__(self) -> str:
        return f"{self.code}: {self.text}"


def claim(item: str, text: str = "the file holds 42", **fields: JSON) -> dict[str, JSON]:
    """A claim as it is sent."""
    return {"id": item, "text": text, **fields}


def grounded(
    item: str, *evidence: str, domain: str = "system_state", text: str = "the file holds 42"
) -> dict[str, JSON]:
    """A claim as it is sent that cites evidence."""
    return claim(item, text, evidence_event_ids=list(evidence), authority_domain=domain)


def step(item: str, *depends_on: str, action: str = "go on") -> dict[str, JSON]:
    """A plan step as it is sent."""
    return {"id": item, "action": action, "depends_on": list(depends_on)}


__all__ = [
    "JSON",
    "MODEL_TOOL",
    "PREDICTION",
    "PROBE_TOOL",
    "SOURCE",
    "TESTIMONY",
    "Desk",
    "Refusal",
    "claim",
    "grounded",
    "step",
]
