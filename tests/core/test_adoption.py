"""What a user may rely on when a case of release 1.2.0 goes on: nothing is worth more here than it was there, and all
that was known is still known.

Records are given as that release kept them; only what the core reads of them is filled in.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from cattrs import BaseValidationError
from hypothesis import given
from hypothesis import strategies as st

from harness_core.adoption import RELEASE, adopted, decide_adopting, outlined
from harness_core.calibration import Weight, weigh
from harness_core.case import Case, document
from harness_core.commands import (
    CaseId,
    Command,
    Discard,
    LifecyclePause,
    Pause,
    RecordEvidence,
    Resume,
    SourceDraft,
    Text,
)
from harness_core.decider import decide
from harness_core.errors import Refused
from harness_core.events import CaseAdopted, Event, event_id
from harness_core.evolution import evolve, fold
from harness_core.moment import Moment
from harness_core.probes import COMMITMENT_SCHEME, Commitment
from harness_core.replay import audit, report
from harness_core.vocabulary import (
    AccessScope,
    AuthorityDomain,
    CaseStatus,
    EventType,
    Lifecycle,
    ProbeStatus,
    Provenance,
    ResultStatus,
    SourceRole,
)
from harness_core.wire import from_json, to_json

AT = "2026-11-30T00:00:00+00:00"
LOG = "ab" * 32
STATUSES = [*(status.value for status in ResultStatus), None, "odd"]
UNREADABLE = (KeyError, TypeError, ValueError, BaseValidationError)
Records = list[dict[str, Any]]


def records_of(*events: tuple[Any, ...]) -> Records:
    """Records of type, payload and, if need be, ``seq`` and session."""
    return [
        {
            "event_id": event_id(number),
            "type": type_,
            "timestamp": AT,
            "session_id": more[1] if len(more) > 1 else "s1",
            "payload": payload,
            **({"seq": more[0]} if more and more[0] is not None else {}),
        }
        for number, (type_, payload, *more) in enumerate(events, start=1)
    ]


def state_of(**changes: Any) -> dict[str, Any]:
    claims: dict[str, Any] = {"state_grounding": [], "mechanisms": [], "alternatives": [], "current_plan": []}
    model = {"decision": "none", "stopping_condition": "enough", "top_unknown": "u", "note": "unknown here", **claims}
    model |= {"prior_case_ids": [], "retrieved_prior_lessons": [], "applied_prior_lessons": []}
    state = {"case_id": "c1", "created_at": AT, "updated_at": AT, "model": model, "pending_probe": None}
    return {**state, "session_id": "s1", "status": "active", "stale": False, "version": 1, "more": 1, **changes}


def probe(**changes: Any) -> dict[str, Any]:
    told = {"probe_id": "PR000001", "purpose": "learn", "unknown_or_goal": "g", "tool_name": "read_file"}
    kept = {"tool_args": {"path": "a"}, "tool_args_sha256": "0" * 64, "status": "committed", "more": None}
    said = {"would_change_belief": "w", "why_this_action": "y", "authority_domain": "system_state"}
    return {**told, **kept, **said, "predicted_outcomes": [{"outcome": "42", "meaning": None}], **changes}


def seen(**more: Any) -> dict[str, Any]:
    return {"probe_id": "PR000001", "tool_name": "read_file", "authority_domain": "system_state", **more}


OPENED = ("case_opened", {"model_version": 1}, 1)
COMMITTED = ("probe_committed", {"probe": probe()})
STARTED = ("probe_started", {"probe_id": "PR000001", "tool_call_id": "call"}, None, "s2")
COMPARED = {"probe_id": "PR000001", "authority_domain": "system_state", "disposition": "match"}


def case_of(*events: tuple[Any, ...], **changes: Any) -> Case:
    records = records_of(*events)
    return adopted("c1", state_of(**changes), records, len(records))


def going_on(case: Case, command: Command, session: str = "s1", **changes: Any) -> tuple[Event, ...]:
    return decide_adopting(case, state_of(**changes), LOG, command, Moment(at=AT, session_id=session, seq=9))


# --- what an observation is worth ---

statuses = st.sampled_from(STATUSES)


@given(statuses, statuses, statuses, st.sampled_from([None, "native_handler_result", "unknown", "odd"]))
def test_only_what_is_known_to_have_succeeded_supports(
    result: str | None, execution: str | None, display: str | None, provenance: str | None
) -> None:
    """An observation counts directly only where its execution and its display are recorded as fine, and its text is
    not said to be of unknown provenance; whatever failed is counted as failed."""
    told = {
        "result_status": result,
        "execution_result_status": execution,
        "display_result_status": display,
        "raw_result_provenance": provenance,
    }
    payload = seen(**{name: value for name, value in told.items() if value is not None})
    cited = case_of(OPENED, COMMITTED, STARTED, ("probe_observed", payload)).citations["E000004"]
    ended = execution or result
    shown = display or result or execution
    supports = ended == shown == "ok" and provenance in (None, "native_handler_result")
    assert (weigh(cited) is Weight.DIRECT) == supports
    assert (weigh(cited) is Weight.FAILED) == (ended in ("tool_error", "error", "blocked", "interrupted"))


def test_a_status_without_a_word_on_provenance_is_the_handlers_own() -> None:
    """1.2.0 wrote a status only with the handler's result; where there is none, nothing is known."""
    for status, provenance in (("ok", Provenance.NATIVE_HANDLER_RESULT), (None, Provenance.UNKNOWN)):
        payload = seen() if status is None else seen(execution_result_status=status)
        case = case_of(OPENED, COMMITTED, STARTED, ("probe_observed", payload))
        assert case.citations["E000004"].provenance is provenance


