"""``decide``: whether a command may happen to a case, and what happens then.

Pure.  ``moment`` brings in what only the outside knows: the time, the session, and its next high-water number.
A refusal raises ``Refused`` and says what to send instead; otherwise the events come back, ready for the Timeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness_core import decide_case, decide_probe
from harness_core.case import Case
from harness_core.commands import (
    AutoResume,
    Close,
    Command,
    Commit,
    Compare,
    Discard,
    Expose,
    LifecyclePause,
    Migrate,
    Observe,
    OnCase,
    Open,
    Pause,
    RecordEvidence,
    RecoverExecution,
    Resume,
    Revise,
    Start,
)
from harness_core.errors import Refused
from harness_core.events import DISPOSITIONS, TYPES, Event, Payload, event_id
from harness_core.moment import Moment

__all__ = ["Moment", "decide"]

Decision = Callable[[Case, Any, Moment], Sequence[Payload]]


# Operations of the two tools concern the session's own active case; the others are the host's reports.
OWN_CASE: Mapping[type, Decision] = {
    RecordEvidence: decide_case.record_evidence,
    Revise: decide_case.revise,
    Pause: decide_case.pause,
    Close: decide_case.close,
    Commit: decide_probe.commit,
    Compare: decide_probe.compare,
    RecoverExecution: decide_probe.recover,
    Discard: decide_probe.discard,
    Start: decide_probe.start,
}
ANY_SESSION: Mapping[type, Decision] = {
    Resume: decide_case.resume,
    Observe: decide_probe.observe,
    Expose: decide_probe.expose,
    LifecyclePause: decide_case.lifecycle_pause,
    AutoResume: decide_case.auto_resume,
    Migrate: decide_case.migrate,
}


def decide(case: Case | None, command: Command, moment: Moment) -> tuple[Event, ...]:
    """The events that the command makes happen, none where a host's report concerns nothing.

    ``case`` is None for ``Open`` alone.  Raises ``Refused``; writes nothing, changes nothing.
    """
    if isinstance(command, Open):
        if case is not None:
            raise Refused(f"case_id: there is a case {case.case_id} already", code="case_exists")
        payloads = decide_case.open_case(command)
        return _events(None, payloads, moment)
    if case is None:
        raise Refused("there is no such case", code="no_case")
    if isinstance(command, OnCase):
        _expected(case, command)
    kind = type(command)
    if kind in OWN_CASE:
        _owned(case, moment)
        return _events(case, OWN_CASE[kind](case, command, moment), moment)
    return _events(case, ANY_SESSION[kind](case, command, moment), moment)


def _expected(case: Case, command: OnCase) -> None:
    if command.case_id is not None and command.case_id != case.case_id:
        raise Refused(
            f"case_id: the session's active case is {case.case_id}, not {command.case_id}; leave case_id out, or pause"
            f" {case.case_id} and resume {command.case_id} first",
            code="other_case",
        )
    wanted = command.expected_case_revision
    if wanted is not None and wanted != case.revision:
        raise Refused(
            f"expected_case_revision: the case is at runtime_revision {case.revision}, not {wanted}; read it with"
            ' epistemic_model(operation="show") and decide again',
            code="revision_conflict",
        )


def _owned(case: Case, moment: Moment) -> None:
    if case.session_id != moment.session_id:
        raise Refused(f"case {case.case_id} is bound to another session", code="other_session")


def _events(case: Case | None, payloads: Sequence[Payload], moment: Moment) -> tuple[Event, ...]:
    count, transition = (0, 0) if case is None else (case.event_count, case.revision)
    return tuple(
        Event(
            event_id=event_id(count + number),
            timestamp=moment.at,
            session_id=moment.session_id,
            transition=transition + 1,
            payload=payload,
            seq=moment.seq if TYPES[type(payload)] in DISPOSITIONS else None,
        )
        for number, payload in enumerate(payloads, start=1)
    )
