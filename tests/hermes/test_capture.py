"""What the middleware and the two observing hooks do, whatever a host does with them."""

from __future__ import annotations

import contextvars
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_core.vocabulary import Boundary
from harness_hermes.plugin.capture import SCOPE
from harness_hermes.plugin.hosts import ANNOUNCE_EVERY_TURN, GIVEN_UP, NO_HERMES, PROVEN, between, is_proven, release
from harness_hermes.plugin.turns import Turns
from tests.hermes.bare import IDS, Bare


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bare:
    """A bare host over an empty profile."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    return Bare(tmp_path)


def test_registration_names_exactly_what_the_manifest_declares(host: Bare, tmp_path: Path) -> None:
    """Two tools, six hooks, one middleware, one skill whose file is there; and not one file is written."""
    assert set(host.tools) == {"epistemic_model", "epistemic_probe"}
    assert set(host.hooks) == {
        "pre_llm_call",
        "post_tool_call",
        "transform_tool_result",
        "subagent_stop",
        "on_session_reset",
        "on_session_finalize",
    }
    assert set(host.middleware) == {"tool_execution"}
    assert host.skills["epistemic-inquiry"].is_file()
    assert list(tmp_path.iterdir()) == []


def test_without_a_case_a_call_goes_through_and_leaves_nothing(host: Bare, tmp_path: Path) -> None:
    """Arguments and result are handed on as they are, and no folder is made."""
    token = object()
    assert host.call(lambda given: (given, token)) == ({"path": "a.txt"}, token)
    assert host.ran == 1
    assert list(tmp_path.iterdir()) == []


def test_the_result_reported_inside_the_call_is_recorded_as_the_handlers_own(host: Bare) -> None:
    """A post_tool_call with the ids of the call, inside it, gives a proven raw observation."""
    host.commit()
    assert host.call(lambda _: (host.post("42"), "42")[1]) == "42"
    seen = host.observed()
    assert seen["result"] == "42"
    assert seen["observation_boundary"] == "post_tool_call"
    assert seen["raw_result_provenance"] == "native_handler_result"
    assert seen["result_status"] == "ok"


def test_another_display_is_kept_beside_the_raw_result(host: Bare) -> None:
    """What the middleware gets back differs from the recorded result: both stand in the record."""
    host.commit()
    assert host.call(lambda _: (host.post("42"), "shown")[1]) == "shown"
    assert host.observed()["result"] == "42"
    (exposed,) = host.events("probe_exposed")
    assert exposed["payload"]["result"] == "shown"


@pytest.mark.parametrize("changed", [*IDS, "tool_name"])
def test_the_report_of_another_call_is_not_mistaken_for_this_one(host: Bare, changed: str) -> None:
    """A report that differs in a single id, or in the tool's name, is dropped; the capture says unknown."""
    host.commit()
    host.call(lambda _: (host.post("other", **{changed: "other"}), "42")[1])
    seen = host.observed()
    assert seen["result"] == "42"
    assert seen["raw_result_provenance"] == "unknown"
    assert seen["observation_boundary"] == "tool_execution_middleware_return"


def test_the_report_of_a_call_with_other_arguments_is_dropped(host: Bare) -> None:
    """A host or plugin that ran the tool with other arguments did not run what was committed: of unknown provenance is
    what came back, and the arguments are recorded as mismatched."""
    host.commit()
    host.call(lambda _: (host.post("other", args={"path": "b.txt"}), "42")[1])
    seen = host.observed()
    assert (seen["result"], seen["raw_result_provenance"]) == ("42", "unknown")
    assert seen["argument_match_status"] == "mismatched"
    assert host.match() is False


def test_a_call_that_comes_to_run_with_the_committed_arguments_is_the_committed_one(host: Bare) -> None:
    """A host may read what a model sent otherwise than it was sent, numbers in text for example: the report with the
    committed arguments is proven, and they match."""
    host.commit()
    host.call(lambda _: (host.post("42"), "42")[1], arguments={"path": "./a.txt"})
    assert host.observed()["raw_result_provenance"] == "native_handler_result"
    assert host.match() is True


