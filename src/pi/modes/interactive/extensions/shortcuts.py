"""Keys that extensions want: those that mean nothing else."""

from __future__ import annotations

from collections.abc import Callable

from pi.coding.runtime.extensions_port import ExtensionsPort
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import canonical, key_names


class Shortcuts:
    """Gives free keys to extensions. ``press`` does what a key of theirs is for."""

    def __init__(
        self, extensions: ExtensionsPort, keymap: Keymap, press: Callable[[str], None]
    ) -> None:
        self._extensions = extensions
        self._keymap = keymap
        self._press = press
        self._told: set[str] = set()

    def take(self, data: str) -> bool:
        """Whether an extension wants a key that means nothing else; it is pressed then."""
        wanted = {canonical(key): key for key in self._extensions.shortcuts()}
        for name in key_names(data) if wanted else ():
            if name in wanted and not self._keymap.bound(name, "prompt"):
                self._press(wanted[name])
                return True
        return False

    def problems(self) -> list[str]:
        """What is wrong with keys that extensions want, in a line each, and each only once."""
        wanted = self._extensions.shortcuts().items()
        found = [text for key, purpose in wanted if (text := self._problem(key, purpose))]
        new = [text for text in found if text not in self._told]
        self._told.update(new)
        return new

    def _problem(self, key: str, purpose: str) -> str:
        name = canonical(key)
        wish = f"An extension wants the key {key}{f' ({purpose})' if purpose else ''}"
        if name is None:
            return f"{wish}, which there is not."
        actions = self._keymap.bound(name, "prompt")
        if not actions:
            return ""
        return (
            f"{wish}, which is {' and '.join(actions)}."
            " To give it away, bind that to other keys in keybindings.json."
        )
