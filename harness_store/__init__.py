"""The store of the epistemic harness: Timelines on disk, crash-safe, and the engine that embeds the core.

``Harness`` is the one object an embedder needs::

    from harness_store import Harness

    harness = Harness(root)
    harness.model({"operation": "open", "case_id": "c1", "top_unknown": "..."}, session_id="s1")
"""

from harness_core.errors import Damaged, HarnessError, Refused, Unavailable
from harness_core.vocabulary import Boundary, Provenance, ResultStatus
from harness_store.engine import Harness
from harness_store.execution import Execution
from harness_store.tools import GENERATION

__all__ = [
    "GENERATION",
    "Boundary",
    "Damaged",
    "Execution",
    "Harness",
    "HarnessError",
    "Provenance",
    "Refused",
    "ResultStatus",
    "Unavailable",
]
