"""What the documents say, held against what is there."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import harness_hermes
from harness_core.injection import DEFAULT_CEILING

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MANIFEST: dict[str, Any] = YAML(typ="safe").load((ROOT / "harness_hermes" / "plugin.yaml").read_text(encoding="utf-8"))


def block(name: str) -> str:
    """The code block of the README that follows the mark with this name."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found, name
    return found[1]


def test_the_library_example_runs_as_it_is_printed(tmp_path: Path) -> None:
    """From an empty folder, the README's example of ten lines runs and its replay is usable."""
    example = block("example")
    assert len(example.splitlines()) == 10
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True"


def test_the_page_on_embedding_runs_as_it_is_printed(tmp_path: Path) -> None:
    """The examples of docs/embedding.md, one after the other, make one program that closes a case as supported."""
    page = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", ["harness_core", "harness_store", "harness_hermes"])
def test_the_architecture_names_every_room(package: str) -> None:
    """docs/architecture.md names each module and sub-package, so that a line's room can be found."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    rooms |= {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert not {room for room in rooms if f"`{room}`" not in page}


def test_one_command_shows_it_and_one_tests_it() -> None:
    """The README's two commands for a fresh machine are one shell line each."""
    assert len(block("demo").splitlines()) == len(block("tests").splitlines()) == 1
    assert block("demo").rstrip().endswith("epistemic-harness demo")


def test_the_version_is_the_same_everywhere() -> None:
    """Package, plugin manifest, module and changelog speak of one version."""
    version = PROJECT["version"]
    assert MANIFEST["version"] == version
    assert harness_hermes.__version__ == version
    assert f"## {version} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_is_accounted_for() -> None:
    """docs/dependencies.md names each runtime dependency once, with no other beside it, and none has an upper pin."""
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([\w.-]+) \|", text, re.MULTILINE)[1:]
    declared = [re.split(r"[>=<~!]", need)[0] for need in PROJECT["dependencies"]]
    assert sorted(listed) == sorted(declared)
    assert all("<" not in need and "==" not in need and "~=" not in need for need in PROJECT["dependencies"])


def test_the_manifests_default_is_the_codes() -> None:
    """The setting's default in the schema is the one that applies, since the host does not apply the schema's."""
    assert MANIFEST["config_schema"]["injection_max_chars"]["default"] == DEFAULT_CEILING


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "PRIVACY.md", "CHANGELOG.md"])
def test_every_link_leads_somewhere(name: str) -> None:
    """Relative links of the documents point to files that exist."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (ROOT / target).exists(), target
