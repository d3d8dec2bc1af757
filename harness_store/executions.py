"""Beginning real actions: which call is the committed one, which may run, and which is blocked."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from harness_core.commands import Expose, Observe, Start
from harness_core.errors import Damaged, HarnessError, Refused, Unavailable
from harness_core.probes import Commitment, Correlation, Probe, StoredResult
from harness_core.redaction import redact_text
from harness_core.vocabulary import CaseStatus, ProbeStatus

from . import observations
from .commitments import CommitmentKey
from .disk import Disk, reporting
from .execution import DORMANT, Blocked, Execution, Recording
from .layout import Layout
from .legacy_boundaries import Boundaries
from .locks import Lease
from .logs import log
from .portfolio import Portfolio
from .registry import Registry
from .transitions import Transitions

Ids = tuple[str, str, str, str]
"""A host's ids of a call: task, tool call, turn, API request; empty where it has none."""

REMEMBERED = 256
"""Committed probes whose secrets a process keeps in mind."""

HOST_WAIT = 2.0
"""Seconds that the start of a host's committed action waits for its case; a host's later bookkeeping does not wait."""

SETTLE_WAIT = 0.25
"""Seconds that a call waits for a case whose last transition is not acknowledged yet."""

INTERRUPTED_TEXT = "The execution was cut off; the action may or may not have completed."


