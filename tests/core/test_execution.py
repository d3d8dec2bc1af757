"""What happens to a committed probe until it is compared: start, observation, exposure, recovery, discard."""

from __future__ import annotations

import pytest
from attrs import evolve

from harness_core.commands import Expose, Observe, RecoverExecution, Start
from harness_core.errors import Refused
from harness_core.probes import Commitment, Correlation
from harness_core.testing.memory import stored
from harness_core.vocabulary import Boundary, Provenance, ResultStatus
from tests.core.desk import Desk


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.open()
    made.commit()
    return made


def test_a_look_is_two_events(desk: Desk) -> None:
    """An action is recorded as started and as observed, once each; the probe goes from committed to observed."""
    with desk.execution("s1", "read_file", {"path": "a.txt"}) as execution:
        assert desk.at().pending_probe.status == "executing"
        execution.observed("42")
    assert desk.types()[-2:] == ["probe_started", "probe_observed"]
    assert desk.at().pending_probe.status == "observed"
    assert desk.observation() == "E000004"


def test_the_pending_probe_keeps_no_body(desk: Desk) -> None:
    """What was observed stands in its event; the pending probe keeps its digest."""
    desk.act("the whole text")
    shown = desk.do("show")["case"]["pending_probe"]
    assert "result" not in shown
    assert shown["result_sha256"] == desk.last()["result_sha256"]


def test_arguments_are_held_against_the_commitment(desk: Desk) -> None:
    """Whether the executed arguments were the committed ones is recorded, and never blocks."""
    desk.act(args={"path": "a.txt"})
    assert desk.at().pending_probe.execution_args_match_commitment is True
    desk.compare()
    desk.commit()
    desk.act(args={"path": "b.txt"})
    assert desk.at().pending_probe.execution_args_match_commitment is False


def test_digests_under_different_keys_tell_nothing(desk: Desk) -> None:
    """Where the key was lost in between, whether the arguments match is unknown, and never taken for a match."""
    desk.key_id = "key-2"
    desk.act()
    probe = desk.do("show")["case"]["pending_probe"]
    assert "execution_args_match_commitment" not in probe
    assert "args_match_commitment" not in desk.timeline("c1")[-2]["payload"]


def test_matching_is_on_what_was_sent() -> None:
    """A secret in the arguments is redacted in what is kept, and the true arguments still match."""
    desk = Desk()
    desk.open()
    probe = desk.commit(tool_args={"token": "hunter2hunter2", "n": 1})["probe"]
    assert probe["tool_args"] == {"token": "[REDACTED]", "n": 1}
    desk.act(args={"token": "hunter2hunter2", "n": 1})
    assert desk.at().pending_probe.execution_args_match_commitment is True
    assert "hunter2" not in desk.snapshot()


def test_a_secret_argument_is_gone_from_the_whole_call() -> None:
    """The value of a secret argument is scrubbed from every other text of the same call, and from the result."""
    desk = Desk()
    desk.open()
    desk.commit(tool_args={"password": "correct-horse"}, why_this_action="correct-horse opens it")
    desk.act("welcome, correct-horse", args={"password": "correct-horse"})
    assert "correct-horse" not in desk.snapshot()


@pytest.mark.parametrize(
    ("result", "status"),
    [("42", "ok"), ({"error": "no such file"}, "tool_error"), ({"error": {"code": 5}}, "tool_error")],
)
def test_an_ok_execution_may_read_as_an_error(desk: Desk, result: object, status: str) -> None:
    """How an execution ended, and how what it returned reads, are told apart."""
    desk.act(result, status=ResultStatus.OK)
    payload = desk.last()
    assert (payload["execution_result_status"], payload["display_result_status"]) == ("ok", status)


def test_correlation_is_kept(desk: Desk) -> None:
    """The host's ids of the call are recorded with the start; those it has not are absent."""
    ids = Correlation(task_id="t", tool_call_id="tc", turn_id="tn", api_request_id="")
    desk.settle(
        "c1", Start(probe_id="PR000001", tool_name="read_file", actual=Commitment(sha256="0"), correlation=ids), "s1"
    )
    payload = desk.last()
    assert (payload["task_id"], payload["tool_call_id"], payload["turn_id"]) == ("t", "tc", "tn")
    assert "api_request_id" not in payload
    desk.settle("c1", _observed("PR000001"), "s1")
    assert desk.last()["tool_call_id"] == "tc"


