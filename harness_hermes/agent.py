"""The installed Hermes Agent as a command: finding it, asking it, running it in a scratch profile."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from .plugin.hosts import release

TIMEOUT_S = 180

QUESTION = """
import json, hermes_cli
try:
    from harness_hermes import __version__ as harness
except ImportError:
    harness = ""
print(json.dumps({"version": hermes_cli.__version__, "harness": harness}))
"""

INTERPRETER = re.compile(r"""^(?:#!|'''exec' "?)(\S*python[\d.]*)\b""", re.MULTILINE)
"""The interpreter in the first lines of an installed script, behind a shell where its path is too long for one."""


class HermesMissing(Exception):
    """There is no Hermes to run."""


@frozen
class Facts:
    """What a Hermes says of itself: its version ("0.22.2") and ours as it can import it, each empty if unknown."""

    version: str
    harness: str


@frozen
class Hermes:
    """An installed Hermes: the path of its command."""

    command: Path

    def run(self, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
        """Run the command with ``home`` as the user's home and ``profile_in(home)`` as the profile."""
        return _run([str(self.command), *arguments], home)

    def facts(self) -> Facts:
        """Ask the interpreter that the command runs in, in a scratch home."""
        try:
            with tempfile.TemporaryDirectory(prefix="epistemic-harness-") as scratch:
                done = _run([self.interpreter(), "-P", "-c", QUESTION], Path(scratch))
            found = json.loads(done.stdout.splitlines()[-1])
            return Facts(release(found["version"]), found["harness"])
        except (LookupError, ValueError, OSError, subprocess.TimeoutExpired):
            return Facts("", "")

    def interpreter(self) -> str:
        """The Python that the command's first lines name; this one where they name none."""
        with self.command.open("rb") as script:
            named = INTERPRETER.search(script.read(1_000).decode("utf-8", "replace"))
        return named[1] if named else sys.executable


def find() -> Hermes:
    """The Hermes beside this interpreter, else the one on PATH.  Raises ``HermesMissing`` where there is neither."""
    beside = Path(sysconfig.get_path("scripts")) / "hermes"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("hermes")
    if found is None:
        raise HermesMissing(
            "no Hermes Agent found beside this Python or on PATH: install one into this environment with "
            "`pip install 'epistemic-harness[hermes]'`, or run `epistemic-harness demo --host library`"
        )
    return Hermes(Path(found))


def profile_in(home: Path) -> Path:
    """The Hermes profile of a scratch home.  Not ``~/.hermes``: below a test runner Hermes does without a session
    store there, to keep tests away from a person's own."""
    return home / "hermes"


def environment(home: Path) -> dict[str, str]:
    """The environment of a scratch run: nothing of the user's own Hermes, and no proxy on the way to loopback.

    No certificates either: Hermes refuses to start over a bundle that is named and missing, and loopback needs none.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HERMES_", "XDG_", "SSL_CERT_"))
        and not name.lower().endswith("_proxy")
        and not name.endswith("_CA_BUNDLE")
    }
    return {**kept, "HOME": str(home), "HERMES_HOME": str(profile_in(home)), "NO_PROXY": "*", "no_proxy": "*"}


def _run(command: Sequence[str], home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environment(home),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
