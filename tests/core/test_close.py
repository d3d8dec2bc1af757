"""Ending a case."""

from __future__ import annotations

import json

import pytest

from harness_core.vocabulary import Provenance, ResultStatus
from tests.core.desk import SOURCE, TESTIMONY, Desk, claim, grounded


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.open(mechanisms=[claim("M1")])
    return made


def rest_on(desk: Desk, *events: str, domain: str = "system_state") -> None:
    """Let the only claim rest on these events."""
    desk.do("revise", reason="r", mechanisms=[grounded("M1", *events, domain=domain)])


@pytest.mark.parametrize("outcome", ["unresolved", "stopped", "replaced", " Stopped "])
def test_a_case_may_end_without_an_answer(desk: Desk, outcome: str) -> None:
    """Any outcome but resolved needs no evidence; the closure tells outcome, summary, transfer and time."""
    case = desk.close_case(outcome)["case"]
    assert case["status"] == "closed"
    closure = case["closure"]
    assert (closure["outcome"], closure["summary"]) == (outcome.strip().lower(), "done")
    assert closure["transfer"] == {"decision": "none"}
    assert closure["closed_at"] == case["updated_at"]
    assert closure["calibration"]["label"] == "hypothesis"


@pytest.mark.parametrize("missing", ["outcome", "summary", "transfer"])
def test_a_closure_is_explicit(desk: Desk, missing: str) -> None:
    """Outcome, summary and transfer review are all needed."""
    sent = {"outcome": "stopped", "summary": "s", "transfer": {"decision": "none"}}
    del sent[missing]
    assert desk.refused("close", **sent).paths == [missing]


def test_a_case_may_be_named(desk: Desk) -> None:
    """Closing may name the session's own case, and no other."""
    assert (
        desk.refused("close", case_id="c2", outcome="stopped", summary="s", transfer={"decision": "none"}).code
        == "other_case"
    )
    desk.close_case("stopped", case_id="c1")


def test_a_flattened_review_is_read(desk: Desk) -> None:
    """A transfer review as JSON text is read; text that is no JSON invents no closure."""
    refusal = desk.refused("close", outcome="stopped", summary="s", transfer="no transfer")
    assert refusal.paths == ["transfer"]
    assert desk.close_case("stopped", transfer=json.dumps({"decision": "none"}))["case"]["closure"]["transfer"] == {
        "decision": "none"
    }


def test_resolved_needs_a_grounded_claim(desk: Desk) -> None:
    """Without an evidence-linked grounded claim a case cannot end as resolved; the refusal says what to do."""
    refusal = desk.refused("close", outcome="resolved", summary="s", transfer={"decision": "none"})
    assert "resolved closure requires an evidence-linked grounded claim" in refusal.text
    assert "unresolved" in refusal.text


def test_an_inspected_observation_resolves(desk: Desk) -> None:
    """A claim on one observation of proven provenance closes as resolved and supported."""
    seen, _ = desk.look()
    rest_on(desk, seen)
    calibration = desk.close_case("resolved")["case"]["closure"]["calibration"]
    assert calibration["label"] == "supported"
    assert calibration["grounded_claim_ids"] == ["M1"]
    assert calibration["evidence_event_ids"] == [seen]


@pytest.mark.parametrize("status", ["tool_error", "error", "blocked", "interrupted", "unknown"])
@pytest.mark.parametrize("cited", ["observation", "display", "comparison"])
def test_a_failed_look_resolves_nothing(desk: Desk, status: str, cited: str) -> None:
    """A failed or unknown execution supports nothing, however it was displayed or described."""
    desk.commit(authority_domain="external_source")
    seen = desk.act("raw", status=ResultStatus(status), displays=["all is well"] if cited == "display" else [])
    told = desk.compare(evidence=dict(SOURCE))["event"]["event_id"]
    event = told if cited == "comparison" else seen
    rest_on(desk, event, domain="external_source")
    refusal = desk.refused("close", outcome="resolved", summary="s", transfer={"decision": "none"})
    assert refusal.code == "not_grounded"
    assert event in refusal.text
    calibration = desk.close_case("unresolved")["case"]["closure"]["calibration"]
    where = "legacy_observation_event_ids" if status == "unknown" else "failed_observation_event_ids"
    assert (calibration["label"], calibration[where]) == ("hypothesis", [event])


def test_an_error_shown_after_a_success_supports_nothing(desk: Desk) -> None:
    """An execution that succeeded and was handed on as an error is no support."""
    desk.commit()
    shown = desk.act("42", displays=[{"error": "hidden"}])
    desk.compare()
    rest_on(desk, shown)
    assert desk.refused("close", outcome="resolved", summary="s", transfer={"decision": "none"}).code == "not_grounded"


def test_unknown_provenance_supports_nothing(desk: Desk) -> None:
    """A text that is not known to be the handler's own supports nothing."""
    desk.commit()
    seen = desk.act(provenance=Provenance.UNKNOWN)
    desk.compare()
    rest_on(desk, seen)
    assert desk.refused("close", outcome="resolved", summary="s", transfer={"decision": "none"}).code == "not_grounded"


