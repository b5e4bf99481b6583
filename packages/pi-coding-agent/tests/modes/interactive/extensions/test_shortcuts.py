from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pi.coding.port.extensions import ExtensionsPort
from pi.modes.interactive.extensions.shortcuts import Shortcuts
from pi.tui.input.keymap import Keymap

CTRL_S, F5, SHIFT_F5 = "\x13", "\x1b[15~", "\x1b[15;2~"


class ShortcutSource:
    """Extensions with shortcuts."""

    def __init__(self, purposes: Mapping[str, str]) -> None:
        self.purposes = purposes

    def shortcuts(self) -> Mapping[str, str]:
        return self.purposes


def shortcuts(*keys: str, **purposes: str) -> tuple[Shortcuts, list[str]]:
    pressed: list[str] = []
    source = cast("ExtensionsPort", ShortcutSource(dict.fromkeys(keys, "") | purposes))
    return Shortcuts(source, Keymap(), pressed.append), pressed


def test_a_shortcut_on_a_free_key_is_called_in_any_spelling() -> None:
    made, pressed = shortcuts("F5", "ctrl+s")

    handled = [made.handle_key(data) for data in (F5, CTRL_S, SHIFT_F5, "x")]

    assert (handled, pressed) == ([True, True, False, False], ["F5", "ctrl+s"])


def test_a_shortcut_on_a_bound_key_is_not_called() -> None:
    made, pressed = shortcuts("ctrl+p", "up")

    assert [made.handle_key(data) for data in ("\x10", "\x1b[A")] == [False, False]
    assert pressed == []


def test_a_problem_is_reported_once() -> None:
    made, _ = shortcuts("ctrl+p", "hyper+q", "f5", **{"ctrl+p": "plan"})

    assert made.conflicts() == [
        "Extension shortcut ctrl+p (plan): already bound to app.model.cycleForward."
        " Change that binding in keybindings.json to free the key.",
        "Extension shortcut hyper+q: unknown key.",
    ]
    assert made.conflicts() == []
