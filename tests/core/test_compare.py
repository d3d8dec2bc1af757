"""Holding an observation against its prediction."""

from __future__ import annotations

import pytest

from harness_core.vocabulary import BeliefChange, Provenance, ResultStatus
from tests.core.desk import SOURCE, Desk, claim, step


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.open(
        mechanisms=[claim("M1"), claim("M2")], current_plan=[step("P1", "M1"), step("P2", "P1"), step("P3", "M2")]
    )
    return made


def test_a_comparison_ends_the_probe(desk: Desk) -> None:
    """One event; the probe is no longer pending, and the case is sound."""
    desk.commit()
    seen = desk.act()
    assert desk.do("show")["replay"]["reason"] == "probe result awaits comparison"
    answer = desk.compare()
    assert answer["event"]["type"] == "probe_compared"
    assert answer["event"]["payload"]["observation_event_id"] == seen
    assert answer["case"]["pending_probe"] is None
    assert answer["replay"]["usable"]


@pytest.mark.parametrize("missing", ["disposition", "rationale"])
def test_a_comparison_says_why(desk: Desk, missing: str) -> None:
    """Disposition and rationale are both needed, and the probe stays pending without them."""
    desk.commit()
    desk.act()
    sent = {"disposition": "match", "rationale": "r"}
    del sent[missing]
    assert desk.refused("compare", **sent).paths == [missing]


def test_there_must_be_something_to_compare(desk: Desk) -> None:
    """A probe that was not yet executed has nothing to compare."""
    desk.commit()
    refusal = desk.refused("compare", disposition="match", rationale="r")
    assert refusal.code == "probe_committed"
    assert "call read_file by itself" in refusal.text


# --- drift ---


@pytest.mark.parametrize("disposition", ["match", "mismatch", "unresolved"])
def test_drift_needs_a_reason(desk: Desk, disposition: str) -> None:
    """Other arguments than the committed ones are explained, whatever the disposition."""
    desk.commit()
    desk.act(args={"path": "b.txt"})
    refusal = desk.refused("compare", disposition=disposition, rationale="r")
    assert refusal.paths == ["argument_drift_reason"]
    assert "argument drift" in refusal.text
    desk.compare(disposition=disposition, argument_drift_reason="a.txt was gone")
    payload = desk.last()
    assert payload["execution_args_match_commitment"] is False
    assert payload["argument_match_status"] == "mismatched"
    assert payload["argument_drift_reason"] == "a.txt was gone"


def test_arguments_are_not_repeated(desk: Desk) -> None:
    """A comparison repeats neither the committed nor the executed arguments."""
    desk.commit(tool_args={"path": "one-place"})
    desk.act(args={"path": "another-place"})
    desk.compare(argument_drift_reason="moved")
    assert "-place" not in str(desk.last())


def test_unknown_is_not_matched(desk: Desk) -> None:
    """Where it cannot be told whether the arguments match, that is said and needs a reason too."""
    desk.commit()
    desk.key_id = "key-2"
    desk.act()
    assert "unknown" in desk.refused("compare", disposition="match", rationale="r").text
    desk.compare(argument_drift_reason="the key was lost")
    assert desk.last()["argument_match_status"] == "unknown"
    assert "execution_args_match_commitment" not in desk.last()


def test_no_drift_no_reason(desk: Desk) -> None:
    """For matching arguments a drift reason is not kept."""
    desk.commit()
    desk.act()
    desk.compare(argument_drift_reason="none")
    assert desk.last()["argument_match_status"] == "matched"
    assert "argument_drift_reason" not in desk.last()


# --- bound and unbound ---


def test_an_unbound_probe_changes_no_belief(desk: Desk) -> None:
    """An unbound comparison needs no belief change and no affected claims; a belief change sent with it is not kept."""
    desk.commit()
    desk.act()
    desk.compare(belief_change="weakened")
    payload = desk.last()
    assert payload["affected_claim_ids"] == []
    assert not {"belief_change", "claim_id", "claim_snapshot", "model_version"} & payload.keys()


@pytest.mark.parametrize("change", [change.value for change in BeliefChange])
def test_a_bound_probe_says_what_it_did(desk: Desk, change: str) -> None:
    """A bound comparison states a belief change, carries the committed snapshot, and alters no claim by itself."""
    desk.commit(claim_id="M1")
    desk.act()
    refusal = desk.refused("compare", disposition="match", rationale="r")
    assert refusal.paths == ["belief_change"]
    assert change in refusal.sends["belief_change"]
    before = desk.c1.model
    desk.compare(belief_change=change)
    payload = desk.last()
    assert (payload["claim_id"], payload["model_version"], payload["belief_change"]) == ("M1", 1, change)
    assert payload["claim_snapshot"]["id"] == "M1"
    assert payload["affected_claim_ids"] == ["M1"]
    assert desk.c1.model == before


def test_a_bound_probe_affects_its_claim(desk: Desk) -> None:
    """Naming other claims in a bound comparison is refused; naming its own is not needed and allowed."""
    desk.commit(claim_id="M1")
    desk.act()
    for affected in (["M2"], ["M1", "M2"], []):
        refusal = desk.refused(
            "compare", disposition="match", rationale="r", belief_change="unchanged", affected_claim_ids=affected
        )
        assert "bound claim" in refusal.text
    desk.compare(belief_change="unchanged", affected_claim_ids=["M1"])


