"""The epistemic harness as a Hermes Agent sees it: ``register(ctx)`` and nothing else.

Hermes loads this folder in two ways: as the module that the ``hermes_agent.plugins`` entry point names, and, beside
its ``plugin.yaml``, as a plugin directory.  In the second case it is imported under another name, so everything that
``register`` needs is reached by relative imports.
"""

from .plugin import register

__all__ = ["__version__", "register"]

__version__ = "0.1.0"
