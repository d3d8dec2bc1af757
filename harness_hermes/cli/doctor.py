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
from harness_hermes.plugin.profiles import FOLDER
from harness_hermes.settings_file import UnfitSettings
from harness_store import Harness
from harness_store.disk import PosixDisk
from harness_store.layout import Layout
from harness_store.locks import FileLock, Lease
from harness_store.sessions_file import STORE_LOCK

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
    if not status.advice:
        yield Check("plugin", "ok", f"installed and enabled in {profile}")
        return
    faults = {
        "disabled": status.disabled,
        "not installed": not status.installed,
        "outdated": status.installed and not status.current,
        "not enabled": not status.enabled,
        "isolated from tool middleware": status.isolated,
    }
    yield Check("plugin", "fail", f"{', '.join(word for word, so in faults.items() if so)} in {profile}", status.advice)


def _store(profile: Path) -> Iterable[Check]:
    root = profile / FOLDER
    if not root.exists():
        yield Check("store", "ok", f"{root} does not exist yet; the first case makes it")
        return
    harness = Harness(root)
    found = harness.model({"operation": "list", "limit": 200}, session_id="doctor")
    harness.close()
    yield Check("store", "ok", f"{root}: {found['total_matching']} cases can be read")
    for damaged in found["case_errors"]:
        yield Check("store", "fail", f"damaged: {damaged}", "see `epistemic-harness case verify` for the case")
    yield from _locks(root)


def _locks(root: Path) -> Iterable[Check]:
    disk, layout = PosixDisk(), Layout(root)
    if FileLock(disk, root / STORE_LOCK, "the store").is_held():
        yield Check("locks", "warn", "the store is locked by a writer right now", "look again; writers hold it briefly")
    else:
        yield Check("locks", "ok", "the store is free")
    for folder in sorted(layout.cases.iterdir()) if layout.cases.exists() else ():
        if Lease(disk, layout.lease(folder.name), folder.name).is_held():
            yield Check("locks", "ok", f"a committed action of case {folder.name} is running")
