"""Changing one entry of a person's settings file."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from harness_hermes.settings_file import UnfitSettings, in_list, with_item, without_item

PATH = ("plugins", "enabled")
ITEM = "epistemic-harness"

SHAPES = {
    "line ends of another system": "plugins:\r\n  enabled:\r\n  - a\r\nmodel: x\r\n",
    "empty": "",
    "only a comment": "# mine\n",
    "no plugins": "model:\n  default: x  # the good one\n",
    "no line break at the end": "model: {default: x}",
    "plugins without a value": "plugins:\nmodel: x\n",
    "plugins null": "plugins: null\nmodel: x\n",
    "plugins empty": "plugins: {}\nmodel: x\n",
    "other plugin settings": "plugins:   # all of them\n    entries:\n        a: {b: 1}\nmodel: x\n",
    "enabled without a value": "plugins:\n  enabled:\n  entries: {}\n",
    "enabled empty": "plugins:\n  enabled: []\n",
    "flow": "plugins: {enabled: [a, 'b'], entries: {}}\n",
    "block": "plugins:\n  enabled:\n    # first\n    - a   # why\n    - b\n  entries: {}\n",
    "block without indent": 'plugins:\n  enabled:\n  - a\n  - "b"\nmodel: x\n',
    "json": '{"plugins": {"enabled": ["a"]}, "model": "x"}',
    "json without plugins": '{"model": "x"}',
    "json empty": "{}",
    "quoted keys": '"plugins":\n  "enabled": ["a"]\n',
    "first in the list": f"plugins:\n  enabled:\n  - {ITEM}\n  - b\n",
    "only one in the list": f"plugins:\n  enabled:\n  - {ITEM}\nmodel: x\n",
    "only one in a flow": f"plugins:\n  enabled: [{ITEM}]\nmodel: x\n",
    "in the middle of a flow": f"plugins: {{enabled: [a, {ITEM}, b]}}\n",
    "last in a flow": f"plugins: {{enabled: [a, {ITEM}]}}\n",
    "last line": f"plugins:\n  enabled:\n  - a\n  - {ITEM}",
}


def load(text: str) -> object:
    """A YAML text as plain data."""
    return YAML(typ="safe").load(text)


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_an_entry_goes_in_once_and_every_line_that_was_there_stays(text: str) -> None:
    """Whatever the shape of the file, the entry is in it afterwards, and a second time nothing changes."""
    after = with_item(text, PATH, ITEM)
    assert in_list(after, PATH, ITEM)
    assert with_item(after, PATH, ITEM) == after
    kept = after
    for piece in text.replace("null", "").split():
        assert piece.strip("{}[]") in kept


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_an_entry_goes_out_and_everything_else_stays(text: str) -> None:
    """After taking the entry out it is gone, and all other data is what it was."""
    after = without_item(with_item(text, PATH, ITEM), PATH, ITEM)
    assert not in_list(after, PATH, ITEM)
    assert without_item(after, PATH, ITEM) == after


@pytest.mark.parametrize("name", [name for name, text in SHAPES.items() if "enabled: [" in text or "- a" in text])
def test_in_and_out_again_gives_back_the_same_bytes(name: str) -> None:
    """In a list that has other entries, adding and removing leaves not one byte different."""
    text = SHAPES[name]
    if in_list(text, PATH, ITEM) or load(text) == {"plugins": {"enabled": []}}:
        return
    assert without_item(with_item(text, PATH, ITEM), PATH, ITEM) == text


@pytest.mark.parametrize(
    "text", ["- a\n", "plugins: [a]\n", "plugins:\n  enabled: yes please\n", "a: [\n", "a: 1\na: 2\n"]
)
def test_what_cannot_be_changed_safely_is_refused(text: str) -> None:
    """A file that is no mapping, does not parse, or holds something else in that place is left to its owner."""
    with pytest.raises(UnfitSettings):
        with_item(text, PATH, ITEM)


NAMES = st.text("abcxyz", min_size=1, max_size=4)
PLUGINS = st.fixed_dictionaries(
    {}, optional={"enabled": st.lists(NAMES), "entries": st.dictionaries(NAMES, NAMES), "disabled": st.lists(NAMES)}
)
SETTINGS = st.fixed_dictionaries({}, optional={"model": NAMES, "plugins": PLUGINS})


@given(settings=SETTINGS, flow=st.sampled_from([None, True, False]), indent=st.integers(2, 6))
def test_only_the_one_entry_changes_whatever_the_settings(
    settings: dict[str, Any], flow: bool | None, indent: int
) -> None:
    """For settings of any content and layout, data before and after differs by the one entry."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = flow
    yaml.indent = indent
    written = StringIO()
    yaml.dump(settings, written)
    plugins = settings.get("plugins", {})
    expected = {**settings, "plugins": {**plugins, "enabled": [ITEM, *plugins.get("enabled", [])]}}
    assert load(with_item(written.getvalue(), PATH, ITEM)) == expected
