from __future__ import annotations

import pytest
from hypothesis import given

from pi.base.records import replace
from pi.tui.widgets.markdown.nodes import (
    Block,
    CodeBlock,
    Heading,
    Item,
    Link,
    List,
    Paragraph,
    Plain,
    Table,
)
from pi.tui.widgets.markdown.parse import parse
from pi.tui.widgets.markdown.streaming import Splitter, in_pieces
from tests.tui.widgets.markdown.sources import chunks, cuts, sources


def paragraph(text: str) -> Paragraph:
    return Paragraph(children=(Plain(text=text),))


def code(text: str, *, has_start: bool = True, has_end: bool = True) -> CodeBlock:
    return CodeBlock(language="py", text=text, has_start=has_start, has_end=has_end)


def test_a_block_is_final_after_the_first_complete_line_of_the_next_one() -> None:
    splitter = Splitter()

    assert splitter.append("one\n\ntwo") == []
    assert splitter.append("\n") == [paragraph("one")]
    assert splitter.tail(is_last=False).blocks == [paragraph("two")]


@pytest.mark.behaviour("markdown-streams-linearly")
def test_list_items_become_final_one_by_one_and_the_list_continues() -> None:
    splitter = Splitter()
    final = [*splitter.append("1. a\n\n1"), *splitter.append(". b\n1. c")]

    assert final == [
        List(items=(Item(children=(paragraph("a"),), marker="1.", apart=(False,)),), first_number=1)
    ]
    assert splitter.tail(is_last=True).blocks == [
        List(
            items=(
                Item(children=(paragraph("b"),), marker="1.", is_apart=True, apart=(False,)),
                Item(children=(paragraph("c"),), marker="1.", apart=(False,)),
            ),
            first_number=2,
            is_continuation=True,
        )
    ]


def test_code_is_final_when_its_fence_closes() -> None:
    splitter = Splitter()

    assert splitter.append("text\n```py\nx\n") == [paragraph("text")]
    assert splitter.tail(is_last=False).blocks == [code("x\n", has_end=False)]
    assert splitter.append("```\nmore") == [code("x\n")]
    assert splitter.tail(is_last=False).blocks == [paragraph("more")]


@pytest.mark.behaviour("markdown-streams-linearly")
def test_long_code_becomes_final_in_pieces() -> None:
    splitter = Splitter()
    function = "def f():\n" + "    pass\n" * 30 + "\n\n"

    final = splitter.append("```py\n" + function * 3)

    assert final == [
        code(function, has_end=False),
        code(function, has_start=False, has_end=False),
    ]
    assert splitter.tail(is_last=True).blocks == [code(function, has_start=False)]


def test_the_indent_of_a_fence_is_removed_from_the_code() -> None:
    assert Splitter().append("  ```py\n  a\n    b\n c\n  ```\n") == [code("a\n  b\nc\n")]


def test_a_shorter_fence_inside_a_longer_one_is_code() -> None:
    assert Splitter().append("````py\n```\n````\n") == [code("```\n")]


def test_fences_inside_a_list_belong_to_the_list() -> None:
    [block] = Splitter().append("- a\n  ```py\n  x\n  ```\n- b\n")

    assert isinstance(block, List)
    assert block.items[0].children == (paragraph("a"), code("x\n"))


@pytest.mark.behaviour("open-fence-does-not-flicker")
@pytest.mark.parametrize("half", ["`", "```", "```py", "~~", "-", "--", "=", "#", "12", "3."])
def test_an_incomplete_ambiguous_line_is_not_shown(half: str) -> None:
    splitter = Splitter()
    splitter.append(f"text\n{half}")

    assert splitter.tail(is_last=False).blocks == [paragraph("text")]


@pytest.mark.parametrize("source", ["> text\n> #", "- text\n  #", "> - text\n>     #"])
def test_an_incomplete_ambiguous_line_in_quotes_and_lists_is_not_shown(source: str) -> None:
    splitter = Splitter()
    splitter.append(source)
    whole = Splitter()
    whole.append(source[: source.index("\n") + 1])

    assert splitter.tail(is_last=False) == whole.tail(is_last=False)


def test_ambiguous_text_is_shown_at_the_end() -> None:
    splitter = Splitter()
    splitter.append("text\n\n12")

    assert splitter.tail(is_last=True).blocks == [paragraph("text"), paragraph("12")]


@pytest.mark.behaviour("open-fence-does-not-flicker")
def test_half_of_a_closing_fence_is_not_shown_as_code() -> None:
    splitter = Splitter()
    splitter.append("```py\nx\n``")

    assert splitter.tail(is_last=False).blocks == [code("x\n", has_end=False)]
    assert splitter.tail(is_last=True).blocks == [code("x\n``")]


def test_a_closing_fence_without_a_line_end_closes_the_code_at_the_end() -> None:
    splitter = Splitter()
    splitter.append("```py\nx\n```")

    assert splitter.tail(is_last=True).blocks == [code("x\n")]


def test_a_link_definition_applies_to_the_blocks_after_it() -> None:
    splitter = Splitter()
    final = splitter.append("a\n\n[r]: u\n\n# b\n\n[r]\n")

    assert final == [paragraph("a"), Heading(level=1, children=(Plain(text="b"),))]
    assert splitter.tail(is_last=True).blocks == [
        Paragraph(children=(Link(url="u", children=(Plain(text="r"),)),))
    ]


@pytest.mark.behaviour("markdown-streams-linearly")
@given(sources, cuts)
def test_the_blocks_do_not_depend_on_the_chunks_of_the_text(
    source: str, lengths: list[int]
) -> None:
    at_once, bit_by_bit = Splitter(), Splitter()
    blocks: list[Block] = []
    for chunk in chunks(source, lengths):
        blocks += bit_by_bit.append(chunk)

    assert [*blocks, *bit_by_bit.tail(is_last=True).blocks] == [
        *at_once.append(source),
        *at_once.tail(is_last=True).blocks,
    ]


@given(sources)
def test_splitting_returns_the_blocks_of_the_whole_text(source: str) -> None:
    source = source.replace("\t", "")  # how much of a tab an indented fence removes is an edge case
    splitter = Splitter()

    found = [*splitter.append(source), *splitter.tail(is_last=True).blocks]

    whole = [placed.block for placed in parse(source)]
    assert list(map(without_last_line_feed, pieces_of(found))) == list(
        map(without_last_line_feed, pieces_of(whole))
    )


def pieces_of(blocks: list[Block]) -> list[Block]:
    return [piece for block in blocks for piece in in_pieces(block)]


def without_last_line_feed(block: Block) -> Block:
    """Normalises code: an empty line at the end of unclosed code may be included or not."""
    if isinstance(block, CodeBlock):
        return replace(block, text=block.text.rstrip("\n"))
    return block


@pytest.mark.parametrize(
    ("source", "closed"),
    [
        ("one\n\ntwo", 1),
        ("- one\n\ntwo", 1),
        ("| a |\n|--|\n\ntwo", 1),
        ("# one\ntwo", 0),
        ("one", 0),
    ],
)
def test_only_blocks_above_an_empty_line_are_closed(source: str, closed: int) -> None:
    splitter = Splitter()
    splitter.append(source)

    assert splitter.tail(is_last=False).closed == closed


def test_only_complete_rows_of_a_table_are_shown_while_streaming() -> None:
    splitter = Splitter()
    splitter.append("| a |\n|---|\n| one |\n| tw")

    shown, whole = (splitter.tail(is_last=is_last).blocks for is_last in (False, True))

    assert [len(block.rows) for block in (*shown, *whole) if isinstance(block, Table)] == [1, 2]