def test_a_large_result_is_kept_beside_the_log(desk: Desk) -> None:
    """A result that is kept as an artifact leaves its path, size and digest in the event, and no body."""
    desk.act("word " * 3000)
    payload = desk.last()
    assert payload["storage"] == "artifact"
    assert "result" not in payload
    kept = desk.c1.artifacts[desk.observation()]
    assert (kept.path, kept.sha256, kept.bytes) == (
        payload["artifact_path"],
        payload["artifact_sha256"],
        payload["artifact_bytes"],
    )


def test_a_case_may_move_under_a_running_action(desk: Desk) -> None:
    """Who holds the execution may report, though the case was paused and resumed elsewhere meanwhile."""
    with desk.execution("s1", "read_file", {"path": "a.txt"}) as execution:
        desk.pause_for_lifecycle("s1", "session_finalize", "session_boundary")
        desk.do("resume", "s2", case_id="c1")
        execution.observed("42")
    assert desk.last()["result"] == "42"
    desk.compare("s2")
    assert desk.c1.pending_probe is None


def test_another_probes_report_is_refused(desk: Desk) -> None:
    """A start or an observation of a probe that is no longer pending is refused."""
    other = Start(probe_id="PR000009", tool_name="x", actual=Commitment(sha256="0"), correlation=Correlation())
    with pytest.raises(Refused) as refusal:
        desk.settle("c1", other, "s1")
    assert refusal.value.code == "probe_changed"
    with desk.execution("s1", "read_file", {"path": "a.txt"}), pytest.raises(Refused, match="no longer pending"):
        desk.settle("c1", _observed("PR000009"), "s1")


def test_nothing_is_observed_before_it_began(desk: Desk) -> None:
    """An observation needs an execution, and an exposure needs an observation."""
    with pytest.raises(Refused) as refusal:
        desk.settle("c1", _observed("PR000001"), "s1")
    assert refusal.value.code == "probe_committed"
    with pytest.raises(Refused):
        desk.settle("c1", _exposed("E000003"), "s1")


# --- exposure ---


def test_a_display_supersedes_the_observation(desk: Desk) -> None:
    """What was handed on instead becomes what is compared; how the execution ended stays as it was."""
    raw = desk.act({"error": "no"}, displays=["all is well"], status=ResultStatus.TOOL_ERROR)
    payload = desk.last()
    assert payload["supersedes_event_id"] == "E000004"
    assert (payload["execution_result_status"], payload["display_result_status"]) == ("tool_error", "ok")
    assert (raw, desk.types()[-1]) == ("E000005", "probe_exposed")
    desk.compare()
    assert desk.do("show")["replay"]["usable"]


def test_displays_are_a_chain(desk: Desk) -> None:
    """A second display supersedes the first, not the raw observation."""
    desk.act("raw", displays=["first", "second"])
    assert [r["payload"].get("supersedes_event_id") for r in desk.timeline("c1")][-2:] == ["E000004", "E000005"]


def test_the_same_text_is_no_display(desk: Desk) -> None:
    """A display equal to what was observed leaves one observation and no exposure."""
    desk.act("raw", displays=["raw"])
    assert desk.types()[-1] == "probe_observed"


def test_a_late_display_rebinds_nothing(desk: Desk) -> None:
    """An exposure of anything but the present observation is refused."""
    desk.act("raw", displays=["shown"])
    with pytest.raises(Refused, match="no longer the observation"):
        desk.settle("c1", _exposed("E000004"), "s1")


# --- recover and discard ---


def test_a_cut_off_execution_is_recovered(desk: Desk) -> None:
    """What nobody holds any more is recorded as interrupted, and that it may or may not have completed."""
    desk.abandon(desk.execution("s1", "read_file", {"path": "a.txt"}))
    assert desk.do("show")["replay"]["reason"] == "probe execution is incomplete"
    desk.do("recover", reason="the process died")
    payload = desk.last()
    assert (payload["result_status"], payload["raw_result_provenance"]) == ("interrupted", "unknown")
    assert payload["recovery_reason"] == "the process died"
    assert "may or may not have completed" in payload["result"]