@pytest.mark.parametrize(
    ("link", "weight"),
    [("E000004", Weight.DIRECT), (None, Weight.UNKNOWN), ("E000099", Weight.UNKNOWN), ("E000002", Weight.UNKNOWN)],
)
def test_an_exposure_is_worth_what_it_leads_back_to(link: str | None, weight: Weight) -> None:
    """Its own word that all went well does not count; its link to its own probe's observation does."""
    ok = {"result_status": "ok", "execution_result_status": "ok", "display_result_status": "ok"}
    exposed = seen(**ok) if link is None else seen(**ok, supersedes_event_id=link)
    events = (OPENED, COMMITTED, STARTED, ("probe_observed", seen(**ok)), ("probe_exposed", exposed))
    compared = ("probe_compared", {**COMPARED, "observation_event_id": "E000005"})
    case = case_of(*events, compared)
    assert weigh(case.citations["E000005"]) is weight
    assert weigh(case.citations["E000006"]) is weight
    assert case.unaccounted == ()
    assert report(case)["usable"]


def test_a_link_across_probes_is_worthless() -> None:
    """An exposure of one probe gains nothing from another one's observation."""
    ok = {"result_status": "ok", "execution_result_status": "ok", "display_result_status": "ok"}
    other = {**seen(**ok), "probe_id": "PR000002", "supersedes_event_id": "E000003"}
    case = case_of(OPENED, COMMITTED, ("probe_observed", seen(**ok)), ("probe_exposed", other))
    assert weigh(case.citations["E000004"]) is Weight.UNKNOWN


def test_a_discarded_observation_supports_nothing_here() -> None:
    """1.2.0 let a closure rest on it; a discarded observation is marked, with what it was shown as before."""
    ok = {"result_status": "ok", "execution_result_status": "ok", "display_result_status": "ok"}
    shown = ("probe_exposed", seen(**ok, supersedes_event_id="E000003"))
    dropped = ("probe_discarded", {"probe_id": "PR000001", "reason": "r", "observation_event_id": "E000004"})
    case = case_of(OPENED, COMMITTED, ("probe_observed", seen(**ok)), shown, dropped)
    assert [weigh(case.citations[e]) for e in ("E000003", "E000004")] == [Weight.DISCARDED, Weight.DISCARDED]
    assert case.unaccounted == ()


def test_an_observation_that_nothing_accounts_for_is_named() -> None:
    """Replay says so, as it does for a case of this release."""
    case = case_of(OPENED, ("probe_observed", seen(result_status="ok")))
    assert case.unaccounted == ("E000002",)
    assert not report(case)["usable"]


def test_testimony_nested_in_an_external_comparison_counts_as_testimony() -> None:
    """The descriptor of an old comparison decides like that of a new one."""
    told = {"summary": "s", "source_ref": "x", "authority_domain": "user_testimony", "more": 1}
    compared = ("probe_compared", {**COMPARED, "observation_event_id": "E000003", "evidence": told})
    case = case_of(OPENED, COMMITTED, ("probe_observed", seen(result_status="ok")), compared)
    assert case.citations["E000004"].authority_domain is AuthorityDomain.USER_TESTIMONY


def test_evidence_is_cited_as_it_was_described() -> None:
    """Role, access and limitation of an external source come along."""
    told = {"summary": "s", "source_ref": "x", "authority_domain": "external_source", "source_role": "primary"}
    told |= {"access_scope": "snippet", "limitation": "a line", "locator": "p. 1"}
    case = case_of(OPENED, ("evidence_recorded", told), ("initial_observation", {**told, "initial_ref": "I1"}))
    for cited in (case.citations["E000002"], case.citations["E000003"]):
        assert (cited.source_role, cited.access_scope, cited.limitation) == ("primary", "snippet", "a line")
        assert weigh(cited) is Weight.LEAD


