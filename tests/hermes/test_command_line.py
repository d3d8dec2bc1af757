"""The command ``epistemic-harness``, as a person or a program uses it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from harness_hermes.cli import app
from harness_hermes.demo.inquiry import CASE_ID, FILE_NAME
from harness_hermes.demo.run import on_library
from harness_store import Harness


def run(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(app, arguments)


def answer(*arguments: str, status: int = 0) -> Any:
    """The one JSON value that a command with ``--json`` prints."""
    done = run(*arguments, "--json")
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the demonstrated case, closed, and an open one."""
    home = tmp_path_factory.mktemp("home")
    file = home / FILE_NAME
    file.write_text("retries = 3\n", encoding="utf-8")
    root, _ = on_library(home, file, lambda what, text: None)
    harness = Harness(root)
    harness.model({"operation": "open", "case_id": "open-one", "top_unknown": "what is left?"}, session_id="s2")
    return root


def at(root: Path, *arguments: str) -> Sequence[str]:
    """Arguments with the store named."""
    return (*arguments, "--root", str(root))


def test_every_command_says_what_it_does() -> None:
    """``--help`` of every command names each of its options with a text, and ``--json`` is among them."""
    for command in ("demo", "doctor", "case list", "case show", "case timeline", "case verify", "plugin install",
                    "plugin uninstall", "plugin status"):  # fmt: skip
        done = run(*command.split(), "--help")
        assert done.exit_code == 0
        assert "--json" in done.output, command


def test_a_person_is_told_a_command_where_a_model_is_told_a_call(root: Path) -> None:
    """A case that is not there is answered with the command that lists those that are."""
    done = run(*at(root, "case", "show", "absent"))
    assert done.exit_code == 1
    assert "`epistemic-harness case list` names those there are" in done.output
    assert "epistemic_model" not in done.output


def test_an_uninstallation_names_what_it_leaves(tmp_path: Path) -> None:
    """Recorded cases and the plugin's settings stay, and both are named with their places."""
    home = ("--hermes-home", str(tmp_path))
    answer("plugin", "install", *home)
    assert answer("plugin", "uninstall", *home)["left"] == []
    own = {"entries": {"epistemic-harness": {"settings": {"injection_max_chars": 500}}}}
    (tmp_path / "config.yaml").write_text(json.dumps({"plugins": own}), encoding="utf-8")
    Harness(tmp_path / "epistemic-harness").model(
        {"operation": "open", "case_id": "kept", "top_unknown": "x"}, session_id="s1"
    )
    store, settings = answer("plugin", "uninstall", *home)["left"]
    assert store.startswith(f"{tmp_path / 'epistemic-harness'}:")
    assert str(tmp_path / "config.yaml") in settings


def test_the_portfolio_is_listed(root: Path) -> None:
    """``case list`` shows every case, and can be narrowed to a status."""
    assert {case["case_id"] for case in answer(*at(root, "case", "list"))["cases"]} == {CASE_ID, "open-one"}
    (closed,) = answer(*at(root, "case", "list", "--status", "closed"))["cases"]
    assert closed["case_id"] == CASE_ID
    text = run(*at(root, "case", "list")).output
    assert CASE_ID in text
    assert "what is left?" in text


def test_a_case_is_shown_whoever_owns_it(root: Path) -> None:
    """``case show`` shows closed cases and active ones of any session."""
    assert answer(*at(root, "case", "show", CASE_ID))["case"]["status"] == "closed"
    assert answer(*at(root, "case", "show", "open-one"))["case"]["status"] == "active"
    text = run(*at(root, "case", "show", CASE_ID)).output
    assert "resolved, supported" in text
    assert "M1 grounded" in text


def test_the_timeline_is_printed_record_by_record(root: Path) -> None:
    """``case timeline`` prints the records in order, with the ids and types that are on disk."""
    records = answer(*at(root, "case", "timeline", CASE_ID))
    assert [record["event_id"] for record in records] == [f"E{n:06}" for n in range(1, len(records) + 1)]
    text = run(*at(root, "case", "timeline", CASE_ID)).output
    assert re.search(r"E000001 .* case_opened", text)


def test_a_sound_case_verifies_and_a_changed_one_does_not(root: Path, tmp_path: Path) -> None:
    """``case verify`` ends with 0 for an intact record and with 1 after one byte has changed."""
    assert answer(*at(root, "case", "verify", CASE_ID))["intact"]
    assert "intact" in run(*at(root, "case", "verify", CASE_ID)).output
    log = tmp_path / "cases" / CASE_ID / "events.jsonl"
    log.parent.mkdir(parents=True)
    source = root / "cases" / CASE_ID
    for path in source.rglob("*"):
        if path.is_file():
            target = log.parent / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    log.write_bytes(log.read_bytes().replace(b"three retries", b"seven retries", 1))
    assert answer(*at(tmp_path, "case", "verify", CASE_ID), status=1)["intact"] is False
    assert "DAMAGED" in run(*at(tmp_path, "case", "verify", CASE_ID)).output


def test_a_damaged_case_of_any_session_is_shown_as_far_as_it_holds(tmp_path: Path) -> None:
    """``case show`` shows what can be believed of a damaged active case; it and ``case timeline`` name the damage."""
    store = tmp_path / "store"
    harness = Harness(store)
    harness.model({"operation": "open", "case_id": "torn", "top_unknown": "before the damage"}, session_id="s1")
    harness.model({"operation": "revise", "top_unknown": "after it", "reason": "r"}, session_id="s1")
    log = store / "cases" / "torn" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b"after it", b"after IT"))
    shown = run(*at(store, "case", "show", "torn"))
    assert shown.exit_code == 0
    assert "before the damage" in shown.output
    assert "line 2" in shown.output
    printed = run(*at(store, "case", "timeline", "torn"))
    assert printed.exit_code == 1
    assert "E000001" in printed.output
    assert "line 2" in printed.output


