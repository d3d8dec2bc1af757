"""``hermes epistemic ...``: our own command line as a command of the host's."""

from __future__ import annotations

import argparse
from typing import Any

NAME = "epistemic"
HELP = "Read, verify and mend epistemic cases, and look whether the plugin is in place"


def set_up(parser: argparse.ArgumentParser) -> None:
    """Take the whole rest of the line; our own command line reads it."""
    parser.add_argument("words", nargs=argparse.REMAINDER, help="as for the command epistemic-harness")


def run(arguments: Any) -> int:
    """Run the line, and give its exit status."""
    from harness_hermes.cli import app  # the command line's libraries are nothing that a session should load

    try:
        app(args=list(arguments.words), prog_name=f"hermes {NAME}", standalone_mode=True)
    except SystemExit as end:
        if end.code:
            raise
    return 0


def register(ctx: Any) -> None:
    """Offer the command where the host takes such commands."""
    offer = getattr(ctx, "register_cli_command", None)
    if offer is not None:
        offer(NAME, HELP, set_up, run, HELP)
