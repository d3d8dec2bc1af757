"""The state of a case: what the fold of its Timeline amounts to.

Everything in it is frozen.  The two maps that grow with the Timeline are persistent, so that the next state shares them
instead of copying.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from harness_core.closure import Closure
from harness_core.evidence import Citation
from harness_core.model import NO_DECISION, Model
from harness_core.persistent import Map
from harness_core.probes import Probe
from harness_core.staleness import Staleness
from harness_core.vocabulary import CaseStatus
from harness_core.wire import to_json

SCHEMA_VERSION = 2


@frozen(kw_only=True)
class Marker:
    """Left by a lifecycle pause.  It is alive while ``seq_at_pause`` is still the session's high-water number."""

    pause_event_id: str
    seq_at_pause: int
    reason: str
    platform: str | None = None


@frozen(kw_only=True)
class Artifact:
    """A large observation kept beside the log; paths are relative to the case's folder."""

    event_id: str
    path: str
    sha256: str
    bytes: int


@frozen(kw_only=True)
class Case:
    """One case after ``event_count`` events.

    ``version`` counts models, ``revision`` counts transitions.  ``high_waters`` holds the highest ``seq`` that this
    case saw for each session.  ``unaccounted`` are the observations that no comparison or discard has accounted for.
    """

    case_id: str
    session_id: str
    session_ids: tuple[str, ...]
    status: CaseStatus
    version: int
    revision: int
    event_count: int
    probe_count: int = 0
    created_at: str
    updated_at: str
    model: Model
    staleness: Staleness | None = None
    pending_probe: Probe | None = None
    closure: Closure | None = None
    marker: Marker | None = None
    citations: Map[str, Citation]
    high_waters: Map[str, int]
    unaccounted: tuple[str, ...] = ()
    artifacts: Map[str, Artifact]

    @property
    def stale(self) -> bool:
        """Whether a material mismatch still waits for its revision."""
        return self.staleness is not None


def document(case: Case) -> dict[str, Any]:
    """The case as the tools answer it and as ``case.md`` carries it (without ``integrity``, which the store adds)."""
    found: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "case_id": case.case_id,
        "session_id": case.session_id,
        "session_ids": list(case.session_ids),
        "status": case.status.value,
        "version": case.version,
        "runtime_revision": case.revision,
        "event_count": case.event_count,
        "created_at": case.created_at,
        "updated_at": case.updated_at,
        "model": to_json(case.model),
        "stale": case.stale,
        "pending_probe": None if case.pending_probe is None else to_json(case.pending_probe),
    }
    if case.staleness is not None:
        found |= {
            "stale_claim_ids": list(case.staleness.item_ids),
            "mismatch_event_id": case.staleness.mismatch_event_id,
        }
    if case.closure is not None:
        found["closure"] = to_json(case.closure)
    if case.marker is not None:
        found["auto_resume_pending"] = to_json(case.marker)
    return found


def summary(case: Case) -> dict[str, Any]:
    """The compact entry that ``list`` shows for a case."""
    model, probe = case.model, case.pending_probe
    text = model.top_unknown if model.decision == NO_DECISION else model.decision
    return {
        "case_id": case.case_id,
        "status": case.status.value,
        "created_at": case.created_at,
        "updated_at": case.updated_at,
        "summary": " ".join(text.split()),
        "session_id": case.session_id,
        "session_ids": list(case.session_ids),
        "event_count": case.event_count,
        "pending_probe_status": None if probe is None else probe.status.value,
        "epistemically_stale": case.stale,
    }


SUMMARY = frozenset(
    {"case_id", "status", "created_at", "updated_at", "summary", "session_id", "session_ids", "event_count"}
    | {"pending_probe_status", "epistemically_stale"}
)
"""The members of a ``summary``."""
