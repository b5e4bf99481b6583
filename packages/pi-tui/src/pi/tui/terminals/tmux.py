"""Reads a tmux pane: after a resize, its contents are known to tmux only."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from pi.base.processes import SpawnFailed, desktop_environment
from pi.base.processes import run as run_process
from pi.tui.screen.pane_match import PaneText

_HISTORY = 1000
"""Rows of history that are read."""
_SECONDS = 2.0
_MAX_BYTES = 4_000_000


def read_tmux_pane(
    pane: str, env: Mapping[str, str], done: Callable[[PaneText | None], None]
) -> Callable[[], object]:
    """Read a pane and calls back with its text, or None on failure. Returns a cancel function."""
    task = asyncio.get_running_loop().create_task(read_pane(pane, env))
    task.add_done_callback(lambda ended: None if ended.cancelled() else done(ended.result()))
    return task.cancel


async def read_pane(pane: str, env: Mapping[str, str]) -> PaneText | None:
    """Return the contents of a tmux pane; None on failure."""
    # One tmux call for both, because the pane cannot change in between.
    size = ("display-message", "-p", "-t", pane, "#{pane_width} #{pane_height}")
    rows = ("capture-pane", "-p", "-t", pane, "-S", f"-{_HISTORY}")
    try:
        end = await run_process(
            ["tmux", "-u", *size, ";", *rows],
            cwd=Path("/"),
            env=desktop_environment(env),
            timeout=_SECONDS,
            max_output=_MAX_BYTES,
        )
    except SpawnFailed:
        return None
    return parse_pane(end.output.decode("utf-8", "replace")) if end.ok else None


def parse_pane(output: str) -> PaneText | None:
    """Parse the output of tmux: the size of the pane, then the rows of history and screen."""
    size, _, rest = output.partition("\n")
    numbers = re.fullmatch(r"(\d+) (\d+)", size)
    rows = rest.removesuffix("\n").split("\n")
    if numbers is None or len(rows) < int(numbers[2]):
        return None
    return PaneText(rows=rows, width=int(numbers[1]), height=int(numbers[2]))
