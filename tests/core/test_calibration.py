"""What a cited event counts for, and what a case's claims add up to."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from harness_core.authority import LEAD_SCOPES, SEARCH_TOOLS
from harness_core.calibration import LANGUAGE, Weight, calibrate, calibrate_claim, overall, weigh
from harness_core.closure import ClaimCalibration
from harness_core.events import Event, ProbeCompared, ProbeExposed, ProbeObserved
from harness_core.evidence import Citation, Evidence
from harness_core.evolution import fold
from harness_core.model import Claim, Model
from harness_core.testing import timelines
from harness_core.vocabulary import (
    AccessScope,
    ArgumentMatch,
    AuthorityDomain,
    Boundary,
    Calibration,
    Disposition,
    EpistemicStatus,
    EventType,
    Provenance,
    ResultStatus,
    Section,
    Storage,
)
from tests.core.desk import Desk
from tests.core.oracle import Reading

OK = ResultStatus.OK
FAILED = {ResultStatus.TOOL_ERROR, ResultStatus.ERROR, ResultStatus.BLOCKED, ResultStatus.INTERRUPTED}

citations = st.builds(
    Citation,
    event_id=st.just("E000001"),
    type=st.sampled_from(EventType),
    authority_domain=st.sampled_from(AuthorityDomain),
    access_scope=st.none() | st.sampled_from(AccessScope),
    tool_name=st.sampled_from((None, "read_file", "web_search")),
    execution_status=st.sampled_from((*[OK] * 8, None, *ResultStatus)),
    display_status=st.sampled_from((*[OK] * 8, None, *ResultStatus)),
    provenance=st.sampled_from((*[Provenance.NATIVE_HANDLER_RESULT] * 3, Provenance.UNKNOWN, None)),
    linked=st.sampled_from((True, True, False)),
    discarded=st.sampled_from((False, False, False, True)),
)


@given(citations)
def test_every_citation_counts_for_one_thing(cited: Citation) -> None:
    """Discarded and failed looks count for nothing; an execution supports only where all of it is known to have gone
    well; searches, abstracts and snippets are leads; the rest is direct."""
    told = cited.execution_status is None or (
        cited.linked
        and (cited.execution_status, cited.display_status) == (OK, OK)
        and cited.provenance is Provenance.NATIVE_HANDLER_RESULT
    )
    lead = cited.tool_name == "web_search" or cited.access_scope in (AccessScope.ABSTRACT, AccessScope.SNIPPET)
    expected = (
        Weight.DISCARDED
        if cited.discarded
        else Weight.FAILED
        if cited.execution_status in FAILED
        else Weight.UNKNOWN
        if not told
        else Weight.LEAD
        if lead
        else Weight.DIRECT
    )
    assert weigh(cited) is expected


def test_what_is_a_lead() -> None:
    """The tools that search, and the scopes below reading, are those that the documents name."""
    assert "web_search" in SEARCH_TOOLS
    assert "read_file" not in SEARCH_TOOLS
    assert {AccessScope.ABSTRACT, AccessScope.SNIPPET} == LEAD_SCOPES


labels = st.lists(
    st.tuples(st.sampled_from(Section), st.sampled_from([c for c in Calibration if c is not Calibration.MIXED]))
)


@given(labels)
def test_claims_add_up(claims: list[tuple[Section, Calibration]]) -> None:
    """One level of support is the case's; several, or a bare asserted claim beside support, are mixed; none is a
    hypothesis.  Alternatives without support do not lower the label."""
    found = overall(ClaimCalibration(claim_id="M1", section=section, label=label) for section, label in claims)
    good = {label for _, label in claims if label is not Calibration.HYPOTHESIS}
    bare = (Section.STATE_GROUNDING, Calibration.HYPOTHESIS) in claims or (
        Section.MECHANISMS, Calibration.HYPOTHESIS) in claims  # fmt: skip
    if not good:
        assert found is Calibration.HYPOTHESIS
    elif bare or len(good) > 1:
        assert found is Calibration.MIXED
    else:
        assert {found} == good


@given(timelines())
def test_the_oracle_agrees(events: tuple[Event, ...]) -> None:
    """After any session the derived label is the one that reading the records anew gives."""
    case = fold(events)
    assert case is not None
    read = Reading([event.to_record() for event in events])
    assert calibrate(case.model, case.citations).label == read.derived_label()


@given(timelines(longest=8))
def test_what_was_given_up_counts_for_nothing(events: tuple[Event, ...]) -> None:
    """Every observation and every display of a discarded probe counts as discarded, and none of another probe."""
    case = fold(events)
    assert case is not None
    gone = {event.payload.probe_id for event in events if event.type is EventType.PROBE_DISCARDED}
    looks = [c for c in case.citations.values() if c.type in (EventType.PROBE_OBSERVED, EventType.PROBE_EXPOSED)]
    assert all((weigh(cited) is Weight.DISCARDED) == (cited.probe_id in gone) for cited in looks)


def test_no_label_claims_certainty() -> None:
    """Every label has its words, and none of them says confirmed, proven or certain without a not."""
    assert set(LANGUAGE) == set(Calibration)
    assert "not thereby confirmed" in LANGUAGE[Calibration.SUPPORTED]
    assert "not confirmed" in LANGUAGE[Calibration.PROVISIONAL]


def test_a_claim_that_cites_nothing_real_is_a_hypothesis() -> None:
    """Ids that are no citable events count for nothing, and a model without claims is a hypothesis."""
    bogus = Claim(id="M1", text="t", epistemic_status=EpistemicStatus.GROUNDED, evidence_event_ids=("E000009",))
    found = calibrate_claim(Section.MECHANISMS, bogus, {})
    assert (found.label, found.direct_event_ids) == (Calibration.HYPOTHESIS, ())
    assert calibrate(Model(top_unknown="q"), {}).label is Calibration.HYPOTHESIS


# --- Timelines that no decider of ours would write ---


def folded(desk: Desk, *payloads: object) -> Citation:
    """What the last of these payloads is worth after the desk's case."""
    case = desk.c1
    for payload in payloads:
        event = evolve(desk.events["c1"][-1], event_id=f"E{case.event_count + 1:06d}", payload=payload)
        after = fold([event], case)
        assert after is not None
        case = after
    return case.citations[f"E{case.event_count:06d}"]