@pytest.mark.parametrize("displays", [[], ["shown"], ["shown", "shown again"]])
def test_a_discarded_observation_supports_nothing(desk: Desk, displays: list[str]) -> None:
    """What was given up is no support, neither as observed nor as displayed; the closure names it."""
    desk.commit()
    seen = desk.act("raw", displays=displays)
    events = [r["event_id"] for r in desk.timeline("c1") if r["type"] in ("probe_observed", "probe_exposed")]
    desk.do("discard", reason="the wrong file")
    rest_on(desk, *events)
    assert desk.refused("close", outcome="resolved", summary="s", transfer={"decision": "none"}).code == "not_grounded"
    claims = desk.close_case()["case"]["closure"]["calibration"]["claims"]
    assert claims[0]["discarded_observation_event_ids"] == events
    assert events[-1] == seen


def test_what_searches_return_is_a_lead(desk: Desk) -> None:
    """A search result is provisional, even where its comparison is described as read in full."""
    seen, told = desk.look(tool_name="web_search", authority_domain="external_source", evidence=dict(SOURCE))
    rest_on(desk, seen, told, domain="external_source")
    calibration = desk.close_case("resolved")["case"]["closure"]["calibration"]
    assert (calibration["label"], calibration["lead_only_event_ids"]) == ("provisional", [seen, told])


@pytest.mark.parametrize("scope", ["abstract", "snippet"])
def test_what_was_not_opened_is_a_lead(desk: Desk, scope: str) -> None:
    """Abstracts and snippets are provisional; the closure tells their scope and limitation."""
    limited = {**SOURCE, "access_scope": scope, "limitation": "the rest is behind a wall"}
    event = desk.do("record_evidence", evidence=[limited])["evidence_event_ids"][0]
    rest_on(desk, event, domain="external_source")
    calibration = desk.close_case("resolved")["case"]["closure"]["calibration"]
    assert calibration["label"] == "provisional"
    assert calibration["claims"][0]["access_scopes"] == [scope]
    assert calibration["claims"][0]["limitations"] == ["the rest is behind a wall"]
    assert calibration["claims"][0]["source_roles"] == ["primary"]


@pytest.mark.parametrize("scope", ["full", "partial", "data"])
def test_what_was_read_supports(desk: Desk, scope: str) -> None:
    """Text read in full or in part, and data, support."""
    limited = {**SOURCE, "access_scope": scope, "limitation": "chapter 2 alone"}
    event = desk.do("record_evidence", evidence=[limited])["evidence_event_ids"][0]
    rest_on(desk, event, domain="external_source")
    assert desk.close_case("resolved")["case"]["closure"]["calibration"]["label"] == "supported"


def test_a_lead_beside_support_does_not_weaken_a_claim(desk: Desk) -> None:
    """A claim is as good as the best that it cites; failed looks beside it are named."""
    failed, _ = desk.look({"error": "no"})
    seen, _ = desk.look()
    rest_on(desk, failed, seen)
    claims = desk.close_case("resolved")["case"]["closure"]["calibration"]["claims"]
    assert (claims[0]["label"], claims[0]["failed_observation_event_ids"]) == ("supported", [failed])


def test_what_the_user_said_may_resolve() -> None:
    """A claim of the user's domain on what the user said is grounded and may resolve."""
    desk = Desk()
    desk.open(
        initial_evidence=[{"id": "I1", **TESTIMONY}],
        state_grounding=[grounded("S1", "I1", domain="user_testimony")],
        mechanisms=[claim("M1")],
    )
    calibration = desk.close_case("resolved")["case"]["closure"]["calibration"]
    assert calibration["label"] == "mixed"
    assert "ungrounded claim" in calibration["language"]
    assert (calibration["grounded_claim_ids"], calibration["evidence_event_ids"]) == (["S1"], ["E000001"])
    assert [c["claim_id"] for c in calibration["claims"]] == ["S1", "M1"]


def test_a_pending_probe_keeps_a_case_open(desk: Desk) -> None:
    """A case does not end over a probe that is committed or waits to be compared."""
    desk.commit()
    close = {"outcome": "stopped", "summary": "s", "transfer": {"decision": "none"}}
    assert desk.refused("close", **close).code == "probe_committed"
    desk.act()
    assert desk.refused("close", **close).code == "probe_observed"


def test_a_stale_case_does_not_end(desk: Desk) -> None:
    """A material mismatch is answered before the case ends."""
    desk.mismatch(claim_id="M1")
    assert desk.refused("close", outcome="stopped", summary="s", transfer={"decision": "none"}).code == "stale"


def test_closed_is_closed(desk: Desk) -> None:
    """A closed case leaves its session free and takes nothing more."""
    desk.close_case()
    assert desk.refused("revise", reason="r", decision="d").code == "no_active_case"
    refusal = desk.refused("resume", case_id="c1")
    assert refusal.code == "case_closed"
    assert "open a new" in refusal.text


def test_everything_wrong_with_a_closure_is_said(desk: Desk) -> None:
    """A transfer that lacks its parts names each of them."""
    refusal = desk.refused("close", outcome="stopped", summary="s", transfer={"decision": "candidate"})
    assert refusal.paths == ["transfer.lesson", "transfer.scope", "transfer.evidence_case_ids"]
