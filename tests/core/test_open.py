"""Opening a case: what is filled in, what evidence becomes, what is refused."""

from __future__ import annotations

import pytest

from harness_core.arguments import MODEL_TOOL, parse
from harness_core.commands import Open
from harness_core.decider import decide
from harness_core.errors import Refused
from harness_core.moment import Moment
from tests.core.desk import SOURCE, TESTIMONY, Desk, claim, grounded, step


def test_a_question_is_enough() -> None:
    """An id and a question open a case; everything else gets a conservative default."""
    case = Desk().open()["case"]
    model = case["model"]
    assert (case["case_id"], case["status"], case["version"], case["session_id"]) == ("c1", "active", 1, "s1")
    assert (model["decision"], model["state_grounding"], model["mechanisms"]) == ("none", [], [])
    assert (model["alternatives"], model["current_plan"], model["applied_prior_lessons"]) == ([], [], [])
    assert model["stopping_condition"]


def test_a_fresh_case_is_sound() -> None:
    """A fresh case is not stale, has no probe pending, and its replay is usable."""
    answer = Desk().open()
    assert (answer["case"]["stale"], answer["case"]["pending_probe"]) == (False, None)
    assert answer["replay"]["usable"]


def test_opening_is_the_first_event() -> None:
    """Without initial evidence the Timeline begins with case_opened, E000001."""
    desk = Desk()
    desk.open()
    assert [(r["event_id"], r["type"]) for r in desk.timeline("c1")] == [("E000001", "case_opened")]


@pytest.mark.parametrize("section", ["state_grounding", "mechanisms", "alternatives"])
def test_a_claim_needs_only_id_and_text(section: str) -> None:
    """A claim without evidence is stored as a hypothesis, in each of the three arrays."""
    stored = Desk().open(**{section: [claim("M1")]})["case"]["model"][section]
    assert stored == [
        {"id": "M1", "text": "the file holds 42", "epistemic_status": "hypothesis", "evidence_event_ids": []}
    ]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [("hypothesis", "hypothesis"), ("unresolved", "unresolved"), ("grounded", "hypothesis")],
)
def test_nothing_is_grounded_on_nothing(sent: str, stored: str) -> None:
    """Without evidence a claim keeps an honest status, and is never presented as grounded."""
    model = Desk().open(mechanisms=[claim("M1", epistemic_status=sent, evidence_event_ids=[])])["case"]["model"]
    assert model["mechanisms"][0]["epistemic_status"] == stored


def test_evidence_comes_before_the_case() -> None:
    """Initial evidence is recorded before the opening, and I1 in a claim becomes its event id."""
    desk = Desk()
    model = desk.open(
        initial_evidence=[{"id": "I1", **SOURCE}, {"id": "I2", **TESTIMONY}],
        mechanisms=[grounded("M1", "I1", domain="empirical_test")],
    )["case"]["model"]
    assert desk.types() == ["initial_observation", "initial_observation", "case_opened"]
    assert model["mechanisms"][0]["evidence_event_ids"] == ["E000001"]
    assert model["mechanisms"][0]["epistemic_status"] == "grounded"


@pytest.mark.parametrize("status", ["grounded", "hypothesis", "unresolved"])
def test_a_cited_claim_keeps_the_status_it_declares(status: str) -> None:
    """A claim with evidence may be declared weaker than grounded."""
    sent = grounded("M1", "I1", domain="external_source") | {"epistemic_status": status}
    model = Desk().open(initial_evidence=[{"id": "I1", **SOURCE}], mechanisms=[sent])["case"]["model"]
    assert model["mechanisms"][0]["epistemic_status"] == status


def test_user_evidence_needs_no_role_and_keeps_its_reference() -> None:
    """What the user said needs no source role or access scope; its domain and reference are kept as given."""
    desk = Desk()
    desk.open(initial_evidence=[{"id": "I1", **TESTIMONY}])
    payload = desk.timeline("c1")[0]["payload"]
    assert (payload["authority_domain"], payload["source_ref"]) == ("user_testimony", "the conversation")
    assert payload["initial_ref"] == "I1"


def test_role_and_scope_belong_to_external_sources() -> None:
    """A role or scope sent with evidence of another domain is not kept, so it can never count for anything."""
    desk = Desk()
    desk.open(initial_evidence=[{"id": "I1", **SOURCE, "authority_domain": "system_state"}])
    assert not {"source_role", "access_scope"} & desk.timeline("c1")[0]["payload"].keys()


