"""``case list | show | timeline | verify``: reading a store.  Nothing here changes a byte of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from harness_core.vocabulary import CaseStatus
from harness_store import Harness

from .output import AsJson, Root, answer, console, errors, root_of

app = typer.Typer(help="Read the recorded cases.", no_args_is_help=True)

CaseId = Annotated[str, typer.Argument(help="The id of a case, as `case list` shows it.", show_default=False)]
OPERATOR = "command-line"
"""The session id under which the command line asks; it owns no case."""


@contextmanager
def _open(root: Path | None, as_json: bool) -> Iterator[Harness]:
    with errors(as_json):
        harness = Harness(root_of(root), read_only=True)
        try:
            yield harness
        finally:
            harness.close()


@app.command("list")
def list_(
    status: Annotated[CaseStatus | None, typer.Option(help="Only cases of this status.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="At most so many, newest update first.")] = 50,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """List the cases, newest update first, and every case whose record cannot be read."""
    asked = {"operation": "list", "limit": limit, **({"status_filter": status.value} if status else {})}
    with _open(root, as_json) as harness:
        found = harness.model(asked, session_id=OPERATOR)

    def show() -> None:
        table = Table("case", "status", "updated", "events", "question", box=None, pad_edge=False)
        for case in found["cases"]:
            row = (case.get(key, "") for key in ("case_id", "status", "updated_at", "event_count", "summary"))
            table.add_row(*(Text(str(value)) for value in row))
        console.print(table if found["cases"] else f"no cases in {root_of(root)}")
        for damaged in found.get("case_errors") or ():
            console.print(f"damaged: {_line(damaged)}")

    answer(found, as_json, show)


@app.command()
def show(case_id: CaseId, root: Root = None, as_json: AsJson = False) -> None:
    """Show one case: its model, its pending probe, its conclusion, and what replay says of it."""
    with _open(root, as_json) as harness:
        found = harness.case(case_id)
    answer(found, as_json, lambda: _show(found))


def _show(found: Mapping[str, Any]) -> None:
    case, replay = found["case"], found["replay"]
    model = case["model"]
    console.print(f"{case['case_id']}  {case['status']}  version {case['version']}")
    console.print(f"question   {model['top_unknown']}")
    console.print(f"decision   {model['decision']}")
    for section in ("state_grounding", "mechanisms", "alternatives"):
        for claim in model[section]:
            cited = ", ".join(claim.get("evidence_event_ids") or ()) or "nothing"
            console.print(f"claim      {claim['id']} {claim['epistemic_status']}: {claim['text']} (cites {cited})")
    for step in model["current_plan"]:
        console.print(f"plan       {step['id']}: {step['action']}")
    if case.get("stale"):
        console.print(f"stale      {', '.join(case['stale_claim_ids'])}, since {case['mismatch_event_id']}")
    if case.get("pending_probe"):
        probe = case["pending_probe"]
        console.print(f"probe      {probe['tool_name']} is {probe['status']}")
    if case.get("closure"):
        closure = case["closure"]
        console.print(f"closed     {closure['outcome']}, {closure['calibration']['label']}: {closure['summary']}")
    console.print(f"replay     {replay['reason']}")


@app.command()
def timeline(case_id: CaseId, root: Root = None, as_json: AsJson = False) -> None:
    """Print the records of a case in order, one line each, as far as they can be believed.

    Exit status 1 where the record is damaged: what follows the damage is not shown.
    """
    with _open(root, as_json) as harness:
        records = [dict(record) for record in harness.timeline(case_id)]
        damage = harness.replay(case_id)["timeline"].get("error", "")

    def show() -> None:
        for record in records:
            head = f"{record['event_id']}  {record['timestamp']}  {record['type']:<20}"
            console.print(f"{head} {_line(record['payload'])[:120]}")

    answer(records, as_json, show)
    if damage:
        typer.echo(f"damaged: {damage}", err=True)
        raise typer.Exit(1)


@app.command()
def verify(case_id: CaseId, root: Root = None, as_json: AsJson = False) -> None:
    """Check the whole record of a case: hash chain, snapshot, artifacts, every invariant at every step.

    Exit status 1 where anything is damaged.  A probe that awaits its comparison, or a stale plan, is no damage.
    """
    with _open(root, as_json) as harness:
        replay = dict(harness.replay(case_id))
    parts = ("timeline", "case_snapshot", "artifacts")
    sound = all(replay[part]["valid"] for part in parts) and not replay["violations"]

    def show() -> None:
        for part in parts:
            console.print(f"{part:<14} {'intact' if replay[part]['valid'] else 'DAMAGED'}")
        console.print(f"{'invariants':<14} {'hold' if not replay['violations'] else 'BROKEN'}")
        for problem in replay["problems"]:
            console.print(f"  {problem}")
        console.print(f"{case_id}: {'intact' if sound else 'damaged'}, {replay['timeline']['event_count']} events")

    answer({**replay, "case_id": case_id, "intact": sound}, as_json, show)
    if not sound:
        raise typer.Exit(1)


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
