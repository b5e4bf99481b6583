"""The world around the screen: the clipboard and pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pi.modes.interactive.startup import Start
from pi.tui.clipboard import Clipboard, runner
from pi.tui.images.detect import has_placeholders
from pi.tui.images.graphics import Graphics
from pi.tui.tui import TUI

MOST_FIRST_IDS = 0xF0_0000
"""Ids of pictures have 24 bits; this leaves a million for the session."""


def system_clipboard(start: Start, write: Callable[[str], None]) -> Clipboard:
    """The clipboard that the person uses; ``write`` sends to their terminal."""
    from pi.base.processes import find_program  # needed when something is copied

    return Clipboard(
        system=start.system,
        env=start.environ,
        find=lambda name: find_program(name, start.environ),
        run=runner(start.environ, start.cwd),
        write=write,
    )


def graphics_for(tui: TUI, environ: Mapping[str, str]) -> Graphics | None:
    """What draws pictures on the terminal; nothing if it shows none."""
    protocol = tui.capabilities.images
    if protocol is None:
        return None
    return Graphics(
        protocol,
        write=tui.terminal.write,
        has_placeholders=has_placeholders(tui.capabilities, environ),
        # Other programs in the same window, and this one at other times, number theirs, too.
        first_id=1 + int.from_bytes(os.urandom(3)) % MOST_FIRST_IDS,
        cell_size=lambda: (tui.negotiation.cell.width, tui.negotiation.cell.height),
    )
