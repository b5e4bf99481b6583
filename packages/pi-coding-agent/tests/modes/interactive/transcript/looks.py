"""A look for blocks in tests, and rows as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.tui.component import Component
from pi.tui.style import ColourDepth
from pi.tui.text.ansi import strip_sequences

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def look(depth: ColourDepth = ColourDepth.TRUE) -> TranscriptOptions:
    """A look in ``/home/ada/project``, at a time that stands still."""
    return TranscriptOptions(
        theme=Theme(built_in("dark"), depth),
        cwd=lambda: Path("/home/ada/project"),
        home=Path("/home/ada"),
        monotonic=lambda: 0.0,
    )


def plain(component: Component, width: int = 60) -> list[str]:
    """The drawn rows without colours and trailing blanks."""
    return [strip_sequences(row).rstrip() for row in component.render(width)]


def commands_in(rows: Iterable[str]) -> list[str]:
    """The terminal commands other than styles; there should be none."""
    return _CONTROL.findall(_STYLE.sub("", "".join(rows)))


def call(name: str, **arguments: object) -> ToolCallState:
    """A call that runs."""
    made = ToolCallState("1", name, now=0.0)
    made.run(arguments, now=0.0)
    return made
