"""Revising the model, and what a stale case needs."""

from __future__ import annotations

import pytest

from tests.core.desk import SOURCE, Desk, claim, grounded, step


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.open(mechanisms=[claim("M1")], alternatives=[claim("A1")], current_plan=[step("P1", "M1"), step("P2")])
    return made


@pytest.mark.parametrize(
    "spelled", [{"updates": {"top_unknown": "whether it was 42"}}, {"top_unknown": "whether it was 42"}]
)
def test_a_revision_makes_a_version(desk: Desk, spelled: dict[str, object]) -> None:
    """New fields under updates or beside it replace the old ones, and the version counts up."""
    answer = desk.do("revise", reason="more precise", **spelled)
    assert (answer["case"]["version"], answer["case"]["model"]["top_unknown"]) == (2, "whether it was 42")
    assert answer["event"]["type"] == "model_revised"
    assert answer["event"]["payload"]["changed_fields"] == ["top_unknown"]


def test_an_array_is_replaced_whole(desk: Desk) -> None:
    """A claim array that is sent replaces the old one; arrays that are not sent stay."""
    model = desk.do("revise", reason="r", mechanisms=[claim("M2")], current_plan=[])["case"]["model"]
    assert [c["id"] for c in model["mechanisms"]] == ["M2"]
    assert [c["id"] for c in model["alternatives"]] == ["A1"]
    assert model["current_plan"] == []


def test_only_what_changed_is_recorded(desk: Desk) -> None:
    """Fields that were sent with the value they had are not among the changes."""
    answer = desk.do("revise", reason="r", alternatives=[claim("A1")], decision="ship it")
    assert answer["event"]["payload"]["changed_fields"] == ["decision"]
    assert set(answer["event"]["payload"]["changes"]) == {"decision"}


def test_a_revision_changes_something(desk: Desk) -> None:
    """Sending what the model holds already is refused, and so is sending no field at all."""
    assert "no material change" in desk.refused("revise", reason="r", mechanisms=[claim("M1")]).text
    for empty in ({}, {"updates": {}}):
        refusal = desk.refused("revise", reason="r", **empty)
        assert refusal.paths == ["updates"]
        assert "top_unknown" in refusal.sends["updates"]


def test_a_field_stands_in_one_place(desk: Desk) -> None:
    """A field under updates and beside it is refused."""
    refusal = desk.refused("revise", reason="r", decision="a", updates={"decision": "b"})
    assert refusal.paths == ["updates.decision"]


def test_faults_are_named_where_they_stand(desk: Desk) -> None:
    """What is wrong beside updates and what is wrong inside it are named at their own places, all at once."""
    refusal = desk.refused("revise", reason=5, decision=[], mechanisms=[{"id": "M1"}], updates={"top_unknown": {}})
    assert sorted(refusal.paths) == ["decision", "mechanisms[0].text", "reason", "updates.top_unknown"]
    assert desk.refused("revise", reason="r", decision=5, updates=[]).paths == ["updates", "decision"]


@pytest.mark.parametrize("name", ["retrieved_prior_lessons", "prior_case_ids"])
@pytest.mark.parametrize("under", [True, False])
def test_imports_belong_to_the_opening(desk: Desk, name: str, under: bool) -> None:
    """Lessons and their sources cannot be revised, under updates or beside it, alone or with a sound field."""
    for more in ({}, {"decision": "d"}):
        fields = {"updates": {name: [], **more}} if under else {name: [], **more}
        refusal = desk.refused("revise", reason="r", **fields)
        assert refusal.paths == [f"updates.{name}" if under else name]
        assert "server-managed" in refusal.text or "open-time-only" in refusal.text


def test_applied_lessons_are_the_agents(desk: Desk) -> None:
    """What the agent says it applied is stored word for word, and may be emptied again."""
    assert desk.do("revise", reason="r", applied_prior_lessons=["look twice"])["case"]["model"][
        "applied_prior_lessons"
    ] == ["look twice"]
    assert desk.do("revise", reason="r", applied_prior_lessons=[])["case"]["model"]["applied_prior_lessons"] == []


