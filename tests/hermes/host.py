"""Scratch profiles of a real Hermes: write one, give it plugins, run it against a script, read what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from harness_hermes.agent import Hermes, HermesMissing, environment, find, profile_in
from harness_hermes.demo.run import settings
from harness_hermes.demo.scripted import Call, Player, ScriptedModel, since_last_user
from harness_hermes.installer import install
from harness_store import Harness

ROOT = Path(__file__).resolve().parents[2]

SPY = """
import contextvars, json, os, pathlib, threading
LOG = pathlib.Path(os.environ["HERMES_HOME"]) / "spy.jsonl"
INSIDE = contextvars.ContextVar("spy", default="")
IDS = ("session_id", "task_id", "turn_id", "api_request_id", "tool_call_id")
RETURNED = {"two": threading.Event(), "three": threading.Event()}
HOLDING = threading.Lock()
def note(seam, kw, **more):
    ids = [str(kw.get(name) or "") for name in IDS]
    line = {"seam": seam, "tool": kw.get("tool_name"), "ids": ids, "inside": INSIDE.get() == ids[-1] != "",
            "args": kw.get("args"), "result": kw.get("result"), "status": kw.get("status")}
    with LOG.open("a") as f:
        f.write(json.dumps({**line, **more}) + "\\n")
def middleware(**kw):
    note("before", kw)
    token = INSIDE.set(str(kw.get("tool_call_id") or ""))
    try:
        result = kw["next_call"](kw["args"])
    finally:
        INSIDE.reset(token)
    note("after", kw, result=result)
    if kw.get("tool_call_id") in RETURNED:
        RETURNED[kw["tool_call_id"]].set()
    return result
def post(**kw):
    note("post", kw)
    call = kw.get("tool_call_id")
    if call in RETURNED and HOLDING.acquire(blocking=False):
        next(done for other, done in RETURNED.items() if other != call).wait(60)
def register(ctx):
    ctx.register_middleware("tool_execution", middleware)
    ctx.register_hook("post_tool_call", post)
    ctx.register_hook("transform_tool_result", lambda **kw: note("transform", kw))
"""
"""A plugin that writes down which seam saw what, and whether that was inside its own middleware's call.

Of two calls named ``two`` and ``three`` in one batch, the report of the first to be reported lasts until the other call
has returned: what a host does with reports that overlap is seen on every run, not on one in twenty."""

REWRITER = """
def rewrite(tool_name="", result=None, **kw):
    return "REWRITTEN" if tool_name in ("read_file", "clarify", "memory", "todo_list", "todo") else None
def register(ctx):
    ctx.register_hook("transform_tool_result", rewrite)
"""
"""A plugin that replaces every ordinary result the model would see."""

BLOCKER = """
def register(ctx):
    ctx.register_hook("pre_tool_call", lambda tool_name="", **kw:
        {"action": "block", "message": "not today"} if tool_name == "read_file" else None)
"""
"""A plugin that lets no file be read."""

MEDDLER = """
def register(ctx):
    ctx.register_middleware("tool_execution", lambda **kw:
        kw["next_call"](kw["args"]) if kw["tool_name"] != "clarify" else "MEDDLED")
"""
"""A plugin whose middleware answers in the tool's place."""


def hosts() -> dict[str, Hermes | None]:
    """The hosts that the tests know, by version; ``None`` where one is not installed.

    0.22.2 stands beside this Python.  A second one cannot: 0.21 has an environment of its own within this one's folder,
    which the test command of README.md makes.
    """
    older = Path(sys.prefix) / "hermes-0.21" / "bin" / "hermes"
    try:
        beside: Hermes | None = find()
    except HermesMissing:
        beside = None
    return {"0.22.2": beside, "0.21.0": Hermes(older) if older.exists() else None}


def packages(host: Hermes) -> Path:
    """The folder that a host is installed in."""
    return next((host.command.parents[1] / "lib").glob("python3*/site-packages"))


def bridged(name: str, arguments: Mapping[str, Any]) -> Call:
    """A call of a deferred tool, through the host's bridge."""
    return Call("tool_call", {"calls": [{"name": name, "arguments": arguments}]})