def test_an_external_source_says_what_it_is() -> None:
    """External evidence without role and scope is refused, both named, instead of passing as support."""
    bare = {name: value for name, value in SOURCE.items() if name not in ("source_role", "access_scope")}
    refusal = Desk().refused("open", case_id="c1", top_unknown="q", initial_evidence=[{"id": "I1", **bare}])
    assert refusal.paths == ["initial_evidence[0].source_role", "initial_evidence[0].access_scope"]
    assert "primary" in refusal.text


def test_the_derived_domains_stand_on_the_claim() -> None:
    """A claim tells which domains its evidence is of, each once and sorted; evidence cited twice counts once."""
    evidence = [
        {"id": "I1", **SOURCE},
        {"id": "I2", "summary": "s", "source_ref": "r", "authority_domain": "empirical_test"},
    ]
    sent = grounded("M1", "I1", "I2", "I1", domain="external_source")
    stored = Desk().open(initial_evidence=evidence, mechanisms=[sent])["case"]["model"]["mechanisms"][0]
    assert stored["grounding_authority_domains"] == ["empirical_test", "external_source"]
    assert stored["evidence_event_ids"] == ["E000001", "E000002"]


def test_a_claim_may_be_sent_back_as_it_was_shown() -> None:
    """The derived domains may be echoed; they are derived anew and never believed."""
    sent = grounded("M1", "I1", domain="external_source") | {"grounding_authority_domains": ["user_testimony"]}
    stored = Desk().open(initial_evidence=[{"id": "I1", **SOURCE}], mechanisms=[sent])["case"]["model"]
    assert stored["mechanisms"][0]["grounding_authority_domains"] == ["external_source"]


def test_evidence_wants_a_domain() -> None:
    """A claim that cites evidence without declaring a domain is refused, with the domains that would fit."""
    sent = claim("M1", evidence_event_ids=["I1"])
    refusal = Desk().refused(
        "open", case_id="c1", top_unknown="q", initial_evidence=[{"id": "I1", **SOURCE}], mechanisms=[sent]
    )
    assert refusal.sends == {"mechanisms[0].authority_domain": "external_source"}


def test_a_claim_cites_what_there_is() -> None:
    """A temporary id that names no initial evidence is refused with its path, and so is the missing domain."""
    refusal = Desk().refused(
        "open", case_id="c1", top_unknown="q", mechanisms=[claim("M1", evidence_event_ids=["I1", "E000001"])]
    )
    assert refusal.paths == [
        "mechanisms[0].evidence_event_ids[0]",
        "mechanisms[0].evidence_event_ids[1]",
        "mechanisms[0].authority_domain",
    ]
    assert "user_testimony" in refusal.sends["mechanisms[0].authority_domain"]


def test_a_temporary_id_stands_once() -> None:
    """Two pieces of initial evidence under one temporary id are refused."""
    twice = [{"id": "I1", **SOURCE}, {"id": "I1", **TESTIMONY}]
    assert Desk().refused("open", case_id="c1", top_unknown="q", initial_evidence=twice).paths == [
        "initial_evidence[1].id"
    ]


def test_ids_are_unique_across_claims_and_steps() -> None:
    """An id that stands more than once, wherever, is refused at each of its places."""
    refusal = Desk().refused(
        "open",
        case_id="c1",
        top_unknown="q",
        mechanisms=[claim("X")],
        alternatives=[claim("X")],
        current_plan=[step("X")],
    )
    assert refusal.paths == ["mechanisms[0].id", "alternatives[0].id", "current_plan[0].id"]


def test_a_plan_may_rest_on_claims_and_steps() -> None:
    """Steps may depend on claims of any array and on other steps, in any order; repeated dependencies count once."""
    model = Desk().open(
        state_grounding=[claim("S1")],
        alternatives=[claim("A1")],
        current_plan=[step("P1", "P2", "S1", "S1"), step("P2", "A1"), {"id": "P3", "action": "wait"}],
    )["case"]["model"]
    assert [s["depends_on"] for s in model["current_plan"]] == [["P2", "S1"], ["A1"], []]