def test_a_revision_keeps_the_model_sound(desk: Desk) -> None:
    """Ids that collide with what stays, and dependencies on what goes, are refused with their places."""
    assert desk.refused("revise", reason="r", mechanisms=[claim("A1")]).paths == [
        "mechanisms[0].id", "alternatives[0].id", "current_plan[0].depends_on[0]",
    ]  # fmt: skip
    assert desk.refused("revise", reason="r", current_plan=[step("P1", "P2"), step("P2", "P1")]).paths == [
        "current_plan[0].depends_on", "current_plan[1].depends_on",
    ]  # fmt: skip


@pytest.mark.parametrize("event", ["E000009", "E1", "E0000001", "I1", "E" + "9" * 5000])
def test_addressed_events_exist(desk: Desk, event: str) -> None:
    """An addressed id that is no event of the case, or another spelling of one, is refused at its place."""
    refusal = desk.refused("revise", reason="r", decision="d", addresses_event_ids=["E000001", event])
    assert refusal.paths == ["addresses_event_ids[1]"]


def test_addressed_events_are_kept(desk: Desk) -> None:
    """What a revision answers stands in its event, also where nothing is stale."""
    answer = desk.do("revise", reason="r", decision="d", addresses_event_ids=["E000001"])
    assert answer["event"]["payload"]["addresses_event_ids"] == ["E000001"]
    assert "repaired_mismatch_event_id" not in answer["event"]["payload"]


def test_a_claim_may_rest_on_a_comparison(desk: Desk) -> None:
    """Observations and comparisons may be cited, also of a mismatch; a claim that cites them is grounded by default."""
    seen, told = desk.look("41", disposition="mismatch")
    model = desk.do("revise", reason="r", mechanisms=[grounded("M2", seen, told)], current_plan=[])["case"]["model"]
    assert model["mechanisms"][0]["epistemic_status"] == "grounded"


def test_a_failed_look_may_be_cited(desk: Desk) -> None:
    """A claim may cite a failed observation; what that is worth is said by the calibration."""
    seen, _ = desk.look({"error": "no such file"})
    desk.do("revise", reason="r", alternatives=[grounded("A1", seen)])


# --- staleness ---


def stale_desk(desk: Desk) -> str:
    return desk.mismatch(claim_id="M1")


def test_a_stale_case_wants_the_mismatch_addressed(desk: Desk) -> None:
    """While stale, a revision names the mismatch it answers."""
    mismatch = stale_desk(desk)
    for ids in ({}, {"addresses_event_ids": []}, {"addresses_event_ids": ["E000001"]}):
        refusal = desk.refused("revise", reason="r", mechanisms=[], current_plan=[], **ids)
        assert "must explicitly address" in refusal.text
        assert mismatch in refusal.text


def test_a_stale_case_wants_its_items_changed(desk: Desk) -> None:
    """A revision of something else leaves the stale items unchanged and is refused; they are all named."""
    mismatch = stale_desk(desk)
    refusal = desk.refused("revise", reason="r", decision="ship it", addresses_event_ids=[mismatch])
    assert "stale model items unchanged" in refusal.text
    assert "M1, P1" in refusal.text


REWORDED = claim("M1", "it holds 41")
REPAIRS = {
    "removed": {"mechanisms": [], "current_plan": []},
    "replaced": {"mechanisms": [claim("M2", "it holds 41")], "current_plan": [step("P3", "M2")]},
    "reworded": {"mechanisms": [REWORDED], "current_plan": [step("P1", "M1", action="stop")]},
    "lowered": {"mechanisms": [claim("M1", epistemic_status="unresolved")], "current_plan": []},
    "let go": {"mechanisms": [REWORDED], "current_plan": [step("P1"), step("P2")]},
    "made a step": {"mechanisms": [], "current_plan": [step("M1", action="read the file again")]},
}
PRETENCES = {
    "unchanged": {"decision": "ship it", "mechanisms": [claim("M1")], "current_plan": []},
    "white space": {"mechanisms": [claim("M1", "  the file\tholds 42 ")], "current_plan": []},
    "letter case": {"mechanisms": [claim("M1", "The File HOLDS 42")], "current_plan": []},
    "only the claim": {"mechanisms": [REWORDED], "current_plan": [step("P1", "M1", action=" Go  on")]},
    "more dependencies": {"mechanisms": [REWORDED], "current_plan": [step("P1", "M1", "A1")]},
    "only the step": {"mechanisms": [claim("M1")], "current_plan": []},
    "another id": {"mechanisms": [claim("M2")], "current_plan": [step("P3", "M2")]},
    "another kind": {"mechanisms": [], "current_plan": [step("M1", action="the file holds 42")]},
    "another array": {"mechanisms": [], "state_grounding": [claim("M1")], "current_plan": []},
}  # fmt: skip


