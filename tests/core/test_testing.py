"""What ``harness_core.testing`` promises: the machine finds what is wrong with an adapter, and nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from harness_core.arguments import REQUESTS
from harness_core.errors import Refused
from harness_core.events import Event
from harness_core.testing import (
    CaseMachine,
    Known,
    Memory,
    SessionMachine,
    Tools,
    models,
    play,
    sessions,
    sound_arguments,
    texts,
    timelines,
    tool_arguments,
)
from harness_core.testing.memory import MemoryExecution
from harness_core.testing.spoils import out_of_turn, unsound_comparisons
from harness_core.testing.values import SECRET, results
from harness_core.wire import canonical_json
from tests.core.desk import PROBE_TOOL, SOURCE, Desk, claim


def settings_of(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=40,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


class Jammed(Memory):
    """Refuses a batch for its second item and keeps the first."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        items = arguments.get("evidence")
        if arguments.get("operation") != "record_evidence" or not isinstance(items, list) or not items:
            return super().tool(name, arguments, session_id)
        return [super(Jammed, self).tool(name, {**arguments, "evidence": [item]}, session_id) for item in items][-1]


class Forgetful(Memory):
    """Shows a case as it was before its last revision."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        answer = super().tool(name, arguments, session_id)
        if arguments.get("operation") == "show" and answer.get("case", {}).get("version", 1) > 1:
            return {**answer, "case": {**answer["case"], "version": 1}}
        return answer


class Reviser(Memory):
    """Dates old records anew whenever something is added."""

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        records = super().timeline(case_id)
        return [{**record, "timestamp": f"{record['timestamp']} ({len(records)})"} for record in records]


class Talkative(Memory):
    """Writes a note of every look into the log of what was looked at."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        answer = super().tool(name, arguments, session_id)
        if arguments.get("operation") == "list":
            for case_id, events in self.events.items():
                events.append(attrs.evolve(events[-1], event_id=f"E{len(events) + 1:06d}"))
                self.cases[case_id] = attrs.evolve(self.cases[case_id], event_count=len(events))
        return answer


class Generous(Memory):
    """Lets a session begin a second case beside its active one."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        if str(arguments.get("operation")).strip().lower() in ("open", "resume"):
            bound = self.bindings
            self.bindings = {s: attrs.evolve(b, active=None) for s, b in bound.items()}
            answer = super().tool(name, arguments, session_id)
            if "error" in answer:
                self.bindings = bound
            return answer
        return super().tool(name, arguments, session_id)


class Lenient(Memory):
    """Passes over fields it does not know."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        known = {key: value for key, value in arguments.items() if key != "no_such_field"}
        return super().tool(name, known, session_id)


