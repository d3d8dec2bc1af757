"""What an ordinary tool call costs more in a Hermes with our plugin asleep than with one that does nothing.

``python -m tests.hermes.overhead`` prints the figures of docs/hermes.md.  It is a measurement and no test.
"""

from __future__ import annotations

import compileall
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.hermes.host import ROOT, Profile, hosts
from tests.hermes.inside import Desk

EMPTY = """
def around(**kw):
    return kw["next_call"](kw["args"])
def nothing(**kw):
    return None
def register(ctx):
    ctx.register_middleware("tool_execution", around)
    for hook in ("pre_llm_call", "post_tool_call", "transform_tool_result", "subagent_stop", "on_session_reset",
                 "on_session_finalize"):
        ctx.register_hook(hook, nothing)
"""
"""A plugin that registers what ours does and does nothing."""

ROUNDS, CALLS = 15, 200
INLINE = {"plugins": {"hook_callback_timeout": 0}}
"""Hooks on the caller's thread: what the host's own thread for each of them costs varies more than all we measure."""


def measure(desk: Desk) -> dict[str, Any]:
    """Microseconds of processor time of a call through the host's middleware and its two hooks."""
    from hermes_cli.middleware import run_tool_execution_middleware

    ids = {"session_id": "s", "task_id": "t", "turn_id": "u", "api_request_id": "r", "tool_call_id": "c"}
    args = {"path": "a"}

    def call() -> None:
        run_tool_execution_middleware("read_file", args, lambda given: "ok", **ids)

    def hooks() -> None:
        for hook in ("post_tool_call", "transform_tool_result"):
            desk.plugins.invoke_hook(hook, tool_name="read_file", args=args, result="ok", status="ok", **ids)

    for number in range(20):  # a store that is in use; the session measured has no case
        desk.harness.model({"operation": "open", "case_id": f"c{number}", "top_unknown": "x"}, session_id=f"s{number}")

    found = {}
    for name, act in (("middleware", call), ("hooks", hooks)):
        act()
        rounds = []
        for _ in range(ROUNDS):
            begun = time.thread_time()
            for _ in range(CALLS):
                act()
            rounds.append((time.thread_time() - begun) / CALLS * 1e6)
        found[name] = min(rounds)
        found[f"{name}, median"] = statistics.median(rounds)
    return found


LOADING = """
import time
import hermes_cli.plugins, model_tools, run_agent
class Context:
    def __getattr__(self, name):
        return lambda *args, **kw: None
begun = time.thread_time()
import harness_hermes
harness_hermes.register(Context())
print((time.thread_time() - begun) * 1000)
"""
"""Importing and registering our plugin in a process that has loaded the host."""


def main() -> None:
    """Print the figures for each host."""
    for package in ("harness_core", "harness_store", "harness_hermes"):  # as pip leaves a package that it installs
        compileall.compile_dir(ROOT / package, quiet=1)
    for version, host in hosts().items():
        if host is None:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            empty = Profile(Path(scratch) / "empty", harness=False, plugins={"empty": EMPTY}, extra=INLINE)
            without = empty.inside("tests.hermes.overhead:measure", host=host)
            profile = Profile(Path(scratch) / "ours", extra=INLINE)
            ours = profile.inside("tests.hermes.overhead:measure", host=host)
            loading = min(float(empty.python(LOADING, host=host).stdout.split()[-1]) for _ in range(3))
        print(f"{version}: loading {loading:.0f} ms")
        for name, ours_us in ours.items():
            print(f"  {name:20} {without[name]:8.1f} us empty, {ours_us:8.1f} us ours, {ours_us - without[name]:+8.1f}")


if __name__ == "__main__":
    main()
