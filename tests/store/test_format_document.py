"""What a reader of docs/format.md may rely on: its examples are one whole store, and its program verifies it.

``HARNESS_WRITE_DOCS=1`` prints the examples anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness_store import Harness
from harness_store.fsck import check_store
from tests.store.golden import EVIDENCE, GOLDEN, Files, files_of
from tests.store.script import Process
from tests.store.simulator import SimulatedDisk, Volume

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "format.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
EXAMPLE = re.compile(
    r"<!-- example: (?P<path>\S+) -->\n(?:(?P<fence>`{3,4})\n(?P<content>.*?)(?P=fence)\n)?", re.DOTALL
)
NAMED = [
    "format.json",
    "cases/c1/events.jsonl",
    "cases/c1/case.md",
    "cases/c1/.receipt",
    "cases/c1/.index",
    "sessions.json",
    ".store.lock",
]


def store() -> Files:
    """The store of the examples: one case, opened with one piece of evidence and one claim."""
    process = Process(SimulatedDisk(Volume()))
    process.model(
        operation="open",
        case_id="c1",
        top_unknown="How many retries are set?",
        initial_evidence=[{"id": "I1", **EVIDENCE}],
        mechanisms=[{"id": "M1", "text": "42 \N{EM DASH} as always"}],
    )
    return files_of(process.disk.volume)  # type: ignore[attr-defined]  # a simulated one


def examples() -> Files:
    return {found["path"]: (found["content"] or "").encode() for found in EXAMPLE.finditer(TEXT)}


def test_the_examples_are_what_the_store_writes() -> None:
    """Every example is, to the byte, the file that the store makes of the same call."""
    made = store()

    def printed(found: re.Match[str]) -> str:
        return f"<!-- example: {found['path']} -->\n````\n{made[found['path']].decode()}````\n"

    if os.environ.get("HARNESS_WRITE_DOCS"):
        DOCUMENT.write_text(EXAMPLE.sub(printed, TEXT), encoding="utf-8")
        return
    assert list(examples()) == NAMED
    assert examples() == {path: made[path] for path in NAMED}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store that has nothing but the examples."""
    for path, content in examples().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    return tmp_path


def test_the_examples_make_a_store(root: Path) -> None:
    """Laid out as files they are checked, shown, and gone on with; only the archive is missing, which is for people."""
    report = check_store(root)
    assert report.sound
    assert report.cases[0].untidy == ("archive/case-v0001.md is missing",)
    harness = Harness(root)
    assert harness.model({"operation": "show"}, session_id="s1")["replay"]["usable"]
    harness.model({"operation": "record_evidence", "evidence": [EVIDENCE]}, session_id="s1")
    assert check_store(root).sound


def test_the_documented_program_verifies_a_log(root: Path) -> None:
    """The ten lines of the document accept the example, give its last hash, and reject any change of it."""
    found = re.search(r"<!-- verify -->\n```python\n(.*?)```", TEXT, re.DOTALL)
    assert found
    log = root / "cases/c1/events.jsonl"

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", found[1], str(log)], capture_output=True, text=True, check=False)

    whole = log.read_bytes()
    assert run().stdout.strip().encode() in whole.splitlines()[-1]
    log.write_bytes(whole.replace(b"retries", b"restart"))
    assert run().returncode == 1


def test_every_file_of_a_store_is_documented() -> None:
    """Whatever the store leaves on disk in a session's life has a row in the table of the document."""
    rows = re.findall(r"^\| (`[^|]*)\|", TEXT, re.MULTILINE)
    patterns = [pattern for row in rows for pattern in re.findall(r"`([^`]+)`", row)]
    patterns += [f"cases/<id>/{pattern}" for pattern in patterns if pattern.startswith("archive/")]
    named = {"<id>": "[a-z0-9-]+", "<sha256>": "[0-9a-f]{64}", "NNNN": r"\d{4}", "-N": r"-\d+"}
    expressions = []
    for pattern in patterns:
        expression = re.escape(pattern)
        for name, means in named.items():
            expression = expression.replace(re.escape(name), means)
        expressions.append(expression)
    for files in GOLDEN.stages.values():
        for path in files:
            assert any(re.fullmatch(expression, path) for expression in expressions), path
