"""A process that carries out one operation on request, in a child that waits until it is watched.

Lines of JSON on standard input and output: ``{"root": ..., "name": ...}`` is answered with the child's
``{"pid": ...}``; an empty line lets it go; then its outcome follows.  Everything is imported before, so that what the
child does with the file system from then on is the operation and nothing else.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from attrs import asdict

from harness_store.disk import PosixDisk
from tests.store.script import Process, said_of, take_up


def child(request: dict[str, Any], go: int, result: int) -> None:
    process = Process(PosixDisk(), Path(request["root"]))
    take_up(process, request["name"])
    os.read(go, 1)
    os.write(result, json.dumps(asdict(said_of(request["name"], process))).encode())


def serve() -> None:
    for line in sys.stdin:
        (go, let_go), (answer, result) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                child(json.loads(line), go, result)
            finally:
                os._exit(0)
        os.close(go)
        os.close(result)
        print(json.dumps({"pid": pid}), flush=True)
        sys.stdin.readline()
        os.write(let_go, b".")
        os.close(let_go)
        said = os.read(answer, 1 << 16)
        os.close(answer)
        os.waitpid(pid, 0)
        print(said.decode() or json.dumps({"word": "killed", "written": "unknown"}), flush=True)


if __name__ == "__main__":
    serve()
