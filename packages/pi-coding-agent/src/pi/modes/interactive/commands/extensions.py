"""``/extensions``: the list of extensions, or a switch by name."""

from __future__ import annotations

from pi.base.errors import PiError
from pi.coding.extension_host.switches import find_row, parse_given
from pi.modes.interactive.dialogs.extension_switching import switch_extension
from pi.modes.interactive.dialogs.extensions import show_extensions
from pi.modes.interactive.ui import Ui

USAGE = "Use /extensions, /extensions on NAME [VALUE] or /extensions off NAME."


async def extensions(ui: Ui, arguments: str) -> None:
    """Show the list of extensions, or switch one on or off."""
    match arguments.split(maxsplit=2):
        case []:
            await show_extensions(ui)
        case ["on", name, *texts]:
            row = find_row(ui.port.extensions.switches.rows(), name)
            value = parse_given(row, texts[0]) if texts else None
            await switch_extension(ui, name, on=True, value=value)
        case ["off", name]:
            await switch_extension(ui, name, on=False)
        case _:
            raise PiError(USAGE)
