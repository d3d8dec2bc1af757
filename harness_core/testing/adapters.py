"""What the machine needs of an implementation, and the adapter for one that offers the JSON tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from harness_core.errors import Refused
from harness_core.vocabulary import Provenance, ResultStatus


class Execution(AbstractContextManager[Any], Protocol):
    """One real action of a host, entered when the action begins and left when it has ended."""

    @property
    def recording(self) -> bool:
        """Whether the action is the one that was committed; False where it is an ordinary one."""

    @property
    def blocked(self) -> str | None:
        """The text to give instead of running the action; None where it may run."""

    def observed(self, result: Any, *, provenance: Provenance = ..., status: ResultStatus | None = None) -> object:
        """Record what the action returned.  Only the first report counts."""

    def exposed(self, display: Any) -> object:
        """Record that something else than the observed text was handed on."""


class Adapter(Protocol):
    """An implementation of the harness, however it keeps its cases.

    ``harness_core.testing.Memory`` is one; ``Tools`` makes one of anything that answers the JSON tools.
    """

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        """Answer ``epistemic_model`` or ``epistemic_probe``.  A refusal is an answer with ``error``, ``code`` and
        ``fields``."""

    def execution(self, session_id: str, tool_name: str, args: Mapping[str, Any]) -> Execution:
        """One ordinary tool call of that session, about to run."""

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        """The records of a case, oldest first; none where there is no such case."""

    def close(self) -> None:
        """Let go of everything."""


class SessionAdapter(Adapter, Protocol):
    """An adapter whose host also tells what becomes of its sessions."""

    def pause_for_lifecycle(self, session_id: str, kind: str, reason: str) -> object:
        """The session ended or was left (``kind``: a word of ``vocabulary.Lifecycle``)."""

    def proof_of_life(self, session_id: str) -> object:
        """The session showed a sign of life."""

    def adopt_lineage(self, session_id: str, lineage: Sequence[str]) -> object:
        """The session continues others after compression; ``lineage`` runs from root to tip."""


class ToolHarness(Protocol):
    """What ``Tools`` needs: the methods of ``harness_store.Harness`` by these names."""

    def tool(self, name: str, args: Any, *, session_id: str) -> str: ...

    def execution(self, *, session_id: str, tool_name: str, args: Mapping[str, Any]) -> Any: ...

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]: ...

    def pause_for_lifecycle(self, session_id: str, *, kind: str, reason: str = ...) -> object: ...

    def proof_of_life(self, session_id: str) -> object: ...

    def adopt_lineage(self, session_id: str, lineage: Sequence[str]) -> object: ...

    def close(self) -> None: ...


class Tools:
    """An adapter for a harness whose tools take and answer JSON, such as ``harness_store.Harness``.

    Arguments and answers go through JSON text, as they do at a host.  ``harness.timeline`` may raise ``Refused`` for a
    case that is not there.
    """

    def __init__(self, harness: ToolHarness) -> None:
        self.harness = harness

    def tool(self, name: str, arguments: Mapping[str, Any], session_id: str) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = json.loads(
            self.harness.tool(name, json.loads(json.dumps(arguments)), session_id=session_id)
        )
        return answer

    def execution(self, session_id: str, tool_name: str, args: Mapping[str, Any]) -> Execution:
        found: Execution = self.harness.execution(session_id=session_id, tool_name=tool_name, args=args)
        return found

    def timeline(self, case_id: str) -> Sequence[Mapping[str, Any]]:
        try:
            return self.harness.timeline(case_id)
        except Refused:
            return ()

    def pause_for_lifecycle(self, session_id: str, kind: str, reason: str) -> object:
        return self.harness.pause_for_lifecycle(session_id, kind=kind, reason=reason)

    def proof_of_life(self, session_id: str) -> object:
        return self.harness.proof_of_life(session_id)

    def adopt_lineage(self, session_id: str, lineage: Sequence[str]) -> object:
        return self.harness.adopt_lineage(session_id, lineage)

    def close(self) -> None:
        self.harness.close()
