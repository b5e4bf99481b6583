"""``pi config`` on a terminal: which resources of packages are used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pi.base.errors import PiError
from pi.base.records import Record
from pi.modes.interactive.dialogs.panel import LEAST_ROWS, Panel
from pi.modes.interactive.startup import load_keys
from pi.modes.interactive.status.footer import TransientNotice
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from pi.tui.input.keymap import Keymap
from pi.tui.terminal import Terminal
from pi.tui.tui import TUI
from pi.tui.widgets.settings_list import SettingItem, SettingsList

TITLE = "What of the packages is used"
_AROUND_THE_LIST = 9
"""Rows that the screen has beside it."""


class PackageResource(Record):
    """Something that a package offers."""

    path: str
    about: str
    """What it is, and of which package."""
    is_on: bool

    def shown(self, *, on: bool) -> str:
        """What is shown beside its path."""
        return f"[{'x' if on else ' '}] {self.about}"


class ToggleResource(Protocol):
    """Changes what is used."""

    async def __call__(self, place: int, *, on: bool) -> None:
        """Use, or no longer use, the resource in a place of the list; ``PiError`` if it fails."""
        ...


async def choose_resources(
    resources: Sequence[PackageResource],
    switch: ToggleResource,
    terminal: Terminal,
    *,
    environ: Mapping[str, str],
    agent_dir: Path,
) -> None:
    """Show a list until the person leaves it; every change is made at once.

    Changes are made one after the other. One that fails is told, and the list shows how it is.
    """
    wishes: asyncio.Queue[tuple[int, bool] | None] = asyncio.Queue()
    tui = TUI(terminal, env=environ, on_disconnect=lambda: wishes.put_nowait(None))
    theme = Theme(built_in(tui.appearance.scheme), tui.capabilities.colours)
    shown = _listed(resources, theme, wishes, rows=terminal.size.rows, agent_dir=agent_dir)
    notice = TransientNotice(theme)
    panel = Panel(theme, TITLE, shown)
    tui.add_child(panel)
    tui.add_child(notice)
    tui.set_focus(panel)
    with tui:
        while (wish := await wishes.get()) is not None:
            place, on = wish
            try:
                await switch(place, on=on)
            except PiError as problem:
                shown.set_value(str(place), resources[place].shown(on=not on))
                notice.show(problem.explain(), "error")
            tui.request_render()
        tui.clear()  # a list that can no longer be used is not left on the screen


def _listed(
    resources: Sequence[PackageResource],
    theme: Theme,
    wishes: asyncio.Queue[tuple[int, bool] | None],
    *,
    rows: int,
    agent_dir: Path,
) -> SettingsList:
    keymap = Keymap()
    load_keys(keymap, agent_dir)
    items = [
        SettingItem(
            id=str(place),
            label=each.path,
            current_value=each.shown(on=each.is_on),
            values=(each.shown(on=True), each.shown(on=False)),
            description=f"{each.path}: {each.about}",
        )
        for place, each in enumerate(resources)
    ]

    def change(id: str, value: str) -> None:
        place = int(id)
        wishes.put_nowait((place, value == resources[place].shown(on=True)))

    return SettingsList(
        items,
        max(LEAST_ROWS, rows - _AROUND_THE_LIST),
        theme.settings,
        on_change=change,
        on_cancel=lambda: wishes.put_nowait(None),
        keymap=keymap,
        is_searchable=True,
    )
