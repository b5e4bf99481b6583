"""Screens kept as text beside this module; ``WRITE_SNAPSHOTS=1`` rewrites them."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any

import pytest

from pi.tui.testing import VirtualTerminal

FOLDER = Path(__file__).with_name("snapshots")

_LETTERS = {
    "bold": "b",
    "faint": "d",
    "italic": "i",
    "underline": "u",
    "inverse": "r",
    "strikethrough": "s",
}


def check(name: str, shown: str) -> None:
    """Compare a screen with its approved snapshot."""
    path = FOLDER / f"{name}.txt"
    text = f"{shown}\n"
    if os.environ.get("WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    approved = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != approved:
        pytest.fail(_describe_difference(path, approved, text), pytrace=False)


def _describe_difference(path: Path, approved: str, text: str) -> str:
    """The changed rows, and the command that accepts them."""
    rows = difflib.unified_diff(
        approved.splitlines(), text.splitlines(), "approved", "now", lineterm="", n=1
    )
    test = os.environ.get("PYTEST_CURRENT_TEST", "tests/screens").partition("::")[0]
    return "\n".join(
        (f"The screen differs from {path.name}:", *rows, f"Accept: WRITE_SNAPSHOTS=1 ./test {test}")
    )


def styled(terminal: VirtualTerminal) -> str:
    """Return a screen without wide characters, with ``{…}`` where the style changes.

    A number is one of the sixteen colours, ``#`` any other colour, and ``/`` precedes a background.
    The letters mean bold, dim, italic, underlined, reversed and struck through.
    """
    rows = enumerate(terminal.screen)
    return "\n".join(_styled(terminal, number, row) for number, row in rows).rstrip()


def _styled(terminal: VirtualTerminal, number: int, row: str) -> str:
    shown, last = "", ""
    for column, letter in enumerate(row):
        sign = _sign(terminal.style(column, number))
        shown += letter if sign == last else f"{{{sign}}}{letter}"
        last = sign
    return shown


def _sign(style: dict[str, Any]) -> str:
    behind = _colour(style["bg"])
    letters = "".join(letter for name, letter in _LETTERS.items() if style[name])
    return f"{_colour(style['fg'])}{letters}{'/' if behind else ''}{behind}"


def _colour(colour: tuple[str, Any] | None) -> str:
    if colour is None:
        return ""
    return str(colour[1]) if colour[0] == "palette" and colour[1] < 16 else "#"
