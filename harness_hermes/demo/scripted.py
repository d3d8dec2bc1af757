"""A scripted model on loopback: the chat-completions protocol, answered by a function instead of a mind.

It lets a real agent run without a network and without an account.  The function gets the messages of a request and
says the assistant's next turn; everything else, tools included, is the agent's own work.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from attrs import frozen

MODEL = "scripted-model"
Message = Mapping[str, Any]


@frozen
class Call:
    """One tool call of a turn: the tool's name and its arguments.  ``id`` is made up where it is left out.

    ``deferrable``: the host may keep the tool off its list; where the list offers its bridge in place of the tool, the
    call goes through the bridge.
    """

    name: str
    arguments: Mapping[str, Any]
    id: str = ""
    deferrable: bool = False


@frozen
class Turn:
    """What the model says next: a text, tool calls, or both."""

    content: str = ""
    calls: Sequence[Call] = ()


Player = Callable[[Sequence[Message]], Turn]
"""The messages of a request in, the next turn out."""


def since_last_user(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages after the last one of the user: what this turn has done so far."""
    last = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    return messages[last + 1 :]


def play(*turns: Turn) -> Player:
    """A player that says these turns one after the other, and the last one for ever after."""

    def player(messages: Sequence[Message]) -> Turn:
        said = sum(1 for message in since_last_user(messages) if message.get("role") == "assistant")
        return turns[min(said, len(turns) - 1)]

    return player


class Server(ThreadingHTTPServer):
    """A server to which a caller who goes away is no error: a host closes the connections it keeps when it ends."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class ScriptedModel:
    """The server; use it in a ``with`` statement.  ``url`` is the base address, ``requests`` what was asked so far."""

    def __init__(self, player: Player) -> None:
        self.requests: list[dict[str, Any]] = []
        self.failures: list[Exception] = []
        self._player = player
        self._server = Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address that goes into a host's ``base_url`` setting."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: dict[str, Any]) -> Turn:
        """The next turn for a request.  One without tools is the host's own side question (a title, a summary)."""
        if not request.get("tools"):
            return Turn("A scripted conversation")
        self.requests.append(request)
        try:
            return self._player(request.get("messages") or [])
        except Exception as error:  # noqa: BLE001 - the player runs in a server thread: its failure must end the talk
            self.failures.append(error)
            return Turn(f"The script failed: {type(error).__name__}: {error}")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
                """Say nothing: the agent's own output is the log."""

            def do_GET(self) -> None:
                models = [{"id": MODEL, "object": "model", "owned_by": "script", "context_length": 200_000}]
                self._send({"object": "list", "data": models})

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                turn = model.answer(request)
                if not request.get("stream"):
                    self._send(completion(request, turn))
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for chunk in chunks(request, turn):
                    self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def _send(self, body: Mapping[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler


def completion(request: Mapping[str, Any], turn: Turn) -> dict[str, Any]:
    """A whole answer, for a request that does not stream."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if turn.calls:
        message["tool_calls"] = _tool_calls(request, turn)
    choice = {"index": 0, "message": message, "finish_reason": _finish(turn)}
    return {**_head("chat.completion"), "choices": [choice], "usage": _usage(request)}


def chunks(request: Mapping[str, Any], turn: Turn) -> Iterator[dict[str, Any]]:
    """The same answer in pieces, for a request that streams."""

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**_head("chat.completion.chunk"), "choices": [choice]}

    yield chunk({"role": "assistant", "content": turn.content})
    for index, call in enumerate(_tool_calls(request, turn)):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, _finish(turn))
    yield {**_head("chat.completion.chunk"), "choices": [], "usage": _usage(request)}


def _head(kind: str) -> dict[str, Any]:
    return {"id": "scripted", "object": kind, "created": 0, "model": MODEL}


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _usage(request: Mapping[str, Any]) -> dict[str, int]:
    read = len(json.dumps(request.get("messages"))) // 4
    return {"prompt_tokens": read, "completion_tokens": 16, "total_tokens": read + 16}


def _tool_calls(request: Mapping[str, Any], turn: Turn) -> list[dict[str, Any]]:
    """The calls on the wire.  An id that the script does not give is made from the length of the talk."""
    length = len(request.get("messages") or [])
    offered = {str(tool.get("function", {}).get("name")) for tool in request.get("tools") or []}
    return [
        {"id": call.id or f"call_{length}_{number}", "type": "function", "function": _function(call, offered)}
        for number, call in enumerate(turn.calls)
    ]


BRIDGE = "tool_call"
"""The tool through which a host lets a model call those that it keeps off the list."""


def _function(call: Call, offered: Container[str]) -> dict[str, str]:
    """Name and arguments as this request's list of tools has them, in the shape that 0.21 and 0.22 know."""
    bridged = call.deferrable and call.name not in offered and BRIDGE in offered
    name = BRIDGE if bridged else call.name
    return {
        "name": name,
        "arguments": json.dumps({"name": call.name, "arguments": call.arguments} if bridged else call.arguments),
    }
