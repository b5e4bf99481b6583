"""Keys that were typed before the session was open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pi.modes.interactive.composer.composer import Composer
from pi.tui.input.decoder import PASTE_START, InputDecision
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import is_key_release, printable_text
from pi.tui.tui import TUI

_CHOOSING = "tui.select."


@contextmanager
def type_ahead_to_composer(tui: TUI, keymap: Keymap, composer: Composer) -> Iterator[None]:
    """Pass text to the editor while a dialog without a text field has the keys.

    While the user is typing, other keys go there too: an Enter ends a message, and must not answer
    a question that the user has not seen.
    """

    def route_key(data: str) -> InputDecision | None:
        is_for_editor = composer.typing.remaining or _is_text(data, keymap)
        if not is_for_editor or is_key_release(data):
            return None
        composer.prompt.handle_input(data)
        return InputDecision(consume=True)

    stop = tui.add_input_listener(route_key)
    try:
        yield
    finally:
        stop()


def _is_text(data: str, keymap: Keymap) -> bool:
    if data.startswith(PASTE_START):
        return True
    return bool(printable_text(data)) and not any(
        action.startswith(_CHOOSING) for action in keymap.actions(data)
    )
