"""The few settings that the first frame needs, read before anything else is loaded.

Names and defaults are those of ``pi.coding.settings.values``, which a test compares; loading that
module, and what it needs, would take a tenth of the time until the first frame.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from pi.base.files import read_regular
from pi.base.records import UNREADABLE, Meta, Record


class EarlyTerminal(Record):
    """What the person wants of their terminal."""

    hyperlinks: bool | Literal["auto"] = "auto"
    true_color: bool | Literal["auto"] = "auto"
    images: Literal["kitty", "iterm2", "auto", False] = "auto"


class EarlySettings(Record):
    """How the first frame looks."""

    theme: str | None = None
    tui_mode: Literal["regular", "fullscreen"] = "regular"
    fullscreen_exit_output: Literal["transcript", "resume-hint"] = "transcript"
    fullscreen_scrollbar: Literal["auto", "always", "hidden"] = "auto"
    default_thinking_level: str = "medium"
    editor_padding_x: Annotated[int, Meta(ge=0, le=3)] = 0
    autocomplete_max_visible: Annotated[int, Meta(ge=3, le=20)] = 5
    show_hardware_cursor: bool = False
    terminal: EarlyTerminal = EarlyTerminal()


def early_settings(agent_dir: Path) -> EarlySettings:
    """What the person's file says; if it is wrong, the session tells, and defaults hold."""
    try:
        content = read_regular(agent_dir / "settings.json")
        return msgspec.json.decode(content.removeprefix(BOM_UTF8), type=EarlySettings)
    except (OSError, *UNREADABLE):
        return EarlySettings()
