"""What holds whatever a host, a tool or an embedder hands over."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness_store import Harness, Refused, Unavailable

PROBE = {
    "operation": "commit",
    "purpose": "learn",
    "unknown_or_goal": "g",
    "tool_name": "look",
    "tool_args": {"at": "it"},
    "predicted_outcomes": ["42"],
    "would_change_belief": "w",
    "why_this_action": "y",
    "authority_domain": "system_state",
}


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    """A harness whose session s1 has a committed probe for the tool "look"."""
    harness = Harness(tmp_path / "store")
    harness.model({"operation": "open", "case_id": "c1", "top_unknown": "u"}, session_id="s1")
    harness.probe(PROBE, session_id="s1")
    return harness


def look(harness: Harness, result: Any, args: Any = None, **more: Any) -> dict[str, Any]:
    """Run the committed action; the payload of what was recorded."""
    with harness.execution(
        session_id="s1", tool_name="look", args={"at": "it"} if args is None else args, **more
    ) as execution:
        assert execution.recording
        execution.observed(result)
    payload: dict[str, Any] = harness.timeline("c1")[-1]["payload"]
    return payload


@pytest.mark.parametrize("bad", ["yesterday", "", "2026-12-01T09:30:00", "\ud800", 5, None, datetime(2026, 12, 1)])
def test_a_clock_that_gives_no_time_is_told_and_records_nothing(harness: Harness, bad: Any) -> None:
    """A write whose clock gives something else than a moment says what to give, and no Timeline grows by it."""
    before, mistaken = harness.timeline("c1"), Harness(harness.root, clock=lambda: bad)
    calls = (
        lambda: mistaken.probe({"operation": "discard", "reason": "r"}, session_id="s1"),
        lambda: mistaken.model({"operation": "pause", "reason": "r"}, session_id="s1"),
        lambda: mistaken.model({"operation": "open", "case_id": "c2", "top_unknown": "u"}, session_id="s2"),
    )
    for call in calls:
        with pytest.raises(ValueError, match="ISO 8601 text with an offset"):
            call()
    assert harness.timeline("c1") == before
    assert harness.model({"operation": "list"}, session_id="s1")["total_matching"] == 1


@pytest.mark.parametrize("bad", ["/tmp", "../cases/c1", "c1/..", "", "\0", "\ud800", "C1", 1, None])
@pytest.mark.parametrize("name", ["replay", "timeline", "case", "export", "quarantine"])
def test_what_cannot_name_a_case_reaches_no_file(harness: Harness, name: str, bad: Any) -> None:
    """Whatever is no case id is refused everywhere; no folder outside the store is read or moved."""
    method: Callable[[Any], object] = getattr(harness, name)
    with pytest.raises(Refused, match="there is no case"):
        method(bad)


@pytest.mark.parametrize(
    "result",
    [
        '\ufeff{"error": "boom"}',
        '{"error": "boom"}\n[output truncated]',
        '{"error": {"message": "boom", "trace": "cut in the mid',
        '{"error": "boom", "n": ' + "9" * 5000 + "}",
        b'{"error": "boom"}',
        {"error": "boom"},
        {"success": False},
    ],
)
def test_an_error_envelope_is_one_however_it_is_dressed(harness: Harness, result: Any) -> None:
    """A byte order mark, a note behind it, a cut, a huge number or bytes do not make a success of an error."""
    assert look(harness, result)["result_status"] == "tool_error"


@pytest.mark.parametrize("result", ["{not JSON at all", '{"note": "an error was mended"}', "{}", '{"error": null}'])
def test_what_only_looks_like_an_envelope_is_none(harness: Harness, result: str) -> None:
    """Text that merely begins with a brace, or speaks of errors, is an ordinary result."""
    assert look(harness, result)["result_status"] == "ok"


class Speechless:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "result", ['{"a":' + "[" * 2000 + "]" * 2000 + "}", {"n": 10**5000}, nested(5000), Speechless(), {1, 2}, None]
)
def test_every_result_is_recorded(harness: Harness, result: Any) -> None:
    """A result of any make is recorded as what it is known to be, and never as a failure of ours."""
    assert look(harness, result)["result_status"] == "ok"


def test_an_exception_without_words_is_recorded(harness: Harness) -> None:
    """An exception whose own text fails is recorded by its name, and goes on its way."""

    class Wordless(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    with (
        pytest.raises(Wordless),
        harness.execution(session_id="s1", tool_name="look", args={"at": "it"}),
    ):
        raise Wordless
    assert harness.timeline("c1")[-1]["payload"]["result"] == "Wordless"


@pytest.mark.parametrize("host", [True, False])
@pytest.mark.parametrize("args", [{"at": float("nan")}, {"n": 10**5000}, {"p": nested(900)}, ["list"], "text"])
def test_odd_arguments_never_count_as_the_committed_ones(harness: Harness, args: Any, host: bool) -> None:
    """The call is recorded whatever its arguments are, as drift, or as not knowable where they are no JSON."""
    look(harness, "42", args, host=host)
    probe = harness.case("c1")["case"]["pending_probe"]
    assert probe["status"] == "observed"
    assert probe.get("execution_args_match_commitment") is not True


@pytest.mark.parametrize("session", ["", "  ", None, 5, "\ud800", "sk-ant-api03-" + "Q7xZ" * 14])
def test_a_session_id_that_cannot_be_kept_is_refused_before_anything_is_written(tmp_path: Path, session: Any) -> None:
    """No id, half a character, or what looks like a secret opens nothing."""
    harness = Harness(tmp_path / "store")
    with pytest.raises(Refused) as caught:
        harness.model({"operation": "open", "case_id": "c1", "top_unknown": "u"}, session_id=session)
    assert caught.value.code in ("no_session", "bad_session")
    assert not (tmp_path / "store").exists()


def test_a_session_id_is_taken_as_it_is(tmp_path: Path) -> None:
    """Blanks around a session id belong to it, for the tools and for everything else alike."""
    harness = Harness(tmp_path / "store")
    harness.model({"operation": "open", "case_id": "c1", "top_unknown": "u"}, session_id=" s1 ")
    harness.probe(PROBE, session_id=" s1 ")
    assert harness.execution(session_id=" s1 ", tool_name="look", args={"at": "it"}).recording
    assert not harness.is_bound("s1")


def test_a_committed_secret_is_not_kept_when_the_result_tells_it(tmp_path: Path) -> None:
    """A password of the commitment is scrubbed from the result, also where the executed call carried another one."""
    harness = Harness(tmp_path / "store")
    harness.model({"operation": "open", "case_id": "c1", "top_unknown": "u"}, session_id="s1")
    harness.probe({**PROBE, "tool_args": {"password": "swordfish-red"}}, session_id="s1")
    key = "ghp_" + "Q7xZ" * 9
    assert "swordfish" not in look(harness, "pw swordfish-red", {"user": "x"}, tool_call_id=key)["result"]
    kept = b"".join(path.read_bytes() for path in harness.root.rglob("*") if path.is_file())
    assert b"swordfish-red" not in kept
    assert key.encode() not in kept


def test_a_forked_child_may_report_first(harness: Harness) -> None:
    """One observation stands; the parent's own comes late and is dropped without an error."""
    execution = harness.execution(session_id="s1", tool_name="look", args={"at": "it"})
    child = os.fork()
    if child == 0:
        execution.observed("the child's")
        os._exit(0)
    os.waitpid(child, 0)
    with execution:
        assert execution.observed("the parent's") is None
    assert harness.timeline("c1")[-1]["payload"]["result"] == "the child's"


def test_a_pipe_in_a_files_place_holds_nobody_up(harness: Harness) -> None:
    """A named pipe where the store's lock should be is an error, and a host's call goes on."""
    lock = harness.root / ".store.lock"
    lock.unlink()
    os.mkfifo(lock)
    again = Harness(harness.root)
    with pytest.raises(Unavailable):
        again.model({"operation": "show"}, session_id="s1")
    assert not again.execution(session_id="s1", tool_name="look", args={}, host=True).recording
