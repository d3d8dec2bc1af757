"""An editor that speaks the Agent Client Protocol with a real Hermes: a host that never tells of a session's end."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from harness_hermes.agent import environment, find
from harness_hermes.demo.scripted import Call, Message, ScriptedModel, Turn, play
from tests.hermes.host import Profile
from tests.hermes.test_the_loop import commit, opening, payload

pytestmark = [
    pytest.mark.hermes,
    pytest.mark.skipif(find_spec("acp") is None, reason="agent-client-protocol is not installed"),
]


@define
class Editor:
    """One side of the talk: asks, reads along until the answer is there, and allows whatever the agent asks for."""

    _process: subprocess.Popen[str]
    _asked: int = field(default=0, init=False)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a request.  Raises ``AssertionError`` where it is refused, or the agent is gone."""
        self._asked += 1
        self._say(id=self._asked, method=method, params=parameters)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if said.get("id") == self._asked and "method" not in said:
                assert "error" not in said, said
                return dict(said["result"] or {})
            if said.get("method") == "session/request_permission":
                chosen = {"outcome": "selected", "optionId": said["params"]["options"][0]["optionId"]}
                self._say(id=said["id"], result={"outcome": chosen})
        raise AssertionError(f"the agent has ended: {self._process.poll()}")

    def _say(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@contextlib.contextmanager
def editing(profile: Profile) -> Iterator[Editor]:
    """An editor with a Hermes of its own, which is killed at the end as editors do."""
    with (profile.home / "acp.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [str(find().command), "acp"],
            cwd=profile.home,
            env=environment(profile.home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            editor = Editor(process)
            editor.ask("initialize", protocolVersion=1, clientCapabilities={})
            yield editor
        finally:
            process.kill()
            process.communicate()


def test_an_editors_session_is_captured_stays_active_and_finds_its_case_again(tmp_path: Path) -> None:
    """Under the protocol's own session id a look is captured and proven; when the editor goes away nothing is paused,
    and the next editor that loads the session is told the case."""
    profile = Profile(tmp_path / "home")
    look = {"path": str(profile.file("look.txt", "in look\n"))}
    inquiry = play(
        Turn("open", [opening("edited")]),
        Turn("commit", [commit("read_file", look, "system_state")]),
        Turn("read", [Call("read_file", look)]),
        Turn("done"),
    )

    def asked(messages: Sequence[Message]) -> str:
        return [str(each["content"]) for each in messages if each["role"] == "user"][-1]

    def script(messages: Sequence[Message]) -> Turn:
        return Turn("done") if "go on" in asked(messages) else inquiry(messages)

    with ScriptedModel(script) as model:  # one for both: a session keeps the address of its model
        profile.configure(model.url)
        with editing(profile) as editor:
            session = editor.ask("session/new", cwd=str(profile.home), mcpServers=[])["sessionId"]
            prompt = [{"type": "text", "text": "please look"}]
            assert editor.ask("session/prompt", sessionId=session, prompt=prompt)["stopReason"] == "end_turn"
        assert {event["session_id"] for event in profile.events("edited")} == {session}
        assert payload(profile, "probe_observed", "edited")["raw_result_provenance"] == "native_handler_result"
        assert not profile.events("edited", "case_paused")
        with editing(profile) as editor:
            editor.ask("session/load", sessionId=session, cwd=str(profile.home), mcpServers=[])
            editor.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go on"}])
        assert "[ACTIVE EPISTEMIC CASE edited]" in asked(model.requests[-1]["messages"])
