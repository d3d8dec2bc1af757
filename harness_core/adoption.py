"""Cases of release 1.2.0: what their records amount to here, and how they go on.

That release kept the case in ``case.md`` and in its records only what had happened, so the case is made of both: the
model, the pending probe, the closure and where the case stands from its last state; from the records who owned it and
what each observation may be cited for.  Nothing of it is believed to be worth more than its record says.

Pure.  Whether records and state are what 1.2.0 wrote is the store's to check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from attrs import evolve as replaced
from rpds import HashTrieMap

from harness_core.case import Case, Marker
from harness_core.closure import Closure
from harness_core.commands import Command
from harness_core.decider import decide
from harness_core.events import (
    CaseAdopted,
    Event,
    EvidenceRecorded,
    InitialObservation,
    Payload,
    ProbeCompared,
    ProbeDiscarded,
    ProbeExposed,
    ProbeObserved,
    event_id,
)
from harness_core.evidence import Evidence
from harness_core.evolution import EVOLUTIONS
from harness_core.model import Model
from harness_core.moment import Moment
from harness_core.probes import Correlation, Probe
from harness_core.staleness import Staleness
from harness_core.vocabulary import (
    ArgumentMatch,
    AuthorityDomain,
    Boundary,
    CaseStatus,
    Disposition,
    EventType,
    ProbeStatus,
    Provenance,
    ResultStatus,
    Storage,
)
from harness_core.wire import make_converter

RELEASE = "1.2.0"
_UNKEYED = "sha256"  # how a commitment without a scheme was made
_CONVERTER = make_converter(detailed=False, lenient=True)

Record = Mapping[str, Any]
T = TypeVar("T")


def adopted(case_id: str, state: Mapping[str, Any], records: Sequence[Record], transitions: int) -> Case:
    """The case that a state of release 1.2.0 and its records amount to.

    ``state``: the content of its machine block; ``records``: all of its records, oldest first; ``transitions``: how
    many groups they were written in.  Members that are not known here stay behind in the state.

    Raises whatever tells that the state holds no case (``TypeError``, ``ValueError``, ``KeyError``, a cattrs error).
    """
    evidence = _folded(case_id, records)
    probe = state.get("pending_probe")
    stale = state.get("stale") is True
    owner = _of(state["session_id"], str)
    sessions = dict.fromkeys([*(_of(record["session_id"], str) for record in records), owner])
    return replaced(
        evidence,
        session_id=owner,
        session_ids=tuple(sessions),
        status=_of(state["status"], CaseStatus),
        version=_of(state["version"], int),
        revision=transitions,
        event_count=len(records),
        probe_count=sum(record["type"] == EventType.PROBE_COMMITTED for record in records),
        created_at=_of(state["created_at"], str),
        updated_at=_of(state["updated_at"], str),
        model=_of(state["model"], Model),
        staleness=(
            Staleness(_of(state["mismatch_event_id"], str), _of(state["stale_claim_ids"], tuple[str, ...]))
            if stale
            else None
        ),
        pending_probe=None if probe is None else _probe(probe, records),
        closure=_optional(state.get("closure"), Closure),
        marker=_optional(state.get("auto_resume_pending"), Marker),
        high_waters=_high_waters(records),
        unaccounted=_unaccounted(evidence, records),
    )


def decide_adopting(
    case: Case, state: Mapping[str, Any], log_sha256: str, command: Command, moment: Moment
) -> tuple[Event, ...]:
    """What a command makes happen to a case of release 1.2.0: its adoption, then what ``decide`` says.

    ``case`` as ``adopted`` made it of ``state``; ``log_sha256``: SHA-256 over the exact bytes of its lines.  Nothing,
    where the command concerns nothing.  Raises ``Refused``.
    """
    events = decide(replaced(case, event_count=case.event_count + 1), command, moment)
    if not events:
        return ()
    adoption = Event(
        event_id=event_id(case.event_count + 1),
        timestamp=moment.at,
        session_id=case.session_id,
        transition=case.revision + 1,
        payload=CaseAdopted(release=RELEASE, legacy_state=state, legacy_log_sha256=log_sha256, case=case),
    )
    return (adoption, *events)


def outlined(case_id: str, records: Sequence[Record], state: Mapping[str, Any] | None) -> Case | None:
    """Whose case it is and where it stands, where its state or some of its records are lost; ``None`` where nothing
    says so.  Good for one thing: that its session meets the damage instead of an empty desk."""
    told = [record for record in records if record["type"] in _STANDING]
    owner = told[-1]["session_id"] if told else (state or {}).get("session_id")
    if type(owner) is not str:
        return None
    standing = [status for record in told if (status := _STANDING[record["type"]]) is not None]
    return replaced(
        _blank(case_id),
        session_id=owner,
        session_ids=(owner,),
        status=standing[-1] if standing else CaseStatus.ACTIVE,
        high_waters=_high_waters(records),
    )


# What the events of a case's life make of it; a migration leaves it as it stands.
_STANDING: Mapping[str, CaseStatus | None] = {
    EventType.CASE_OPENED: CaseStatus.ACTIVE,
    EventType.CASE_RESUMED: CaseStatus.ACTIVE,
    EventType.CASE_PAUSED: CaseStatus.PAUSED,
    EventType.CASE_CLOSED: CaseStatus.CLOSED,
    EventType.SESSION_MIGRATED: None,
}


def _of(value: Any, kind: type[T]) -> T:
    return _CONVERTER.structure(value, kind)


def _optional(value: Any, kind: type[T]) -> T | None:
    return None if value is None else _of(value, kind)


# --- what the records say ---


def _blank(case_id: str) -> Case:
    return Case(
        case_id=case_id,
        session_id="",
        session_ids=(),
        status=CaseStatus.ACTIVE,
        version=1,
        revision=0,
        event_count=0,
        created_at="",
        updated_at="",
        model=Model(top_unknown=""),
        citations=HashTrieMap(),
        high_waters=HashTrieMap(),
        artifacts=HashTrieMap(),
    )


def _folded(case_id: str, records: Iterable[Record]) -> Case:
    """What its observations and evidence may be cited for, by the same rules as in a case of this release."""
    case = _blank(case_id)
    for record in records:
        read = _READERS.get(record["type"])
        if read is not None:
            event = Event(
                event_id=record["event_id"],
                timestamp=record["timestamp"],
                session_id=record["session_id"],
                transition=0,
                payload=read(record["payload"]),
            )
            case = replaced(case, **EVOLUTIONS[EventType(record["type"])](case, event, event.payload))
    return case


def _initial(payload: Record) -> Payload:
    return _of({"initial_ref": "", **payload}, InitialObservation)


def _evidence(payload: Record) -> Payload:
    return _of(payload, EvidenceRecorded)


def _status(payload: Record, *names: str) -> ResultStatus:
    """The first status that stands under one of the names; unknown where none does, which supports nothing."""
    found = next((payload[name] for name in names if payload.get(name) is not None), ResultStatus.UNKNOWN)
    return ResultStatus(found) if found in set(ResultStatus) else ResultStatus.UNKNOWN


def _provenance(payload: Record) -> Provenance:
    """Before native capture a status was only ever recorded with the handler's own result; then it was said."""
    said = payload.get("raw_result_provenance")
    if said is None:
        known = _status(payload, "execution_result_status", "result_status") is not ResultStatus.UNKNOWN
        return Provenance.NATIVE_HANDLER_RESULT if known else Provenance.UNKNOWN
    return Provenance.NATIVE_HANDLER_RESULT if said == Provenance.NATIVE_HANDLER_RESULT else Provenance.UNKNOWN


