"""``/export``, ``/share``, ``/copy`` and ``/dump``: the session leaves pi."""

from __future__ import annotations

from pi.base.errors import PiError
from pi.base.terminal_text import sanitise
from pi.coding.export.text import NOTHING_TO_DUMP
from pi.modes.interactive.dialogs.opening_pages import open_in_browser
from pi.modes.interactive.dialogs.waiting import wait_for
from pi.modes.interactive.ui import Ui
from pi.tui.widgets.text import Text

_PAGES = (".html", ".htm")


async def export(ui: Ui, arguments: str) -> None:
    """Export the session to a file; a web page is also opened."""
    path = await ui.port.exports.write(arguments or None)
    ui.add_output(Text(f"Session exported to {sanitise(str(path))}", pad_y=0))
    if path.suffix.lower() in _PAGES:
        await open_in_browser(str(path), ui.host)


async def share(ui: Ui, arguments: str) -> None:
    """Share the session; the addresses stay in the transcript, each in full."""
    shared = await wait_for(ui, "Sharing…", ui.port.exports.share(arguments.strip()))
    if shared is None:
        ui.notify("Share cancelled")
        return
    if shared.warning:
        ui.notify(shared.warning, "warning")
    lines = [shared.message]
    # Each address in a row of its own, without a margin: it is copied as a whole.
    lines += ["Share URL:", shared.url] if shared.url else []
    lines += ["Gist:", shared.gist_url] if shared.gist_url else []
    ui.add_output(Text(sanitise("\n".join(lines)), pad_x=0, pad_y=0))
    if shared.url:
        await copy_text(ui, shared.url, "the address")
    if shared.url:
        await open_in_browser(shared.url, ui.host)


async def copy(ui: Ui, arguments: str) -> None:
    """Copy the last answer."""
    text = ui.port.info.last_answer()
    if text is None:
        raise PiError("There is no answer to copy yet.")
    await copy_text(ui, text, "the last answer")


async def dump(ui: Ui, arguments: str) -> None:
    """Copy the whole session as text."""
    text = await ui.port.exports.text()
    if not text:
        raise PiError(NOTHING_TO_DUMP)
    await copy_text(ui, text, "the session")


async def copy_text(ui: Ui, text: str, label: str) -> None:
    """Copy a text and report it; ``label`` names it."""
    copied = await ui.clipboard.copy(text)
    if copied.confirmed:
        ui.notify(f"Copied {label}.", "success")
    else:
        ui.notify(f"Sent {label} to the terminal's clipboard; terminals do not confirm it.")
