"""The inquiry that is demonstrated: does a settings file allow three retries?

Six steps, from belief to conclusion.  What a step sends depends on what the steps before it got back, so the same
inquiry ends supported where the file says what was predicted, and unresolved where it says something else.  Where the
host's capture is not proven, closing as resolved is refused, and a seventh step closes as unresolved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

CASE_ID = "service-retries"
FILE_NAME = "service.ini"
AS_PREDICTED = "[http]\nretries = 3\n"
PREDICTED = "retries = 3"
CLAIM = {"id": "M1", "text": f"{FILE_NAME} allows three retries"}
PLAN = {"id": "P1", "action": "tell the operator that three retries are allowed", "depends_on": ["M1"]}

Replies = Mapping[str, Any]
"""The replies so far by step name: the parsed JSON of our tools, the plain text of the look."""


@frozen
class Step:
    """One step: the tool it calls, the arguments it sends, and what it tells the onlooker once the reply is there."""

    name: str
    tool: str
    arguments: Callable[[Replies], Mapping[str, Any]]
    tell: Callable[[Replies], tuple[str, str]]
    needed: Callable[[Replies], bool] = lambda _: True
    refusable: bool = False

    def read(self, reply: str) -> Any:
        """The reply of this step's tool as the later steps use it.  Raises ``InquiryFailed`` for a refusal."""
        if self.name == "look":
            return reply
        try:
            value = json.loads(reply)
        except ValueError as error:
            raise InquiryFailed(f"the answer to {self.name} is not JSON: {reply[:300]}") from error
        if not isinstance(value, dict) or ("error" in value and not self.refusable):
            raise InquiryFailed(f"{self.name} was refused: {reply[:1000]}")
        return value


class InquiryFailed(Exception):
    """A step of the inquiry was not answered as it should have been."""


def steps(file: Path) -> tuple[Step, ...]:
    """The steps over ``file``."""
    look = {"path": str(file)}
    return (
        Step("open", "epistemic_model", lambda _: _open(), _told_open),
        Step("commit", "epistemic_probe", lambda _: _commit(look), _told_commit),
        Step("look", "read_file", lambda _: look, _told_look),
        Step("compare", "epistemic_probe", _compare, _told_compare),
        Step("revise", "epistemic_model", _revise, _told_revise),
        Step("close", "epistemic_model", _close, _told_close, refusable=True),
        Step("leave open", "epistemic_model", lambda _: UNPROVEN, _told_left_open, needed=_refused),
    )


def _as_predicted(replies: Replies) -> bool:
    return PREDICTED in replies["look"]


def _open() -> dict[str, Any]:
    return {
        "operation": "open",
        "case_id": CASE_ID,
        "top_unknown": "how many retries the service may make",
        "decision": "what to tell the operator",
        "mechanisms": [CLAIM],
        "current_plan": [PLAN],
    }


def _commit(look: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operation": "commit",
        "claim_id": CLAIM["id"],
        "purpose": "learn",
        "unknown_or_goal": f"what {FILE_NAME} says about retries",
        "tool_name": "read_file",
        "tool_args_json": json.dumps(look),
        "predicted_outcomes": [{"outcome": PREDICTED, "meaning": "the claim stands"}],
        "would_change_belief": "any other number of retries",
        "why_this_action": "the file is what the service reads at its start",
        "authority_domain": "system_state",
    }


def _compare(replies: Replies) -> dict[str, Any]:
    if _as_predicted(replies):
        finding = {"disposition": "match", "belief_change": "strengthened", "rationale": "the file says three"}
    else:
        finding = {
            "disposition": "mismatch",
            "belief_change": "weakened",
            "rationale": "the file does not say three",
            "material": True,  # type: ignore[dict-item]
        }
    return {"operation": "compare", **finding}


def _revise(replies: Replies) -> dict[str, Any]:
    compared = replies["compare"]["event"]
    if _as_predicted(replies):
        grounded = {
            **CLAIM,
            "epistemic_status": "grounded",
            "authority_domain": "system_state",
            "evidence_event_ids": [compared["payload"]["observation_event_id"]],
        }
        return {"operation": "revise", "reason": "the file was read and says so", "mechanisms": [grounded]}
    return {
        "operation": "revise",
        "reason": "the file says something else",
        "addresses_event_ids": [compared["event_id"]],
        "mechanisms": [{**CLAIM, "epistemic_status": "unresolved"}],
        "current_plan": [{"id": "P2", "action": "ask the operator which limit is meant"}],
    }


def _close(replies: Replies) -> dict[str, Any]:
    if _as_predicted(replies):
        end = {"outcome": "resolved", "summary": f"{FILE_NAME} allows three retries"}
    else:
        end = {"outcome": "unresolved", "summary": f"{FILE_NAME} does not say three; which limit is meant is open"}
    return {"operation": "close", **end, "transfer": {"decision": "none"}}


UNPROVEN: Mapping[str, Any] = {
    "operation": "close",
    "outcome": "unresolved",
    "summary": "the file was read, and that the harness saw the reading itself is not proven on this host",
    "transfer": {"decision": "none"},
}


def _refused(replies: Replies) -> bool:
    """Whether the harness refused to close the case as the inquiry wanted it."""
    return "error" in replies["close"]


def _told_open(replies: Replies) -> tuple[str, str]:
    claim = replies["open"]["case"]["model"]["mechanisms"][0]
    return "believed", f"{claim['id']}: {claim['text']} ({claim['epistemic_status']})"


def _told_commit(replies: Replies) -> tuple[str, str]:
    probe = replies["commit"]["probe"]
    return "predicted", f"{probe['tool_name']} will show: {probe['predicted_outcomes'][0]['outcome']}"


def _told_look(replies: Replies) -> tuple[str, str]:
    return "captured", " ".join(replies["look"].split())[:160]


def _told_compare(replies: Replies) -> tuple[str, str]:
    payload = replies["compare"]["event"]["payload"]
    return "compared", f"{payload['disposition']}: the claim is {payload['belief_change']}"


def _told_revise(replies: Replies) -> tuple[str, str]:
    claim = replies["revise"]["case"]["model"]["mechanisms"][0]
    return "revised", f"{claim['id']} is {claim['epistemic_status']}"


def _told_close(replies: Replies) -> tuple[str, str]:
    return ("refused", replies["close"]["error"]) if _refused(replies) else _concluded(replies["close"])


def _told_left_open(replies: Replies) -> tuple[str, str]:
    return _concluded(replies["leave open"])


def _concluded(reply: Mapping[str, Any]) -> tuple[str, str]:
    closure = reply["case"]["closure"]
    return "concluded", f"{closure['outcome']}, calibration {closure['calibration']['label']}"