def _seen(payload: Record) -> dict[str, Any]:
    """What an observation and an exposure have in common."""
    artifact = payload.get("storage") == Storage.ARTIFACT
    return {
        "probe_id": _of(payload["probe_id"], str),
        "tool_name": _of(payload.get("tool_name", ""), str),
        "authority_domain": _of(payload.get("authority_domain", AuthorityDomain.SYSTEM_STATE.value), AuthorityDomain),
        "result_status": _status(payload, "result_status", "execution_result_status"),
        "execution_result_status": _status(payload, "execution_result_status", "result_status"),
        "display_result_status": _status(payload, "display_result_status", "result_status", "execution_result_status"),
        "observation_boundary": Boundary.MIDDLEWARE_RETURN,
        "storage": Storage.ARTIFACT if artifact else Storage.INLINE,
        "result_sha256": _of(payload.get("result_sha256", ""), str),
        "artifact_path": _optional(payload.get("artifact_path"), str) if artifact else None,
        "artifact_sha256": _optional(payload.get("artifact_sha256"), str) if artifact else None,
        "artifact_bytes": _optional(payload.get("artifact_bytes"), int) if artifact else None,
    }


def _observed(payload: Record) -> Payload:
    return ProbeObserved(**_seen(payload), raw_result_provenance=_provenance(payload))


