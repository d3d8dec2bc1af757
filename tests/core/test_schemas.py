"""The JSON schemas of the two tools, as a host shows them."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from harness_core.arguments import EXAMPLES, MODEL_TOOL, PROBE_TOOL, REQUESTS, parse
from harness_core.commands import LIST_LIMIT_MAX
from harness_core.schemas import DESCRIPTIONS, TOOLS
from harness_core.vocabulary import AuthorityDomain, CaseStatus, EpistemicStatus, ModelOperation, ProbeOperation

MODEL = TOOLS[MODEL_TOOL]["parameters"]["properties"]
PROBE = TOOLS[PROBE_TOOL]["parameters"]["properties"]


@pytest.mark.parametrize(("tool", "operations"), [(MODEL_TOOL, ModelOperation), (PROBE_TOOL, ProbeOperation)])
def test_the_operation_is_required_and_named(tool: str, operations: Any) -> None:
    """Both tools require operation alone, with a description and exactly the documented words."""
    parameters = TOOLS[tool]["parameters"]
    assert parameters["required"] == ["operation"]
    assert parameters["properties"]["operation"]["enum"] == [operation.value for operation in operations]
    assert parameters["properties"]["operation"]["description"]
    assert "always" in TOOLS[tool]["description"]


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_first_sentence_fits_a_catalogue(tool: str) -> None:
    """The first sixty characters of a description, which is all that some catalogues show, are a whole sentence."""
    assert DESCRIPTIONS[tool].index(".") <= 60


@pytest.mark.parametrize("properties", [MODEL, PROBE])
def test_the_detail_names_itself(properties: dict[str, Any]) -> None:
    """response_detail is full or compact, by default full, and its description names it."""
    detail = properties["response_detail"]
    assert (detail["enum"], detail["default"]) == (["full", "compact"], "full")
    assert "response_detail" in detail["description"]


def test_vocabularies_are_in_the_schema() -> None:
    """Closed vocabularies stand in the schema word for word."""
    assert MODEL["status_filter"]["enum"] == [status.value for status in CaseStatus]
    assert PROBE["authority_domain"]["enum"] == [domain.value for domain in AuthorityDomain]
    assert MODEL["limit"] == {**MODEL["limit"], "minimum": 1, "maximum": LIST_LIMIT_MAX, "default": 50}


def test_evidence_says_what_it_needs() -> None:
    """Evidence items require what is needed, in a fixed order; initial evidence also takes the user's."""
    required = ["summary", "source_ref", "source_role", "access_scope", "authority_domain"]
    assert MODEL["evidence"]["items"]["required"] == required
    initial = MODEL["initial_evidence"]["items"]
    assert set(initial["required"]) == {"id", "summary", "source_ref", "authority_domain"}
    assert set(initial["properties"]) == {*required, "id", "locator", "limitation"}
    assert {"summary", "source_ref", "source_role", "access_scope", "limitation"} <= set(
        PROBE["evidence"]["properties"]
    )


@pytest.mark.parametrize("array", ["state_grounding", "mechanisms", "alternatives"])
def test_claims_and_steps(array: str) -> None:
    """Claims require id and text, and take evidence, domain and status; steps require id and action; in updates too."""
    for properties in (MODEL, MODEL["updates"]["properties"]):
        items = properties[array]["items"]
        assert items["required"] == ["id", "text"]
        assert {"evidence_event_ids", "authority_domain", "epistemic_status"} <= set(items["properties"])
        assert items["properties"]["epistemic_status"]["enum"] == [status.value for status in EpistemicStatus]
        assert properties["current_plan"]["items"]["required"] == ["id", "action"]


def test_arguments_as_text() -> None:
    """tool_args_json is text, and says that it holds a JSON object."""
    assert PROBE["tool_args_json"]["type"] == "string"
    assert "JSON object" in PROBE["tool_args_json"]["description"]


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_every_field_is_in_the_schema(tool: str) -> None:
    """What an operation takes is in its tool's schema, and nothing that only the server fills in."""
    known = {"operation", "response_detail", *(["tool_args_json"] if tool == PROBE_TOOL else [])}
    for request in REQUESTS[tool].values():
        known |= {f.name for f in attrs.fields(request) if not f.metadata.get("server")}
    assert set(TOOLS[tool]["parameters"]["properties"]) == known
    assert not {"lessons", "sources", "commitment"} & known


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_every_field_is_described(tool: str) -> None:
    """Every field of a call has a description, and the whole schema is JSON."""
    assert all(field.get("description") for field in TOOLS[tool]["parameters"]["properties"].values())
    assert json.loads(json.dumps(TOOLS[tool])) == TOOLS[tool]
    assert TOOLS[tool]["name"] == tool


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_example_is_sound(tool: str) -> None:
    """The example that refusals show is a call that would be taken."""
    parse(tool, EXAMPLES[tool])
