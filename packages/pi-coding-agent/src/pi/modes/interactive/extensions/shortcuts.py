"""Shortcuts of extensions."""

from __future__ import annotations

from collections.abc import Callable

from pi.coding.port.extensions import ExtensionsPort
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import canonical, key_names


class Shortcuts:
    """Assigns unbound keys to extensions. ``press`` runs a shortcut."""

    def __init__(
        self, extensions: ExtensionsPort, keymap: Keymap, press: Callable[[str], None]
    ) -> None:
        self._extensions = extensions
        self._keymap = keymap
        self._press = press
        self._reported: set[str] = set()

    def handle_key(self, data: str) -> bool:
        """Run the extension shortcut of an unbound key; returns whether there is one."""
        shortcuts = {canonical(key): key for key in self._extensions.shortcuts()}
        for name in key_names(data) if shortcuts else ():
            if name in shortcuts and not self._keymap.bound(name, "prompt"):
                self._press(shortcuts[name])
                return True
        return False

    def conflicts(self) -> list[str]:
        """Return the conflicts of extension shortcuts, one line each, and each only once."""
        shortcuts = self._extensions.shortcuts().items()
        conflicts = [text for key, purpose in shortcuts if (text := self._conflict(key, purpose))]
        new = [text for text in conflicts if text not in self._reported]
        self._reported.update(new)
        return new

    def _conflict(self, key: str, purpose: str) -> str:
        name = canonical(key)
        shortcut = f"Extension shortcut {key}{f' ({purpose})' if purpose else ''}"
        if name is None:
            return f"{shortcut}: unknown key."
        actions = self._keymap.bound(name, "prompt")
        if not actions:
            return ""
        return (
            f"{shortcut}: already bound to {' and '.join(actions)}."
            " Change that binding in keybindings.json to free the key."
        )
