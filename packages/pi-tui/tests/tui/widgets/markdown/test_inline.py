from __future__ import annotations

import pytest

from pi.tui.widgets.markdown.draw import draw_inline, plain_text
from pi.tui.widgets.markdown.nodes import (
    Code,
    ImageNode,
    Inline,
    Link,
    MarkdownStyle,
    MarkdownTheme,
    Plain,
    StyledSpan,
)

MARKED = MarkdownTheme(
    bold=lambda text: f"*{text}*",
    italic=lambda text: f"/{text}/",
    strike=lambda text: f"-{text}-",
    underline=lambda text: text,
    code=lambda text: f"`{text}`",
    link=lambda text: f"<{text}>",
    link_url=lambda text: f"{{{text}}}",
)


def link(url: str, text: str) -> Link:
    return Link(url=url, children=(Plain(text=text),))


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        (Plain(text="a"), "a"),
        (Code(text="a"), "`a`"),
        (
            StyledSpan(
                mark="bold", children=(StyledSpan(mark="italic", children=(Plain(text="a"),)),)
            ),
            "*/a/*",
        ),
        (StyledSpan(mark="strike", children=(Plain(text="a"),)), "-a-"),
        (link("https://e.org", "here"), "<here> {(https://e.org)}"),
        (link("https://e.org", "https://e.org"), "<https://e.org>"),
        (link("mailto:a@e.org", "a@e.org"), "<a@e.org>"),
        (link("", "nowhere"), "<nowhere>"),
        (ImageNode(url="p.png", children=(Plain(text="cat"),)), "<[cat]> {(p.png)}"),
        (ImageNode(url="p.png", children=()), "<[image]> {(p.png)}"),
    ],
)
def test_every_inline_element_is_painted_with_its_style(node: Inline, shown: str) -> None:
    assert draw_inline([node], MarkdownStyle(theme=MARKED)) == shown


def test_unsafe_links_are_written_out() -> None:
    look = MarkdownStyle(theme=MARKED, has_hyperlinks=True)
    nodes = (Link(url="file:///etc/passwd", children=(Plain(text="here"),)),)

    assert "file:///etc/passwd" in draw_inline(nodes, look)
    assert "\x1b]8" not in draw_inline(nodes, look)


def test_links_are_hyperlinks_if_the_terminal_supports_them() -> None:
    look = MarkdownStyle(theme=MARKED, has_hyperlinks=True)

    assert draw_inline([link("https://e.org", "here")], look) == (
        "\x1b]8;;https://e.org\x07<here>\x1b]8;;\x07"
    )


def test_plain_text_returns_the_text_without_markup() -> None:
    nodes: list[Inline] = [
        StyledSpan(mark="bold", children=(Code(text="a"),)),
        Plain(text="b"),
        link("u", "c"),
    ]

    assert plain_text(nodes) == "abc"
