"""Code of some languages is drawn by a view: once, when it is complete, and again on resize."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from pi.tui.widgets.markdown.widget import Markdown
from tests.tui.widgets.markdown.sources import chunks, cuts


class Boxes:
    """Draws ``box`` code as a frame around it; it counts its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, bool]] = []

    def draws(self, language: str) -> bool:
        return language == "box"

    def rows(self, language: str, text: str, width: int, *, is_open: bool) -> list[str] | None:
        self.calls.append((text, width, is_open))
        if "refused" in text:
            return None
        lines = text.splitlines()
        room = max(map(visible_width, lines), default=0)
        inside = (f"│{line}{' ' * (room - visible_width(line))}│" for line in lines)
        return [f"┌{'─' * room}┐", *inside, f"└{'─' * room}┘"]


def shown(widget: Markdown, width: int = 30) -> list[str]:
    return [strip_sequences(row).rstrip() for row in widget.render(width)]


def streaming(boxes: Boxes, *parts: str) -> Markdown:
    widget = Markdown("", 0, 0, code_views=boxes, is_streaming=True)
    for part in parts:
        widget.append(part)
        widget.render(30)
    return widget


def test_a_code_view_is_drawn_once_after_its_fence_is_closed() -> None:
    boxes = Boxes()
    widget = streaming(boxes, "Look:\n\n```box\n", "a\n", "bb\n")

    assert (shown(widget), widget.settled_end) == (["Look:", "", "  box …"], 1)
    assert boxes.calls == []

    widget.append("```\nand")
    drawn = ["Look:", "", "┌──┐", "│a │", "│bb│", "└──┘"]
    assert shown(widget) == [*drawn, "", "and"]
    widget.append(" more")
    shown(widget)
    widget.finish()
    assert shown(widget) == [*drawn, "", "and more"]
    assert boxes.calls == [("a\nbb\n", 30, False)]


def test_a_code_view_is_drawn_again_for_another_width() -> None:
    boxes = Boxes()
    widget = streaming(boxes, "```box\na\n```\n")
    widget.finish()

    widget.render(20)
    widget.render(30)

    assert [width for _, width, _ in boxes.calls] == [30, 20, 30]


def test_a_drawing_wider_than_the_screen_stays_source() -> None:
    widget = Markdown("```box\nten wide..\n```", 0, 0, code_views=Boxes())

    assert shown(widget, 12) == ["┌──────────┐", "│ten wide..│", "└──────────┘"]
    assert shown(widget, 11) == ["  box", "  ten", "  wide.."]


def test_code_that_the_view_refuses_is_shown_as_source() -> None:
    widget = Markdown("```box\nrefused\n```", 0, 0, code_views=Boxes())

    assert shown(widget) == ["  box", "  refused"]


@pytest.mark.parametrize(("end", "is_open"), [("", True), ("``", True), ("```", False)])
def test_unclosed_code_at_the_end_of_the_text_is_drawn_as_open(end: str, is_open: bool) -> None:
    boxes = Boxes()
    widget = streaming(boxes, f"```box\na\n{end}")
    widget.finish()
    shown(widget)

    assert [call[2] for call in boxes.calls] == [is_open]


@pytest.mark.parametrize("begin", ["- ", "> ", "1. "])
def test_a_code_view_in_a_list_or_quote_is_drawn_once_when_complete(begin: str) -> None:
    boxes = Boxes()
    indent = begin if begin == "> " else " " * len(begin)
    widget = streaming(boxes, f"{begin}x\n{indent}\n{indent}```box\n", f"{indent}a\n")
    assert boxes.calls == []

    for part in (f"{indent}```\n", f"{indent}after\n", f"{indent}that\n"):
        widget.append(part)
        shown(widget)
    widget.finish()

    assert "│a│" in "".join(shown(widget))
    assert boxes.calls == [("a\n", 30 - len(begin), False)]


def test_code_without_a_view_is_streamed_line_by_line() -> None:
    boxes = Boxes()
    widget = streaming(boxes, "```py\na = 1\n")

    assert (shown(widget), widget.settled_end) == (["  py", "  a = 1"], 2)
    assert boxes.calls == []


LINES = (
    *("plain words that go on for a while and wrap", "", "", "- item", "- other", "  more"),
    *("> quoted", "> ```box", "> in a quote", "> ```", "  ```box", "  in a list", "  ```"),
    *("```box", "a", "a wide line of a drawing ~~~~~~", "refused", "```", "~~~box", "~~~"),
    *("````box", "````", "```py", "x = 1", "$$\\frac{a}{b}$$", "text $$\\sum_i x_i$$ text"),
    *(
        "$$",
        "\\begin{matrix} a & b \\\\ c & d \\end{matrix}",
        "$$",
        "\\[ \\sqrt{x^2} \\]",
        "# head",
    ),
)
sources = st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)
widths = st.lists(st.integers(8, 60), min_size=1, max_size=4)


@pytest.mark.behaviour("committed-rows-are-final")
@given(sources, cuts, widths)
def test_settled_rows_never_change_over_chunks_and_resizes(
    source: str, lengths: list[int], columns: list[int]
) -> None:
    widget = Markdown(is_streaming=True, draws_formulas=True, code_views=Boxes())
    settled: dict[int, list[str]] = {}

    def check(width: int) -> None:
        rows = [strip_sequences(row) for row in widget.render(width)]
        before = settled.get(width, [])
        assert rows[: len(before)] == before
        settled[width] = rows[: widget.settled_end]
        assert all(visible_width(row) <= width for row in rows)

    for number, part in enumerate(chunks(source, lengths)):
        widget.append(part)
        check(columns[number % len(columns)])
    for width in columns:
        check(width)
    widget.finish()
    for width in columns:
        check(width)
    whole = Markdown(source, draws_formulas=True, code_views=Boxes())
    if "[" not in source:  # a link definition may follow its use
        assert widget.render(columns[0]) == whole.render(columns[0])
