"""How much of a model's context the two tools and the skill take."""

from __future__ import annotations

import json

from harness_core.schemas import TOOLS
from harness_hermes.plugin import SKILL

REFERENCE = 15_257 + 10_609
"""Characters of release 1.2.0: its two schemas as compact JSON, and its skill."""


def test_schemas_and_skill_are_at_most_two_thirds_of_what_release_1_2_0_takes() -> None:
    """The two schemas as compact JSON and the skill as text, together."""
    schemas = sum(len(json.dumps(schema, separators=(",", ":"))) for schema in TOOLS.values())
    assert schemas + len(SKILL.read_text(encoding="utf-8")) <= REFERENCE * 2 // 3


def test_each_tools_first_sentence_fits_into_a_catalogue_line() -> None:
    """A catalogue of deferred tools cuts a description at 60 characters; the first sentence ends before that."""
    for schema in TOOLS.values():
        assert len(schema["description"].split(". ")[0]) < 60
