"""Committing a prediction before the look."""

from __future__ import annotations

import json

import pytest

from harness_core.arguments import PROBE_TOOL, parse
from harness_core.commands import Commit
from harness_core.errors import Refused
from tests.core.desk import PREDICTION, SOURCE, Desk, claim, grounded, step


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.open(
        initial_evidence=[{"id": "I1", **SOURCE, "authority_domain": "system_state"}],
        mechanisms=[claim("M1")],
        state_grounding=[grounded("S1", "I1")],
        alternatives=[claim("A1", epistemic_status="unresolved")],
        current_plan=[step("P1", "M1")],
    )
    return made


def test_a_prediction_is_committed(desk: Desk) -> None:
    """A commitment is one event; the pending probe tells what was predicted and what would count against it."""
    probe = desk.commit()["probe"]
    assert (probe["status"], probe["probe_id"]) == ("committed", "PR000001")
    assert probe["predicted_outcomes"] == PREDICTION["predicted_outcomes"]
    assert probe["would_change_belief"] == PREDICTION["would_change_belief"]
    assert desk.types()[-1] == "probe_committed"
    assert probe["commit_event_id"] == desk.timeline("c1")[-1]["event_id"]


@pytest.mark.parametrize("missing", sorted(PREDICTION))
def test_every_part_of_a_prediction_is_needed(desk: Desk, missing: str) -> None:
    """A commitment without one of its parts is refused and names it."""
    sent = {name: value for name, value in PREDICTION.items() if name != missing}
    assert desk.refused("commit", **sent).paths == [missing]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ([{"outcome": "a", "meaning": "b"}], [{"outcome": "a", "meaning": "b"}]),
        ([{"outcome": "a"}], [{"outcome": "a"}]),
        (["a", {"outcome": "b"}], [{"outcome": "a"}, {"outcome": "b"}]),
    ],
)
def test_outcomes_may_be_bare(desk: Desk, sent: object, stored: object) -> None:
    """Predicted outcomes are objects with or without a meaning, or plain sentences."""
    assert desk.commit(predicted_outcomes=sent)["probe"]["predicted_outcomes"] == stored


def test_something_is_predicted(desk: Desk) -> None:
    """An empty list of outcomes predicts nothing and is refused."""
    assert desk.refused("commit", **{**PREDICTION, "predicted_outcomes": []}).paths == ["predicted_outcomes"]


@pytest.mark.parametrize("purpose", ["learn", "advance"])
def test_two_purposes(desk: Desk, purpose: str) -> None:
    """A probe is made to learn or to advance."""
    assert desk.commit(purpose=purpose)["probe"]["purpose"] == purpose


@pytest.mark.parametrize("name", ["delegate_task", " delegate_task ", "epistemic_model", "epistemic_probe"])
def test_some_tools_are_no_look(desk: Desk, name: str) -> None:
    """A delegation cannot account for what its worker does, and the harness's own tools do not look at the world."""
    assert desk.refused("commit", **{**PREDICTION, "tool_name": name}).paths == ["tool_name"]


def test_a_tools_name_is_trimmed(desk: Desk) -> None:
    """Blanks around a tool's name do not make another tool of it."""
    assert desk.commit(tool_name=" read_file\n")["probe"]["tool_name"] == "read_file"


@pytest.mark.parametrize("item", ["M1", "S1", "A1"])
def test_a_probe_may_be_bound_to_a_claim(desk: Desk, item: str) -> None:
    """A bound probe carries the claim as it is stored, and the model's version, whatever the claim's status."""
    probe = desk.commit(claim_id=item)["probe"]
    model = desk.do("show")["case"]["model"]
    stored = [c for section in ("state_grounding", "mechanisms", "alternatives") for c in model[section]]
    assert probe["claim_snapshot"] == next(c for c in stored if c["id"] == item)
    assert (probe["claim_id"], probe["model_version"]) == (item, 1)


@pytest.mark.parametrize("item", ["P1", "M9"])
def test_only_claims_are_bound(desk: Desk, item: str) -> None:
    """A plan step, or an id that is not there, binds nothing; the claims there are, are named."""
    refusal = desk.refused("commit", **PREDICTION, claim_id=item)
    assert "existing claim" in refusal.text
    assert refusal.sends == {"claim_id": "one of S1, M1, A1"}


def test_a_case_without_claims_says_so() -> None:
    """Where there is no claim to bind, the refusal says what to do about it."""
    desk = Desk()
    desk.open()
    assert "revise the model" in desk.refused("commit", **PREDICTION, claim_id="M1").text


@pytest.mark.parametrize("name", ["claim_snapshot", "model_version", "commitment"])
def test_the_snapshot_is_the_servers(desk: Desk, name: str) -> None:
    """What the server makes of a commitment cannot be sent."""
    refusal = desk.refused("commit", **PREDICTION, **{name: {}})
    assert refusal.paths == [name]
    assert "server-managed" in refusal.text


def test_an_unbound_probe_names_no_claim(desk: Desk) -> None:
    """Without a claim the keys of the binding are absent, not null."""
    assert not {"claim_id", "claim_snapshot", "model_version"} & desk.commit()["probe"].keys()


