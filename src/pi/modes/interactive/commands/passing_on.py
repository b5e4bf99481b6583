"""Commands that give the conversation to others, or to the clipboard."""

from __future__ import annotations

from pi.base.errors import PiError
from pi.base.terminal_text import sanitise
from pi.coding.export.text import NOTHING_TO_DUMP
from pi.modes.interactive.dialogs.browser import open_outside
from pi.modes.interactive.dialogs.waiting import wait_for
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.text import Text

_PAGES = (".html", ".htm")


async def export(ui: Ui, arguments: str) -> None:
    """Write the session to a file; a page is opened, too."""
    path = await ui.port.exports.write(arguments or None)
    ui.say(Text(f"Session exported to {sanitise(str(path))}", pad_y=0))
    if path.suffix.lower() in _PAGES:
        await open_outside(str(path), ui.host)


async def share(ui: Ui, arguments: str) -> None:
    """Share the session; the addresses stay in the transcript, each in full."""
    shared = await wait_for(ui, "Sharing…", ui.port.exports.share())
    if shared is None:
        ui.notify("Share cancelled")
        return
    if shared.warning:
        ui.notify(shared.warning, "warning")
    lines = [shared.message]
    lines += [f"Share URL: {shared.url}"] if shared.url else []
    lines += [f"Gist: {shared.gist_url}"] if shared.gist_url else []
    ui.say(Text(sanitise("\n".join(lines)), pad_y=0))
    if shared.url:
        await open_outside(shared.url, ui.host)


async def copy(ui: Ui, arguments: str) -> None:
    """Copy the last answer."""
    text = ui.port.facts.last_answer()
    if text is None:
        raise PiError("There is no answer to copy yet.")
    await _copy(ui, text, "the last answer")


async def dump(ui: Ui, arguments: str) -> None:
    """Copy the whole session as text."""
    text = await ui.port.exports.text()
    if not text:
        raise PiError(NOTHING_TO_DUMP)
    await _copy(ui, text, "the session")


async def _copy(ui: Ui, text: str, what: str) -> None:
    copied = await ui.clipboard.copy(text)
    if copied.confirmed:
        ui.notify(f"Copied {what}.", "success")
    else:
        ui.notify(f"Sent {what} to the terminal's clipboard; it does not say whether it took it.")
