"""What holds on every proven host: one set of promises, kept by a real run on each.

``test_host_0_21.py`` and ``test_host_0_22.py`` run them, each on its own Hermes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness_hermes.agent import Hermes
from tests.hermes.faults import FAULTS
from tests.hermes.host import Profile, hosts
from tests.hermes.paths import OTHER
from tests.hermes.tables import column, walked


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest) -> Hermes:
    """The host that the module's ``VERSION`` names, or a skip that says which one is missing."""
    found = hosts()[request.module.VERSION]
    if found is None:
        pytest.skip(f"no Hermes {request.module.VERSION} is installed")
    return found


@pytest.fixture(scope="module")
def without(host: Hermes, tmp_path_factory: Maker) -> Mapping[str, Any]:
    """The talk in a host that has not loaded our plugin."""
    profile = Profile(tmp_path_factory.mktemp("without") / "home1", harness=False, plugins={"a-other": OTHER})
    return dict(profile.inside("tests.hermes.faults:without", host=host))


@pytest.fixture(scope="module")
def faulty(host: Hermes, tmp_path_factory: Maker) -> Mapping[str, Any]:
    """The same talk under each fault of ours."""
    profile = Profile(tmp_path_factory.mktemp("faults") / "home2", plugins={"a-other": OTHER})
    return dict(profile.inside("tests.hermes.faults:with_faults", host=host))


Maker = pytest.TempPathFactory
NAMED = {
    "a lock is held": "locked",
    "the disk is full": "No space left",
    "the state is unreadable": "Not a directory",
    "the case is damaged": "do not give its hash",
}
"""What the log line about a fault says; a planted exception says where it was planted."""


class OnHost:
    """The promises."""

    # --- capture on every path ---

    def test_each_path_is_recorded_as_the_document_says(
        self, host: Hermes, request: pytest.FixtureRequest, tmp_path_factory: Maker
    ) -> None:
        """docs/hermes.md says of every path where its result is taken and how far that is proven; a run agrees."""
        assert walked(tmp_path_factory.mktemp("paths") / "home", host) == column("paths", request.module.VERSION)

    # --- nothing of the host is ever harmed ---

    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_fault_of_ours_costs_the_host_nothing(
        self, without: Mapping[str, Any], faulty: Mapping[str, Any], fault: str
    ) -> None:
        """Whatever fails in a callback of ours: every message is that of a host without the plugin, no action ran a
        second time, and the log says what failed."""
        assert faulty[fault]["talk"] == without["talk"]
        assert faulty[fault]["ran"] == without["ran"]
        lines = faulty[fault]["log"]
        assert any(NAMED.get(fault, "Planted") in line for line in lines), lines
