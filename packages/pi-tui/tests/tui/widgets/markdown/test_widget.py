from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.style import Style, painter
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from pi.tui.widgets.markdown.nodes import CodeTheme, MarkdownTheme
from pi.tui.widgets.markdown.widget import Markdown
from tests.tui.widgets.markdown.sources import chunks, cuts, sources


def test_blocks_are_separated_and_padded() -> None:
    widget = Markdown("# One\n\ntwo", theme=MarkdownTheme(bold=str, underline=str))

    assert widget.render(10) == ["", " One", "", " two", ""]


def test_a_background_fills_every_row() -> None:
    widget = Markdown("a\n\nb", 1, 1, background=lambda text: f"<{text}>")

    assert widget.render(4) == ["<    >", "< a  >", "<    >", "< b  >", "<    >"]


def test_an_empty_text_has_no_rows() -> None:
    assert Markdown("").render(10) == []


def test_unchanged_rows_are_the_same_list() -> None:
    widget = Markdown("a")

    assert widget.render(10) is widget.render(10)


def test_list_markers_and_backslashes_can_be_shown_as_typed() -> None:
    widget = Markdown(
        "+ a\n\n5) b\n5) c\n\n\\*no\\*", 0, 0, keeps_list_markers=True, keeps_backslashes=True
    )

    assert widget.render(20) == ["+ a", "", "5) b", "5) c", "", "\\*no\\*"]


def test_formulas_are_drawn_on_request() -> None:
    assert Markdown("$x^2$", 0, 0).render(20) == ["$x^2$"]
    assert Markdown("$x^2$", 0, 0, draws_formulas=True).render(20) == ["x²"]


def test_a_transform_changes_the_shown_rows_and_not_the_text() -> None:
    widget = Markdown("a", 0, 0, transform=str.upper, is_streaming=True)
    widget.append("b")

    assert (widget.text, widget.render(5)) == ("ab", ["AB"])


def test_a_transform_is_applied_again_when_the_text_is_complete() -> None:
    endings = iter(["a …", "ab …", "abc."])
    widget = Markdown("a", 0, 0, transform=lambda text: next(endings), is_streaming=True)
    shown = [widget.render(9)]
    widget.append("b")
    shown.append(widget.render(9))
    widget.finish("c")
    shown.append(widget.render(9))

    assert (widget.text, shown) == ("abc", [["a …"], ["ab …"], ["abc."]])
    assert widget.live_region_start is None


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]52;c;AAAA\x07x",
        "&#27;]52;c;AAAA&#7;x",
        "`\x9b2J`",
        "[x](https://e.org/\x1b]0;t\x07)",
        "[x](<https://e.org/&#27;]0;t&#7;>)",
        "```\x1b[2J\n\x1b[3J\n```",
        "| \x1b[2J |\n|--|\n| &#155;2J |",
    ],
)
@pytest.mark.parametrize("is_streaming", [False, True])
def test_no_sequence_of_a_source_reaches_the_terminal(text: str, is_streaming: bool) -> None:
    theme = MarkdownTheme(bold=str, underline=str)
    widget = Markdown(text, 0, 0, theme, is_streaming=is_streaming)
    for letter in text:
        widget.append(letter)

    rows = "\n".join(widget.render(40))

    assert [letter for letter in rows if letter != "\n" and not letter.isprintable()] == []


@pytest.mark.behaviour("line-ends-are-normalised")
def test_line_ends_and_tabs_are_normalised() -> None:
    widget = Markdown("a\r\nb\r```\r\n\tc\r\n```\r\n", 0, 0)

    assert widget.render(20) == ["a", "b", "", "      c"]


@pytest.mark.behaviour("lines-fit-the-terminal")
@given(sources, st.integers(min_value=1, max_value=60))
def test_no_row_is_too_wide(source: str, width: int) -> None:
    assert all(visible_width(row) <= width for row in Markdown(source).render(width))


@pytest.mark.behaviour("markdown-streams-linearly")
@given(sources, cuts)
def test_a_streamed_text_has_the_same_rows_as_a_complete_one(
    source: str, lengths: list[int]
) -> None:
    streamed = Markdown(is_streaming=True)
    for chunk in chunks(source, lengths):
        streamed.append(chunk)
        streamed.render(40)
    streamed.finish()

    assert streamed.render(40) == Markdown(source).render(40)
    assert streamed.live_region_start is None