def test_reading_changes_no_byte(root: Path) -> None:
    """Listing, showing, printing and verifying leave every file as it was."""
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for command in (("list",), ("show", CASE_ID), ("timeline", CASE_ID), ("verify", CASE_ID), ("show", "open-one")):
        run(*at(root, "case", *command))
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("command", ["show", "timeline", "verify"])
def test_a_case_that_is_not_there_is_said_to_be_missing(root: Path, tmp_path: Path, command: str) -> None:
    """An unknown id, or a store that does not exist, gives one clear error with a code, and makes no folder."""
    for store in (root, tmp_path / "nowhere"):
        found = answer(*at(store, "case", command, "no-such-case"), status=1)
        assert found["code"]
        assert "no-such-case" in found["error"]
    assert not (tmp_path / "nowhere").exists()


def test_an_empty_portfolio_is_no_error(tmp_path: Path) -> None:
    """Where nothing was ever recorded, ``case list`` says so and ends with 0."""
    assert answer(*at(tmp_path / "nowhere", "case", "list"))["cases"] == []
    assert "no cases" in run(*at(tmp_path / "nowhere", "case", "list")).output
    assert not (tmp_path / "nowhere").exists()


def test_text_from_a_case_is_printed_as_it_is(tmp_path: Path) -> None:
    """Square brackets in a question are text to the terminal, not markup."""
    harness = Harness(tmp_path)
    harness.model({"operation": "open", "case_id": "odd", "top_unknown": "[red]is it?[/red]"}, session_id="s1")
    assert "[red]is it?[/red]" in run(*at(tmp_path, "case", "show", "odd")).output
    assert "[red]is it?[/red]" in run(*at(tmp_path, "case", "list")).output


def test_the_plugin_is_installed_shown_and_taken_out(tmp_path: Path) -> None:
    """``plugin install``, ``status`` and ``uninstall`` do what they say; ``--dry-run`` only says it."""
    home = ("--hermes-home", str(tmp_path))
    assert answer("plugin", "status", *home, status=1)["advice"]
    assert answer("plugin", "install", *home, "--dry-run")["written"] is False
    assert list(tmp_path.iterdir()) == []
    assert {row["change"] for row in answer("plugin", "install", *home)["changes"]} == {"created"}
    assert answer("plugin", "status", *home)["ok"]
    assert "enabled" in run("plugin", "status", *home).output
    assert "removed" in run("plugin", "uninstall", *home).output
    assert not answer("plugin", "status", *home, status=1)["installed"]


def test_settings_that_cannot_be_changed_are_an_error_with_a_reason(tmp_path: Path) -> None:
    """Broken settings stop ``plugin install`` with status 1 and a text."""
    (tmp_path / "config.yaml").write_text("plugins: [", encoding="utf-8")
    assert "YAML" in answer("plugin", "install", "--hermes-home", str(tmp_path), status=1)["error"]


@pytest.mark.hermes
def test_doctor_says_what_is_proven_and_what_to_do(tmp_path: Path) -> None:
    """On a fresh profile ``doctor`` fails with advice; after ``plugin install`` everything is in place."""
    home = ("--hermes-home", str(tmp_path))
    found = answer("doctor", *home, status=1)
    (missing,) = [check for check in found["checks"] if check["verdict"] == "fail"]
    assert missing["advice"] == "run `epistemic-harness plugin install`"
    run("plugin", "install", *home)
    found = answer("doctor", *home)
    assert found["ok"]
    assert sum(check["name"] == "capture" for check in found["checks"]) == 3
    assert "proven at transform_tool_result_input" in run("doctor", *home).output


def test_the_library_demonstration_ends_as_it_should() -> None:
    """``demo --host library --json`` prints one object with the documented keys, and nothing else."""
    found = answer("demo", "--host", "library")
    assert found == {
        "host": "library",
        "host_version": found["host_version"],
        "case_id": CASE_ID,
        "status": "closed",
        "outcome": "resolved",
        "calibration": "supported",
        "observation_boundary": "library_execution",
        "raw_result_provenance": "native_handler_result",
        "replay_usable": True,
        "tamper_detected": True,
    }


def test_a_demonstration_without_a_host_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no Hermes is found, ``demo`` ends with status 1 and names two ways out."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    error = answer("demo", status=1)["error"]
    assert "epistemic-harness[hermes]" in error
    assert "--host library" in error


COMMAND = [sys.executable, "-c", "from harness_hermes.cli import main; main()"]


@pytest.mark.parametrize("command", [("case", "list"), ("case", "show", CASE_ID), ("fsck",)])
def test_a_terminal_that_knows_ascii_only_is_told_everything(root: Path, command: Sequence[str]) -> None:
    """What cannot be shown is spelled out, and the command ends as it would."""
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "60"}
    done = subprocess.run([*COMMAND, *at(root, *command)], env=ascii_only, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [("case", "list"), ("case", "timeline", CASE_ID), ("fsck", "--json")])
def test_an_output_that_is_full_is_told_in_one_line(root: Path, command: Sequence[str]) -> None:
    """No traceback, one line that names the reason, exit status 1."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *at(root, *command)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No space left" in done.stderr
