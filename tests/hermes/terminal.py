"""A person at a terminal: a real interactive Hermes behind a pseudo-terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import subprocess
import time
from collections.abc import Callable, Iterator

from attrs import define, field

from harness_hermes.agent import Hermes, environment
from tests.hermes.host import Profile

PROMPT = b"\x1b[?2004h"
"""What a prompt says to a terminal when it begins to listen."""


@define
class Terminal:
    """What a person sees and types."""

    _fd: int
    seen: bytes = field(default=b"", init=False)

    def until(self, holds: Callable[[], bool], seconds: float = 60.0) -> None:
        """Read along until something holds.  Raises ``AssertionError`` with the screen where it does not."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self.seen[-2000:].decode("utf-8", "replace")
            self.read(0.1)

    def read(self, seconds: float) -> None:
        """Read what comes within this time."""
        if select.select([self._fd], [], [], seconds)[0]:
            with contextlib.suppress(OSError):  # the other side has closed
                self.seen += os.read(self._fd, 65_536)

    def line(self, text: str, holds: Callable[[], bool]) -> None:
        """Type a line once there is a prompt, and press return until it has done its work: a return that comes together
        with the text counts as a part of it, and one at an empty prompt as nothing."""
        self.until(lambda: PROMPT in self.seen)
        shown = len(self.seen)
        os.write(self._fd, text.encode())
        self.until(lambda: text.encode() in self.seen[shown:])
        for _ in range(20):
            self.read(1)
            os.write(self._fd, b"\r")
            with contextlib.suppress(AssertionError):
                return self.until(holds, 5)
        return self.until(holds)


@contextlib.contextmanager
def chatting(profile: Profile, host: Hermes) -> Iterator[Terminal]:
    """An interactive session; it is killed at the end where it still runs."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [str(host.command), "chat"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=profile.home,
        env={**environment(profile.home), "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
