from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pi.tui.text.ansi import strip_sequences
from pi.tui.widgets.markdown.draw import draw_block
from pi.tui.widgets.markdown.nodes import MarkdownStyle, MarkdownTheme
from pi.tui.widgets.markdown.parse import parse
from pi.tui.widgets.markdown.streaming import stable_part
from pi.tui.widgets.markdown.widget import Markdown

PLAIN = MarkdownStyle(theme=MarkdownTheme(bold=str, italic=str, underline=str))


def settled(source: str, width: int = 20) -> list[str]:
    """Returns the stable rows of a source with one block."""
    [placed] = parse(source)
    part = stable_part(placed.block)
    if part is None:
        return []
    rows = [strip_sequences(row) for row in draw_block(part.block, width, PLAIN)]
    return rows[: max(len(rows) - part.unsure_rows, 0)]


def test_all_rows_of_a_paragraph_except_the_last_are_stable() -> None:
    assert settled("one two three four five six seven eight nine") == [
        "one two three four",
        "five six seven eight",
    ]


@pytest.mark.parametrize(
    "opening",
    [
        "*`five`",
        "`b`_five",
        "*b*_five",
        "<*five>",
        "$\\\nfive",
        "[*five]",
        "*b $* five",
        "**five",
        "`five",
        "[five",
        "<five",
        "_five",
        "$five",
        "~~five",
    ],
)
def test_text_after_an_open_mark_is_not_stable(opening: str) -> None:
    assert settled(f"one two three four {opening} six seven eight nine ten") == []
    assert settled(f"zero one two three four {opening} six seven eight") == ["zero one two three"]


def test_text_after_an_escaped_and_an_open_underscore_is_not_stable() -> None:
    assert settled("one two 34567890\\__five six seven eight nine ten") == []


@pytest.mark.parametrize(
    "closed", ["**five**", "`five`", "[five]", "<b>", "a_b_c", "5 * 3", "[five](u)"]
)
def test_closed_marks_are_stable(closed: str) -> None:
    assert settled(f"{closed} and one two three four five six seven eight nine ten") != []


@pytest.mark.parametrize("end", ["*", "**", "***"])
def test_a_mark_closed_by_the_last_character_is_not_stable(end: str) -> None:
    assert settled(f"*one two three four five six seven-{end}") == []


@pytest.mark.parametrize("end", ["\\", "&", "&am", "&#3"])
def test_text_before_an_incomplete_escape_or_entity_is_not_stable(end: str) -> None:
    """When it shrinks, the word before it may fit into the row above."""
    assert settled(f"one 234567890123456{end}") == []


def test_a_mark_left_open_for_long_stays_literal() -> None:
    source = f"*one {'word ' * 300}"

    assert len(settled(source)) > 10


def test_a_possible_table_head_is_not_stable() -> None:
    assert settled("some words before it\nand these\n| name | what", 12) == ["some words"]


def test_complete_lines_of_code_are_stable_also_inside_lists_and_quotes() -> None:
    assert settled("- do\n  ```sh\n  one\n  two\n  thr") == [
        "- do",
        "    sh",
        "    one",
        "    two",
    ]
    assert settled("> ```sh\n> one\n> tw") == ["│   sh", "│   one"]


def test_all_of_a_quote_except_the_end_of_its_last_block_is_stable() -> None:
    assert settled("> first\n>\n> one two three four five six") == [
        "│ first",
        "│ ",
        "│ one two three four",
    ]


def test_a_list_item_is_stable_when_the_next_one_has_begun() -> None:
    assert settled("- one\n- two\n- three") == ["- one", "- two"]


def test_table_rows_are_stable_once_the_column_widths_are_fixed() -> None:
    lines = ["| a | b |", "|---|---|", *(f"| {number} | words |" for number in range(12))]

    assert settled("\n".join(lines[:-1])) == []
    assert settled("\n".join(lines))[-2:] == ["│ 10 │ words │", "│ 11 │ words │"]
    assert settled("> " + "\n> ".join(lines)) == []  # its last row may still grow there
    assert settled("> " + "\n> ".join((*lines, lines[-1])))[-1] == "│ │ 11 │ words │"


@pytest.mark.parametrize("source", ["# a heading", "---"])
def test_an_unfinished_heading_or_rule_has_no_stable_rows(source: str) -> None:
    assert settled(source) == []


words = st.sampled_from(
    [
        "alpha",
        "*it*",
        "**bold**",
        "`code`",
        "[link](u)",
        "a_b",
        "_em_",
        "$x$",
        "中文",
        "🙂",
        "<b>",
        "[1]",
        "~~s~~",
        "5*3",
        "\\*",
        "http://a.b/c",
        "$x^2$",
        "\\(f(x)^2",
        "y^2\\)",
        "\\[\\pi",
        "r^2\\]",
        "(see",
        "there)",
    ]
)
lines = st.lists(words, min_size=1, max_size=25).map(" ".join)
cells = st.lists(words, max_size=6).map(" ".join)
rows = st.lists(cells, min_size=2, max_size=2).map(lambda row: f"| {' | '.join(row)} |")
blocks = st.one_of(
    st.lists(lines, min_size=1, max_size=8).map("\n".join),
    st.lists(lines, min_size=1, max_size=8).map(lambda parts: "> " + "\n> ".join(parts)),
    st.lists(lines, min_size=1, max_size=8).map(lambda parts: "- " + "\n  ".join(parts)),
    st.lists(lines, min_size=1, max_size=8).map(
        lambda parts: "- x\n  ```py\n  " + "\n  ".join(parts)
    ),
    st.lists(rows, min_size=1, max_size=20).map(lambda all: "\n".join(("|a|b|", "|-|-|", *all))),
)


DISSOLVING = "http://a.b \\(f(x)^2 alpha alpha 5*3 alpha alpha y^2\\) alpha alpha alpha 5*3 alpha"
"""The second star makes both parts of the formula emphasised text."""


@pytest.mark.behaviour("committed-rows-are-final")
@example(source=DISSOLVING, step=1, width=12, draws_formulas=True)
@given(
    st.lists(blocks, min_size=1, max_size=3).map("\n\n".join),
    st.integers(1, 60),
    st.integers(12, 70),
    st.booleans(),
)
def test_stable_rows_never_change(source: str, step: int, width: int, draws_formulas: bool) -> None:
    widget = Markdown(is_streaming=True, draws_formulas=draws_formulas)
    sure: list[str] = []
    for start in range(0, len(source), step):
        widget.append(source[start : start + step])
        shown = [strip_sequences(row) for row in widget.render(width)]
        assert shown[: len(sure)] == sure
        sure = shown[: widget.settled_end]
    widget.finish()

    assert [strip_sequences(row) for row in widget.render(width)][: len(sure)] == sure
