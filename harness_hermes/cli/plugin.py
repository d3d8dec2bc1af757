"""``plugin install | uninstall | status``: the plugin in a Hermes profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from attrs import asdict

from harness_hermes import installer
from harness_hermes.settings_file import UnfitSettings

from .output import AsJson, Home, answer, console, errors, home_of

app = typer.Typer(help="Put the plugin into a Hermes profile, or take it out.", no_args_is_help=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]


@app.command()
def install(home: Home = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Write the plugin directory into the profile and enable it there; everything else in its settings stays.

    Running it again changes nothing.
    """
    with errors(as_json, installer.NotOurs, UnfitSettings, OSError):
        changes = installer.plan_install(home_of(home))
        _report(changes if dry_run else installer.carry_out(changes), as_json, dry_run=dry_run)


@app.command()
def uninstall(home: Home = None, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Disable the plugin in the profile and remove its directory.

    Recorded cases and the plugin's own settings stay, and are named.
    """
    with errors(as_json, installer.NotOurs, UnfitSettings, OSError):
        profile = home_of(home)
        changes = installer.plan_uninstall(profile)
        left = installer.left(profile)
        _report(changes if dry_run else installer.carry_out(changes), as_json, dry_run=dry_run, left=left)


@app.command()
def status(home: Home = None, as_json: AsJson = False) -> None:
    """Say whether the plugin is in place in the profile.  Exit status 1 where it is not."""
    with errors(as_json, UnfitSettings, OSError):
        found = installer.status(home_of(home))

    def show() -> None:
        console.print(f"directory  {found.directory}")
        for name in ("installed", "current", "enabled", "disabled", "isolated"):
            console.print(f"{name:<10} {'yes' if getattr(found, name) else 'no'}")
        if found.advice:
            console.print(f"to do      {found.advice}")

    answer({**asdict(found), "ok": not found.advice, "advice": found.advice}, as_json, show)
    if found.advice:
        raise typer.Exit(1)


def _report(changes: Sequence[installer.Change], as_json: bool, *, dry_run: bool, left: Sequence[str] = ()) -> None:
    def show() -> None:
        for change in changes:
            console.print(f"{change.kind:<10} {change.path}")
            if change.kind == "changed":
                console.print(change.diff, end="")
        for what in left:
            console.print(f"left       {what}")
        if dry_run:
            console.print("nothing was written (--dry-run)")

    rows = [{"path": str(change.path), "change": change.kind, "diff": change.diff} for change in changes]
    answer({"changes": rows, "left": list(left), "written": not dry_run}, as_json, show)
