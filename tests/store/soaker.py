"""A process that forks others which work on one store at random, for as long as they are let live.

Each line on standard input, ``{"root": ..., "seed": ..., "log": ..., "reads": ...}``, forks one, whose
``{"pid": ...}`` is printed.  A worker appends to its log what it was told: every acknowledged transition, and whatever
should not happen.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from harness_core.errors import Refused, Unavailable
from harness_store import Harness
from harness_store.fsck import Verdict, check_store
from tests.store.script import PROBE, SOURCE

SESSIONS = ("s0", "s1", "s2", "s3")
OFTEN = {"evidence": 6, "commit": 3, "act": 3, "compare": 3, "resume": 2}
CASES = tuple(f"c{number}" for number in range(12))


@define
class Worker:
    """One process at work."""

    root: Path
    draw: random.Random
    log: int
    harness: Harness = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.harness = Harness(self.root, wait=2.0)

    def work(self, operations: Mapping[str, Callable[[], Any]]) -> None:
        names = [name for name in operations for _ in range(OFTEN.get(name, 1))]
        while True:
            name = self.draw.choice(names)
            try:
                answer = operations[name]()
            except (Refused, Unavailable) as error:
                if not isinstance(error, Refused) and error.code not in ("locked", "changed"):
                    self.tell({"wrong": f"{name}: {error}"})
                continue
            except BaseException:
                self.tell({"wrong": f"{name}: {traceback.format_exc()}"})
                raise
            if isinstance(answer, Mapping):
                self.acknowledge(answer)

    def acknowledge(self, answer: Mapping[str, Any]) -> None:
        """Note every record that the answer shows as made."""
        case_id = answer.get("case", {}).get("case_id")
        if "prior_case_lessons" in answer:
            self.tell({"opened": case_id, "at": answer["case"]["created_at"]})
        for record in [*answer.get("events", []), *([answer["event"]] if "event" in answer else [])]:
            self.tell({"case": case_id, "record": dict(record)})

    def tell(self, what: Mapping[str, Any]) -> None:
        os.write(self.log, json.dumps(what).encode() + b"\n")

    # --- writing ---

    def session(self) -> str:
        return self.draw.choice(SESSIONS)

    def model(self, **args: Any) -> Any:
        return self.harness.model(args, session_id=self.session())

    def probe(self, **args: Any) -> Any:
        return self.harness.probe(args, session_id=self.session())

    def act(self) -> None:
        with self.harness.execution(session_id=self.session(), tool_name="read_file", args={"path": "a"}) as execution:
            if execution.recording:
                time.sleep(self.draw.random() / 200)
                record = execution.observed("42" * self.draw.choice((1, 10_000)))
                if record is not None:
                    self.tell({"case": None, "record": record})

    def writes(self) -> Mapping[str, Callable[[], Any]]:
        evidence = {"summary": "seen", **SOURCE}
        kinds = ("session_finalize", "session_reset")
        return {
            "open": lambda: self.model(operation="open", case_id=self.draw.choice(CASES), top_unknown="u"),
            "evidence": lambda: self.model(operation="record_evidence", evidence=[evidence] * self.draw.randint(1, 4)),
            "revise": lambda: self.model(operation="revise", reason="r", top_unknown=str(self.draw.random())),
            "commit": lambda: self.probe(operation="commit", **PROBE),
            "act": self.act,
            "compare": lambda: self.probe(
                operation="compare", disposition="match", rationale="r", belief_change="unchanged"
            ),
            "discard": lambda: self.probe(operation="discard", reason="r"),
            "recover": lambda: self.probe(operation="recover", reason="r"),
            "pause": lambda: self.model(operation="pause", reason="r"),
            "resume": lambda: self.model(operation="resume", case_id=self.draw.choice(CASES)),
            "leave": lambda: self.harness.pause_for_lifecycle(
                self.session(), kind=self.draw.choice(kinds), reason="x", wait=2.0
            ),
            "live": lambda: self.harness.proof_of_life(self.session(), wait=2.0),
            "inherit": lambda: self.harness.adopt_lineage("s3", ["s0", "s3"], wait=2.0),
            "close": lambda: (
                self.model(operation="close", outcome="unresolved", summary="s", transfer={"decision": "none"})
                if self.draw.random() < 0.1
                else None
            ),
            "look": self.look,
        }

    # --- reading ---

    def reads(self) -> Mapping[str, Callable[[], Any]]:
        return {
            "list": self.look,
            "show": self.show,
            "check": self.check,
            "context": lambda: self.harness.context(self.session(), 4_000),
        }

    def check(self) -> None:
        """The checker takes no lock, and calls nothing damaged that is only being written."""
        case_id = self.draw.choice(CASES)
        for report in check_store(self.root, case_id).cases:
            wrong = [check for check in report.checks if check.verdict is Verdict.VIOLATED]
            if wrong:
                self.tell({"wrong": f"fsck of {case_id}: {wrong}"})

    def look(self) -> None:
        errors = self.harness.model({"operation": "list", "limit": 200}, session_id="reader")["case_errors"]
        if errors:
            self.tell({"wrong": f"list: {errors}"})

    def show(self) -> None:
        """Any case, now and as of an earlier point: a whole state that its own count names, and nothing amiss."""
        case_id = self.draw.choice(CASES)
        replay = self.harness.replay(case_id)
        if not replay["timeline"]["valid"] or not replay["case_snapshot"]["valid"] or replay["violations"]:
            self.tell({"wrong": f"replay of {case_id}: {replay}"})
        count = replay["timeline"]["event_count"]
        owner = self.harness.model({"operation": "list", "limit": 200}, session_id="reader")["cases"]
        session = next((row["session_id"] for row in owner if row["case_id"] == case_id), "reader")
        as_of = self.draw.randint(1, count)
        shown = self.harness.model({"operation": "show", "case_id": case_id, "as_of": as_of}, session_id=session)
        if shown["case"]["event_count"] != as_of:
            self.tell({"wrong": f"{case_id} as of {as_of} has {shown['case']['event_count']} events"})


def serve() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the killed
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            log = os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            worker = Worker(Path(request["root"]), random.Random(request["seed"]), log)
            try:
                worker.work(worker.reads() if request["reads"] else worker.writes())
            finally:
                os._exit(1)
        print(json.dumps({"pid": pid}), flush=True)


if __name__ == "__main__":
    serve()