def test_one_probe_at_a_time(desk: Desk) -> None:
    """While a probe is pending no other is committed; after its end the next one is, numbered on."""
    desk.commit()
    assert desk.refused("commit", **PREDICTION).code == "probe_committed"
    desk.do("discard", reason="a mistake")
    assert desk.commit()["probe"]["probe_id"] == "PR000002"
    desk.act()
    assert desk.refused("commit", **PREDICTION).code == "probe_observed"
    desk.compare()
    assert desk.commit()["probe"]["probe_id"] == "PR000003"


def test_a_refusal_after_a_discard_is_for_its_own_fault(desk: Desk) -> None:
    """A bad commitment is refused for what is wrong with it, not for a probe that is gone."""
    desk.commit()
    desk.do("discard", reason="a mistake")
    assert desk.refused("commit", **PREDICTION, claim_id="P1").paths == ["claim_id"]


def test_a_stale_case_commits_nothing(desk: Desk) -> None:
    """While a material mismatch waits for its revision no new probe is begun; the refusal names the way out."""
    mismatch = desk.mismatch(claim_id="M1")
    refusal = desk.refused("commit", **PREDICTION)
    assert refusal.code == "stale"
    assert mismatch in refusal.text


def test_a_pending_probe_is_shown(desk: Desk) -> None:
    """Reading the case back shows the pending probe with its tool, arguments and digest."""
    desk.commit()
    shown = desk.do("show")["case"]["pending_probe"]
    assert (shown["tool_name"], shown["tool_args"]) == ("read_file", {"path": "a.txt"})
    assert len(shown["tool_args_sha256"]) == 64


# --- the two spellings of the arguments ---

NESTED = {"deep": [{"yes": True, "n": 3, "x": 1.5, "none": None}], "text": "ü"}


@pytest.mark.parametrize("beside", [{}, {"tool_args": None}, {"tool_args": {}}, {"tool_args": NESTED}])
def test_arguments_as_text(desk: Desk, beside: dict[str, object]) -> None:
    """tool_args_json holds the arguments exactly; tool_args beside it may be missing, null, empty or agree."""
    sent = {name: value for name, value in PREDICTION.items() if name != "tool_args"}
    probe = desk.do("commit", **sent, **beside, tool_args_json=json.dumps(NESTED))["probe"]
    assert probe["tool_args"] == NESTED


@pytest.mark.parametrize(
    "text",
    ['{"a": ', "[]", "null", '"text"', "5", '{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": 1e999}',
     '{"a": 1, "a": 1}', '{"a": {"b": 1, "b": 2}}', "", '{"a": 1} 2', "[" * 5000, '{"a": "\\ud800"}'],
)  # fmt: skip
def test_text_that_is_no_object(desk: Desk, text: str) -> None:
    """Broken JSON, other values than objects, repeated keys, endless numbers and nesting are refused in one answer."""
    sent = {name: value for name, value in PREDICTION.items() if name != "tool_args"}
    refusal = desk.refused("commit", **sent, tool_args_json=text)
    assert refusal.paths in (["tool_args_json"], ["tool_args"])


@pytest.mark.parametrize("value", [None, 5, True, {}, []])
def test_the_text_is_text(desk: Desk, value: object) -> None:
    """tool_args_json of another type is refused, an explicit null included."""
    assert desk.refused("commit", **PREDICTION, tool_args_json=value).paths == ["tool_args_json"]


@pytest.mark.parametrize("other", [{"path": "b.txt"}, {"path": float("nan")}, [1], "text"])
def test_two_spellings_agree(desk: Desk, other: object) -> None:
    """A nonempty tool_args that says something else than the authoritative text is refused."""
    refusal = desk.refused("commit", **{**PREDICTION, "tool_args": other}, tool_args_json='{"path": "a.txt"}')
    assert refusal.paths == ["tool_args"]
    assert "authoritative" in refusal.text


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": float("inf")}, {"a": object()}, {"a": "\ud800"}])
def test_arguments_are_json(desk: Desk, value: object) -> None:
    """Arguments that no JSON text could hold are refused."""
    assert desk.refused("commit", **{**PREDICTION, "tool_args": value}).paths == ["tool_args"]


def test_nesting_has_an_end(desk: Desk) -> None:
    """Arguments may be nested a hundred deep and no deeper, so that no reader of them runs out of stack."""
    deep: object = "x"
    for _ in range(99):
        deep = [deep]
    desk.commit(tool_args={"a": deep})
    desk.do("discard", reason="enough")
    assert desk.refused("commit", **{**PREDICTION, "tool_args": {"a": [deep]}}).paths == ["tool_args"]


def test_a_commitment_has_its_digest(desk: Desk) -> None:
    """Without the keyed digest that only the store can make, nothing is committed."""
    request = parse(PROBE_TOOL, {"operation": "commit", **PREDICTION}).request
    assert isinstance(request, Commit)
    with pytest.raises(Refused) as refusal:
        desk.settle("c1", request, "s1")
    assert refusal.value.code == "no_commitment"
