"""The few settings that the first frame needs, read before anything else is loaded.

Names and defaults are those of ``pi.coding.settings.values``, which a test compares; importing that
module would take a tenth of the time until the first frame.
"""

# Without `from __future__ import annotations`: every start decodes these records, and msgspec
# has to compile each annotation that is a string.

from codecs import BOM_UTF8
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pi.base.files import read_regular
from pi.base.records import UNREADABLE, Record


class EarlyTerminal(Record):
    """Terminal settings."""

    hyperlinks: bool | Literal["auto"] = "auto"
    true_color: bool | Literal["auto"] = "auto"
    images: Literal["kitty", "iterm2", "auto", False] = "auto"


class EarlyEditor(Record):
    """Settings of the editor."""

    mode: Literal["standard", "vim"] = "standard"


class EarlyTui(Record):
    """Settings of accessibility."""

    screen_reader: bool = False


class EarlySettings(Record):
    """Settings of the first frame."""

    theme: str | None = None
    tui_mode: Literal["regular", "fullscreen"] = "regular"
    fullscreen_exit_output: Literal["transcript", "resume-hint"] = "transcript"
    fullscreen_scrollbar: Literal["auto", "always", "hidden"] = "auto"
    default_thinking_level: str = "medium"
    editor_padding_x: Annotated[int, Meta(ge=0, le=3)] = 0
    autocomplete_max_visible: Annotated[int, Meta(ge=3, le=20)] = 5
    show_hardware_cursor: bool = False
    terminal: EarlyTerminal = EarlyTerminal()
    editor: EarlyEditor = EarlyEditor()
    tui: EarlyTui = EarlyTui()


def early_settings(agent_dir: Path) -> EarlySettings:
    """Read the user's file; if it is invalid, defaults apply; the session reports errors."""
    try:
        if (agent_dir / "config.yml").exists():
            return msgspec.convert(_with_config(agent_dir), type=EarlySettings)
        content = read_regular(agent_dir / "settings.json").removeprefix(BOM_UTF8)
        try:
            return msgspec.json.decode(content, type=EarlySettings)
        except msgspec.ValidationError:
            return EarlySettings()
        except UNREADABLE:  # perhaps because it has comments
            return msgspec.convert(_with_config(agent_dir), type=EarlySettings)
    except (OSError, *UNREADABLE):
        return EarlySettings()


def _with_config(agent_dir: Path) -> dict[str, object]:
    """Return ``settings.json``, which may have comments, above ``config.yml``."""
    from pi.base.clock import SystemClock  # deferred: few users have the file
    from pi.coding.settings.files import SettingsFile

    file = SettingsFile(agent_dir / "settings.json", clock=SystemClock())
    return file.read_or_skip()
