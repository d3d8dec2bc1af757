"""User authority and external authority never mix, whatever the route."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_core.authority import CITABLE, CLASS_OF, USER_DOMAINS, attributed, compatible
from harness_core.events import PAYLOADS
from harness_core.vocabulary import AuthorityDomain
from tests.core.desk import PREDICTION, SOURCE, TESTIMONY, Desk, claim, grounded

USER = {"user_preference", "user_intent", "private_context", "user_decision", "user_testimony"}
EVERY = [domain.value for domain in AuthorityDomain]
PAIRS = list(product(EVERY, EVERY))


def described(domain: str) -> dict[str, str]:
    """Evidence of that domain."""
    return (
        {**SOURCE, "authority_domain": domain}
        if domain == "external_source"
        else {**TESTIMONY, "authority_domain": domain}
    )


def test_five_domains_are_the_users() -> None:
    """The user's domains are those the seed names, and every other one is external."""
    assert {domain.value for domain in USER_DOMAINS} == USER
    assert set(CLASS_OF) == set(AuthorityDomain)


@pytest.mark.parametrize(("claimed", "cited"), PAIRS)
def test_a_claim_rests_on_its_own_class(claimed: str, cited: str) -> None:
    """A claim may cite evidence of its own broad class and no other."""
    answer = Desk().ask(
        "open",
        case_id="c1",
        top_unknown="q",
        initial_evidence=[{"id": "I1", **described(cited)}],
        mechanisms=[grounded("M1", "I1", domain=claimed)],
    )
    assert ("error" not in answer) == ((claimed in USER) == (cited in USER))
    if "error" in answer:
        assert "cannot ground" in answer["error"]
        assert [fault["path"] for fault in answer["fields"]] == ["mechanisms[0].authority_domain"]


@pytest.mark.parametrize(("probed", "told"), PAIRS)
def test_a_comparison_describes_its_own_class(probed: str, told: str) -> None:
    """The evidence a comparison describes is of the class of its probe."""
    desk = Desk()
    desk.open()
    desk.commit(authority_domain=probed)
    desk.act()
    answer = desk.ask("compare", disposition="match", rationale="r", evidence=described(told))
    assert ("error" not in answer) == ((probed in USER) == (told in USER))
    if "error" in answer:
        assert "incompatible with probe authority" in answer["error"]


@pytest.mark.parametrize("domain", sorted(USER))
def test_testimony_never_becomes_a_fact(domain: str) -> None:
    """What the user answered cannot ground an external claim, neither as observation nor as comparison."""
    desk = Desk()
    desk.open()
    for event in desk.look("yes", tool_name="clarify", authority_domain=domain):
        refusal = desk.refused("revise", reason="r", mechanisms=[grounded("M1", event, domain="external_source")])
        assert "cannot ground a claim of external_source" in refusal.text
        assert "user authority never becomes external authority" in refusal.text


@pytest.mark.parametrize("domain", EVERY)
def test_only_the_user_answers_clarify(domain: str) -> None:
    """A question to the user takes a user domain and no other."""
    desk = Desk()
    desk.open()
    asking = {"tool_name": "clarify", "tool_args": {"question": "which?"}, "authority_domain": domain}
    answer = desk.ask("commit", **{**PREDICTION, **asking})
    assert ("error" not in answer) == (domain in USER)
    if "error" in answer:
        assert "clarify authority" in answer["error"]


def test_what_may_be_cited() -> None:
    """Evidence, observations, exposures and comparisons carry authority; a start, a pause or a revision does not."""
    desk = Desk()
    desk.open(initial_evidence=[{"id": "I1", **SOURCE, "authority_domain": "system_state"}], mechanisms=[claim("M1")])
    desk.do("record_evidence", evidence=[SOURCE])
    desk.do("pause", reason="later")
    desk.do("resume", case_id="c1")
    desk.adopt_lineage("s2", ["s1", "s2"])
    desk.commit("s2")
    desk.act(session="s2", displays=["shown otherwise"])
    desk.compare("s2")
    desk.commit("s2")
    desk.do("discard", "s2", reason="a mistake")
    citable = {"initial_observation", "evidence_recorded", "probe_observed", "probe_exposed", "probe_compared"}
    seen = set()
    for record in desk.timeline("c1"):
        sent = [grounded("M2", record["event_id"], text=f"rests on {record['event_id']}")]
        answer = desk.ask("revise", "s2", reason="r", alternatives=sent)
        assert ("error" not in answer) == (record["type"] in citable), record
        if "error" in answer:
            assert "without evidence authority" in answer["error"]
        seen.add(record["type"])
    assert {type_.value for type_ in CITABLE} == citable
    assert seen == {type_.value for type_ in PAYLOADS} - {"model_revised", "case_closed", "case_adopted"}


@given(st.sampled_from(AuthorityDomain), st.lists(st.sampled_from(AuthorityDomain)))
def test_compatible_is_of_one_class(claimed: AuthorityDomain, cited: list[AuthorityDomain]) -> None:
    """Domains are compatible exactly when all of them are the user's or none is."""
    assert compatible(claimed, cited) == all((claimed.value in USER) == (domain.value in USER) for domain in cited)


@given(st.sampled_from(AuthorityDomain), st.none() | st.sampled_from(AuthorityDomain))
def test_laundered_testimony_counts_as_testimony(declared: AuthorityDomain, nested: AuthorityDomain | None) -> None:
    """Where an older Timeline nests testimony in an external comparison, it counts as the user's word."""
    domain = attributed(declared, nested)
    assert domain is (nested if nested is not None and nested.value in USER else declared)