def test_artifacts_are_known_by_their_digest() -> None:
    """A large observation is found where 1.2.0 put it."""
    kept = {"storage": "artifact", "artifact_path": "archive/artifacts/x.txt", "artifact_sha256": "x"}
    case = case_of(OPENED, COMMITTED, ("probe_observed", seen(**kept, artifact_bytes=7, result_sha256="x")))
    (artifact,) = case.artifacts.values()
    assert (artifact.event_id, artifact.path, artifact.bytes) == ("E000003", "archive/artifacts/x.txt", 7)


# --- where the case stands ---


def test_a_pending_probe_goes_on_as_it_was() -> None:
    """Committed, executing and observed ones carry what this release needs of their events."""
    committed = case_of(OPENED, COMMITTED, pending_probe=probe()).pending_probe
    assert committed is not None
    assert (committed.status, committed.commit_event_id) == (ProbeStatus.COMMITTED, "E000002")
    assert committed.tool_args_commitment_scheme == "sha256"
    running = probe(status="executing", tool_args_commitment_scheme=COMMITMENT_SCHEME)
    executing = case_of(OPENED, COMMITTED, STARTED, pending_probe=running).pending_probe
    assert executing is not None
    assert (executing.started_event_id, executing.executing_session_id) == ("E000003", "s2")
    assert executing.execution is not None
    assert executing.execution.tool_call_id == "call"
    ended = probe(status="observed", observation_event_id="E000004", result_status="ok")
    payload = seen(result_status="ok", observation_boundary="post_tool_call")
    events = (OPENED, COMMITTED, STARTED, ("probe_observed", payload))
    observed = case_of(*events, pending_probe=ended).pending_probe
    assert observed is not None
    assert (observed.raw_observation_event_id, observed.observation_boundary) == ("E000004", "post_tool_call")
    assert observed.raw_result_provenance is Provenance.NATIVE_HANDLER_RESULT
    assert case_of(*events, pending_probe=ended).unaccounted == ("E000004",)


@given(st.text(), st.text(), st.sampled_from(["", "k"]), st.sampled_from(["", "k"]))
def test_equal_digests_prove_equal_arguments_and_others_under_an_unnamed_key_nothing(
    one: str, other: str, key: str, other_key: str
) -> None:
    """A commitment of 1.2.0 names no key: a match is a match, a difference may be that of the keys."""
    found = Commitment(sha256=one, key_id=key).matches(Commitment(sha256=other, key_id=other_key))
    if one == other:
        assert found is True
    else:
        assert found is (False if key == other_key else None)
    assert Commitment(sha256=one, scheme="sha256").matches(Commitment(sha256=one)) is None


def test_owners_numbers_markers_and_staleness_come_along() -> None:
    """Who had the case, in order; each session's highest number; the marker; what is stale and since when."""
    moved = ("session_migrated", {"old_session_id": "s1", "new_session_id": "s3"}, 4, "s3")
    aborted: tuple[Any, ...] = ("session_migration_aborted", {}, 5, "s3")
    marker = {"pause_event_id": "E000004", "seq_at_pause": 6, "reason": "r", "platform": "cli"}
    compared = ("probe_compared", {**COMPARED, "observation_event_id": "E000009"})
    case = case_of(
        OPENED,
        moved,
        aborted,
        ("case_paused", {"reason": "r"}, 6, "s3"),
        compared,
        session_id="s3",
        status="paused",
        auto_resume_pending=marker,
        stale=True,
        mismatch_event_id="E000005",
        stale_claim_ids=["M1"],
    )
    assert (case.session_id, case.session_ids) == ("s3", ("s1", "s3"))
    assert dict(case.high_waters.items()) == {"s1": 1, "s3": 6}
    assert case.marker is not None
    assert (case.marker.seq_at_pause, case.status) == (6, CaseStatus.PAUSED)
    assert case.staleness is not None
    assert (case.staleness.mismatch_event_id, case.staleness.item_ids) == ("E000005", ("M1",))
    assert document(case)["event_count"] == 5


@pytest.mark.parametrize(
    "change",
    [{"status": "odd"}, {"version": "1"}, {"model": {}}, {"stale": True}, {"pending_probe": {}}, {"session_id": 1}],
)
def test_what_is_no_case_raises(change: dict[str, Any]) -> None:
    """A state that lacks what a case must have is not guessed at."""
    with pytest.raises(UNREADABLE):
        case_of(OPENED, **change)


# --- going on ---

