"""Running the demonstration and looking at what it left behind."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness_core.errors import HarnessError
from harness_core.vocabulary import Provenance
from harness_hermes import __version__
from harness_hermes.agent import Hermes, find, profile_in
from harness_hermes.installer import install
from harness_hermes.plugin.profiles import FOLDER
from harness_store import Harness

from .inquiry import AS_PREDICTED, CASE_ID, FILE_NAME, InquiryFailed, Step, steps
from .scripted import MODEL, Call, Message, Player, ScriptedModel, Turn, since_last_user

Say = Callable[[str, str], None]
"""Tells an onlooker: a word for what happened, and what it was."""

SESSION = "demo"


def demonstrate(host: str, say: Say, *, content: str = AS_PREDICTED) -> dict[str, Any]:
    """Run the inquiry on ``host`` ("hermes" or "library") over a file that holds ``content``, in a scratch folder.

    Gives the findings under the keys that ``epistemic-harness demo --json`` prints.  Raises ``HermesMissing``,
    ``InquiryFailed`` or a ``HarnessError``.
    """
    with tempfile.TemporaryDirectory(prefix="epistemic-harness-demo-", ignore_cleanup_errors=True) as scratch:
        home = Path(scratch).resolve()
        file = home / FILE_NAME
        file.write_text(content, encoding="utf-8")
        if host == "hermes":
            hermes = find()
            root, version = on_hermes(hermes, home, file, say)
        else:
            root, version = on_library(home, file, say)
        return {"host": host, "host_version": version, **examine(root, home, say)}


def on_library(home: Path, file: Path, say: Say) -> tuple[Path, str]:
    """The inquiry through ``Harness`` alone: the same steps, the look an ordinary function under ``execution``."""
    root = home / FOLDER
    harness = Harness(root)
    replies: dict[str, Any] = {}
    say("host", f"the library, {__version__}")
    for step in steps(file):
        if not step.needed(replies):
            break
        arguments = step.arguments(replies)
        if step.name == "look":
            with harness.execution(session_id=SESSION, tool_name=step.tool, args=arguments) as execution:
                reply = Path(arguments["path"]).read_text(encoding="utf-8")
                execution.observed(reply)
        else:
            reply = harness.tool(step.tool, arguments, session_id=SESSION)
        replies[step.name] = step.read(reply)
        say(*step.tell(replies))
    harness.close()
    return root, __version__


def on_hermes(hermes: Hermes, home: Path, file: Path, say: Say) -> tuple[Path, str]:
    """The inquiry by a real agent in a scratch profile: the model is a script, the rest is the agent's own work."""
    version = hermes.facts().version
    say("host", f"Hermes Agent {version}, {hermes.command}")
    profile = profile_in(home)
    install(profile)
    with ScriptedModel(player(steps(file), say)) as model:
        configure(profile, model.url)
        done = hermes.run("-z", f"Find out how many retries {FILE_NAME} allows.", home=home)
    if model.failures:
        raise InquiryFailed(str(model.failures[0])) from model.failures[0]
    if done.returncode or not model.requests:
        raise InquiryFailed(f"hermes ended with status {done.returncode}: {done.stderr[-1000:] or done.stdout[-1000:]}")
    return profile / FOLDER, version


def settings(model_url: str) -> dict[str, object]:
    """The host's settings for a scripted run: our model as the only provider, nothing sent anywhere."""
    return {
        "model": {
            "default": MODEL,
            "provider": "custom",
            "base_url": model_url,
            "api_key": "none",
            "context_length": 200_000,
        },
        "telemetry": {"shared_metrics": {"enabled": False, "send": False, "offer_version": 2}},
    }


def configure(profile: Path, url: str) -> None:
    """Give a scratch profile its settings, beside the plugin that is enabled in it already."""
    config = profile / "config.yaml"
    own = "".join(f"{key}: {json.dumps(value)}\n" for key, value in settings(url).items())
    config.write_text(own + config.read_text(encoding="utf-8"), encoding="utf-8")


def player(script: Sequence[Step], say: Say) -> Player:
    """The model's part: read what came back since the question, tell it once, send the next step."""
    told: set[str] = set()

    def play(messages: Sequence[Message]) -> Turn:
        results = [str(message["content"]) for message in since_last_user(messages) if message["role"] == "tool"]
        replies: dict[str, Any] = {}
        for step, reply in zip(script, results, strict=False):
            replies[step.name] = step.read(reply)
            if step.name not in told:
                told.add(step.name)
                say(*step.tell(replies))
        left = script[len(results) :]
        if not left or not left[0].needed(replies):
            return Turn("The inquiry is closed.")
        return Turn(left[0].name, [Call(left[0].tool, left[0].arguments(replies), deferrable=True)])

    return play


def examine(root: Path, scratch: Path, say: Say) -> dict[str, Any]:
    """Read the closed case back, verify its Timeline, then break one byte of a copy and see that it is noticed."""
    if not (root / "cases" / CASE_ID).is_dir():
        raise InquiryFailed("the host did not load the plugin: no case was opened")
    harness = Harness(root)
    case = harness.model({"operation": "show", "case_id": CASE_ID}, session_id=SESSION)["case"]
    observed = next(each for each in harness.timeline(CASE_ID) if each["type"] == "probe_observed")["payload"]
    replay = harness.replay(CASE_ID)
    harness.close()
    provenance = observed["raw_result_provenance"]
    note = "" if provenance == Provenance.NATIVE_HANDLER_RESULT else " (no boundary is proven on this host)"
    say("provenance", f"{provenance} at {observed['observation_boundary']}{note}")
    say("verified", f"{replay['timeline']['event_count']} records: {replay['reason']}")
    tampered = tamper(root, scratch / "tampered", say)
    return {
        "case_id": CASE_ID,
        "status": case["status"],
        "outcome": case["closure"]["outcome"],
        "calibration": case["closure"]["calibration"]["label"],
        "observation_boundary": observed["observation_boundary"],
        "raw_result_provenance": observed["raw_result_provenance"],
        "replay_usable": replay["usable"],
        "tamper_detected": tampered,
    }


def tamper(root: Path, copy: Path, say: Say) -> bool:
    """Change one byte of the recorded observation in a copy of the store; true where replay of the copy notices."""
    shutil.copytree(root, copy)
    timeline = copy / "cases" / CASE_ID / "events.jsonl"
    data = bytearray(timeline.read_bytes())
    at = data.index(b"probe_observed")
    at = data.index(b"retries", at) if b"retries" in data[at:] else at
    data[at] ^= 0x01
    timeline.write_bytes(data)
    harness = Harness(copy)
    try:
        replay = harness.replay(CASE_ID)
    except HarnessError as error:
        say("tampered", f"one byte of a copy changed: {error}")
        return True
    finally:
        harness.close()
    say("tampered", f"one byte of a copy changed: {replay.get('reason', '')}")
    return not replay["usable"]
