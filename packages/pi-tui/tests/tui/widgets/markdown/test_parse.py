from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.widgets.markdown.draw import plain_text
from pi.tui.widgets.markdown.nodes import (
    Block,
    Code,
    CodeBlock,
    Heading,
    ImageNode,
    Item,
    Link,
    List,
    Paragraph,
    Plain,
    Quote,
    Rule,
    StyledSpan,
    Table,
)
from pi.tui.widgets.markdown.parse import language_of, link_definitions, parse


def blocks(source: str, *, keep_backslashes: bool = False) -> list[Block]:
    return [placed.block for placed in parse(source, keep_backslashes=keep_backslashes)]


def plain(text: str) -> Plain:
    return Plain(text=text)


def paragraph(*texts: str) -> Paragraph:
    return Paragraph(children=tuple(map(plain, texts)))


def test_emphasis_code_links_and_images_are_parsed() -> None:
    source = "a **b *c*** ~~d~~ `e` [f](u) ![g](v)\nh  \ni"

    assert blocks(source) == [
        Paragraph(
            children=(
                plain("a "),
                StyledSpan(
                    mark="bold",
                    children=(plain("b "), StyledSpan(mark="italic", children=(plain("c"),))),
                ),
                plain(" "),
                StyledSpan(mark="strike", children=(plain("d"),)),
                plain(" "),
                Code(text="e"),
                plain(" "),
                Link(url="u", children=(plain("f"),)),
                plain(" "),
                ImageNode(url="v", children=(plain("g"),)),
                plain("\n"),
                plain("h"),
                plain("\n"),
                plain("i"),
            )
        )
    ]


def test_blocks_are_parsed_with_their_start_offsets() -> None:
    placed = parse("# é\n\n> q\n\n---\n\n    code\n")

    assert [(found.start, found.block) for found in placed] == [
        (0, Heading(level=1, children=(plain("é"),))),
        (6, Quote(children=(paragraph("q"),))),
        (11, Rule()),
        (20, CodeBlock(language="", text="code\n")),
    ]


def test_a_tight_list_with_tasks_is_parsed() -> None:
    inside = Item(marker="-", is_checked=False, children=(paragraph("c"),), apart=(False,))
    second = (paragraph("b"), List(first_number=None, items=(inside,)))
    assert blocks("+ a\n+ [x] b\n  - [ ] c\n") == [
        List(
            first_number=None,
            items=(
                Item(marker="+", children=(paragraph("a"),), apart=(False,)),
                Item(marker="+", is_checked=True, children=second, apart=(False, False)),
            ),
        )
    ]


def test_a_loose_list_keeps_its_numbers_and_tasks() -> None:
    inside = Item(marker="-", children=(paragraph("tight"),), apart=(False,))
    second = (paragraph("b"), List(first_number=None, items=(inside,)))
    assert blocks("3) [x] a\n\n4) b\n\n   - tight\n") == [
        List(
            first_number=3,
            items=(
                Item(marker="3)", is_checked=True, children=(paragraph("a"),), apart=(False,)),
                Item(marker="4)", children=second, is_apart=True, apart=(False, True)),
            ),
        )
    ]


def test_an_empty_line_inside_an_item_is_not_between_the_items() -> None:
    [block] = blocks("- a\n  1. b\n\n  2. c\n- d\n")

    assert isinstance(block, List)
    assert [item.is_apart for item in block.items] == [False, False]


def test_a_table_is_parsed_with_its_alignments() -> None:
    assert blocks("| a | b |\n|:-:|---|\n| c | d |\n") == [
        Table(
            alignments=("Center", "None"),
            head=((plain("a"),), (plain("b"),)),
            rows=(((plain("c"),), (plain("d"),)),),
        )
    ]


def test_fenced_code_is_parsed_with_its_language() -> None:
    assert blocks("~~~rust,ignore\nx\n~~~\n") == [CodeBlock(language="rust", text="x\n")]


@pytest.mark.parametrize(
    ("info", "language"),
    [("", ""), ("py x", "py"), ("{.python}", ".python"), ("rust,ignore", "rust")],
)
def test_the_language_is_the_first_word(info: str, language: str) -> None:
    assert language_of(info) == language