def test_arguments_that_another_plugin_changes_in_place_are_told_from_the_committed_ones(host: Bare) -> None:
    """What runs is compared with the arguments as they were when the call began, not with the changed object."""
    host.commit()

    def inside(given: Any) -> str:
        given["path"] = "b.txt"
        host.post("other", args=given)
        return "42"

    host.call(inside)
    assert host.match() is False


def test_a_given_up_call_is_ended_whatever_it_was_given_to_run_with(host: Bare) -> None:
    """The host's word ends a call by its ids, and other arguments in it are recorded as mismatched."""
    host.commit()

    def inside(_: Any) -> str:
        contextvars.Context().run(host.post, "given up", status="cancelled", args={"path": "b.txt"})
        return "late"

    host.call(inside)
    assert host.observed()["result_status"] == "interrupted"
    assert host.match() is False


class Manager:
    """A host's plugin manager, as far as ours looks at it."""

    def __init__(self, around: list[Any], before: list[Any]) -> None:
        self._middleware = {"tool_execution": around}
        self._hooks = {"pre_tool_call": before}


OURS = object()


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        (Manager([OURS], []), (True, False)),
        (Manager(["other", OURS], []), (True, False)),
        (Manager([OURS, "other"], []), (False, True)),
        (Manager([OURS], ["other"]), (True, True)),
        (Manager([], []), (False, False)),
        (None, (False, False)),
    ],
)
def test_who_stands_between_is_read_off_the_hosts_lists(manager: Any, expected: tuple[bool, bool]) -> None:
    """Other middleware below ours, and callbacks of pre_tool_call, can change arguments; without lists nobody is known
    to be there, and ours is not known to be the last."""
    found = between(manager, OURS)
    assert (found.innermost, found.changers) == expected


@pytest.mark.parametrize(("reported", "match"), [(False, None), (True, True)])
def test_arguments_that_somebody_may_have_changed_are_in_doubt_until_a_hook_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reported: bool, match: bool | None
) -> None:
    """Beside a plugin that hooks pre_tool_call, a match is claimed only where a hook inside the call carried the very
    arguments; a comparison in doubt needs a reason."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    host = Bare(tmp_path, manager=Manager([], ["other"]))
    host.commit()
    host.call(lambda _: (host.post("42") if reported else None, "42")[1])
    assert host.match() is match
    compare = {"operation": "compare", "disposition": "match", "rationale": "as predicted"}
    assert ("error" in host.ask("probe", **compare)) is (match is None)


def test_a_transform_alone_is_no_proof_outside_of_hermes(host: Bare) -> None:
    """On a host that is not in the table the transform's input is recorded, with provenance and status unknown."""
    host.commit()
    host.call(lambda _: (host.transform("42", status="ok"), "42")[1])
    seen = host.observed()
    assert seen["observation_boundary"] == "transform_tool_result_input"
    assert seen["raw_result_provenance"] == "unknown"
    assert seen["result_status"] == "unknown"


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("ok", "ok"),
        ("error", "tool_error"),
        ("blocked", "blocked"),
        ("cancelled", "interrupted"),
        ("timeout", "interrupted"),
        (None, "tool_error"),
    ],
)
def test_the_hosts_word_decides_before_the_text_is_read(host: Bare, word: str | None, status: str) -> None:
    """For a result that reads like an error, the host's status counts; only without one the text is read."""
    host.commit()
    host.call(lambda _: host.post('{"error": "none really"}', **({"status": word} if word else {})))
    assert host.observed()["result_status"] == status


