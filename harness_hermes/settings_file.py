"""One entry more or less in a list of a YAML settings file, and every other byte as it was.

Writing a whole file anew would lose what a person put there: comments, order, quoting.  So the parsed nodes only say
where the list stands; the text is cut and joined there, and read again to see that nothing else changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

NULL = "tag:yaml.org,2002:null"
Edit = tuple[int, int, str]
"""Where a text is cut (from, to) and what takes the place."""


class UnfitSettings(Exception):
    """The settings are not in a shape in which one entry can be changed safely; the text says what to do by hand."""


def value_at(text: str, path: Sequence[str]) -> Any:
    """What stands at ``path`` (keys from the top) in a YAML text; None where nothing does."""
    value: Any = _load(text)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def in_list(text: str, path: Sequence[str], item: str) -> bool:
    """Whether the list at ``path`` (keys from the top) of a YAML text holds ``item``."""
    value = value_at(text, path)
    return isinstance(value, list) and item in value


def with_item(text: str, path: Sequence[str], item: str) -> str:
    """The YAML text with ``item`` first in the list at ``path``; the same text where it is in there already.

    Raises ``UnfitSettings`` where the text does not parse, or would change in more than this one entry.
    """
    if in_list(text, path, item):
        return text
    items = value_at(text, path) or []
    return _apply(text, _insertion(text, path, item), _set(_load(text), path, [item, *items]))


def without_item(text: str, path: Sequence[str], item: str) -> str:
    """The YAML text without ``item`` in the list at ``path``; the same text where it is not there."""
    if not in_list(text, path, item):
        return text
    rest = [each for each in value_at(text, path) if each != item]
    return _apply(text, _removal(text, path, item), _set(_load(text), path, rest))


def _load(text: str) -> dict[str, Any]:
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise UnfitSettings(f"the settings are not valid YAML: {error}") from error
    if not isinstance(value, dict | None):
        raise UnfitSettings("the settings are not a mapping")
    return value or {}


def _set(value: Any, path: Sequence[str], items: list[Any]) -> Any:
    if not path:
        return items
    before = value if isinstance(value, dict) else {}
    return {**before, path[0]: _set(before.get(path[0]), path[1:], items)}


def _apply(text: str, edit: Edit | None, expected: dict[str, Any]) -> str:
    """The edited text, once it is seen to mean what it should."""
    if edit is not None:
        start, end, middle = edit
        ends = "\r\n" if "\r\n" in text else "\n"
        edited = text[:start] + middle.replace("\n", ends) + text[end:]
        if _load(edited) == expected:
            return edited
    raise UnfitSettings("the list of plugins is written in a way that this command does not change; do it by hand")


def _descend(text: str, path: Sequence[str]) -> tuple[ScalarNode | None, Node | None, Sequence[str]]:
    """The deepest node on the way along ``path``, its key, and the keys that are still missing below it."""
    key, node = None, YAML(pure=True).compose(text)
    for depth, name in enumerate(path):
        pairs = node.value if isinstance(node, MappingNode) else ()
        found = next((pair for pair in pairs if pair[0].value == name), None)
        if found is None:
            return key, node, path[depth:]
        key, node = found
    return key, node, ()


def _insertion(text: str, path: Sequence[str], item: str) -> Edit | None:
    key, node, missing = _descend(text, path)
    value: Any = [item]
    for name in reversed(missing[1:]):
        value = {name: value}
    if isinstance(node, SequenceNode) and not missing:
        at = node.start_mark.index
        if node.flow_style:
            return at + 1, at + 1, json.dumps(item) + (", " if node.value else "")
        return at, at, f"- {item}\n{' ' * node.start_mark.column}"
    if isinstance(node, ScalarNode) and key is not None and node.tag == NULL:  # a key that stands for nothing yet
        whole = json.dumps({missing[0]: value} if missing else value)
        if node.value:  # a written null; an empty one has its mark at the next token
            return node.start_mark.index, node.end_mark.index, whole
        at = text.index(":", key.end_mark.index) + 1
        return at, at, " " + whole
    if not missing or not isinstance(node, MappingNode | None):
        return None
    entry = f"{missing[0]}: {json.dumps(value)}"
    if node is None:
        return len(text), len(text), _line_break(text) + entry + "\n"
    if node.flow_style:
        at = node.start_mark.index + 1
        return at, at, f'"{missing[0]}": {json.dumps(value)}' + (", " if node.value else "")
    if key is None:  # the top: after everything that is there
        return len(text), len(text), _line_break(text) + entry + "\n"
    at = text.index("\n", key.end_mark.index) + 1
    return at, at, " " * node.start_mark.column + entry + "\n"


def _removal(text: str, path: Sequence[str], item: str) -> Edit | None:
    key, node, missing = _descend(text, path)
    if key is None or missing or not isinstance(node, SequenceNode):
        return None
    entries = node.value
    at = next(n for n, entry in enumerate(entries) if entry.value == item)
    if len(entries) == 1:
        return key.end_mark.index + 1, entries[0].end_mark.index + (1 if node.flow_style else 0), " []"
    if not node.flow_style:
        line = text.rindex("\n", 0, entries[at].start_mark.index) + 1
        after = text.find("\n", entries[at].end_mark.index)
        return line, len(text) if after < 0 else after + 1, ""
    if at + 1 < len(entries):
        return entries[at].start_mark.index, entries[at + 1].start_mark.index, ""
    return entries[at - 1].end_mark.index, entries[at].end_mark.index, ""


def _line_break(text: str) -> str:
    return "" if not text or text.endswith("\n") else "\n"
