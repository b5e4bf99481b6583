"""Mermaid code as rows of box-drawing characters, laid out by ``mermaid-term``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi.extension import CodeView, Theme, ViewOptions, sanitise

if TYPE_CHECKING:
    from mermaid_term import Line

MAX_LINES = 200
MAX_CHARACTERS = 8_000
"""Longer code is shown as source: its layout would block the screen (200 edges: 0.1 s)."""

_FRAMED_SOURCE = "╭ mermaid: "
"""First characters of the output if the library frames the source instead of drawing it."""


def mermaid(code: CodeView, options: ViewOptions, theme: Theme) -> Diagram | None:
    """The view of mermaid code; ``None`` for code that is shown as source."""
    is_long = len(code.text) > MAX_CHARACTERS or code.text.count("\n") > MAX_LINES
    if code.is_open or is_long or not code.text.strip():
        return None
    return Diagram(code.text, theme)


class Diagram:
    """A diagram for any width. If it does not fit, its rows are wider than the screen."""

    def __init__(self, source: str, theme: Theme) -> None:
        self._source = source
        self._theme = theme

    def render(self, width: int) -> list[str]:
        """Return the rows; rows that are too wide make the screen show the source."""
        from mermaid_term import MermaidStyles, Style, render  # deferred: 60 ms

        colours = MermaidStyles(
            border=Style((_BORDER,)), edge=Style((_BORDER,)), edge_label=Style((_LABEL,))
        )
        art = render(self._source, colours, max_width=width)
        if (
            art is None
            or art.plain_lines[0].startswith(_FRAMED_SOURCE)  # unsupported, or too wide
            or loses_text(self._source, "\n".join(art.plain_lines))
        ):
            return [" " * (width + 1)]
        return [self._paint_row(line) for line in art.styled_lines]

    def _paint_row(self, line: Line) -> str:
        """Return a row in the colours of the theme. Labels may contain decoded characters."""
        parts = (_paint(self._theme, span.style.sgr, sanitise(span.content)) for span in line.spans)
        return "".join(parts).rstrip()


_LABELS = re.compile(
    r"\[\W*([^\[\]\n]+?)\W*\]|\(\W*([^()\n]+?)\W*\)|\{\W*([^{}\n]+?)\W*\}"  # of nodes
    r"|[->=]\s*\|([^|\n]+)\||-- +([^-|>\n]+?) +--|:(?!:)[ \t]*([^\n]+)"  # of edges and messages
)
_HIDDEN = re.compile(r"(?m)^\s*(?:%%|style|classDef|class\s+\w+\s+\w+\s*$|linkStyle|click).*$")
"""Comments, and lines that change only the style of a diagram."""


def loses_text(source: str, drawn: str) -> bool:
    """Whether a drawing lacks a word of a label; the library shortens and merges some of them."""
    source = re.sub(r"<br\s*/?>|<<|>>|~", " ", _HIDDEN.sub("", source))
    if source.count("[") != source.count("]"):
        return True  # an unclosed label, which the library parses as something else
    labels = (text for groups in _LABELS.findall(source) for text in groups)
    label_words = {word for label in labels for word in re.findall(r"\w+", label)}
    return not label_words <= {*re.findall(r"\w+", drawn)}


_BORDER, _LABEL = 1, 2
"""Style numbers of the parts that have a colour."""
_COLOURS = {_BORDER: "muted", _LABEL: "accent"}


def _paint(theme: Theme, style: tuple[int, ...], text: str) -> str:
    colour = _COLOURS.get(style[0]) if style else None
    return text if colour is None or not text.strip() else theme.fg(colour, text)
