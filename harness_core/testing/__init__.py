"""For those who test an adapter of their own: strategies, and a state machine to point at it (needs hypothesis).

See docs/testing-your-adapter.md.
"""

from harness_core.testing.adapters import Adapter, Execution, SessionAdapter, ToolHarness, Tools
from harness_core.testing.faults import Breakage, breakages, broken, broken_arguments
from harness_core.testing.machine import CaseMachine, SessionMachine
from harness_core.testing.memory import Memory

__all__ = [
    "Adapter",
    "Breakage",
    "CaseMachine",
    "Execution",
    "Memory",
    "SessionAdapter",
    "SessionMachine",
    "ToolHarness",
    "Tools",
    "breakages",
    "broken",
    "broken_arguments",
]