class Executions:
    """Real actions over one store.  Safe to share among threads."""

    def __init__(
        self,
        disk: Disk,
        layout: Layout,
        cases: Portfolio,
        registry: Registry,
        transitions: Transitions,
        boundaries: Boundaries,
    ) -> None:
        self._disk = disk
        self._layout = layout
        self._cases = cases
        self._registry = registry
        self._transitions = transitions
        self._boundaries = boundaries
        self._key = CommitmentKey(disk, layout.root)
        # What was committed as secret is nowhere on disk; while this process lives it is known in results too.
        self._secrets: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()

    def commitment(self, args: Mapping[str, Any]) -> Commitment:
        """The keyed commitment to exactly these arguments."""
        return self._key.commit(args)

    def remember(self, case_id: str, probe_id: str, secrets: frozenset[str]) -> None:
        """Keep the secrets of a committed probe's arguments in memory, so that its result cannot repeat one."""
        self._secrets[case_id, probe_id] = secrets
        if len(self._secrets) > REMEMBERED:
            self._secrets.popitem(last=False)

    def begin(
        self,
        session_id: str,
        tool_name: str,
        args: Mapping[str, Any],
        ids: Ids,
        *,
        wait: float | None,
        host: bool,
    ) -> Execution:
        """The execution for one call (see ``Harness.execution``)."""
        if not session_id:
            return DORMANT
        try:
            self._boundaries.try_arrive(session_id, HOST_WAIT if host else self._transitions.wait)
            active = self._registry.binding(session_id, 0.0 if host else self._transitions.wait).active
            if active is None:
                return DORMANT
            return self._for_case(active, session_id, tool_name, args, ids, wait, host)
        except HarnessError as error:
            if not host:
                raise
            log.warning("execution_not_recorded", tool=tool_name, error=str(error))
        except Exception:  # a host is never harmed by a fault of ours
            if not host:
                raise
            log.exception("execution_failed", tool=tool_name)
        return DORMANT

    def _for_case(
        self,
        case_id: str,
        session_id: str,
        tool_name: str,
        args: Mapping[str, Any],
        ids: Ids,
        wait: float | None,
        host: bool,
    ) -> Execution:
        state, damage = self._cases.believed(case_id)
        if damage:
            if tool_name not in self._cases.claimed_tools(case_id, session_id):
                return DORMANT
            return Blocked(_damaged(case_id, tool_name, damage))
        if self._cases.is_unfinished(case_id):
            # A commitment may stand there that its process could not acknowledge; whoever acts under it must find it.
            with contextlib.suppress(Unavailable):
                state = self._cases.taken_over(case_id, SETTLE_WAIT)
        if state is None or state.case.session_id != session_id or state.case.status is not CaseStatus.ACTIVE:
            return DORMANT
        probe = state.case.pending_probe
        if probe is None or probe.tool_name != tool_name or probe.status is ProbeStatus.OBSERVED:
            return DORMANT
        with reporting(f"taking the lease of case {case_id}"):
            lease = self._lease(case_id).try_acquire() if probe.status is ProbeStatus.COMMITTED else None
        if lease is None:
            return Blocked(self._executing(case_id, probe))
        try:
            actual = self._key.commit(args)
            start = Start(probe_id=probe.probe_id, tool_name=tool_name, actual=actual, correlation=_correlation(ids))
            own = HOST_WAIT if host else self._transitions.wait
            self._transitions.change(case_id, start, session_id, own if wait is None else wait)
        except Refused as refusal:
            lease.release()
            return Blocked(
                f"the probe was already claimed, changed or cannot be built on, so it did not run: {refusal}"
            )
        except Damaged as damage:
            lease.release()
            return Blocked(_damaged(case_id, tool_name, damage))
        except BaseException:
            lease.release()
            raise
        return Recording(
            self,
            case_id=case_id,
            probe_id=probe.probe_id,
            session_id=session_id,
            commitment=probe.commitment,
            lease=lease,
            secrets=self._secrets_of(case_id, probe, actual, args),
            wait=wait if wait is not None else 0.0 if host else self._transitions.wait,
            host=host,
        )

    def _secrets_of(self, case_id: str, probe: Probe, actual: Commitment, args: Mapping[str, Any]) -> frozenset[str]:
        """What the result of an execution must not repeat: the secrets of what was committed and of what runs."""
        committed = self._secrets.get((case_id, probe.probe_id))
        if committed is not None and probe.commitment.matches(actual) is True:
            return committed  # they are the same arguments
        return (committed or frozenset()) | observations.secrets_of(args)

    def _executing(self, case_id: str, probe: Probe) -> str:
        if self._lease(case_id).is_held():
            return f"another invocation runs the committed {probe.tool_name} (pending probe {probe.probe_id}) right now"
        return (
            f"the pending probe {probe.probe_id} has an incomplete execution that nobody holds any more; it is never"
            ' retried by itself: epistemic_probe(operation="recover", reason=...) first'
        )

    def _lease(self, case_id: str) -> Lease:
        return Lease(self._disk, self._layout.lease(case_id), f"the execution of case {case_id}")

    @contextlib.contextmanager
    def taken_over(self, case_id: str) -> Iterator[StoredResult]:
        """Hold the lease that a dead holder left, over a recovery; gives the text to record.

        Raises ``Refused(code="still_running")`` while the execution's holder lives.
        """
        hold = self._lease(case_id).try_acquire()
        if hold is None:
            raise Refused(
                "the probe's execution is still running; wait for it (its result will be recorded)",
                code="still_running",
            )
        with hold:
            yield self.keep(case_id, INTERRUPTED_TEXT)

    def keep(self, case_id: str, text: str) -> StoredResult:
        """Keep a redacted text for a case, inline or as an artifact.  Raises ``Unavailable(written="no")``."""
        return observations.keep(self._disk, self._layout.case(case_id), text)

    def report(self, case_id: str, seen: Observe | Expose, session_id: str, wait: float | None) -> dict[str, Any]:
        """Record what an execution's holder saw, whatever has become of the case meanwhile; the record."""
        return dict(self._transitions.change(case_id, seen, session_id, wait).records[-1])


def _correlation(ids: Ids) -> Correlation:
    """A host's ids are texts of its own making, so they are redacted like any other."""
    task, tool_call, turn, api_request = (redact_text(str(given or "")) for given in ids)
    return Correlation(task_id=task, tool_call_id=tool_call, turn_id=turn, api_request_id=api_request)


def _damaged(case_id: str, tool_name: str, damage: object) -> str:
    return f"the record of case {case_id} is damaged, so {tool_name} was not run: {damage}"
