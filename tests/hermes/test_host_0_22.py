"""The promises of on_host.py on Hermes 0.22.2."""

from __future__ import annotations

import pytest

from tests.hermes.on_host import OnHost, faulty, host, lived, without

__all__ = ["TestHermes022", "faulty", "host", "lived", "without"]

pytestmark = pytest.mark.hermes

VERSION = "0.22.2"


class TestHermes022(OnHost):
    """A real Hermes 0.22.2."""