@pytest.mark.behaviour("committed-rows-are-final", "markdown-streams-linearly")
@given(sources, cuts)
def test_rows_that_are_reported_final_never_change(source: str, lengths: list[int]) -> None:
    widget = Markdown(is_streaming=True)
    final: list[str] = []
    for chunk in [*chunks(source, lengths), ""]:
        widget.append(chunk)
        rows = widget.render(40)
        assert rows[: len(final)] == final
        assert widget.live_region_start is not None
        final = rows[: widget.live_region_start]
    widget.finish()

    assert widget.render(40)[: len(final)] == final


@pytest.mark.behaviour("committed-rows-are-final")
@given(sources, cuts)
def test_rows_reported_as_settled_keep_their_text(source: str, lengths: list[int]) -> None:
    widget = Markdown(is_streaming=True)
    settled: list[str] = []
    for chunk in [*chunks(source, lengths), ""]:
        widget.append(chunk)
        rows = [strip_sequences(row) for row in widget.render(40)]
        assert rows[: len(settled)] == settled
        assert widget.settled_end is not None
        settled = rows[: widget.settled_end]
    widget.finish()

    assert [strip_sequences(row) for row in widget.render(40)][: len(settled)] == settled


def test_whole_lines_of_open_code_are_settled() -> None:
    widget = Markdown("text\n\n```python\nx = 1\ny = ", 0, 0, is_streaming=True)

    assert len(widget.render(40)) == 5
    assert (widget.live_region_start, widget.settled_end) == (1, 4)


@pytest.mark.behaviour("open-fence-does-not-flicker")
@pytest.mark.parametrize(
    "source", ["text\n\n```python\nx = 1\n```\n", "a\n- b\n", "a\n\n---\n", "a\n1. b\n"]
)
def test_half_received_lines_do_not_flicker(source: str) -> None:
    widget = Markdown("", 0, 0, is_streaming=True)
    shown: list[str] = []
    for letter in source:
        widget.append(letter)
        shown.append("".join(strip_sequences(row).strip() for row in widget.render(40)))

    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))


@pytest.mark.behaviour("toggles-redraw-everything")
def test_invalidating_redraws_everything_with_the_current_theme() -> None:
    colour = [1]
    paint = lambda text: painter(Style(colour=colour[0]))(text)  # noqa: E731
    theme = MarkdownTheme(text=paint, code_block=paint, syntax=CodeTheme(keyword=paint))
    widget = Markdown("a\n\n```python\nif\nx\n```\n\nb", 0, 0, theme)
    before = widget.render(20)

    colour[0] = 2
    widget.invalidate()

    assert widget.render(20) == [row.replace("\x1b[31m", "\x1b[32m") for row in before]
    assert widget.render(20) != before


def test_another_text_replaces_a_streaming_one() -> None:
    widget = Markdown("one\n\ntwo\n\nthree", 0, 0, is_streaming=True)
    widget.render(20)

    widget.set_text("other")

    assert (widget.render(20), widget.live_region_start) == (["other"], 0)


@pytest.mark.behaviour("markdown-streams-linearly")
def test_work_per_delta_does_not_grow_with_the_text(counted: Iterator[int]) -> None:
    widget = Markdown(is_streaming=True)
    paragraph = "Some words with **bold** and `code` in them.\n\n"
    work: list[int] = []
    for _ in range(80):
        for chunk in chunks(paragraph, [7]):
            widget.append(chunk)
            widget.render(60)
        work.append(next(counted))

    assert median(work[60:]) == median(work[10:30])


@pytest.fixture
def counted() -> Iterator[Iterator[int]]:
    """Counts the calls of our own code since the last read."""
    calls = [0]

    def count(frame: object, event: str, argument: object) -> None:
        calls[0] += event == "call"

    def since_last_time() -> Iterator[int]:
        while True:
            latest, calls[0] = calls[0], 0
            yield latest

    before = sys.getprofile()
    sys.setprofile(count)
    yield since_last_time()
    sys.setprofile(before)