@frozen
class Run:
    """One run: what the model was asked, what came out, what the spy wrote down."""

    requests: Sequence[Mapping[str, Any]]
    output: str
    errors: str
    status: int
    seen: Sequence[Mapping[str, Any]] = field(factory=tuple)

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The whole talk as the model last saw it, less the system prompt."""
        return [each for each in self.requests[-1]["messages"] if each["role"] != "system"]

    @property
    def results(self) -> list[str]:
        """The tool results of the last turn, in order, as the model saw them."""
        return [each["content"] for each in since_last_user(self.messages) if each["role"] == "tool"]

    def seams(self, tool: str) -> list[Mapping[str, Any]]:
        """What the spy saw of one tool, in order."""
        return [line for line in self.seen if line["tool"] == tool]


class Profile:
    """A scratch home with a Hermes profile in it."""

    def __init__(
        self,
        home: Path,
        *,
        harness: bool = True,
        plugins: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.home = home
        self.extra = dict(extra or {})
        self.hermes_home = profile_in(home)
        self.hermes_home.mkdir(parents=True)
        self.enabled = list(plugins or {})
        for name, source in (plugins or {}).items():
            folder = self.hermes_home / "plugins" / name
            folder.mkdir(parents=True)
            (folder / "__init__.py").write_text(source, encoding="utf-8")
            manifest = {"name": name, "version": "1", "description": "test", "kind": "standalone"}
            (folder / "plugin.yaml").write_text(json.dumps(manifest), encoding="utf-8")
        self.configure("http://127.0.0.1:9/v1")
        if harness:
            install(self.hermes_home)
            self.enabled.append("epistemic-harness")

    def configure(self, url: str) -> None:
        """Write the settings, with the model at this address."""
        plugins = {"enabled": self.enabled, **self.extra.get("plugins", {})}
        text = json.dumps({**settings(url), **self.extra, "plugins": plugins})
        (self.hermes_home / "config.yaml").write_text(text, encoding="utf-8")

    def run(self, player: Player, *, prompt: str = "please look", session: str = "", host: Hermes | None = None) -> Run:
        """Let the model of this script talk to a real one-shot Hermes; ``session`` continues an earlier one."""
        spied = self.hermes_home / "spy.jsonl"
        spied.unlink(missing_ok=True)
        with ScriptedModel(player) as model:
            self.configure(model.url)
            resume = ("--resume", session) if session else ()
            done = (host or find()).run("-z", prompt, *resume, home=self.home)
        assert not model.failures, model.failures
        lines = spied.read_text(encoding="utf-8").splitlines() if spied.exists() else []
        return Run(model.requests, done.stdout, done.stderr, done.returncode, [json.loads(line) for line in lines])

    @property
    def root(self) -> Path:
        """Where the plugin keeps its state."""
        return self.hermes_home / "epistemic-harness"

    @property
    def harness(self) -> Harness:
        """A harness of our own over the plugin's state."""
        return Harness(self.root)

    def events(self, case_id: str, kind: str = "") -> list[dict[str, Any]]:
        """The records of a case's Timeline, of one type where ``kind`` names it."""
        return [dict(each) for each in self.harness.timeline(case_id) if kind in ("", each["type"])]

    def file(self, name: str, text: str) -> Path:
        """A file for the agent to read."""
        path = self.home / name
        path.write_text(text, encoding="utf-8")
        return path

    def inside(self, scene: str, *, host: Hermes | None = None, before: Sequence[str] = (), **arguments: Any) -> Any:
        """Play a scene ("module:function") inside a real Hermes (by default the one beside this Python).

        ``before`` is put before the command.
        """
        done = subprocess.run(
            [*before, (host or find()).interpreter(), "-m", "tests.hermes.inside", scene, json.dumps(arguments)],
            cwd=ROOT,
            env={**environment(self.home), "PYTHONPATH": str(ROOT), "TERMINAL_CWD": str(self.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return json.loads(done.stdout.splitlines()[-1])

    def python(self, code: str, *arguments: str, host: Hermes | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python code inside this profile, in a process of its own."""
        return subprocess.run(
            [host.interpreter() if host else sys.executable, "-c", code, *arguments],
            env={
                **environment(self.home),
                "PYTHONPATH": str(ROOT) if host else os.pathsep.join(filter(None, sys.path)),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
