"""What the design document promises about hosts: its table in docs/hermes.md, and what no other test shows."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import pytest

from harness_hermes.plugin import SKILL
from harness_store import GENERATION
from harness_store.disk import PosixDisk
from harness_store.locks import FileLock
from harness_store.sessions_file import STORE_LOCK
from tests.hermes.bare import Bare
from tests.hermes.host import ROOT
from tests.hermes.tables import section


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bare:
    """A bare host over an empty profile."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    return Bare(tmp_path)


def test_every_promise_names_tests_that_are_there() -> None:
    """Each row of the table names at least one test, and each test that it names exists."""
    rows = [line for line in section("promises").splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`(\w+/test_\w+|\w+/on_host)::(test_\w+)`", row)
        assert named, row
        for module, test in named:
            source = (ROOT / "tests" / f"{module}.py").read_text(encoding="utf-8")
            assert re.search(rf"def {test}\(", source), f"{module}::{test}"


def test_a_pause_that_a_lock_prevents_is_said_and_never_made_up_for(
    host: Bare, caplog: pytest.LogCaptureFixture
) -> None:
    """A callback that does not get the lock within its budget logs that the pause was missed; once the lock is free
    nothing happens by itself, and the next callback pauses."""
    host.commit()
    end = {"session_id": "s1", "reason": "session_boundary", "platform": "cli"}
    with (
        caplog.at_level(logging.WARNING, "harness_hermes"),
        FileLock(PosixDisk(), host.root / STORE_LOCK, "the store").acquire(1),
    ):
        host.hooks["on_session_finalize"](**end)
    assert "pause missed and not persisted" in caplog.text
    assert not host.events("case_paused")
    assert host.call(lambda _: "x", tool="other") == "x"
    assert not host.events("case_paused")
    host.hooks["on_session_finalize"](**end)
    assert host.events("case_paused")


def test_a_runtime_attestation_that_lies_about_is_neither_read_nor_refreshed(host: Bare) -> None:
    """A file of that name from earlier days stays as it is and counts for nothing: the process speaks for itself."""
    host.commit()
    old = host.root / "runtime-attestation.json"
    old.write_text('{"pid": 1, "generation": "another"}', encoding="utf-8")
    listed = host.ask("model", operation="list")
    assert listed["runtime"]["pid"] == os.getpid()
    assert GENERATION in str(listed["runtime"])
    assert old.read_text(encoding="utf-8") == '{"pid": 1, "generation": "another"}'


def test_the_skill_says_what_a_delegated_report_contains() -> None:
    """Case id, answer, confidence in words, strongest evidence, alternatives left, and what would change the answer."""
    text = SKILL.read_text(encoding="utf-8")
    report = " ".join(text[text.index("A delegated worker") :].split())
    for part in (
        "case id",
        "answer",
        "confidence in words",
        "as-of date",
        "strongest evidence",
        "open",
        "would change",
    ):
        assert part in report


def test_a_turn_after_a_pause_by_hand_wakes_nothing(host: Bare) -> None:
    """Any deliberate act makes an older pause of the host's powerless, also for a process that starts later."""
    host.commit()
    host.ask("probe", operation="discard", reason="enough")
    host.hooks["on_session_finalize"](session_id="s1", reason="session_boundary", platform="cli")
    host.ask("model", operation="resume", case_id="c1")
    host.ask("model", operation="pause", reason="by hand")
    later = Bare(host.root.parent)
    assert later.hooks["pre_llm_call"](session_id="s1", turn_id="t2") is None
    assert host.ask("model", operation="show", case_id="c1")["case"]["status"] == "paused"


def test_a_delegation_is_no_probe(host: Bare) -> None:
    """delegate_task cannot be committed: the handle that it returns does not account for what the child does."""
    opened = host.ask("model", operation="open", case_id="c1", top_unknown="x")
    assert "error" not in opened
    refused = host.ask(
        "probe",
        operation="commit",
        purpose="learn",
        unknown_or_goal="x",
        tool_name="delegate_task",
        tool_args={"goal": "x"},
        predicted_outcomes=["x"],
        would_change_belief="x",
        why_this_action="x",
        authority_domain="system_state",
    )
    assert "handle" in refused["error"]
