"""Addresses that stand in a text by themselves become links, as GitHub's Markdown has it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from pi.tui.widgets.markdown.nodes import Inline, Link, Plain

_ADDRESS = r"(?<![\w/])https?://[\w\[][^\s<>\"`。、，；：？！（）「」『』【】《》]*"
_NEVER_LAST = "?!.,:;*_~'"
_BRACKETS = {")": "(", "]": "["}


def linked(nodes: Iterable[Inline]) -> tuple[Inline, ...]:
    """The nodes with links in place of addresses; nodes without any are the very same."""
    found: list[Inline] = []
    for is_plain, run in groupby(nodes, lambda node: isinstance(node, Plain)):
        run_nodes = list(run)
        # An underscore or an ampersand cuts a text in two: look at all of it.
        text = "".join(node.text for node in run_nodes if isinstance(node, Plain))
        found += _split(text) if is_plain and "://" in text else run_nodes
    return tuple(found)


def _split(text: str) -> Iterator[Inline]:
    """A text as links and what is between them."""
    at = 0
    for match in re.finditer(_ADDRESS, text):
        address = _trimmed(match[0])
        if match.start() > at:
            yield Plain(text=text[at : match.start()])
        yield Link(url=address, children=(Plain(text=address),))
        at = match.start() + len(address)
    if at < len(text):
        yield Plain(text=text[at:])


def _trimmed(address: str) -> str:
    """Without what belongs to the sentence: its punctuation, and brackets opened before."""
    while True:
        last = address[-1]
        opening = _BRACKETS.get(last)
        is_unopened = opening is not None and address.count(last) > address.count(opening)
        if last not in _NEVER_LAST and not is_unopened:
            return address
        address = address[:-1]