def test_late_and_replayed_reports_change_nothing(host: Bare) -> None:
    """Once the call has ended, a report is dropped, in the same context, in a copy of it, or in another one."""
    host.commit()
    kept: list[contextvars.Context] = []
    host.call(lambda _: (kept.append(contextvars.copy_context()), "42")[1])
    before = host.events()
    for hook in ("post_tool_call", "transform_tool_result"):
        late = {"tool_name": "read_file", "args": {"path": "a.txt"}, "result": "late", **IDS}
        assert kept[0].run(host.hooks[hook], **late) is None
        assert host.hooks[hook](**late) is None
    assert host.events() == before
    assert SCOPE.get() is None


@pytest.mark.parametrize("word", sorted(GIVEN_UP))
def test_a_call_the_host_gives_up_is_recorded_so_and_its_late_result_is_not(host: Bare, word: str) -> None:
    """The host's word from outside the call, with the call's ids, ends it as interrupted; the worker's result, which
    comes later, changes nothing, and the next call of the tool is an ordinary one."""
    host.commit()
    outside = contextvars.Context()

    def inside(_: Any) -> str:
        outside.run(host.post, "given up", status=word)
        assert host.observed()["result_status"] == "interrupted"
        host.transform("late", status="ok")
        return "late"

    assert host.call(inside) == "late"
    seen = host.observed()
    assert (seen["result"], seen["raw_result_provenance"]) == ("given up", "unknown")
    assert not host.events("probe_exposed")


def test_the_hosts_word_about_another_call_ends_none(host: Bare) -> None:
    """A word with other ids, or one that gives nothing up, said from outside of the call, is dropped."""
    host.commit()
    outside = contextvars.Context()

    def inside(_: Any) -> str:
        outside.run(host.post, "other", status="cancelled", tool_call_id="c9")
        outside.copy().run(host.post, "other", status="ok")
        return "42"

    host.call(inside)
    assert host.observed()["result"] == "42"


def test_a_call_that_a_tool_makes_itself_belongs_to_the_session_around_it(host: Bare) -> None:
    """Without any id of its own, a call inside another one is the session's, and is recorded as unproven."""
    host.commit()
    nested = {"session_id": "", "task_id": "", "turn_id": "", "api_request_id": "", "tool_call_id": ""}
    host.call(lambda _: host.call(lambda _: "42", **nested), tool="execute_code", arguments={})
    seen = host.observed()
    assert (seen["result"], seen["raw_result_provenance"]) == ("42", "unknown")


def test_a_fork_of_the_sessions_agent_neither_takes_nor_changes_anything(host: Bare) -> None:
    """A host announces a fork as its own parent: it is told nothing, its calls run unrecorded, and our tools let it
    read but not change."""
    host.commit()
    assert host.hooks["pre_llm_call"](session_id="s1", parent_session_id="s1", turn_id="fork") is None
    before = host.events()
    assert host.call(lambda _: "42", turn_id="fork") == "42"
    drop = {"operation": "discard", "reason": "tidying up"}
    answer = host.call(lambda _: "ran", tool="epistemic_probe", arguments=drop, turn_id="fork")
    assert json.loads(answer)["code"] == "side_agent"
    assert host.call(lambda _: "ran", tool="epistemic_model", arguments={"operation": "show"}, turn_id="fork") == "ran"
    assert host.events() == before
    host.call(lambda _: "42")
    assert host.observed()["result"] == "42"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("123"), st.booleans())), st.sampled_from([*PROVEN]))
def test_only_what_a_host_said_makes_a_turn_foreign(told: list[tuple[str, str, bool]], version: str) -> None:
    """A fork's announced turn is foreign; one that was not announced is so only where the host announces all; the
    current one and calls without a turn are the session's own."""
    turns = Turns(version)
    forks, current = set(), {}
    for session, turn, fork in told:
        if fork:
            turns.fork(session, turn)
            forks.add((session, turn))
        else:
            turns.begin(session, turn)
            current[session] = turn
    for session in "ab":
        assert not turns.is_foreign(session, "")
        for turn in "1234":
            unannounced = version in ANNOUNCE_EVERY_TURN and current.get(session, turn) != turn
            assert turns.is_foreign(session, turn) == ((session, turn) in forks or unannounced)


