"""``doctor``: is everything in place, and what to do where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import typer
from attrs import asdict, frozen
from rich.text import Text

from harness_core.errors import HarnessError
from harness_hermes import installer
from harness_hermes.agent import Hermes, HermesMissing, find
from harness_hermes.plugin.hosts import PROVEN
from harness_hermes.settings_file import UnfitSettings
from harness_store import Harness

from .output import AsJson, Home, answer, console, home_of


@frozen
class Check:
    """One question and its answer: ``ok``, ``warn`` (works, but less is proven) or ``fail``."""

    name: str
    verdict: str
    found: str
    advice: str = ""


COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(home: Home = None, as_json: AsJson = False) -> None:
    """Check host, plugin, store and locks, and say which captures are proven on this host.

    Reads only; a Hermes that is found is asked for its version in a scratch home.  Exit status 1 where a check fails.
    """
    profile = home_of(home)
    checks = [*_host(), *_guarded("plugin", lambda: _plugin(profile)), *_guarded("store", lambda: _store(profile))]
    failed = any(check.verdict == "fail" for check in checks)

    def show() -> None:
        for check in checks:
            verdict = (f"{check.verdict:<5}", COLOURS[check.verdict])
            console.print(Text.assemble(verdict, f"{check.name:<12} {check.found}"))
            if check.advice:
                console.print(f"{'':<18}{check.advice}")

    answer({"ok": not failed, "checks": [asdict(check) for check in checks]}, as_json, show)
    if failed:
        raise typer.Exit(1)


def _guarded(name: str, ask: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return list(ask())
    except (HarnessError, UnfitSettings, OSError) as error:
        return [Check(name, "fail", str(error), "mend this first")]


def _host() -> Iterable[Check]:
    try:
        hermes = find()
    except HermesMissing as error:
        yield Check("host", "fail", "no Hermes Agent", str(error))
        return
    facts = hermes.facts()
    if not facts.version:
        yield Check("host", "fail", f"{hermes.command} does not tell its version", "reinstall Hermes Agent")
        return
    yield Check("host", "ok", f"Hermes Agent {facts.version}, {hermes.command}")
    yield _importable(hermes, facts.harness)
    rows = PROVEN.get(facts.version, ())
    for row in rows:
        tools = f" (only {', '.join(sorted(row.tools))})" if row.tools else ""
        yield Check("capture", "ok", f"proven at {row.boundary.value}{tools}: {row.order}")
    if not rows:
        known = ", ".join(version for version in PROVEN if version[0].isdigit())
        yield Check(
            "capture",
            "warn",
            f"no boundary is proven on {facts.version}: captures are recorded with provenance unknown, "
            "and none of them can support a resolved closure",
            f"proven versions: {known}",
        )


def _importable(hermes: Hermes, harness: str) -> Check:
    if harness:
        return Check("package", "ok", f"the host can import harness_hermes {harness}")
    return Check(
        "package",
        "fail",
        f"the interpreter of {hermes.command} cannot import harness_hermes",
        "install epistemic-harness into the environment that Hermes runs in",
    )


def _plugin(profile: Path) -> Iterable[Check]:
    status = installer.status(profile)
    if status.advice:
        state = "disabled" if status.disabled else "not in place" if not status.installed else "not enabled or outdated"
        yield Check("plugin", "fail", f"{state} in {profile}", status.advice)
    else:
        yield Check("plugin", "ok", f"installed and enabled in {profile}")


def _store(profile: Path) -> Iterable[Check]:
    root = profile / installer.NAME
    if not root.exists():
        yield Check("store", "ok", f"{root} does not exist yet; the first case makes it")
        return
    harness = Harness(root)
    try:
        found = harness.model({"operation": "list", "limit": 200}, session_id="doctor")
    finally:
        harness.close()
    yield Check("store", "ok", f"{root}: {found['total_matching']} cases can be read")
    for damaged in found.get("case_errors") or ():
        yield Check("store", "fail", f"damaged: {damaged}", "see `epistemic-harness case verify` for the case")
