"""Measurements are made when they are asked for by their folder, and are no part of the normal test run."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave everything here alone, unless an argument names this folder."""
    return None if any("benchmarks" in argument for argument in config.args) else True