# --- materiality ---


def test_a_material_mismatch_makes_stale(desk: Desk) -> None:
    """What it names becomes stale, and every step that rests on it through any number of steps, claims first."""
    desk.mismatch(affected_claim_ids=["M1"])
    case = desk.do("show")["case"]
    assert case["stale"] is True
    assert case["stale_claim_ids"] == ["M1", "P1", "P2"]
    assert case["mismatch_event_id"] == desk.timeline("c1")[-1]["event_id"]
    assert desk.do("show")["replay"]["reason"] == "material mismatch requires consequential revision"


def test_a_bound_mismatch_hits_its_claim(desk: Desk) -> None:
    """A bound material mismatch makes its claim stale without naming it."""
    desk.mismatch(claim_id="M2")
    assert desk.c1.staleness.item_ids == ("M2", "P3")


def test_steps_may_be_named(desk: Desk) -> None:
    """A mismatch may hit a plan step directly; what is named twice counts once."""
    desk.mismatch(affected_claim_ids=["P1", "P1"])
    assert desk.c1.staleness.item_ids == ("P1", "P2")


@pytest.mark.parametrize("disposition", ["match", "unresolved"])
def test_only_a_mismatch_is_material(desk: Desk, disposition: str) -> None:
    """Material with another disposition is refused."""
    desk.commit(claim_id="M1")
    desk.act()
    refusal = desk.refused("compare", disposition=disposition, rationale="r", belief_change="unchanged", material=True)
    assert refusal.paths == ["material"]


def test_an_immaterial_mismatch_makes_nothing_stale(desk: Desk) -> None:
    """A mismatch that is not material, by default, leaves the case as it is, whatever it names."""
    desk.look("41", disposition="mismatch", affected_claim_ids=["M1"])
    assert not desk.c1.stale
    assert desk.last()["stale_item_ids"] == []


def test_a_material_mismatch_names_what_it_hits(desk: Desk) -> None:
    """An unbound material mismatch that names nothing is refused."""
    desk.commit()
    desk.act()
    for affected in ({}, {"affected_claim_ids": []}):
        refusal = desk.refused("compare", disposition="mismatch", rationale="r", material=True, **affected)
        assert refusal.paths == ["affected_claim_ids"]


def test_what_is_named_is_there(desk: Desk) -> None:
    """An unknown id among the affected ones is refused at its place, with those that are known."""
    desk.commit()
    desk.act()
    refusal = desk.refused("compare", disposition="match", rationale="r", affected_claim_ids=["M1", "M9"])
    assert refusal.sends == {"affected_claim_ids[1]": "one of M1, M2, P1, P2, P3"}
    bare = Desk()
    bare.open()
    bare.commit()
    bare.act()
    refusal = bare.refused("compare", disposition="match", rationale="r", affected_claim_ids=["M9"])
    assert refusal.sends == {"affected_claim_ids[0]": "one of none"}


# --- the descriptor ---


@pytest.mark.parametrize("disposition", ["match", "mismatch", "unresolved"])
def test_an_external_source_that_was_reached_is_described(desk: Desk, disposition: str) -> None:
    """A successful look at an external source is described, whatever the disposition."""
    desk.commit(authority_domain="external_source")
    desk.act()
    assert desk.refused("compare", disposition=disposition, rationale="r").paths == ["evidence"]
    desk.compare(disposition=disposition, evidence=dict(SOURCE))
    assert desk.last()["evidence"]["access_scope"] == "full"


@pytest.mark.parametrize("status", [s for s in ResultStatus if s is not ResultStatus.OK])
def test_a_failed_look_has_nothing_to_describe(desk: Desk, status: ResultStatus) -> None:
    """A look that did not succeed is compared without a descriptor, or with one that buys nothing."""
    desk.commit(authority_domain="external_source")
    desk.act(status=status)
    desk.compare(disposition="unresolved")
    desk.commit(authority_domain="external_source")
    desk.act(status=status)
    desk.compare(evidence=dict(SOURCE))


@pytest.mark.parametrize("domain", ["system_state", "empirical_test", "user_intent"])
def test_other_domains_need_no_descriptor(desk: Desk, domain: str) -> None:
    """What is no external source is compared without a descriptor."""
    desk.look(authority_domain=domain)
    assert "evidence" not in desk.last()


def test_unknown_provenance_can_weaken(desk: Desk) -> None:
    """An observation of unknown provenance supports nothing, and still can be a material mismatch."""
    desk.commit(claim_id="M1")
    desk.act(provenance=Provenance.UNKNOWN, status=ResultStatus.UNKNOWN)
    desk.compare(disposition="mismatch", belief_change="weakened", material=True)
    assert desk.c1.stale


def test_everything_wrong_is_said_at_once(desk: Desk) -> None:
    """Drift, binding, materiality and descriptor are reported together."""
    desk.commit(claim_id="M1", authority_domain="external_source")
    desk.act(args={"path": "b.txt"})
    refusal = desk.refused("compare", disposition="match", rationale="r", material=True, affected_claim_ids=["M2"])
    assert sorted(refusal.paths) == [
        "affected_claim_ids", "argument_drift_reason", "belief_change", "evidence", "material",
    ]  # fmt: skip
