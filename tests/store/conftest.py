"""Properties of the store say what holds, not how fast: a slow machine must not fail them."""

from hypothesis import settings

settings.register_profile("store", settings.default, deadline=None)
settings.load_profile("store")
