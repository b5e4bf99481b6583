"""Markdown texts, fixed or random."""

from __future__ import annotations

from hypothesis import strategies as st

LINES = (
    "plain text that goes on for a while",
    "with **bold**, *italic*, `code` and [a link](https://example.org)",
    "日本語のテキスト",
    "",
    "",
    "# Heading",
    "=====",
    "---",
    "- item",
    "- [x] task",
    "  - nested",
    "1. one",
    "7) seven",
    "2",
    "   continued",
    "> quoted",
    "> - list in a quote",
    "```python",
    "```",
    "   ```",
    "~~~~",
    "def f():",
    "    return 1",
    "| a | b |",
    "|---|:-:|",
    "| cell | another cell |",
    "<div>",
    "</div>",
    "$$x_1$$",
    "\tindented",
)

sources = st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)

cuts = st.lists(st.integers(min_value=1, max_value=12), min_size=1, max_size=8)
"""Lengths of the chunks in which a text arrives; repeated as needed."""


def chunks(text: str, lengths: list[int]) -> list[str]:
    """Splits the text into chunks of these lengths, repeated."""
    pieces: list[str] = []
    place = number = 0
    while place < len(text):
        length = lengths[number % len(lengths)]
        pieces.append(text[place : place + length])
        place, number = place + length, number + 1
    return pieces