def test_a_dependency_is_known() -> None:
    """A step that depends on what is not there is refused, with what it could depend on."""
    refusal = Desk().refused(
        "open", case_id="c1", top_unknown="q", mechanisms=[claim("M1")], current_plan=[step("P1", "M2")]
    )
    assert refusal.sends == {"current_plan[0].depends_on[0]": "one of M1"}
    assert Desk().refused("open", case_id="c1", top_unknown="q", current_plan=[step("P1", "M2")]).sends == {
        "current_plan[0].depends_on[0]": "nothing"
    }


def test_no_step_depends_on_itself() -> None:
    """A step that depends on itself, or on steps that lead back to it, is refused; what only leads there is not."""
    plan = [step("P1", "P1"), step("P2", "P3"), step("P3", "P2"), step("P4", "P3")]
    refusal = Desk().refused("open", case_id="c1", top_unknown="q", current_plan=plan)
    assert refusal.paths == [f"current_plan[{n}].depends_on" for n in (0, 1, 2)]
    assert "through other steps" in refusal.text


def test_lessons_are_the_servers() -> None:
    """Retrieved lessons cannot be supplied; applied ones can, and are kept as they are."""
    desk = Desk()
    refusal = desk.refused("open", case_id="c1", top_unknown="q", retrieved_prior_lessons=[])
    assert "server-managed" in refusal.text
    assert "c1" not in desk.events
    assert desk.open(applied_prior_lessons=["look twice"])["case"]["model"]["applied_prior_lessons"] == ["look twice"]


def test_everything_wrong_with_the_beliefs_is_said_at_once() -> None:
    """Faults of claims, evidence and plan are reported together."""
    refusal = Desk().refused(
        "open",
        case_id="c1",
        top_unknown="q",
        initial_evidence=[{"id": "I1", **TESTIMONY}, {"id": "I1", **TESTIMONY}],
        mechanisms=[grounded("M1", "I1", domain="external_source"), claim("M1")],
        current_plan=[step("P1", "P9")],
    )
    assert len(refusal.paths) == 5


def test_one_active_case_per_session() -> None:
    """A session with an active case opens no other, and goes on with the one it has."""
    desk = Desk()
    desk.open()
    assert desk.refused("open", case_id="c2", top_unknown="q").code == "session_has_case"
    assert desk.at().case_id == "c1"


def test_a_closed_case_makes_room() -> None:
    """A session that closed or paused its case may open another, under another id."""
    desk = Desk()
    desk.open()
    desk.close_case()
    assert desk.refused("open", case_id="c1", top_unknown="q").code == "case_exists"
    desk.open("c2")
    desk.do("pause", reason="later")
    desk.open("c3")
    assert desk.at().case_id == "c3"


QUESTION = "whether the file holds 42"


def test_an_identical_opening_is_answered_again() -> None:
    """Repeating an opening word for word, as after a crash, answers with the case; anything else does not."""
    desk = Desk()
    fields = {"initial_evidence": [{"id": "I1", **TESTIMONY}], "mechanisms": [claim("M1")]}
    answer = desk.open(**fields)
    before = desk.snapshot()
    assert desk.open(**fields) == answer
    assert desk.snapshot() == before
    for other in ({"decision": "d"}, {"mechanisms": []}, {"initial_evidence": [{"id": "I1", **SOURCE}]}):
        assert desk.refused("open", case_id="c1", top_unknown=QUESTION, **{**fields, **other}).code == "case_exists"
    assert desk.refused("open", "s2", case_id="c1", top_unknown=QUESTION, **fields).code == "case_exists"
    desk.do("pause", reason="r")
    desk.do("resume", case_id="c1")
    assert desk.refused("open", case_id="c1", top_unknown=QUESTION, **fields).code == "case_exists"
    assert "go on with it" in desk.refused("resume", case_id="c1").text


def test_a_case_is_opened_once() -> None:
    """The decider itself refuses to open what is there."""
    desk = Desk()
    desk.open()
    opened = desk.timeline("c1")
    command = parse(MODEL_TOOL, {"operation": "open", "case_id": "c1", "top_unknown": "q"}).request
    assert isinstance(command, Open)
    with pytest.raises(Refused, match="there is a case c1 already"):
        decide(desk.c1, command, Moment(at="2030-01-01T00:00:00+00:00", session_id="s1", seq=9))
    assert desk.timeline("c1") == opened
