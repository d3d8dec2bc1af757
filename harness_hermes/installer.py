"""Putting the plugin into a Hermes profile, and taking it out again.

Hermes finds the plugin's entry point by itself, but reads its ``plugin.yaml``, with the version range and the
settings in it, only from a plugin directory.  So a small directory is written that imports ours, and the profile's
settings are told to load it.
"""

from __future__ import annotations

import difflib
import stat
from importlib.resources import files
from pathlib import Path

from attrs import frozen

from harness_store.disk import PosixDisk, make_folder, reporting, write_durably

from .plugin.profiles import FOLDER
from .settings_file import UnfitSettings, in_list, value_at, with_item, without_item

NAME = "epistemic-harness"
MARK = "# Written by `epistemic-harness plugin install`; `plugin uninstall` removes it."
MODULE = f'''{MARK}
"""Loads the epistemic harness from the package that is installed beside this Hermes."""

from importlib.metadata import entry_points


def register(ctx):
    """Hand the registration over to the installed package."""
    for entry in entry_points(group="hermes_agent.plugins", name="{NAME}"):
        return entry.load().register(ctx)
    raise ImportError(
        "{NAME} is not installed in the environment that runs this Hermes: install it there, "
        "or take this plugin out with `{NAME} plugin uninstall`"
    )
'''
ENABLED = ("plugins", "enabled")
DISABLED = ("plugins", "disabled")
SETTINGS = ("plugins", "entries")


class NotOurs(Exception):
    """A plugin directory of this name is there, and something else wrote it."""


@frozen
class Change:
    """One file before and after; ``None`` stands for no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def kind(self) -> str:
        """``created``, ``changed``, ``removed`` or ``unchanged``."""
        if self.before == self.after:
            return "unchanged"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where nothing changes."""
        before, after = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(before, after, str(self.path), str(self.path)))


@frozen
class Status:
    """How a profile stands to the plugin."""

    directory: Path
    installed: bool
    current: bool
    enabled: bool
    disabled: bool
    isolated: bool
    """The host runs plugins in a process of their own, where tool middleware does not work: nothing is captured."""

    @property
    def advice(self) -> str:
        """What to do about it; empty where everything is in place."""
        if self.disabled:
            return f"take {NAME} out of plugins.disabled in this profile's settings"
        if self.installed and self.current and self.enabled:
            return "set plugins.isolation to in_process in this profile's settings" if self.isolated else ""
        return "run `epistemic-harness plugin install`"


def directory(home: Path) -> Path:
    """Where the plugin directory of the profile ``home`` is."""
    return home / "plugins" / NAME


def plan_install(home: Path) -> list[Change]:
    """What an installation into the profile ``home`` would change.

    Raises ``NotOurs`` where another plugin has the directory, ``UnfitSettings`` where the settings cannot be changed
    without touching more than the one entry.
    """
    folder = directory(home)
    module, manifest = _files()
    if folder.exists() and not _is_ours(folder):
        raise NotOurs(f"{folder} was not written by this command; move it away and try again")
    settings = home / "config.yaml"
    text = _read(settings)
    if in_list(text or "", DISABLED, NAME):
        raise UnfitSettings(f"{settings} lists {NAME} under plugins.disabled; take it out there first")
    enabled = with_item(text or "", ENABLED, NAME)
    return [
        Change(folder / "plugin.yaml", _read(folder / "plugin.yaml"), manifest),
        Change(folder / "__init__.py", _read(folder / "__init__.py"), module),
        Change(settings, text, enabled),
    ]


def plan_uninstall(home: Path) -> list[Change]:
    """What taking the plugin out of the profile ``home`` would change.  Recorded cases stay where they are."""
    folder = directory(home)
    settings = home / "config.yaml"
    text = _read(settings)
    changes = [] if text is None else [Change(settings, text, without_item(text, ENABLED, NAME))]
    if folder.exists():
        if not _is_ours(folder):
            raise NotOurs(f"{folder} was not written by this command; it is left alone")
        changes += [Change(path, _read(path), None) for path in (folder / "__init__.py", folder / "plugin.yaml")]
    return changes


def left(home: Path) -> list[str]:
    """What stays of us in the profile ``home`` when the plugin is taken out, each with its place."""
    text = _read(home / "config.yaml") or ""
    own = value_at(text, (*SETTINGS, NAME)) is not None
    store = home / FOLDER
    return [
        *([f"{store}: the recorded cases"] if store.exists() else []),
        *([f"{'.'.join((*SETTINGS, NAME))} in {home / 'config.yaml'}: the plugin's settings"] if own else []),
    ]


def carry_out(changes: list[Change]) -> list[Change]:
    """Write planned changes and give them back."""
    for change in changes:
        if change.kind == "unchanged":
            continue
        if change.after is None:
            change.path.unlink(missing_ok=True)
            _drop_empty(change.path.parent)
        else:
            _write(change.path.resolve(), change.after)
    return changes


def install(home: Path) -> list[Change]:
    """Install the plugin into the profile ``home`` (created where absent) and enable it; again changes nothing."""
    return carry_out(plan_install(home))


def uninstall(home: Path) -> list[Change]:
    """Disable the plugin in the profile ``home`` and remove its directory; again changes nothing."""
    return carry_out(plan_uninstall(home))


def status(home: Path) -> Status:
    """How the profile ``home`` stands to the plugin.  Reads only."""
    folder = directory(home)
    text = _read(home / "config.yaml") or ""
    return Status(
        directory=folder,
        installed=folder.exists(),
        current=(_read(folder / "__init__.py"), _read(folder / "plugin.yaml")) == _files(),
        enabled=in_list(text, ENABLED, NAME),
        disabled=in_list(text, DISABLED, NAME),
        isolated=value_at(text, ("plugins", "isolation")) == "host",
    )


def _files() -> tuple[str, str]:
    """The two files of the plugin directory: module and manifest."""
    return MODULE, files(__package__).joinpath("plugin.yaml").read_text(encoding="utf-8")


def _is_ours(folder: Path) -> bool:
    """Whether a directory holds what this command writes; an empty one may be written to."""
    module = _read(folder / "__init__.py")
    return module.startswith(MARK) if module is not None else not any(folder.iterdir())


def _read(path: Path) -> str | None:
    """The text of a file with its own line ends; None where there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UnfitSettings(f"{path} is not UTF-8 text ({error}); save it as UTF-8 and try again") from error


def _write(path: Path, text: str) -> None:
    """Replace a file's content and nothing else: who could read it still can."""
    disk = PosixDisk()
    with reporting(f"writing {path}"):
        make_folder(disk, path.parent)
        mode = path.stat().st_mode if path.exists() else None
        write_durably(disk, path, text.encode("utf-8"))
        if mode is not None:
            path.chmod(stat.S_IMODE(mode))


def _drop_empty(folder: Path) -> None:
    """Remove a plugin directory once nothing but compiled files is left in it."""
    left = [path for path in folder.iterdir() if path.name != "__pycache__"]
    if left:
        return
    for compiled in folder.glob("__pycache__/*.pyc"):
        compiled.unlink()
    for empty in (folder / "__pycache__", folder):
        if empty.exists():
            empty.rmdir()
