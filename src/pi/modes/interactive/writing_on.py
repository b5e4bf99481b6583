"""Asking somebody who may write on without looking: what they type goes where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pi.modes.interactive.composer.composer import Composer
from pi.tui.input.decoder import PASTE_START
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import is_key_release, printable_text
from pi.tui.input_pump import InputDecision
from pi.tui.tui import TUI

_CHOOSING = "tui.select."


@contextmanager
def writing_on(tui: TUI, keymap: Keymap, composer: Composer) -> Iterator[None]:
    """Let text reach the editor although a dialog without a field for it has the keys.

    So does whatever is pressed in the middle of it: an Enter there is the end of a message, and
    must not answer a question that its writer has not seen.
    """

    def hear(data: str) -> InputDecision | None:
        is_meant = composer.typing.left or _is_text(data, keymap)
        if not is_meant or is_key_release(data):
            return None
        composer.prompt.handle_input(data)
        return InputDecision(consume=True)

    stop = tui.add_input_listener(hear)
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