class Boom(Exception):
    """An exception of a tool."""


def test_a_tools_exception_reaches_the_host_as_it_was(host: Bare) -> None:
    """The very same exception comes out, and the record says that how it ended is unknown."""
    host.commit()
    error = Boom("no such thing")

    def fails(_: Any) -> Any:
        raise error

    with pytest.raises(Boom) as caught:
        host.call(fails)
    assert caught.value is error
    seen = host.observed()
    assert "no such thing" in seen["result"]
    assert seen["raw_result_provenance"] == "unknown"
    assert seen["result_status"] == "unknown"
    assert SCOPE.get() is None


def test_an_interrupted_call_is_recorded_as_interrupted(host: Bare) -> None:
    """An interrupt goes through to the host; the record says interrupted."""
    host.commit()

    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        host.call(interrupted)
    assert host.observed()["result_status"] == "interrupted"


def test_a_probe_never_runs_twice(host: Bare) -> None:
    """While the committed call is under way, the same call again gets a refusal as its result and does not run."""
    host.commit()
    again: list[Any] = []

    def inside(_: Any) -> str:
        again.append(contextvars.Context().run(host.call, lambda _: "ran twice", tool_call_id="c2"))
        return "42"

    assert host.call(inside) == "42"
    assert host.ran == 1
    assert "EPISTEMIC GATEWAY BLOCKED" in again[0]


def test_a_call_that_a_host_leads_through_its_middleware_twice_runs_once_and_is_recorded(host: Bare) -> None:
    """The inner time it is the very same call, with the same ids, and no second one: it runs."""
    host.commit()
    assert host.call(lambda _: host.call(lambda _: "42")) == "42"
    assert host.ran == 2  # what stands below each of the two
    assert host.observed()["result"] == "42"


def test_calls_after_the_observation_are_ordinary_ones(host: Bare) -> None:
    """Once observed, the same tool runs again freely and adds nothing to the record."""
    host.commit()
    host.call(lambda _: "first")
    before = host.events()
    assert host.call(lambda _: "second", tool_call_id="c2") == "second"
    assert host.events() == before


def test_a_store_that_cannot_be_read_costs_the_host_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our state cannot be used at all, calls go through, hooks return None, and tools answer with an error."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    host = Bare(tmp_path)
    host.root.write_text("not a folder", encoding="utf-8")
    assert host.call(lambda _: "42") == "42"
    assert host.hooks["pre_llm_call"](session_id="s1") is None
    assert host.hooks["on_session_finalize"](session_id="s1", reason="") is None
    assert "error" in host.ask("model", operation="open", case_id="c1", top_unknown="what it says")


def test_hooks_bear_calls_without_a_session(host: Bare) -> None:
    """A host may leave out the session's id, or send none; nothing happens and nothing fails."""
    for name in ("pre_llm_call", "on_session_finalize", "on_session_reset", "subagent_stop"):
        for sent in ({}, {"session_id": None}, {"session_id": ""}):
            assert host.hooks[name](**sent) is None
    assert host.call(lambda _: "42", session_id="") == "42"


def test_what_is_no_callable_is_the_hosts_mistake(host: Bare) -> None:
    """Without a callable to call on, nothing begins and an error goes back, so that the host can go on alone."""
    host.commit()
    before = host.events()
    with pytest.raises(TypeError):
        host.middleware["tool_execution"](tool_name="read_file", args={"path": "a.txt"}, next_call=None, **IDS)
    assert host.events() == before