@pytest.mark.parametrize("how", sorted(REPAIRS))
def test_a_repair_is_accepted(desk: Desk, how: str) -> None:
    """Removing, replacing, rewording or honestly lowering every stale item ends the staleness."""
    mismatch = stale_desk(desk)
    answer = desk.do("revise", reason="r", addresses_event_ids=[mismatch], **REPAIRS[how])
    assert answer["case"]["stale"] is False
    assert "stale_claim_ids" not in answer["case"]
    assert answer["replay"]["usable"]
    assert answer["event"]["payload"]["repaired_mismatch_event_id"] == mismatch


@pytest.mark.parametrize("how", sorted(PRETENCES))
def test_a_pretence_is_refused(desk: Desk, how: str) -> None:
    """White space, letter case, another place, more dependencies or half of the items are no repair."""
    mismatch = stale_desk(desk)
    refusal = desk.refused("revise", reason="r", addresses_event_ids=[mismatch], **PRETENCES[how])
    assert refusal.code == "not_repaired"
    assert "substan" in refusal.text


def test_a_claim_grounded_on_the_mismatch_is_no_repair(desk: Desk) -> None:
    """Raising the stale claim to grounded, by citing the very mismatch, is refused."""
    mismatch = stale_desk(desk)
    refusal = desk.refused(
        "revise", reason="r", addresses_event_ids=[mismatch], mechanisms=[grounded("M1", mismatch)], current_plan=[]
    )
    assert refusal.code == "not_repaired"


def test_a_grounded_claim_is_lowered() -> None:
    """A grounded claim keeps its words and steps down to a hypothesis: that is a repair."""
    desk = Desk()
    desk.open(initial_evidence=[{"id": "I1", **SOURCE}], mechanisms=[grounded("M1", "I1", domain="external_source")])
    mismatch = desk.mismatch(claim_id="M1")
    desk.do(
        "revise", reason="r", addresses_event_ids=[mismatch], mechanisms=[claim("M1", epistemic_status="hypothesis")]
    )
    assert not desk.c1.stale


def test_an_unresolved_claim_stays_unresolved(desk: Desk) -> None:
    """After the repair an unresolved claim is kept as unresolved, and the case may close as unresolved."""
    mismatch = stale_desk(desk)
    desk.do("revise", reason="r", addresses_event_ids=[mismatch], **REPAIRS["lowered"])
    assert desk.c1.model.mechanisms[0].epistemic_status == "unresolved"
    assert desk.close_case()["case"]["closure"]["outcome"] == "unresolved"


def test_metadata_is_no_field(desk: Desk) -> None:
    """Keys that a claim does not have are refused by name, so notes cannot pass for a change."""
    mismatch = stale_desk(desk)
    refusal = desk.refused(
        "revise",
        reason="r",
        addresses_event_ids=[mismatch],
        mechanisms=[claim("M1", audit_note="seen")],
        current_plan=[],
    )
    assert refusal.paths == ["mechanisms[0].audit_note"]


def test_a_case_that_was_repaired_goes_on(desk: Desk) -> None:
    """After a repair the next probe may be committed, and may find the next mismatch."""
    mismatch = stale_desk(desk)
    desk.do("revise", reason="r", addresses_event_ids=[mismatch], **REPAIRS["replaced"])
    again = desk.mismatch(claim_id="M2")
    assert desk.c1.staleness.mismatch_event_id == again != mismatch
