"""``pi config`` on a terminal: enables and disables package resources."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pi.base.errors import PiError
from pi.base.records import Record
from pi.modes.interactive.dialogs.panel import MIN_ROWS, Panel
from pi.modes.interactive.startup import load_keys
from pi.modes.interactive.status.transient_notice import TransientNotice
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from pi.tui.input.keymap import Keymap
from pi.tui.terminal import Terminal
from pi.tui.tui import TUI
from pi.tui.widgets.settings_list import SettingItem, SettingsList

TITLE = "Package resources"
_OTHER_ROWS = 9
"""Rows of the screen beside the list."""


class PackageResource(Record):
    """A resource of a package."""

    path: str
    about: str
    """Its kind and package."""
    is_on: bool

    def state_text(self, *, on: bool) -> str:
        """The text beside its path."""
        return f"[{'x' if on else ' '}] {self.about}"


class ToggleResource(Protocol):
    """Changes which resources are enabled."""

    async def __call__(self, index: int, *, on: bool) -> None:
        """Enable or disable the resource at an index. Raises ``PiError`` on failure."""
        ...


async def choose_resources(
    resources: Sequence[PackageResource],
    switch: ToggleResource,
    terminal: Terminal,
    *,
    environ: Mapping[str, str],
    agent_dir: Path,
) -> None:
    """Show the list until the user closes it; changes apply at once.

    Changes run one after another. A failure is shown, and the list shows the actual state.
    """
    changes: asyncio.Queue[tuple[int, bool] | None] = asyncio.Queue()
    tui = TUI(terminal, env=environ, on_disconnect=lambda: changes.put_nowait(None))
    theme = Theme(built_in(tui.appearance.scheme), tui.capabilities.colours)
    resource_list = _resource_list(
        resources, theme, changes, rows=terminal.size.rows, agent_dir=agent_dir
    )
    notice = TransientNotice(theme)
    panel = Panel(theme, TITLE, resource_list)
    tui.add_child(panel)
    tui.add_child(notice)
    tui.set_focus(panel)
    with tui:
        while (change := await changes.get()) is not None:
            index, on = change
            try:
                await switch(index, on=on)
            except PiError as error:
                resource_list.set_value(str(index), resources[index].state_text(on=not on))
                notice.show(error.explain(), "error")
            tui.request_render()
        tui.clear()  # the closed list is not left on the screen


def _resource_list(
    resources: Sequence[PackageResource],
    theme: Theme,
    changes: asyncio.Queue[tuple[int, bool] | None],
    *,
    rows: int,
    agent_dir: Path,
) -> SettingsList:
    keymap = Keymap()
    load_keys(keymap, agent_dir)
    items = [
        SettingItem(
            id=str(index),
            label=resource.path,
            current_value=resource.state_text(on=resource.is_on),
            values=(resource.state_text(on=True), resource.state_text(on=False)),
            description=f"{resource.path}: {resource.about}",
        )
        for index, resource in enumerate(resources)
    ]

    def change(id: str, value: str) -> None:
        index = int(id)
        changes.put_nowait((index, value == resources[index].state_text(on=True)))

    return SettingsList(
        items,
        max(MIN_ROWS, rows - _OTHER_ROWS),
        theme.settings,
        on_change=change,
        on_cancel=lambda: changes.put_nowait(None),
        keymap=keymap,
        is_searchable=True,
    )
