"""Recording sources without a probe."""

from __future__ import annotations

import json

import pytest

from tests.core.desk import SOURCE, Desk


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.open()
    return made


def test_evidence_is_recorded_in_order(desk: Desk) -> None:
    """Each item becomes one event; the answer names their ids in the order of the input."""
    answer = desk.do("record_evidence", evidence=[SOURCE, {**SOURCE, "summary": "it says 43"}])
    assert answer["evidence_event_ids"] == ["E000002", "E000003"]
    assert [e["type"] for e in answer["events"]] == ["evidence_recorded"] * 2
    assert [e["payload"]["summary"] for e in answer["events"]] == ["it says 42", "it says 43"]


def test_all_of_a_batch_is_one_transition(desk: Desk) -> None:
    """The items of one call stand or fall together: they share one transition."""
    desk.do("record_evidence", evidence=[SOURCE, SOURCE])
    assert desk.c1.revision == 2
    assert [r["transition"]["number"] for r in desk.timeline("c1")] == [1, 2, 2]


@pytest.mark.parametrize("scope", ["full", "data"])
def test_full_access_needs_no_limitation(desk: Desk, scope: str) -> None:
    """A source that was read whole, or as data, states no limitation; the scope is kept as given."""
    event = desk.do("record_evidence", evidence=[{**SOURCE, "access_scope": scope}])["event"]
    assert event["payload"]["access_scope"] == scope


@pytest.mark.parametrize("scope", ["partial", "abstract", "snippet"])
def test_limited_access_states_its_limitation(desk: Desk, scope: str) -> None:
    """Below full access an explicit limitation is required, and kept."""
    limited = {**SOURCE, "access_scope": scope}
    refusal = desk.refused("record_evidence", evidence=[limited])
    assert refusal.paths == ["evidence[0].limitation"]
    assert "requires an explicit limitation" in refusal.text
    event = desk.do("record_evidence", evidence=[{**limited, "limitation": "the rest"}])["event"]
    assert event["payload"]["limitation"] == "the rest"


@pytest.mark.parametrize("role", ["primary", "secondary", "synthesis", "unknown"])
def test_an_unknown_role_is_a_role(desk: Desk, role: str) -> None:
    """Every role of the vocabulary may be declared, that it is unknown included."""
    assert (
        desk.do("record_evidence", evidence=[{**SOURCE, "source_role": role}])["event"]["payload"]["source_role"]
        == role
    )


def test_a_flattened_list_is_read(desk: Desk) -> None:
    """A provider's text that holds the JSON array, and a single object, mean the list."""
    desk.do("record_evidence", evidence=json.dumps([SOURCE, SOURCE]))
    desk.do("record_evidence", evidence=dict(SOURCE))
    assert desk.types().count("evidence_recorded") == 3


@pytest.mark.parametrize("prose", ["it says 42", "[1, 2", ""])
def test_prose_is_no_evidence(desk: Desk, prose: str) -> None:
    """Plain text is refused, with the shape that is wanted."""
    refusal = desk.refused("record_evidence", evidence=prose)
    assert refusal.paths == ["evidence"]
    assert "not plain text" in refusal.text


def test_a_batch_is_refused_whole(desk: Desk) -> None:
    """One unsound item refuses all of them, with its place; nothing of the sound ones is kept."""
    bare = {name: value for name, value in SOURCE.items() if name not in ("summary", "source_ref")}
    assert desk.refused("record_evidence", evidence=[SOURCE, bare]).paths == [
        "evidence[1].summary",
        "evidence[1].source_ref",
    ]


def test_an_empty_batch_is_refused(desk: Desk) -> None:
    """There must be something to record."""
    assert desk.refused("record_evidence", evidence=[]).paths == ["evidence"]


@pytest.mark.parametrize("domain", ["system_state", "empirical_test", "user_testimony", "private_context"])
def test_only_external_sources_are_recorded_by_hand(desk: Desk, domain: str) -> None:
    """What has to be observed, or said by the user, is not recorded by the model's word alone."""
    refusal = desk.refused("record_evidence", evidence=[{**SOURCE, "authority_domain": domain}])
    assert refusal.sends == {"evidence[0].authority_domain": "external_source"}


def test_a_stale_case_takes_evidence(desk: Desk) -> None:
    """Evidence may be recorded while a mismatch waits: the repair may need it."""
    desk.do("revise", reason="r", mechanisms=[{"id": "M1", "text": "t"}])
    desk.mismatch(claim_id="M1")
    desk.do("record_evidence", evidence=[SOURCE])
    assert desk.c1.stale


def test_a_probe_comes_first(desk: Desk) -> None:
    """While a probe is pending no evidence is recorded beside it."""
    desk.commit()
    assert desk.refused("record_evidence", evidence=[SOURCE]).code == "probe_committed"
