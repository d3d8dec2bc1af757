"""The promises of on_host.py on Hermes 0.21.0."""

from __future__ import annotations

import pytest

from tests.hermes.on_host import OnHost, faulty, host, lived, without

__all__ = ["TestHermes021", "faulty", "host", "lived", "without"]

pytestmark = pytest.mark.hermes

VERSION = "0.21.0"


class TestHermes021(OnHost):
    """A real Hermes 0.21.0."""
