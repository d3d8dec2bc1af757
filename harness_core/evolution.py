"""``evolve`` and ``fold``: what a Timeline amounts to.

``evolve`` never refuses.  What may happen is the decider's business, whether it was allowed is the audit's
(``replay``).  One small function per event type stands in the table ``EVOLUTIONS``; none takes longer for a longer
Timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypedDict

from attrs import evolve as replaced
from attrs import fields
from rpds import HashTrieMap

from harness_core.authority import attributed
from harness_core.case import Artifact, Case, Marker
from harness_core.closure import Closure
from harness_core.events import (
    CaseAdopted,
    CaseClosed,
    CaseOpened,
    CasePaused,
    CaseResumed,
    Event,
    ModelRevised,
    ProbeCommitted,
    ProbeCompared,
    ProbeDiscarded,
    ProbeExposed,
    ProbeObserved,
    ProbeStarted,
    SessionMigrated,
    Shown,
)
from harness_core.evidence import Citation, Evidence
from harness_core.model import Model
from harness_core.persistent import Map
from harness_core.probes import MATCHES, Correlation, Probe
from harness_core.staleness import Staleness
from harness_core.vocabulary import (
    AuthorityDomain,
    CaseStatus,
    EventType,
    ProbeStatus,
    Provenance,
    ResultStatus,
    Storage,
)

_UNOPENED = Model(top_unknown="")
# What a citation is worth that should lead back to an observation and does not.
_WORTHLESS = Citation(
    event_id="",
    type=EventType.PROBE_COMPARED,
    authority_domain=AuthorityDomain.SYSTEM_STATE,
    execution_status=ResultStatus.UNKNOWN,
    display_status=ResultStatus.UNKNOWN,
    provenance=Provenance.UNKNOWN,
    linked=False,
)


class Changes(TypedDict, total=False):
    """What one event makes of a case: the fields of ``Case`` that it changes."""

    case_id: str
    session_id: str
    session_ids: tuple[str, ...]
    status: CaseStatus
    version: int
    probe_count: int
    model: Model
    staleness: Staleness | None
    pending_probe: Probe | None
    closure: Closure | None
    marker: Marker | None
    citations: Map[str, Citation]
    unaccounted: tuple[str, ...]
    artifacts: Map[str, Artifact]


def evolve(case: Case | None, event: Event) -> Case:
    """The case after one more event; ``None`` stands for no case yet.  Never refuses."""
    known = stands_before(case, event)
    before = known if known is not None else _blank(event)
    high_waters = before.high_waters
    if event.seq is not None:
        high_waters = high_waters.insert(event.session_id, max(event.seq, high_waters.get(event.session_id) or 0))
    values = dict(zip(_FIELDS, _VALUES(before), strict=True))  # attrs' own ``evolve`` takes three times as long
    values |= EVOLUTIONS[event.type](before, event, event.payload)
    values |= {
        "event_count": before.event_count + 1,
        "revision": event.transition,
        "updated_at": event.timestamp,
        "high_waters": high_waters,
    }
    return Case(**values)


_FIELDS = tuple(field.name for field in fields(Case))
_VALUES = attrgetter(*_FIELDS)


def stands_before(case: Case | None, event: Event) -> Case | None:
    """The case that an event happens to: ``case``, but for an adoption, which brings its own."""
    return event.payload.case if isinstance(event.payload, CaseAdopted) else case


def fold(events: Iterable[Event], case: Case | None = None) -> Case | None:
    """The case that a Timeline amounts to, continuing from ``case``; None for an empty Timeline."""
    for event in events:
        case = evolve(case, event)
    return case


def _blank(event: Event) -> Case:
    return Case(
        case_id="",
        session_id=event.session_id,
        session_ids=(event.session_id,),
        status=CaseStatus.ACTIVE,
        version=1,
        revision=event.transition,
        event_count=0,
        created_at=event.timestamp,
        updated_at=event.timestamp,
        model=_UNOPENED,
        citations=HashTrieMap(),
        high_waters=HashTrieMap(),
        artifacts=HashTrieMap(),
    )


def _cite(case: Case, citation: Citation) -> HashTrieMap[str, Citation]:
    return case.citations.insert(citation.event_id, citation)


def _evidence(case: Case, event: Event, given: Evidence) -> Changes:
    citation = Citation(
        event_id=event.event_id,
        type=event.type,
        authority_domain=given.authority_domain,
        source_role=given.source_role,
        access_scope=given.access_scope,
        limitation=given.limitation,
    )
    return Changes(citations=_cite(case, citation))


def _opened(case: Case, event: Event, payload: CaseOpened) -> Changes:
    return Changes(case_id=payload.case_id, model=payload.model, version=payload.model_version)


def _revised(case: Case, event: Event, payload: ModelRevised) -> Changes:
    return Changes(
        model=replaced(case.model, **payload.changes.given()),
        version=payload.model_version,
        staleness=None if payload.repaired_mismatch_event_id else case.staleness,
    )


def _committed(case: Case, event: Event, payload: ProbeCommitted) -> Changes:
    probe = replaced(payload.probe, commit_event_id=event.event_id)
    return Changes(pending_probe=probe, probe_count=case.probe_count + 1)


def _pending(case: Case, probe_id: str) -> Probe | None:
    probe = case.pending_probe
    return probe if probe is not None and probe.probe_id == probe_id else None


def _started(case: Case, event: Event, payload: ProbeStarted) -> Changes:
    probe = _pending(case, payload.probe_id)
    if probe is None:
        return Changes()
    return Changes(
        pending_probe=replaced(
            probe,
            status=ProbeStatus.EXECUTING,
            started_event_id=event.event_id,
            executing_session_id=event.session_id,
            execution=Correlation(
                task_id=payload.task_id or "",
                tool_call_id=payload.tool_call_id or "",
                turn_id=payload.turn_id or "",
                api_request_id=payload.api_request_id or "",
            ),
            execution_args_match_commitment=payload.args_match_commitment,
        ),
    )


def _artifacts(case: Case, event: Event, payload: Shown) -> HashTrieMap[str, Artifact]:
    if payload.storage is Storage.INLINE or payload.artifact_path is None:
        return case.artifacts
    kept = Artifact(
        event_id=event.event_id,
        path=payload.artifact_path,
        sha256=payload.artifact_sha256 or "",
        bytes=payload.artifact_bytes or 0,
    )
    return case.artifacts.insert(event.event_id, kept)


def _observed(case: Case, event: Event, payload: ProbeObserved) -> Changes:
    citation = Citation(
        event_id=event.event_id,
        type=event.type,
        authority_domain=payload.authority_domain,
        probe_id=payload.probe_id,
        tool_name=payload.tool_name,
        execution_status=payload.execution_result_status,
        display_status=payload.display_result_status,
        provenance=payload.raw_result_provenance,
    )
    probe = _pending(case, payload.probe_id)
    seen = probe and replaced(
        probe,
        status=ProbeStatus.OBSERVED,
        execution_args_match_commitment=probe.execution_args_match_commitment
        if payload.argument_match_status is None
        else MATCHES[payload.argument_match_status],
        observation_event_id=event.event_id,
        raw_observation_event_id=event.event_id,
        observation_boundary=payload.observation_boundary,
        raw_result_provenance=payload.raw_result_provenance,
        result_status=payload.result_status,
        execution_result_status=payload.execution_result_status,
        display_result_status=payload.display_result_status,
        result_sha256=payload.result_sha256,
    )
    return Changes(
        citations=_cite(case, citation),
        artifacts=_artifacts(case, event, payload),
        pending_probe=seen or case.pending_probe,
        unaccounted=(*case.unaccounted, event.event_id),
    )


def _exposed(case: Case, event: Event, payload: ProbeExposed) -> Changes:
    # What an exposure is worth is what the observation at the root of its chain is worth; its own word does not count.
    superseded = case.citations.get(payload.supersedes_event_id)
    linked = (
        superseded is not None
        and superseded.type in (EventType.PROBE_OBSERVED, EventType.PROBE_EXPOSED)
        and superseded.probe_id == payload.probe_id
        and superseded.linked
    )
    root = superseded if superseded is not None and linked else _WORTHLESS
    citation = replaced(
        root,
        event_id=event.event_id,
        type=event.type,
        authority_domain=payload.authority_domain,
        probe_id=payload.probe_id,
        tool_name=payload.tool_name,
        # A better-looking display does not mend what was seen before it.
        display_status=payload.display_result_status if root.display_status is ResultStatus.OK else root.display_status,
        supersedes=payload.supersedes_event_id if linked else None,
    )
    probe = _pending(case, payload.probe_id)
    shown = probe and replaced(
        probe,
        observation_event_id=event.event_id,
        result_status=payload.result_status,
        display_result_status=payload.display_result_status,
        result_sha256=payload.result_sha256,
    )
    unaccounted = tuple(e for e in case.unaccounted if not (linked and e == payload.supersedes_event_id))
    return Changes(
        citations=_cite(case, citation),
        artifacts=_artifacts(case, event, payload),
        pending_probe=shown or case.pending_probe,
        unaccounted=(*unaccounted, event.event_id),
    )


def _compared(case: Case, event: Event, payload: ProbeCompared) -> Changes:
    seen = case.citations.get(payload.observation_event_id)
    own = seen if seen is not None and seen.probe_id == payload.probe_id else None
    told = payload.evidence
    # A comparison is worth what its own probe's observation is worth, and reads as its descriptor says.
    citation = replaced(
        own if own is not None else _WORTHLESS,
        event_id=event.event_id,
        type=event.type,
        authority_domain=attributed(payload.authority_domain, None if told is None else told.authority_domain),
        source_role=None if told is None else told.source_role,
        access_scope=None if told is None else told.access_scope,
        limitation=None if told is None else told.limitation,
        probe_id=payload.probe_id,
        supersedes=None,
    )
    mismatch = payload.material and bool(payload.stale_item_ids)
    return Changes(
        citations=_cite(case, citation),
        pending_probe=None if _pending(case, payload.probe_id) else case.pending_probe,
        unaccounted=tuple(e for e in case.unaccounted if e != payload.observation_event_id),
        staleness=Staleness(event.event_id, payload.stale_item_ids) if mismatch else case.staleness,
    )


def _discarded(case: Case, event: Event, payload: ProbeDiscarded) -> Changes:
    # The observation goes, and with it everything that it was shown as before.
    citations = case.citations
    dropped = citations.get(payload.observation_event_id or "")
    while dropped is not None and not dropped.discarded:
        citations = citations.insert(dropped.event_id, replaced(dropped, discarded=True))
        dropped = citations.get(dropped.supersedes or "")
    return Changes(
        citations=citations,
        pending_probe=None if _pending(case, payload.probe_id) else case.pending_probe,
        unaccounted=tuple(e for e in case.unaccounted if e != payload.observation_event_id),
    )


def _paused(case: Case, event: Event, payload: CasePaused) -> Changes:
    marker = Marker(
        pause_event_id=event.event_id,
        seq_at_pause=event.seq or 0,
        reason=payload.reason,
        platform=payload.platform,
    )
    return Changes(status=CaseStatus.PAUSED, marker=marker if payload.auto_resumable else None)


def _owners(case: Case, session_id: str) -> tuple[str, ...]:
    return case.session_ids if session_id in case.session_ids else (*case.session_ids, session_id)


def _resumed(case: Case, event: Event, payload: CaseResumed) -> Changes:
    return Changes(
        status=CaseStatus.ACTIVE,
        session_id=event.session_id,
        session_ids=_owners(case, event.session_id),
        marker=None,
    )


def _migrated(case: Case, event: Event, payload: SessionMigrated) -> Changes:
    marker = case.marker
    if marker is not None:
        marker = replaced(marker, seq_at_pause=event.seq or 0) if payload.marker_kept else None
    return Changes(
        session_id=payload.new_session_id,
        session_ids=_owners(case, payload.new_session_id),
        marker=marker,
    )


def _closed(case: Case, event: Event, payload: CaseClosed) -> Changes:
    closure = Closure(
        outcome=payload.outcome,
        summary=payload.summary,
        transfer=payload.transfer,
        calibration=payload.calibration,
        closed_at=payload.closed_at,
        event_id=event.event_id,
    )
    return Changes(status=CaseStatus.CLOSED, closure=closure, marker=None)


def _adopted(case: Case, event: Event, payload: CaseAdopted) -> Changes:
    return Changes()


EVOLUTIONS: Mapping[EventType, Callable[[Case, Event, Any], Changes]] = {
    EventType.INITIAL_OBSERVATION: _evidence,
    EventType.EVIDENCE_RECORDED: _evidence,
    EventType.CASE_OPENED: _opened,
    EventType.MODEL_REVISED: _revised,
    EventType.PROBE_COMMITTED: _committed,
    EventType.PROBE_STARTED: _started,
    EventType.PROBE_OBSERVED: _observed,
    EventType.PROBE_EXPOSED: _exposed,
    EventType.PROBE_COMPARED: _compared,
    EventType.PROBE_DISCARDED: _discarded,
    EventType.CASE_PAUSED: _paused,
    EventType.CASE_RESUMED: _resumed,
    EventType.SESSION_MIGRATED: _migrated,
    EventType.CASE_CLOSED: _closed,
    EventType.CASE_ADOPTED: _adopted,
}
