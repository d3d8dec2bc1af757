"""Every text of a call is redacted before anything of it is decided or kept."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import pytest

from harness_core import vocabulary
from harness_core.arguments import REQUESTS, parse
from harness_core.cleaning import argument_secrets, cleaned
from harness_core.testing.values import SECRET
from tests.core.desk import Desk
from tests.core.test_refusals import OPERATIONS, WHOLE, tool_of

# Fields whose words are checked against a vocabulary or a shape, so that no secret can stand in them.
SHAPED = {"case_id", "prior_case_ids", "evidence_case_ids", "evidence_event_ids", "addresses_event_ids"}

# The words of every vocabulary, and those by which an item says how it stands.
KINDS = [kind for kind in vars(vocabulary).values() if isinstance(kind, type) and issubclass(kind, StrEnum)]
WORDS = {"explicit_user_correction", *(word.value for kind in KINDS for word in kind)}


def planted(value: Any, name: str = "") -> Any:
    """The value with the secret in every text that is free."""
    if isinstance(value, dict):
        return {key: planted(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [planted(item, name) for item in value]
    if not isinstance(value, str) or name in SHAPED or value in WORDS or (name == "id" and value.startswith("I")):
        return value
    return f"{value} {SECRET}"


@pytest.mark.parametrize("operation", [o for o in OPERATIONS if o not in ("list", "show", "resume")])
def test_no_field_keeps_a_secret(operation: str) -> None:
    """A secret in any text of any field of a call is gone after cleaning, and was there before."""
    request = parse(tool_of(operation), {"operation": operation, **planted(WHOLE[operation])}).request
    assert SECRET in repr(request)
    assert SECRET not in repr(cleaned(request, argument_secrets(request)))


def test_the_rest_stays() -> None:
    """Words, numbers, truth values and ordinary texts are what they were."""
    for operation in OPERATIONS:
        request = parse(tool_of(operation), {"operation": operation, **WHOLE[operation]}).request
        assert cleaned(request, argument_secrets(request)) == request


def test_a_case_id_cannot_be_hidden() -> None:
    """A case id that looks like a secret would name a folder, and is refused wherever it stands."""
    looks = "sk-ant-api03-" + "a1b2c3d4e5" * 4
    desk = Desk()
    for fields in ({"case_id": looks}, {"case_id": "c1", "prior_case_ids": ["c0", looks]}):
        refusal = desk.refused("open", top_unknown="q", **fields)
        assert "looks like a secret" in refusal.text
    desk.open()
    transfer = {"decision": "candidate", "lesson": "l", "scope": "s", "evidence_case_ids": [looks]}
    refusal = desk.refused("close", outcome="stopped", summary="s", transfer=transfer)
    assert refusal.paths == ["transfer.evidence_case_ids"]
    assert looks not in json.dumps(desk.ask("resume", case_id=looks))


def test_references_still_fit() -> None:
    """An id that looks like a secret is hidden the same way everywhere, so that what refers to it still does."""
    desk = Desk()
    plan = [{"id": "P1", "action": "a", "depends_on": [SECRET]}]
    model = desk.open(mechanisms=[{"id": SECRET, "text": "t"}], current_plan=plan)["case"]["model"]
    assert model["current_plan"][0]["depends_on"] == [model["mechanisms"][0]["id"]]
    assert SECRET not in desk.snapshot()


def test_every_tool_has_its_operations() -> None:
    """The operations tested here are all there are."""
    assert sorted(str(o) for operations in REQUESTS.values() for o in operations) == OPERATIONS
