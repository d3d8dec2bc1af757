"""The command ``epistemic-harness``.

Every command takes ``--json`` and then prints exactly one JSON value on standard output.  Exit status: 0 for a yes, 1
for a no (damage found, something not in place, an error), 2 for a command line that cannot be understood.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import typer

from . import cases, demo, doctor, fsck, plugin

app = typer.Typer(
    name="epistemic-harness",
    help="Predictions before observations, captured by the host, kept in a tamper-evident Timeline.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
cases.app.command("quarantine")(fsck.quarantine)
cases.app.command("export")(fsck.export)
app.add_typer(cases.app, name="case")
app.command("fsck")(fsck.fsck)
app.add_typer(plugin.app, name="plugin")
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run the command line.  What an output cannot show is spelled out; one that takes nothing more is told once."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        with Path(os.devnull).open("w") as nowhere:  # where what is left in the buffer goes
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(1)
