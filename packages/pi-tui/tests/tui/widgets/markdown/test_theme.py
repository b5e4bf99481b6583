from __future__ import annotations

from pi.tui.widgets.markdown.nodes import MarkdownStyle, MarkdownTheme


def test_the_default_theme_uses_only_text_attributes() -> None:
    theme = MarkdownTheme()

    assert theme.bold("x") == "\x1b[1mx\x1b[22m"
    assert (theme.text("x"), theme.code("x"), theme.syntax.keyword("x")) == ("x", "x", "x")


def test_a_style_can_be_a_cache_key() -> None:
    assert hash(MarkdownStyle()) == hash(MarkdownStyle())
