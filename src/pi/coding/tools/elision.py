"""Text that stands for text left out: it must never become the content of a file. Pure."""

from __future__ import annotations

import re
from functools import cache

from pi.agent.tool import ToolFailed

_MARKERS = r"""
      \[ (?:more\ than\ )? \d+ \ more\ lines\ in\ file\.\ Use\ offset=\d+ \ to\ continue\.\]
    | \[ Showing\ (?:lines\ \d+-\d+|last\ [\d.]+[KM]?B)\ of\ .* \]
    | \[ Line\ \d+\ is\ (?:more\ than\ )? [\d.]+[KM]?B,\ exceeds\ .* \]
    | .{400,} \.\.\.\ \[truncated\]
    | (?: // | \# | -- | ; | /\* | <!-- )? \s*+ (?: \.\.\. | … ) \s*+
      \(? (?: existing | remaining | unchanged | the\ rest | rest\ of | other ) \b [\w\ ]{0,40}?
      \b (?: code | file | content | function | method | class | lines | unchanged ) s? \)? \s*+
      (?: \.\.\. | … )?+ \s*+ (?: \*/ | --> )?
    """
"""Notices of our own tools, and comments by which models say that they leave something out."""


def elisions(text: str) -> list[str]:
    """The lines of ``text`` that stand for something left out."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if _may_mark(line) and _markers().fullmatch(line)]


def refuse_elisions(marks: list[str], *, before: str) -> None:
    """Raise ``ToolFailed`` if one of ``marks`` was not in the file ``before``."""
    for mark in marks:
        if mark not in before:
            raise ToolFailed(
                f"Nothing was written: the line {mark[-120:]!r} stands for text that was left "
                "out, and would replace it. Give the whole text; read the rest of the file first "
                "if it was shown only in part."
            )


@cache
def _markers() -> re.Pattern[str]:
    return re.compile(_MARKERS, re.VERBOSE | re.IGNORECASE)


def _may_mark(line: str) -> bool:
    return line.startswith("[") or "..." in line or "…" in line