def test_an_active_case_is_told_and_a_closed_one_is_not(host: Bare) -> None:
    """The turn's context is given while the case is active in this session, and only there and then."""
    host.commit()
    told = host.hooks["pre_llm_call"](session_id="s1", user_message="go on")
    assert "c1" in told["context"]
    assert host.hooks["pre_llm_call"](session_id="s2") is None
    host.ask("probe", operation="discard", reason="enough")
    host.ask("model", operation="close", outcome="unresolved", summary="open", transfer={"decision": "none"})
    assert host.hooks["pre_llm_call"](session_id="s1") is None


def test_a_lower_setting_makes_a_shorter_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configured number of characters is kept, and a change counts from the next turn on."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    host = Bare(tmp_path, {"injection_max_chars": 900})
    host.commit()
    assert len((host.hooks["pre_llm_call"](session_id="s1") or {"context": ""})["context"]) <= 900
    host.settings["injection_max_chars"] = 1
    assert host.hooks["pre_llm_call"](session_id="s1") is None


def test_a_session_that_went_away_wakes_its_case_up_when_it_comes_back(host: Bare) -> None:
    """A host's pause is undone by the session's next turn; the pause of a session that expired is not."""
    host.commit()
    host.hooks["on_session_finalize"](session_id="s1", reason="session_boundary", platform="cli")
    assert host.ask("model", operation="show", case_id="c1")["case"]["status"] == "paused"
    assert host.hooks["pre_llm_call"](session_id="s1")
    assert host.ask("model", operation="show")["case"]["status"] == "active"
    host.hooks["on_session_finalize"](session_id="s1", reason="session_expired", platform="cli")
    assert host.hooks["pre_llm_call"](session_id="s1") is None


def test_a_child_that_stops_leaves_its_case_paused(host: Bare) -> None:
    """What a delegated worker leaves unfinished is paused under its own session."""
    host.commit()
    host.hooks["subagent_stop"](parent_session_id="p", child_session_id="s1", child_status="completed")
    assert host.ask("model", operation="show", case_id="c1")["case"]["status"] == "paused"
    assert host.hooks["pre_llm_call"](session_id="s1") is None


def test_a_reset_pauses_the_old_session_where_the_host_names_it(host: Bare) -> None:
    """Only a reset that says which session ended pauses anything."""
    host.commit()
    host.hooks["on_session_reset"](session_id="s2", reason="new_session")
    assert host.ask("model", operation="show")["case"]["status"] == "active"
    host.hooks["on_session_reset"](session_id="s2", old_session_id="s1", new_session_id="s2", reason="new_session")
    assert host.ask("model", operation="show", case_id="c1")["case"]["status"] == "paused"


@given(version=st.sampled_from([*PROVEN, "0.19.0", "0.22.3", "1.0.0", "odd"]), data=st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_only_a_row_of_the_table_proves_anything(version: str, data: st.DataObject) -> None:
    """On any host and for any seam: proven means that a row of that host names the seam and its conditions hold."""
    boundary = data.draw(st.sampled_from(Boundary))
    tool = data.draw(st.sampled_from(["read_file", "clarify", "session_search"]))
    status_given, innermost = data.draw(st.booleans()), data.draw(st.booleans())
    proven = is_proven(version, boundary, tool, status_given=status_given, innermost=innermost)
    rows = [row for row in PROVEN.get(version, ()) if row.boundary is boundary]
    if proven:
        (row,) = rows
        assert status_given or not row.needs_status
        assert innermost or not row.needs_innermost
        assert not row.tools or tool in row.tools
    if version not in PROVEN:
        assert not proven
    if version == NO_HERMES:
        assert proven == (boundary is Boundary.POST_TOOL_CALL)


@pytest.mark.parametrize(
    ("text", "number"),
    [("Hermes Agent v0.22.2.post1 (2026.9.24)", "0.22.2"), ("0.19.0", "0.19.0"), ("dev", ""), ("", "")],
)
def test_a_release_is_three_numbers_wherever_they_stand(text: str, number: str) -> None:
    """Suffixes of a packaging do not make another host of it."""
    assert release(text) == number
