"""Switches an extension from the screen: offers its libraries, and asks for a value it needs."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.errors import PiError
from pi.coding.extension_host.switches import find_row
from pi.coding.port.extensions import ExtensionRow
from pi.coding.settings.setting import Setting
from pi.coding.settings.table import SETTINGS
from pi.modes.interactive.dialogs.panel import make_panel
from pi.modes.interactive.dialogs.questions import WRITING, Option, choose
from pi.modes.interactive.dialogs.settings.values import ValueField, format_scalar
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component


async def switch_extension(
    ui: Ui, name: str, *, on: bool, value: object = None, keep: bool = True
) -> None:
    """Switch an extension and show what is true now.

    Libraries that it needs are offered, and a value that it needs is asked for. Raises ``PiError``.
    """
    switches = ui.port.extensions.switches
    row = find_row(switches.rows(), name)
    if on and row.state == "needs":
        if ui.port.info.state().is_streaming:  # libraries are found by a reload
            raise PiError(
                f"{row.name} needs libraries, which cannot be installed while the agent is running."
            )
        # Lazy: imports the HTTP client, and most batteries need no library.
        from pi.modes.interactive.dialogs.libraries import offer_libraries

        if not await offer_libraries(ui, row.needs, row.name):
            ui.notify(f"{row.name} stays off: it needs {', '.join(row.needs)}.")
            return
        with ui.working("Reloading…"):
            await ui.port.sessions.reload()
    if on and row.asks and value is None:
        value = await ask_value(ui, row)
        if value is None:
            ui.notify(f"{row.name} stays off: {row.setting} has no value.")
            return
    ui.notify(await switches.switch(row.name, on=on, value=value, keep=keep))
    ui.refresh()


async def ask_value(ui: Ui, row: ExtensionRow) -> object:
    """Ask for a value of the setting of an extension; ``None`` if the user cancels."""
    setting = next(setting for setting in SETTINGS if setting.name == row.setting)
    title = f"{row.name}: {setting.label}"
    if setting.choices:
        options = [
            Option(value=choice, label=format_scalar(choice))
            for choice in setting.choices
            if choice != setting.default
        ]
        current = [] if row.value is None else [row.value]
        return await choose(
            ui, title, options, initial=current, message=f"{setting.description} ({setting.name})"
        )
    return await _ask_text(ui, title, setting, row.value)


async def _ask_text(ui: Ui, title: str, setting: Setting, current: object) -> object:
    def build(done: Callable[[object], None]) -> Component:
        field = ValueField(
            ui.theme,
            ui.keymap,
            setting,
            current,
            on_value=done,
            on_cancel=lambda: done(None),
        )
        return make_panel(ui, title, field, lambda: WRITING, message=f"Stored as {setting.name}.")

    return await ui.show(build)
