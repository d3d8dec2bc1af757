"""What a user may rely on in the machine block of ``case.md``: it survives any content, half of one is not believed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_store.heads import BLOCK_BEGIN, BLOCK_END, Block, Head, read_block, render_block

HEAD = Head(12, "ab" * 32)

hard_words = st.sampled_from([BLOCK_BEGIN, BLOCK_END, "-->", "\n", f"\n{BLOCK_END}\n", "x"])
hard_texts = st.lists(hard_words | st.text(st.characters(), max_size=5), max_size=4).map("".join)
contents = st.dictionaries(hard_texts.filter(lambda key: key != "integrity"), hard_texts, max_size=4)


@given(contents, st.integers(1, 10**7), st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_block_reads_back_whatever_it_says(content: dict[str, Any], count: int, digest: str) -> None:
    """Content and head come back as they went in, also where a text holds the markers themselves."""
    text = "A line before.\n\n" + render_block(content, Head(count, digest)) + "\n# Title\n" + BLOCK_BEGIN + "\n"
    block = read_block(text)
    assert isinstance(block, Block)
    assert block.head == Head(count, digest)
    assert {name: value for name, value in block.content.items() if name != "integrity"} == content


@given(contents)
def test_a_block_stays_one_comment(content: dict[str, Any]) -> None:
    """Nobody's text ends the HTML comment early: a person who views the file rendered does not see the block."""
    assert render_block(content, HEAD).count("-->") == 1


def test_a_cut_block_is_not_believed() -> None:
    """A block cut anywhere inside is named unreadable."""
    text = render_block({"a": "b"}, HEAD)
    for length in range(len(text) - 1):
        assert isinstance(read_block(text[:length]), str)
    assert isinstance(read_block(text), Block)


def _with(integrity: str) -> str:
    return f'{BLOCK_BEGIN}\n{{"integrity": {integrity}}}\n{BLOCK_END}\n'


GOOD = f'{{"event_count": 3, "last_event_id": "E000003", "last_hash": "{"0" * 64}"}}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no block",
        f"{BLOCK_END}\n{BLOCK_BEGIN}\n",
        f"{BLOCK_BEGIN}\n[]\n{BLOCK_END}\n",
        f"{BLOCK_BEGIN}\n{{}}\n{BLOCK_END}\n",
        f"{BLOCK_BEGIN}\n{{'a': 1}}\n{BLOCK_END}\n",
        _with("null"),
        _with("{}"),
        _with(GOOD.replace("3,", "0,")),
        _with(GOOD.replace("3,", "true,")),
        _with(GOOD.replace("3,", '"3",')),
        _with(GOOD.replace("E000003", "E000004")),
        _with(GOOD.replace(f'"{"0" * 64}"', "0")),
        _with(GOOD.replace("}", ', "extra": 1}')),
        _with(GOOD.replace("3,", "3, 3,")),
        _with(GOOD.replace('"event_count": 3', '"event_count": 3, "event_count": 3')),
    ],
)
def test_a_block_without_a_sensible_head_is_named_unreadable(text: str) -> None:
    """Missing, reordered or contradicting parts give a sentence, never a guess."""
    assert isinstance(read_block(text), str)


def test_a_block_of_release_1_2_0_names_no_head() -> None:
    """The old shape is told apart from a broken one, with its content at hand."""
    block = read_block(_with('{"last_event_id": "E000003", "state_sha256": "00"}'))
    assert isinstance(block, Block)
    assert block.head is None


def test_a_head_names_its_last_record() -> None:
    """The id of the last record follows from the count; before the first there is none."""
    assert Head(3, "0" * 64).last_event_id == "E000003"
    assert Head().last_event_id is None
