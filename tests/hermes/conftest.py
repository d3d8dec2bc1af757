"""Everything here runs a real Hermes Agent, and says so where there is none."""

from __future__ import annotations

import pytest

from harness_hermes.agent import HermesMissing, find


def _missing() -> str:
    try:
        find()
    except HermesMissing as error:
        return str(error)
    return ""


MISSING = _missing()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked ``hermes`` where no Hermes is installed."""
    for item in items:
        if MISSING and item.get_closest_marker("hermes"):
            item.add_marker(pytest.mark.skip(reason=MISSING))