class Meddler(Memory):
    """Changes the arguments that it was given."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        answer = super().tool(name, copy.deepcopy(arguments), session_id)
        if isinstance(arguments, dict):
            arguments.setdefault("seen", True)
        return answer


class Eager(Memory):
    """Takes the result of any tool for that of the committed one."""

    def execution(self, session_id: str, tool_name: str, args: Mapping[str, Any]) -> MemoryExecution:
        active = self._binding(session_id).active
        probe = None if active is None else self.cases[active].pending_probe
        if probe is not None and probe.status == "committed":
            tool_name = probe.tool_name
        return super().execution(session_id, tool_name, args)


class Repeater(Memory):
    """Lets a committed action run again while it runs, or where it was cut off."""

    def execution(self, session_id: str, tool_name: str, args: Mapping[str, Any]) -> MemoryExecution:
        found = super().execution(session_id, tool_name, args)
        found.blocked = None
        return found


class Blabber(Memory):
    """Keeps what it was sent before it was cleaned."""

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        return [{**record, "note": self.notes.get(case_id, "")} for record in super().timeline(case_id)]

    notes: dict[str, str]

    def __init__(self) -> None:
        super().__init__()
        self.notes = {}

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        answer = super().tool(name, arguments, session_id)
        if arguments.get("operation") == "open" and "error" not in answer:
            self.notes[arguments["case_id"]] = canonical_json(arguments)
        return answer


class Deaf(Memory):
    """Takes every argument for the committed one."""

    def _commitment(self, args: Mapping[str, Any]) -> Any:
        return super()._commitment({})


FAULTY = [Jammed, Forgetful, Reviser, Talkative, Generous, Lenient, Meddler, Eager, Repeater, Blabber, Deaf]


@pytest.mark.parametrize("adapter", FAULTY)
def test_what_is_wrong_with_an_adapter_is_found(adapter: type[Memory]) -> None:
    """An adapter that breaks a promise of the harness, in whichever way, does not pass the machine."""

    class Machine(CaseMachine):
        def make_adapter(self) -> Memory:
            return adapter()

    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(Machine, settings=settings_of(300))


def test_a_right_adapter_passes() -> None:
    """The harness in memory, which the machines test by default, passes both."""
    for machine in (CaseMachine, SessionMachine):
        run_state_machine_as_test(machine, settings=settings_of(15))


class Terse(Memory):
    """Answers what changes a case with a receipt alone."""

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        answer = super().tool(name, arguments, session_id)
        return {"event": answer["event"]} if "event" in answer else answer


def test_an_answer_may_be_a_receipt() -> None:
    """An adapter whose answers do not show the whole case passes too: it is read from the Timeline."""

    class Machine(CaseMachine):
        def make_adapter(self) -> Terse:
            return Terse()

    run_state_machine_as_test(Machine, settings=settings_of(5))


class ToolsInMemory:
    """What ``Tools`` needs of a harness, on top of the harness in memory."""

    def __init__(self) -> None:
        self.memory = Memory()

    def tool(self, name: str, args: Any, *, session_id: str) -> str:
        return json.dumps(self.memory.tool(name, args, session_id))

    def execution(self, *, session_id: str, tool_name: str, args: Mapping[str, Any]) -> Any:
        return self.memory.execution(session_id, tool_name, args)

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        if case_id not in self.memory.events:
            raise Refused("there is no such case", code="no_case")
        return self.memory.timeline(case_id)

    def pause_for_lifecycle(self, session_id: str, *, kind: str, reason: str = "") -> object:
        return self.memory.pause_for_lifecycle(session_id, kind, reason)

    def proof_of_life(self, session_id: str) -> object:
        return self.memory.proof_of_life(session_id)

    def adopt_lineage(self, session_id: str, lineage: Sequence[str]) -> object:
        return self.memory.adopt_lineage(session_id, lineage)

    def close(self) -> None:
        self.memory.close()


def test_json_tools_make_an_adapter() -> None:
    """Anything that answers the two tools in JSON can be tested through ``Tools``, with its sessions."""

    class Machine(SessionMachine):
        def make_adapter(self) -> Tools:
            return Tools(ToolsInMemory())

    run_state_machine_as_test(Machine, settings=settings_of(15))


# --- the strategies ---


@given(sessions())
def test_sessions_can_be_played_again(script: Any) -> None:
    """The same session played twice leaves the same events, and begins with the opening of its case."""
    one, other = Memory(), Memory()
    play(script, one)
    play(script, other)
    assert one.timeline("c1") == other.timeline("c1")
    assert "case_opened" in [record["type"] for record in one.timeline("c1")]


@given(timelines())
def test_timelines_are_events(events: tuple[Event, ...]) -> None:
    """A timeline is the events of one case, c1, from the first on."""
    assert events[0].event_id == "E000001"
    assert [event.payload.case_id for event in events if event.type == "case_opened"] == ["c1"]


@pytest.mark.parametrize("domain", ["external_source", "system_state", "user_intent"])
@pytest.mark.parametrize("bound", [{}, {"claim_id": "M1"}])
@pytest.mark.parametrize("args", [{"path": "a.txt"}, {"path": "b.txt"}])
@given(data=st.data())
def test_a_spoilt_comparison_is_one(
    domain: str, bound: dict[str, str], args: dict[str, str], data: st.DataObject
) -> None:
    """Whatever was predicted and however it was looked at, a comparison that is spoilt in any way is refused."""
    desk = Desk()
    desk.open(mechanisms=[claim("M1")])
    desk.commit(authority_domain=domain, **bound)
    desk.act(args=args)
    probe = desk.c1.pending_probe
    assert probe is not None
    call = data.draw(unsound_comparisons(desk.c1, probe))
    assert "error" in desk.tool(PROBE_TOOL, call, "s1"), call


def test_what_may_be_cited_stands_in_its_own_order() -> None:
    """What a strategy draws from is in the order of the events, and so is drawn again from the same choices."""
    desk = Desk()
    desk.open()
    desk.do("record_evidence", evidence=[dict(SOURCE)] * 12)
    assert list(Known.of(desk.c1).citable) == [f"E{number:06d}" for number in range(2, 14)]


@given(texts(), tool_arguments(), models(Known({}, {})))
def test_values_are_json(text: str, args: dict[str, Any], model: dict[str, Any]) -> None:
    """Texts say something, and everything made here is JSON."""
    assert text.strip()
    for value in (args, model):
        assert json.loads(json.dumps(value)) == value


@given(st.data())
def test_nothing_pending_leaves_two_calls_out_of_turn(data: st.DataObject) -> None:
    """Where no probe is pending and no mismatch waits, only what is about a probe comes out of turn."""
    desk = Desk()
    desk.open()
    assert data.draw(out_of_turn(desk.c1))["operation"] in {"recover", "discard"}


def test_the_planted_secret_is_one() -> None:
    """The secret that the strategies plant is redacted wherever it stands."""
    desk = Desk()
    desk.open(top_unknown=f"what is {SECRET}?")
    assert SECRET not in desk.snapshot()


@pytest.mark.parametrize("operation", [str(operation) for requests in REQUESTS.values() for operation in requests])
def test_a_drawn_call_is_its_drawers_own(operation: str) -> None:
    """Whoever draws a call may change it: no call that is drawn later shows that."""

    @settings_of(20)
    @given(sound_arguments(operation))
    def drawn(call: dict[str, Any]) -> None:
        assert "changed" not in canonical_json(call)
        for part in parts_of(call):
            part["changed"] = True

    drawn()


def parts_of(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [part for item in value for part in parts_of(item)]
    return [value, *parts_of([*value.values()])] if isinstance(value, dict) else []


@settings_of(20)
@given(results())
def test_a_drawn_result_is_its_drawers_own(result: Any) -> None:
    """Whoever draws a result may change it: no result that is drawn later shows that."""
    assert "changed" not in canonical_json(result)
    for part in parts_of(result):
        part["changed"] = True