COMMANDS: dict[str, Command] = {
    "pause": Pause(reason=Text("r")),
    "pause by the host": LifecyclePause(reason="r", lifecycle=Lifecycle.SESSION_FINALIZE, auto_resumable=True),
    "evidence": RecordEvidence(
        evidence=(
            SourceDraft(
                summary=Text("s"),
                source_ref=Text("x"),
                source_role=SourceRole.PRIMARY,
                access_scope=AccessScope.FULL,
                authority_domain=AuthorityDomain.EXTERNAL_SOURCE,
            ),
        )
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_on_an_old_case_adopts_it_and_is_then_decided_as_ever(name: str) -> None:
    """One transition: the adoption, then what the command does, numbered on without a gap; every invariant holds."""
    case = case_of(OPENED)
    events = going_on(case, COMMANDS[name])
    assert [event.event_id for event in events] == [event_id(n) for n in range(2, 2 + len(events))]
    assert {event.transition for event in events} == {2}
    assert isinstance(events[0].payload, CaseAdopted)
    assert events[0].payload.release == RELEASE
    plain = decide(case, COMMANDS[name], Moment(at=AT, session_id="s1", seq=9))
    assert [event.payload for event in events[1:]] == [event.payload for event in plain]
    folded, violations = audit(events)
    assert violations == ()
    assert folded is not None
    assert (folded.event_count, folded.revision) == (1 + len(events), 2)
    assert folded == fold(events, case)


def test_what_concerns_nothing_adopts_nothing() -> None:
    """A host's report about a paused case is none; a refused command raises."""
    case = case_of(OPENED, ("case_paused", {"reason": "r"}, 2), status="paused")
    assert going_on(case, COMMANDS["pause by the host"], status="paused") == ()
    with pytest.raises(Refused):
        going_on(case, Discard(reason=Text("r")), status="paused")


def test_another_session_may_take_an_old_case_up() -> None:
    """The adoption is the owner's, what follows is the session's that acts."""
    case = case_of(OPENED, ("case_paused", {"reason": "r"}, 2), status="paused")
    events = going_on(case, Resume(case_id=CaseId("c1")), "s2", status="paused")
    assert [event.session_id for event in events] == ["s1", "s2"]
    assert audit(events)[1] == ()


def test_a_second_adoption_is_a_violation() -> None:
    """A case is adopted once, at the beginning."""
    events = going_on(case_of(OPENED), COMMANDS["evidence"])
    folded = fold(events)
    assert folded is not None
    again = going_on(case_of(OPENED, OPENED), COMMANDS["evidence"])
    assert {v.invariant for v in audit((*events, *again))[1]} >= {"adoption_comes_first"}


def test_an_adoption_travels_as_json() -> None:
    """The whole case goes into the record and comes out of it, persistent maps and all."""
    case = case_of(OPENED, COMMITTED, STARTED, ("probe_observed", seen(result_status="ok")), pending_probe=probe())
    (adoption, *_) = going_on(case, COMMANDS["pause by the host"])
    record = json.loads(json.dumps({**adoption.to_record(), "transition": {"number": 5}}))
    assert Event.from_record(record) == adoption
    assert from_json(json.loads(json.dumps(to_json(case))), Case) == case
    assert evolve(None, adoption).citations == case.citations


@pytest.mark.parametrize("value", [[], "x", None, {"E000001": 1}])
def test_a_persistent_map_is_read_strictly(value: Any) -> None:
    """Anything but an object of the right content is refused."""
    plain = to_json(case_of(OPENED))
    with pytest.raises(UNREADABLE):
        from_json({**plain, "citations": value}, Case)


# --- what is left of a damaged one ---


def test_an_outline_says_whose_case_it_was() -> None:
    """The last event of the case's life decides; without records the state is asked; without both there is none."""
    records = records_of(OPENED, ("case_paused", {"reason": "r"}, 2), ("session_migrated", {}, 1, "s2"))
    found = outlined("c1", records, None)
    assert found is not None
    assert (found.session_id, found.status) == ("s2", CaseStatus.PAUSED)
    assert dict(found.high_waters.items()) == {"s1": 2, "s2": 1}
    told = outlined("c1", [], {"session_id": "s9"})
    assert told is not None
    assert (told.session_id, told.status) == ("s9", CaseStatus.ACTIVE)
    assert outlined("c1", [], None) is None
    assert outlined("c1", [], {"session_id": 9}) is None


def test_every_kind_of_event_that_carries_authority_is_read() -> None:
    """None of the old release's citable events is left out."""
    ok = seen(result_status="ok")
    told = {"summary": "s", "source_ref": "x", "authority_domain": "system_state"}
    case = case_of(
        ("initial_observation", {**told, "initial_ref": "I1"}),
        OPENED,
        ("evidence_recorded", told),
        COMMITTED,
        ("probe_observed", ok),
        ("probe_exposed", {**ok, "supersedes_event_id": "E000005"}),
        ("probe_compared", {**COMPARED, "observation_event_id": "E000006"}),
    )
    assert {cited.type for cited in case.citations.values()} == {
        EventType.INITIAL_OBSERVATION,
        EventType.EVIDENCE_RECORDED,
        EventType.PROBE_OBSERVED,
        EventType.PROBE_EXPOSED,
        EventType.PROBE_COMPARED,
    }
