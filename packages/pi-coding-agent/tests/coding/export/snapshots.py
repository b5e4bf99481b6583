"""Snapshots of the sample session in every export format, stored beside this module.

``python -m tests.coding.export.snapshots`` writes them again: review their diff like code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from pi.coding.export.html.page import render_page
from pi.coding.export.text import render_markdown, render_text
from pi.coding.export.transcript import Transcript, read_transcript
from tests.coding.export.sessions import HEADER, sample

FOLDER = Path(__file__).with_name("snapshots")

_FIXED = re.compile(r"(<(style|script)>).*?(</\2>)|sha256-[\w+/=]+", re.DOTALL)
_ELEMENT = re.compile(r"(?=<(?:article|details|section|div class=|pre|h1|dl|a href=\"#))")


def _page(transcript: Transcript) -> str:
    """The page without its own style and script, broken into lines that can be compared."""
    return _ELEMENT.sub("\n", _FIXED.sub(r"\1…\3", render_page(transcript)))


FORMS: dict[str, Callable[[Transcript], str]] = {
    "sample.html": _page,
    "sample.md": render_markdown,
    "sample.txt": render_text,
}


def actual(name: str) -> str:
    """The sample as it is rendered now."""
    return FORMS[name](read_transcript(HEADER, sample()))


def recorded(name: str) -> str:
    """The recorded snapshot of the sample."""
    return (FOLDER / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in FORMS:
        (FOLDER / name).write_text(actual(name), encoding="utf-8")
