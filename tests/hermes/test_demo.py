"""The demonstration on a real Hermes, as its installed command."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from harness_hermes.demo.scripted import Server

pytestmark = pytest.mark.hermes

EXPECTED = {
    "host": "hermes",
    "host_version": "0.22.2",
    "case_id": "service-retries",
    "status": "closed",
    "outcome": "resolved",
    "calibration": "supported",
    "observation_boundary": "transform_tool_result_input",
    "raw_result_provenance": "native_handler_result",
    "replay_usable": True,
    "tamper_detected": True,
}


def demo(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command somewhere, under a home of its own."""
    home = cwd / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        [str(Path(sysconfig.get_path("scripts")) / "epistemic-harness"), "demo", *arguments],
        cwd=cwd,
        env={**os.environ, "HOME": str(home), "HERMES_HOME": str(home / ".hermes")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_demonstration_ends_as_it_should_from_anywhere_and_again(tmp_path: Path) -> None:
    """Twice in a row, from different folders: the same findings, status 0, and nothing left in the user's home."""
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        done = demo(folder, "--json")
        assert done.returncode == 0, done.stderr + done.stdout
        assert json.loads(done.stdout) == EXPECTED
        assert list((folder / "home").iterdir()) == []


def test_the_demonstration_tells_what_happens_as_it_goes(tmp_path: Path) -> None:
    """Without ``--json`` each stage is told on a line of its own, in order."""
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    told = [line.split()[0] for line in done.stdout.splitlines()]
    stages = ["host", "believed", "predicted", "captured", "compared", "revised", "concluded", "provenance", "verified"]
    assert told == [*stages, "tampered"]


@pytest.mark.parametrize(("error", "told"), [(ConnectionResetError, False), (ValueError, True)])
def test_a_host_that_hangs_up_prints_no_traceback(
    error: type[Exception], told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a connection that the host closes the scripted model says nothing; its own faults it shows."""
    with Server(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        try:
            raise error
        except error:
            server.handle_error(None, ("127.0.0.1", 1))
    assert bool(capsys.readouterr().err) is told
