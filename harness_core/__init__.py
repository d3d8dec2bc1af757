"""The pure core of the epistemic harness: claims, plan, probes and the Timeline's meaning.

Three functions carry it: ``decide`` (what a command makes happen), ``evolve`` (the case after one event) and ``fold``
(the case after many).  Nothing here touches a disk, a clock, randomness, a log or a thread.
"""

from harness_core.case import Case, document
from harness_core.decider import Moment, decide
from harness_core.errors import Damaged, Fault, HarnessError, Refused, Unavailable
from harness_core.events import Event
from harness_core.evolution import evolve, fold
from harness_core.invariants import INVARIANTS
from harness_core.replay import audit, report

__all__ = [
    "INVARIANTS",
    "Case",
    "Damaged",
    "Event",
    "Fault",
    "HarnessError",
    "Moment",
    "Refused",
    "Unavailable",
    "audit",
    "decide",
    "document",
    "evolve",
    "fold",
    "report",
]
