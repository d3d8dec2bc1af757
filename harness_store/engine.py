"""``Harness``: the one object that an embedder needs.

It puts the store's parts together and says what each call takes and gives; the parts do the work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from attrs import asdict

from harness_core.arguments import MODEL_TOOL, PROBE_TOOL
from harness_core.errors import HarnessError
from harness_core.retelling import Told
from harness_core.vocabulary import Lifecycle

from .aside import Aside
from .disk import Disk, PosixDisk, ReadOnlyDisk
from .execution import Execution
from .executions import Executions
from .layout import Layout, create_store, name_format, read_format
from .legacy_boundaries import Boundaries
from .logs import log
from .portfolio import Portfolio
from .quarantine import Quarantine
from .registry import Registry
from .repair import Repair, Repairs
from .sessions import LIFECYCLE_WAIT, Sessions
from .sessions_file import SessionsFile
from .tools import GENERATION, Tools
from .transitions import Transitions

TOOL_WAIT = 10.0
"""Seconds that a tool call waits for a lock before it answers ``Unavailable``."""


class Harness:
    """The harness over one state root.  Safe to share among threads; any number of processes may share a root.

    ``root``: the folder of the store; nothing is made there before the first write.  ``wait``: seconds that a tool call
    waits for a lock.  ``clock``: gives the time as ISO 8601 text with an offset, else a write raises ``ValueError``.
    ``disk``: the port to the file system, by default the real one.  ``read_only``: no byte of the store is changed;
    ``list``, ``show`` and replay work and writes raise ``Unavailable(code="not_permitted")``.  So it is by itself where
    the operating system permits no writing.

    Raises ``Unavailable(code="platform")`` where POSIX file locks are missing, ``Damaged(code="newer_format")`` for a
    store that a newer release wrote.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        wait: float = TOOL_WAIT,
        clock: Callable[[], str] | None = None,
        disk: Disk | None = None,
        read_only: bool = False,
    ) -> None:
        self.root = Path(root)
        disk, layout = disk or PosixDisk(), Layout(self.root)
        if read_only:
            disk = ReadOnlyDisk(disk)
        read_format(disk, self.root)
        self._cases = Portfolio(disk, layout)
        aside = Aside(disk, layout)
        registry = Registry(
            SessionsFile(disk, self.root),
            self._cases.now,
            self._cases.every,
            aside,
        )
        written_by = f"epistemic-harness {GENERATION}"
        name = partial(name_format, disk, self.root, written_by)
        self._quarantine = Quarantine(disk, layout, aside, self._cases, registry, name)
        self._repairs = Repairs(disk, layout, self._cases, registry)
        self._wait = wait
        transitions = Transitions(self._cases, registry, clock or _utc_now, wait, name)
        boundaries = Boundaries(disk, layout, registry, transitions)
        self._executions = Executions(disk, layout, self._cases, registry, transitions, boundaries)
        self._sessions = Sessions(self._cases, registry, transitions, boundaries)
        self._tools = Tools(
            self._cases,
            registry,
            transitions,
            self._executions,
            boundaries,
            create=lambda: create_store(disk, self.root, written_by, wait),
        )

    def __repr__(self) -> str:
        return f"<Harness at {self.root.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Mark the end of the harness's use.  It holds no file open between calls, so nothing is left to be lost."""

    # --- the two tools ---

    def model(self, args: Mapping[str, Any], *, session_id: str) -> dict[str, Any]:
        """``epistemic_model``: open, list, show, record_evidence, revise, pause, resume, close.

        ``args`` is the JSON object of the call (``harness_core.schemas.TOOLS`` has its schema).  Answers with a JSON
        object: ``case``, ``replay`` and, as the operation has them, ``event``, ``events``, ``evidence_event_ids``,
        ``prior_case_lessons``; ``list`` answers with ``cases``, ``case_errors`` and counts.

        Raises ``Refused`` (nothing was written), ``Damaged``, ``Unavailable``.
        """
        return self._tools.call(MODEL_TOOL, args, session_id)

    def probe(self, args: Mapping[str, Any], *, session_id: str) -> dict[str, Any]:
        """``epistemic_probe``: commit, compare, recover, discard.  As ``model``; two of them answer ``probe``."""
        return self._tools.call(PROBE_TOOL, args, session_id)

    def tool(self, name: str, args: Any, *, session_id: str) -> str:
        """A tool as JSON text, as a host or an MCP server needs it: refusals too are answers and never raised.

        ``name``: ``epistemic_model`` or ``epistemic_probe``.
        """
        try:
            answer: Mapping[str, Any] = self._tools.call(name, args, session_id)
        except HarnessError as error:
            answer = error.answer()
        except Exception as error:  # noqa: BLE001 - a fault of ours must not be thrown into a host
            log.exception("tool_failed", tool=name)
            text = (
                f"internal fault ({type(error).__name__}): this call was not carried out; the case can still be shown"
            )
            answer = {"error": text, "code": "internal", "fields": []}
        return json.dumps(answer, ensure_ascii=False)

    # --- reading ---

    def replay(self, case_id: str) -> dict[str, Any]:
        """Verify a case from its first byte to its last: the ``replay`` object with everything that is wrong.

        Changes nothing.  Raises ``Refused(code="no_case")``, ``Damaged`` where nothing can be read, ``Unavailable``.
        """
        return dict(self._cases.view(case_id).replay)

    def case(self, case_id: str) -> dict[str, Any]:
        """What ``show`` answers (``case``, ``replay``), for an operator: whichever session owns the case.

        Changes nothing.  Raises as ``replay``.
        """
        view = self._cases.view(case_id)
        return {"case": dict(view.document), "replay": dict(view.replay)}

    def timeline(self, case_id: str) -> list[dict[str, Any]]:
        """The acknowledged records of a case, oldest first; of a damaged one, every one that holds.

        Raises as ``replay``."""
        return [dict(record) for record in self._cases.records(case_id)]

    # --- upkeep ---

    def quarantine(self, case_id: str) -> dict[str, Any]:
        """Move a case aside and free its sessions: ``case_id``, its ``folder`` by now, the sessions ``freed``.

        Every byte of it stays.  Raises ``Refused`` (``no_case``, ``still_running``), ``Unavailable``.
        """
        return asdict(self._quarantine.move(case_id, self._wait))

    def export(self, case_id: str) -> bytes:
        """A case as one tar file, sound or damaged, which ``fsck`` verifies anywhere.  Changes nothing.

        Raises ``Refused(code="no_case")``, ``Unavailable``.
        """
        return self._cases.export(case_id)

    def repairs(self, case_id: str | None = None) -> tuple[Repair, ...]:
        """What could be made good in the store, or in one case of it.  Changes nothing.  Raises ``Unavailable``."""
        return self._repairs.plan(case_id)

    def repair(self, planned: Repair) -> bool:
        """Do one of ``repairs()`` and nothing else; false where it is no longer called for.

        Raises ``Damaged``, ``Unavailable``.
        """
        return self._repairs.carry_out(planned, self._wait)

    # --- real actions ---

    def execution(
        self,
        *,
        session_id: str,
        tool_name: str,
        args: Mapping[str, Any],
        task_id: str = "",
        tool_call_id: str = "",
        turn_id: str = "",
        api_request_id: str = "",
        wait: float | None = None,
        host: bool = False,
    ) -> Execution:
        """Bracket one real action: ``with harness.execution(...) as execution: ... execution.observed(result)``.

        ``args``: the actual arguments (a JSON object).  The ids are the host's, empty where it has none.  The object is
        dormant unless the session's active case has a committed probe for ``tool_name``; it is ``blocked`` where the
        call would run a committed action a second time, or on a damaged case.

        ``host``: nothing of ours ever raises, and once the action has begun no bookkeeping waits for a lock.  ``wait``:
        seconds for locks (by default the harness's own).  Raises ``Damaged`` or ``Unavailable`` (not for a host).
        """
        ids = (task_id, tool_call_id, turn_id, api_request_id)
        return self._executions.begin(session_id, tool_name, args, ids, wait=wait, host=host)

    # --- what a host's sessions do ---

    def context(self, session_id: str, ceiling: int) -> str | None:
        """What to tell the model about the session's active case, at most ``ceiling`` characters; ``None`` without one.

        Raises ``Damaged`` where nothing of the case can be read, ``Unavailable``.
        """
        return self.context_since(session_id, ceiling, None)[0]

    def context_since(self, session_id: str, ceiling: int, told: Told | None) -> tuple[str | None, Told | None]:
        """As ``context``, for a session that was told its case before: only what it does not know yet.

        ``told``: what the last call gave beside the text, while the texts in it stand in the session's transcript, else
        ``None``.  Gives the text, and what the session knows once it has been told.
        """
        return self._sessions.context(session_id, ceiling, told)

    def is_active(self, session_id: str) -> bool:
        """Whether the session has an active case: what an ordinary call of a dormant session costs is this question.

        Raises ``Unavailable`` where the bindings cannot be read.
        """
        return self._sessions.is_active(session_id)

    def is_bound(self, session_id: str) -> bool:
        """Whether the session has an active case or a lifecycle-paused one that proof of life may resume."""
        return self._sessions.is_bound(session_id)

    def proof_of_life(self, session_id: str, *, wait: float = LIFECYCLE_WAIT) -> bool:
        """Resume the session's lifecycle-paused case where its marker is still alive; whether that happened.

        Raises ``Damaged``, ``Unavailable``.
        """
        return self._sessions.proof_of_life(session_id, wait)

    def adopt_lineage(self, session_id: str, lineage: Sequence[str], *, wait: float = LIFECYCLE_WAIT) -> str | None:
        """Let a compression child take over its ancestors' case; the id of the case that moved, or ``None``.

        ``lineage``: session ids from root to tip, as the host's store gives them.  Raises ``Damaged``, ``Unavailable``.
        """
        return self._sessions.adopt_lineage(session_id, lineage, wait)

    def pause_for_lifecycle(
        self,
        session_id: str,
        *,
        kind: Lifecycle | str,
        reason: str = "",
        child_status: str = "",
        platform: str = "",
        wait: float = LIFECYCLE_WAIT,
    ) -> bool:
        """Pause the session's active case because its session ended or was left; whether one was paused.

        ``kind`` and ``reason`` decide by the table ``harness_core.lifecycle`` whether there is a pause at all, and
        whether it leaves the marker that proof of life may use once.  ``wait`` is the budget for locks in all, in
        seconds.  Raises ``Unavailable(code="locked")`` when it is spent; nothing is retried later.
        """
        return self._sessions.pause(session_id, Lifecycle(kind), reason, child_status, platform, wait)


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
