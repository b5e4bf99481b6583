from __future__ import annotations

import pytest

from pi.base.records import replace
from pi.tui.text.width import visible_width
from pi.tui.widgets.markdown.draw import _code_rows, clear_code_cache, draw_blocks, needs_gap
from pi.tui.widgets.markdown.nodes import CodeBlock, MarkdownStyle, MarkdownTheme
from pi.tui.widgets.markdown.parse import parse

PLAIN = MarkdownStyle(theme=MarkdownTheme(bold=str, italic=str, underline=str))


def drawn(source: str, width: int = 30, look: MarkdownStyle = PLAIN) -> list[str]:
    return draw_blocks([placed.block for placed in parse(source)], width, look)


def test_headings_differ_by_level() -> None:
    assert drawn("# a\n## b\n### c\n") == ["a", "", "b", "", "### c"]
    assert drawn("# a\n## b\n", look=MarkdownStyle()) == [
        "\x1b[1;4ma\x1b[22;24m",
        "",
        "\x1b[1mb\x1b[22m",
    ]


def test_paragraphs_keep_their_line_breaks() -> None:
    assert drawn("one two three\nfour", 8) == ["one two", "three", "four"]


def test_code_is_shown_below_its_language_or_with_its_fences_as_typed() -> None:
    typed = replace(PLAIN, keeps_list_markers=True)
    code = "```py\nx = 1\n\ny\n```\n"

    assert drawn(code) == ["  py", "  x = 1", "  ", "  y"]
    assert drawn(code, look=typed) == ["```py", "  x = 1", "  ", "  y", "```"]


def test_only_complete_lines_of_code_are_cached() -> None:
    clear_code_cache()
    for growing in ("x", "x = ", "x = 1"):
        drawn(f"```py\nwhole\n{growing}")
    assert _code_rows.cache_info().currsize == 1


def test_a_code_block_can_be_drawn_in_parts() -> None:
    block = CodeBlock(language="py", text="a\nb\n")
    parts = [
        replace(block, has_end=False),
        replace(block, has_start=False, has_end=False),
        replace(block, has_start=False),
    ]

    assert draw_blocks(parts, 20, PLAIN) == ["  py", *["  a", "  b"] * 3]
    assert [needs_gap(part) for part in parts] == [True, False, False]


def test_a_growing_line_of_code_is_shown() -> None:
    assert draw_blocks([CodeBlock(language="", text="a\nb", has_end=False)], 20, PLAIN) == [
        "  a",
        "  b",
    ]


@pytest.mark.behaviour("tables-and-lists")
def test_nested_lists_in_quotes_are_kept() -> None:
    assert drawn("> a\n>\n> - b\n>   - c\n") == ["│ a", "│ ", "│ - b", "│   - c"]


def test_the_content_of_a_list_item_is_indented() -> None:
    assert drawn("- one two three\n  - four\n- five\n\n\n10. a\n    b\n", 12) == [
        "- one two",
        "  three",
        "  - four",
        "- five",
        "",
        "10. a",
        "    b",
    ]


def test_empty_lines_between_list_items_are_kept() -> None:
    assert drawn("- a\n\n  b\n\n- c\n-\n") == ["- a", "", "  b", "", "- c", "- "]
    assert drawn("> - a\n>\n> - b\n> - c\n") == ["│ - a", "│ ", "│ - b", "│ - c"]


def test_tasks_show_whether_they_are_done() -> None:
    typed = replace(PLAIN, keeps_list_markers=True)

    assert drawn("- [x] a\n- [ ] b\n\n1. [x] c\n") == ["☑ a", "☐ b", "", "1. ☑ c"]
    assert drawn("- [x] a\n- [ ] b\n", look=typed) == ["- [x] a", "- [ ] b"]


@pytest.mark.behaviour("tables-and-lists")
def test_list_numbers_continue_after_code() -> None:
    assert drawn("1. a\n```\nx\n```\n2. b\n3. c\n") == [
        "1. a",
        "",
        "  x",
        "",
        "2. b",
        "3. c",
    ]


@pytest.mark.behaviour("user-text-is-literal")
def test_markers_can_be_kept_as_typed() -> None:
    typed = replace(PLAIN, keeps_list_markers=True)

    assert drawn("* a\n\n7) b\n7) c\n", look=typed) == ["* a", "", "7) b", "7) c"]
    assert drawn("* a\n\n7) b\n7) c\n") == ["- a", "", "7. b", "8. c"]


def test_one_empty_row_separates_html_from_the_next_block() -> None:
    assert drawn("<p>\nx\n</p>\n\ny") == ["<p>", "x", "</p>", "", "y"]


def test_a_rule_has_the_full_width_up_to_80_columns() -> None:
    assert [visible_width(row) for row in drawn("---\n", 30) + drawn("---\n", 200)] == [30, 80]


@pytest.mark.behaviour("lines-fit-the-terminal")
@pytest.mark.parametrize("width", range(1, 14))
def test_nested_blocks_fit_the_narrowest_screen(width: int) -> None:
    source = "> > - a word\n> >   ```\n> >   code here\n> >   ```\n" + "1. " * 9 + "日本\n"

    assert max(map(visible_width, drawn(source, width))) <= width
