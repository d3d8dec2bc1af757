"""What holds for every test: nobody's own home is touched, and Hypothesis runs without a clock.

``HYPOTHESIS_PROFILE=thorough`` tries many more examples than the default ``quick``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("quick", deadline=None)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(autouse=True, scope="session")
def scratch_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home of the test run's own, so that no test can read or write a person's Hermes profile."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("HERMES_HOME", str(home / "hermes"))
        yield