def exposed(supersedes: str, probe: str = "PR000001") -> ProbeExposed:
    return ProbeExposed(
        probe_id=probe,
        tool_name="read_file",
        authority_domain=AuthorityDomain.SYSTEM_STATE,
        result_status=OK,
        execution_result_status=OK,
        display_result_status=OK,
        observation_boundary=Boundary.MIDDLEWARE_RETURN,
        supersedes_event_id=supersedes,
        storage=Storage.INLINE,
        result_sha256="0" * 64,
        result="fine",
    )


def observed(probe: str = "PR000001") -> ProbeObserved:
    return ProbeObserved(
        probe_id=probe,
        tool_name="read_file",
        authority_domain=AuthorityDomain.SYSTEM_STATE,
        result_status=OK,
        execution_result_status=OK,
        display_result_status=OK,
        raw_result_provenance=Provenance.NATIVE_HANDLER_RESULT,
        observation_boundary=Boundary.POST_TOOL_CALL,
        storage=Storage.INLINE,
        result_sha256="0" * 64,
        result="fine",
    )


def compared(observation: str, probe: str = "PR000001", told: AuthorityDomain | None = None) -> ProbeCompared:
    return ProbeCompared(
        probe_id=probe,
        authority_domain=AuthorityDomain.SYSTEM_STATE,
        disposition=Disposition.MATCH,
        rationale="r",
        material=False,
        affected_claim_ids=(),
        stale_item_ids=(),
        commit_event_id="E000002",
        observation_event_id=observation,
        argument_match_status=ArgumentMatch.MATCHED,
        evidence=None if told is None else Evidence(summary="s", source_ref="r", authority_domain=told),
    )


def looked() -> Desk:
    desk = Desk()
    desk.open()
    desk.commit()
    desk.act()  # E000004
    return desk


def test_an_exposure_is_worth_its_observation() -> None:
    """A linked exposure of a good look is direct, and so is a comparison of either."""
    assert weigh(folded(looked(), exposed("E000004"))) is Weight.DIRECT
    assert weigh(folded(looked(), exposed("E000004"), exposed("E000005"))) is Weight.DIRECT
    assert weigh(folded(looked(), exposed("E000004"), compared("E000005"))) is Weight.DIRECT


def test_an_exposure_without_its_observation_is_worthless() -> None:
    """A link that is missing, that leads nowhere, to another probe, or to what is no observation, supports nothing,
    whatever the exposure says of itself; neither does a comparison of it."""
    for bad in (exposed(""), exposed("E000099"), exposed("E000002"), exposed("E000004", "PR000009")):
        assert weigh(folded(looked(), bad)) is Weight.UNKNOWN
        assert weigh(folded(looked(), bad, compared("E000005", bad.probe_id))) is Weight.UNKNOWN
        assert weigh(folded(looked(), bad, exposed("E000005", bad.probe_id))) is Weight.UNKNOWN


@given(
    st.sampled_from(("E000004", "E000005", "E000006", "E000002", "E000099", "")),
    st.sampled_from(("PR000001", "PR000009", "PR000010")),
)
def test_a_comparison_counts_for_its_own_observation(observation: str, probe: str) -> None:
    """A comparison of another probe's observation, or of none, supports nothing."""
    own = {"E000004": "PR000001", "E000005": "PR000009", "E000006": "PR000010"}
    told = folded(looked(), observed("PR000009"), observed("PR000010"), compared(observation, probe))
    assert (weigh(told) is Weight.DIRECT) == (own.get(observation) == probe)


def test_testimony_in_a_comparison_counts_as_testimony() -> None:
    """A comparison that nests the user's word is attributed downwards."""
    told = folded(looked(), compared("E000004", told=AuthorityDomain.USER_TESTIMONY))
    assert told.authority_domain is AuthorityDomain.USER_TESTIMONY
    assert folded(looked(), compared("E000004")).authority_domain is AuthorityDomain.SYSTEM_STATE
