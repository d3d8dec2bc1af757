"""``demo``: one inquiry from belief to conclusion."""

from __future__ import annotations

import subprocess
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from harness_hermes.agent import HermesMissing
from harness_hermes.demo.inquiry import InquiryFailed
from harness_hermes.demo.run import demonstrate
from harness_hermes.plugin.hosts import PROVEN

from .output import AsJson, answer, console, errors, fail


class Host(StrEnum):
    """Where the demonstration runs."""

    HERMES = "hermes"
    LIBRARY = "library"


PROVED = {
    "status": "closed",
    "outcome": "resolved",
    "calibration": "supported",
    "raw_result_provenance": "native_handler_result",
    "replay_usable": True,
    "tamper_detected": True,
}
"""How it ends where captures are proven."""

UNPROVED = {**PROVED, "outcome": "unresolved", "calibration": "hypothesis", "raw_result_provenance": "unknown"}
"""How it ends on a Hermes that is not in the table: nothing that was seen there supports a resolved closure."""


def demo(
    host: Annotated[
        Host, typer.Option(help="hermes: a real Hermes Agent, driven by a scripted model. library: no agent at all.")
    ] = Host.HERMES,
    as_json: AsJson = False,
) -> None:
    """Run one inquiry end to end in a scratch profile, verify its Timeline, and show that tampering is noticed.

    On a Hermes whose captures are not proven the inquiry ends unresolved, and says why.
    Nothing outside a temporary folder is read or written, and nothing but loopback is connected to.
    """

    def say(what: str, text: str) -> None:
        if not as_json:
            console.print(Text.assemble((f"{what:>11}  ", "bold"), text))

    with errors(as_json, HermesMissing, InquiryFailed, OSError, subprocess.TimeoutExpired):
        found = demonstrate(host, say)
    proven = host is Host.LIBRARY or found["host_version"] in PROVEN
    wrong = {key: found[key] for key, value in (PROVED if proven else UNPROVED).items() if found[key] != value}
    if wrong:
        fail(f"the demonstration did not end as it should: {wrong}", as_json, "demo_failed")
    answer(found, as_json, lambda: None)
