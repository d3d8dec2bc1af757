"""Strategies for whole sessions: everything that a model and its host do with one case, from its opening on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import frozen
from hypothesis import strategies as st

from harness_core.arguments import MODEL_TOOL, PROBE_TOOL
from harness_core.case import Case
from harness_core.events import Event
from harness_core.testing.adapters import Adapter, Execution
from harness_core.testing.memory import Memory
from harness_core.testing.requests import (
    closures,
    commits,
    comparisons,
    openings,
    reasoned,
    recordings,
    repairs,
    revisions,
)
from harness_core.testing.values import Arguments, Known, results, tool_arguments
from harness_core.vocabulary import CaseStatus, ProbeStatus


@frozen
class Call:
    """A call of one of the two tools."""

    tool: str
    arguments: Mapping[str, Any]


@frozen
class Action:
    """An ordinary tool call: what it returns, and what else is shown of that.  ``cut_off``: its process dies before."""

    tool_name: str
    args: Mapping[str, Any]
    result: Any
    display: Any = None
    cut_off: bool = False


Script = Sequence[Call | Action]


def play(script: Script, adapter: Adapter, session_id: str = "s1") -> None:
    """Do what the script says, in order; refusals are passed over.

    An adapter without ``abandon`` cannot play that a process dies; there the action ends without a report.
    """
    for part in script:
        if isinstance(part, Call):
            adapter.tool(part.tool, part.arguments, session_id)
            continue
        with adapter.execution(session_id, part.tool_name, part.args) as execution:
            if part.cut_off:
                getattr(adapter, "abandon", _nothing)(execution)
            else:
                execution.observed(part.result)
            if part.display is not None:
                execution.exposed(part.display)


def _nothing(execution: Execution) -> None:
    """What an adapter does that cannot play the death of a process."""


@st.composite
def sessions(draw: st.DrawFn, *, case_id: str = "c1", longest: int = 14) -> Script:
    """A session with one case: opened, worked on in up to ``longest`` steps that mostly fit, and perhaps closed."""
    memory = Memory()
    script: list[Call | Action] = [Call(MODEL_TOOL, draw(openings(case_id)))]
    play(script, memory)
    for _ in range(draw(st.integers(0, longest))):
        case = memory.cases[case_id]
        if case.status is not CaseStatus.ACTIVE:
            break
        part = draw(_next(case))
        script.append(part)
        play([part], memory)
    return tuple(script)


def timelines(*, longest: int = 14) -> st.SearchStrategy[tuple[Event, ...]]:
    """The events of one case that such a session left."""

    def events(script: Script) -> tuple[Event, ...]:
        memory = Memory()
        play(script, memory)
        return tuple(memory.events["c1"])

    return sessions(longest=longest).map(events)


@st.composite
def unfinished(draw: st.DrawFn) -> tuple[Event, ...]:
    """The events of a case, c1, that was left in the middle of a look (committed, cut off, observed), or where what it
    contradicts waits for a revision; or before a look, or after that revision."""
    memory = Memory()
    play([Call(MODEL_TOOL, draw(openings("c1")))], memory)
    if draw(st.booleans()):
        play([Call(MODEL_TOOL, draw(recordings()))], memory)
    for step in draw(st.sampled_from(_STAGES)):
        play([draw(step(memory.cases["c1"]))], memory)
    return tuple(memory.events["c1"])


_NO = st.just(False)


def _commit(case: Case) -> st.SearchStrategy[Call | Action]:
    return _call(PROBE_TOOL, commits(Known.of(case)))


def _look(case: Case, cut_off: st.SearchStrategy[bool] = _NO) -> st.SearchStrategy[Call | Action]:
    probe = case.pending_probe
    assert probe is not None, "there is no committed action"
    args = st.one_of(st.just(probe.tool_args), st.just(probe.tool_args), tool_arguments())
    return st.builds(Action, st.just(probe.tool_name), args, results(), results(None, None), cut_off)


def _contradict(case: Case) -> st.SearchStrategy[Call | Action]:
    """A comparison that makes something stale, where there is something."""
    probe, items = case.pending_probe, case.model.item_ids()
    assert probe is not None, "there is nothing to compare"
    told: Arguments = {"disposition": "mismatch", "material": bool(items)}
    named = {} if probe.claim_id is not None else {"affected_claim_ids": list(items[:1])}
    return _call(PROBE_TOOL, comparisons(case, probe).map(lambda call: {**named, **call, **told}))


def _revise(case: Case) -> st.SearchStrategy[Call | Action]:
    return _call(MODEL_TOOL, repairs(case) if case.stale else revisions(Known.of(case)))


_STAGES: Sequence[Sequence[Callable[[Case], st.SearchStrategy[Call | Action]]]] = (
    (),
    (_commit,),
    (_commit, partial(_look, cut_off=st.just(True))),
    (_commit, _look),
    (_commit, _look, _contradict),
    (_commit, _look, _contradict),
    (_commit, _look, _contradict, _revise),
)


def _next(case: Case) -> st.SearchStrategy[Call | Action]:
    probe = case.pending_probe
    if probe is not None and probe.status is ProbeStatus.COMMITTED:
        looking = _look(case, st.sampled_from((False, False, False, False, True)))
        return st.one_of(looking, looking, looking, _call(PROBE_TOOL, reasoned("discard")))
    if probe is not None and probe.status is ProbeStatus.EXECUTING:
        return _call(PROBE_TOOL, reasoned("recover"))
    if probe is not None:
        compared = _call(PROBE_TOOL, comparisons(case, probe))
        return st.one_of(compared, compared, compared, _call(PROBE_TOOL, reasoned("discard")))
    if case.stale:
        return st.one_of(_call(MODEL_TOOL, repairs(case)), _call(MODEL_TOOL, recordings()))
    known = Known.of(case)
    committed = _commit(case)
    revised = _call(MODEL_TOOL, revisions(known))
    closed = _call(MODEL_TOOL, closures(case))
    return st.one_of(committed, committed, revised, revised, _call(MODEL_TOOL, recordings()), closed)


def _call(tool: str, arguments: st.SearchStrategy[Arguments]) -> st.SearchStrategy[Call]:
    return arguments.map(lambda sent: Call(tool, sent))