@pytest.mark.parametrize("stage", ["committed", "observed"])
def test_only_an_execution_is_recovered(desk: Desk, stage: str) -> None:
    """Recovering what was not cut off is refused, with what to do instead."""
    if stage == "observed":
        desk.act()
    refusal = desk.refused("recover", reason="r")
    assert refusal.code == f"probe_{stage}"
    assert "discard it" in refusal.text


def test_nothing_pending_is_nothing_to_recover(desk: Desk) -> None:
    """Without a pending probe recover, discard and compare are refused, with how one begins."""
    desk.do("discard", reason="a mistake")
    for operation, fields in (
        ("recover", {"reason": "r"}),
        ("discard", {"reason": "r"}),
        ("compare", {"disposition": "match", "rationale": "r"}),
    ):
        refusal = desk.refused(operation, **fields)
        assert refusal.code == "no_probe"
        assert "commit" in refusal.text


@pytest.mark.parametrize("observed", [False, True])
def test_a_probe_is_discarded_with_a_reason(desk: Desk, observed: bool) -> None:
    """A commitment or an observation is given up with a reason, and the case is sound again."""
    seen = desk.act() if observed else None
    answer = desk.do("discard", reason="a mistake")
    assert answer["case"]["pending_probe"] is None
    assert answer["replay"]["usable"]
    assert answer["replay"]["accounting"]["uncompared_observation_event_ids"] == []
    assert desk.last().get("observation_event_id") == seen
    assert desk.last()["probe_status"] == ("observed" if observed else "committed")


@pytest.mark.parametrize(
    ("started", "ran", "known", "match"),
    [
        ("committed", None, True, True),
        ("committed", "other", True, False),
        ("committed", None, False, None),
        ("other", "committed", True, True),
        ("other", None, False, False),
    ],
)
def test_the_arguments_that_ran_count_and_not_those_it_began_with(
    desk: Desk, started: str, ran: str | None, known: bool, match: bool | None
) -> None:
    """Where an action is seen to run with other arguments than it began with, those are held against the commitment; a
    match that somebody may have spoilt unseen is in doubt."""
    committed = desk.at().pending_probe.commitment
    arguments = {"committed": committed, "other": evolve(committed, sha256="0" * 64)}
    begun = Start(
        probe_id="PR000001", tool_name="read_file", actual=arguments[started], correlation=Correlation(tool_call_id="x")
    )
    desk.settle("c1", begun, "s1")
    desk.settle("c1", evolve(_observed("PR000001"), actual=ran and arguments[ran], args_known=known), "s1")
    assert desk.at().pending_probe.execution_args_match_commitment is match
    assert desk.do("discard", reason="enough")["replay"]["usable"]


def test_a_running_action_is_neither_discarded_nor_recovered(desk: Desk) -> None:
    """While the action runs it is not given up: its result will be recorded."""
    with desk.execution("s1", "read_file", {"path": "a.txt"}):
        assert desk.refused("discard", reason="r").code == "probe_executing"
        assert desk.refused("recover", reason="r").code == "still_running"


def test_recovery_is_decided_by_the_core(desk: Desk) -> None:
    """The decider refuses to recover what is not executing, whoever asks."""
    with pytest.raises(Refused):
        desk.settle("c1", RecoverExecution(reason="r", result=stored("x")), "s1")


def _observed(probe_id: str) -> Observe:
    return Observe(
        probe_id=probe_id,
        result=stored("42"),
        status=ResultStatus.OK,
        display_status=ResultStatus.OK,
        provenance=Provenance.NATIVE_HANDLER_RESULT,
        boundary=Boundary.POST_TOOL_CALL,
    )


def _exposed(observation: str) -> Expose:
    return Expose(
        probe_id="PR000001",
        observation_event_id=observation,
        result=stored("another"),
        display_status=ResultStatus.OK,
        boundary=Boundary.MIDDLEWARE_RETURN,
    )
