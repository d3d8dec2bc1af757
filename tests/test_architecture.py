"""The shape of the project, read off its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("harness_core", "harness_store", "harness_hermes")
"""Lowest first: a layer imports itself and the ones before it."""

MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
CORE = [path for path in MODULES if "harness_core" in path.parts]

PURE = frozenset({
    "__future__", "abc", "array", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime",
    "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib", "hmac", "heapq", "itertools", "json",
    "math", "numbers", "operator", "re", "string", "textwrap", "types", "typing", "unicodedata",
    "attr", "attrs", "cattr", "cattrs", "rpds",
})  # fmt: skip
"""What the core may import: values, text and numbers.  No I/O, clock, randomness, logging or threads is among it."""

TESTING_TOO = frozenset({"hypothesis"})
"""What ``harness_core.testing`` may import besides."""

DURABLE = frozenset({
    "fsync", "fdatasync", "sync", "replace", "rename", "renames", "link", "symlink", "truncate", "ftruncate", "pwrite",
    "pwritev", "flock", "lockf", "fcntl", "O_APPEND", "O_CREAT", "O_WRONLY", "O_RDWR",
})  # fmt: skip
"""What only ``harness_store/disk.py`` may take from ``os`` or ``fcntl``."""

MAX_LINES = 700


def name(path: Path) -> str:
    """A path as it reads from the root of the project."""
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports from elsewhere."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, str(node.module)


def test_there_is_something_to_look_at() -> None:
    """All three layers are found, so the tests below do look at the project."""
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_every_package_is_typed_for_its_users(layer: str) -> None:
    """Each package carries the mark by which type checkers believe its annotations."""
    assert (ROOT / layer / "py.typed").is_file()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_go_one_way(path: Path) -> None:
    """Hermes knows store and core, store knows core, core knows neither."""
    layer = LAYERS.index(path.relative_to(ROOT).parts[0])
    above = set(LAYERS[layer + 1 :]) | {"tests"}
    wrong = [f"line {line}: {module}" for line, module in imports(path) if module.split(".")[0] in above]
    assert not wrong


@pytest.mark.parametrize("path", CORE, ids=name)
def test_the_core_computes_and_does_nothing_else(path: Path) -> None:
    """No module of the core does I/O, reads a clock, draws randomness, logs or starts threads."""
    allowed = PURE | {"harness_core"} | (TESTING_TOO if "testing" in path.relative_to(ROOT).as_posix() else frozenset())
    wrong = [f"line {line}: {module}" for line, module in imports(path) if module.split(".")[0] not in allowed]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("open", "print", "input", "exec", "eval", "__import__"):
            wrong.append(f"line {node.lineno}: {node.id}")
        if isinstance(node, ast.Attribute) and node.attr in ("now", "today", "utcnow"):
            wrong.append(f"line {node.lineno}: .{node.attr}")
    assert not wrong


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "disk.py"], ids=name)
def test_only_one_module_touches_the_disk_durably(path: Path) -> None:
    """Opening for writing, syncing, renaming and locking is all in harness_store/disk.py."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wrong = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in DURABLE and ast.unparse(node.value) in ("os", "fcntl")
    ]
    wrong += [f"line {line}: {module}" for line, module in imports(path) if module == "fcntl"]
    assert not wrong


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_no_module_is_too_long_to_read(path: Path) -> None:
    """A module of more than 700 lines is a sign that it holds two."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
