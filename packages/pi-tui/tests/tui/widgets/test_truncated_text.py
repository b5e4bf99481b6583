from __future__ import annotations

from pi.tui.widgets.text import TruncatedText


def test_only_the_first_line_is_shown_and_cut_at_the_width() -> None:
    assert TruncatedText("a long line\nanother").render(8) == ["a lon..."]


def test_the_line_is_padded() -> None:
    assert TruncatedText("text", 1, 1).render(10) == ["", " text", ""]


def test_control_sequences_are_removed() -> None:
    assert TruncatedText("a\x1b]0;t\x07b").render(8) == ["ab"]


def test_the_text_can_be_replaced() -> None:
    line = TruncatedText("a")
    line.render(5)

    line.set_text("b")

    assert line.render(5) == ["b"]
