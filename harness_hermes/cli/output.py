"""What the commands share: their common options, and the two forms of every answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from harness_core.errors import HarnessError
from harness_hermes.plugin.profiles import FOLDER, hermes_home

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of text.")]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        help="The store. Default: epistemic-harness in the Hermes home.",
        show_default=False,
        file_okay=False,
    ),
]
Home = Annotated[
    Path | None,
    typer.Option(
        "--hermes-home",
        help="The Hermes profile. Default: $HERMES_HOME, else ~/.hermes.",
        show_default=False,
        file_okay=False,
    ),
]

console = Console(highlight=False, soft_wrap=True, markup=False)


def home_of(given: Path | None) -> Path:
    """The Hermes profile that a command is about."""
    return (given or hermes_home()).expanduser().resolve()


def root_of(given: Path | None) -> Path:
    """The store that a command is about."""
    return given.expanduser().resolve() if given else hermes_home().resolve() / FOLDER


def answer(value: Any, as_json: bool, show: Callable[[], None]) -> None:
    """Print ``value`` as JSON, or let ``show`` print it for a person."""
    if as_json:
        typer.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str))
    else:
        show()


def fail(message: str, as_json: bool, code: str) -> NoReturn:
    """Say what went wrong and end with status 1."""
    answer({"error": message, "code": code}, as_json, lambda: typer.echo(f"error: {message}", err=True))
    raise typer.Exit(1)


FOR_PEOPLE = {'epistemic_model(operation="list")': "`epistemic-harness case list`"}
"""What an error tells a model to call, and the command with which a person does the same."""


def _in_our_words(text: str) -> str:
    for call, command in FOR_PEOPLE.items():
        text = text.replace(call, command)
    return text


@contextmanager
def errors(as_json: bool, *also: type[Exception]) -> Iterator[None]:
    """Turn the harness's own errors, and those named, into a clear answer with status 1."""
    try:
        yield
    except HarnessError as error:
        fail(_in_our_words(str(error)), as_json, error.code)
    except also as error:
        fail(str(error), as_json, type(error).__name__)
