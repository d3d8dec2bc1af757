"""For those who test an adapter of their own: strategies, and a state machine to point at it (needs hypothesis).

* ``values``: texts, claims, plans, evidence, the arguments of ordinary tools;
* ``requests``: whole calls of the two tools that fit a case as it stands;
* ``faults``: everything that can be wrong with the form of a call;
* ``sessions``: everything that a model and its host do with one case;
* ``machine``: the state machine, for an implementation behind an ``Adapter``.

docs/testing-your-adapter.md shows how they are used.
"""

from harness_core.testing.adapters import Adapter, Execution, SessionAdapter, ToolHarness, Tools
from harness_core.testing.faults import Breakage, breakages, broken, broken_arguments
from harness_core.testing.machine import CaseMachine, SessionMachine
from harness_core.testing.memory import Memory
from harness_core.testing.requests import sound_arguments
from harness_core.testing.sessions import Action, Call, play, sessions, timelines, unfinished
from harness_core.testing.values import Known, claims, evidence, models, plans, texts, tool_arguments

__all__ = [
    "Action",
    "Adapter",
    "Breakage",
    "Call",
    "CaseMachine",
    "Execution",
    "Known",
    "Memory",
    "SessionAdapter",
    "SessionMachine",
    "ToolHarness",
    "Tools",
    "breakages",
    "broken",
    "broken_arguments",
    "claims",
    "evidence",
    "models",
    "plans",
    "play",
    "sessions",
    "sound_arguments",
    "texts",
    "timelines",
    "tool_arguments",
    "unfinished",
]