def test_html_and_formulas_are_shown_as_typed() -> None:
    assert blocks("<b>x</b> $a*b*c$ and $$d$$\n\n<div>\ny\n</div>\n") == [
        paragraph("<b>", "x", "</b>", " ", "$a*b*c$", " and ", "$$d$$"),
        paragraph("<div>\n", "y\n", "</div>\n"),
    ]


def test_formulas_can_be_drawn() -> None:
    source = "$x^2$ and $$\\frac12$$ cost $5 or $6, $HOME:$PATH"

    (placed,) = parse(source, draw_formulas=True)

    assert isinstance(placed.block, Paragraph)
    assert plain_text(placed.block.children) == "x² and 1/2 cost $5 or $6, $HOME:$PATH"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"so \(x^2 + y_1\) is", "so x² + y₁ is"),
        (r"\[ \sum_{i=1}^n f(i) \]", "∑ᵢ₌₁ⁿ f(i)"),
        ("\\[\n\\frac{a}{b}\n\\]", "a/b"),
        (r"\(a^2*b*c\), \(d^2\)", "a²*b*c, d²"),
        (r"a \(note\) and \[x\]", "a (note) and [x]"),
        (r"\(x^2\] \(y `z^2`\)", "(x^2] (y z^2)"),
        (r"\\(x^2\\) `\(y^2\)`", r"\(x^2\) \(y^2\)"),
    ],
)
def test_formulas_between_escaped_brackets_are_drawn_too(source: str, shown: str) -> None:
    (placed,) = parse(source, draw_formulas=True)

    assert isinstance(placed.block, Paragraph)
    assert plain_text(placed.block.children) == shown


def test_bare_urls_are_links_except_inside_links_and_code() -> None:
    address = Link(url="http://a.b/c_d", children=(Plain(text="http://a.b/c_d"),))
    bold = StyledSpan(mark="bold", children=(Plain(text="http://x.y"),))

    assert blocks("- http://a.b/c_d\n\n**http://a.b/c_d** `http://x.y` [**http://x.y**](z)") == [
        List(
            items=(Item(children=(Paragraph(children=(address,)),), marker="-", apart=(False,)),),
            first_number=None,
        ),
        Paragraph(
            children=(
                StyledSpan(mark="bold", children=(address,)),
                Plain(text=" "),
                Code(text="http://x.y"),
                Plain(text=" "),
                Link(url="z", children=(bold,)),
            )
        ),
    ]


@pytest.mark.behaviour("user-text-is-literal")
def test_backslashes_can_be_kept() -> None:
    assert blocks(r"a\*b\\c\d", keep_backslashes=True) == [paragraph("a", r"\*b", r"\\c\d")]
    assert blocks(r"a\*b") == [paragraph("a", "*b")]


def test_external_link_definitions_are_used() -> None:
    definitions = link_definitions("[Ref]: https://example.org\n")
    [placed] = parse("[text][ref] [unknown]", definitions)

    assert placed.block == Paragraph(
        children=(
            Link(url="https://example.org", children=(plain("text"),)),
            plain(" "),
            *map(plain, ("[", "unknown", "]")),
        )
    )


def test_character_references_cannot_inject_controls() -> None:
    assert blocks("&#27;[2J &#x9b;3J [x](<&#27;]0;t&#7;>)") == [
        Paragraph(
            children=(
                *map(plain, ("", "[", "2J ", "", "3J ")),
                Link(url="", children=(plain("x"),)),
            )
        )
    ]


@pytest.mark.behaviour("long-content-does-not-overflow")
@pytest.mark.parametrize("source", [">" * 3000 + " deep", "- " * 3000 + "deep", "[" * 3000])
def test_deep_nesting_does_not_overflow(source: str) -> None:
    assert len(blocks(source)) == 1


@given(st.text("ab*_`~[]()|-#> \n&;!<$\\", max_size=60))
def test_parsing_any_text_returns_blocks_in_order(source: str) -> None:
    starts = [placed.start for placed in parse(source)]

    assert starts == sorted(starts)
