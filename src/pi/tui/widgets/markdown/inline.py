"""Text with marks, code and links → one styled string, to be wrapped by others."""

from __future__ import annotations

from collections.abc import Iterable

from pi.tui.text.ansi import is_linkable, link
from pi.tui.widgets.markdown.look import Look
from pi.tui.widgets.markdown.nodes import Code, Inline, Link, Marked, Picture, Plain


def draw_inline(nodes: Iterable[Inline], look: Look) -> str:
    """The styled text; line feeds in it are line breaks."""
    return "".join(_draw(node, look) for node in nodes)


def plain_text(nodes: Iterable[Inline]) -> str:
    """What is left without marks, as one string."""
    return "".join(
        node.text if isinstance(node, Plain | Code) else plain_text(node.children) for node in nodes
    )


def _draw(node: Inline, look: Look) -> str:
    theme = look.theme
    match node:
        case Plain():
            return node.text
        case Code():
            return theme.code(node.text)
        case Marked():
            paint = {"bold": theme.bold, "italic": theme.italic, "strike": theme.strike}
            return paint[node.mark](draw_inline(node.children, look))
        case Link():
            return _draw_link(node, look)
        case Picture():
            description = plain_text(node.children) or "image"
            text = Plain(text=f"[{description}]")
            return _draw_link(Link(url=node.url, children=(text,)), look)


def _draw_link(node: Link, look: Look) -> str:
    theme = look.theme
    text = theme.link(theme.underline(draw_inline(node.children, look)))
    if look.has_hyperlinks and is_linkable(node.url):
        return link(node.url, text)
    if not node.url or plain_text(node.children) == node.url.removeprefix("mailto:"):
        return text
    return f"{text} {theme.link_url(f'({node.url})')}"