def _exposed(payload: Record) -> Payload:
    return ProbeExposed(**_seen(payload), supersedes_event_id=payload.get("supersedes_event_id") or "")


def _compared(payload: Record) -> Payload:
    # Only what a citation is made of: staleness is in the state.
    return ProbeCompared(
        probe_id=_of(payload["probe_id"], str),
        authority_domain=_of(payload["authority_domain"], AuthorityDomain),
        disposition=_of(payload["disposition"], Disposition),
        rationale="",
        material=False,
        affected_claim_ids=(),
        stale_item_ids=(),
        commit_event_id="",
        observation_event_id=_of(payload["observation_event_id"], str),
        argument_match_status=ArgumentMatch.UNKNOWN,
        evidence=_optional(payload.get("evidence"), Evidence),
    )


def _discarded(payload: Record) -> Payload:
    return ProbeDiscarded(
        probe_id=_of(payload["probe_id"], str),
        reason="",
        probe_status=ProbeStatus.COMMITTED,
        observation_event_id=_optional(payload.get("observation_event_id"), str),
    )


_READERS = {
    EventType.INITIAL_OBSERVATION: _initial,
    EventType.EVIDENCE_RECORDED: _evidence,
    EventType.PROBE_OBSERVED: _observed,
    EventType.PROBE_EXPOSED: _exposed,
    EventType.PROBE_COMPARED: _compared,
    EventType.PROBE_DISCARDED: _discarded,
}


def _high_waters(records: Iterable[Record]) -> HashTrieMap[str, int]:
    found: dict[str, int] = {}
    for record in records:
        if "seq" in record:
            found[record["session_id"]] = max(_of(record["seq"], int), found.get(record["session_id"], 0))
    return HashTrieMap(found)


def _unaccounted(case: Case, records: Iterable[Record]) -> tuple[str, ...]:
    """Observations that nothing accounts for: the last one of each probe that was neither compared nor discarded.

    An exposure without a link is worth nothing, and still it was what the comparison of its probe accounted for.
    """
    ended = (EventType.PROBE_COMPARED, EventType.PROBE_DISCARDED)
    settled = {record["payload"].get("probe_id") for record in records if record["type"] in ended}
    last = {case.citations[e].probe_id: e for e in case.unaccounted}
    return tuple(e for probe_id, e in last.items() if probe_id not in settled)


# --- the pending probe ---


def _probe(state: Mapping[str, Any], records: Iterable[Record]) -> Probe:
    """The pending probe, with what this release reads off the probe and 1.2.0 left in its records."""
    named = [r for r in records if _probe_of(r["payload"]) == state.get("probe_id")]
    committed = _last(named, EventType.PROBE_COMMITTED)
    started = _last(named, EventType.PROBE_STARTED)
    observed = _last(named, EventType.PROBE_OBSERVED)
    given = {
        "tool_args_commitment_scheme": _UNKEYED,
        "commit_event_id": _id(committed),
        "started_event_id": _id(started),
        **{name: value for name, value in state.items() if value is not None},
    }
    probe = _of(given, Probe)
    if started is not None:
        ids = {
            name: state.get(f"execution_{name}") or started["payload"].get(name) or ""
            for name in ("task_id", "tool_call_id", "turn_id", "api_request_id")
        }
        probe = replaced(probe, executing_session_id=started["session_id"], execution=_of(ids, Correlation))
    if observed is not None:
        boundary = observed["payload"].get("observation_boundary")
        probe = replaced(
            probe,
            raw_observation_event_id=observed["event_id"],
            raw_result_provenance=_provenance(observed["payload"]),
            observation_boundary=Boundary(boundary) if boundary in set(Boundary) else None,
        )
    return probe


def _probe_of(payload: Record) -> Any:
    probe = payload.get("probe")
    return probe.get("probe_id") if isinstance(probe, Mapping) else payload.get("probe_id")


def _last(records: Sequence[Record], type_: EventType) -> Record | None:
    return next((record for record in reversed(records) if record["type"] == type_), None)


def _id(record: Record | None) -> str | None:
    return None if record is None else record["event_id"]
