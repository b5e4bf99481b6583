"""Texts that go to an extension because of how they begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pi.base.records import Record
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.order import Names, Owner

RESERVED = ("/", "!", "@")
"""What begins with these means something already."""


class InputMode(Record):
    """What texts with a prefix are, and who takes them."""

    label: str
    """Shown at the editor while such a text is written."""
    run: Callable[[str, Any], Any]
    """``run(text, ctx)``, sync or async: given the text behind the prefix when it is sent."""
    colour: str = "bashMode"
    """Of the editor's border, by its name in the theme."""


class OwnedMode(Record):
    """A mode with its prefix, and what it is called with."""

    prefix: str
    mode: InputMode
    context: Any
    owner: Owner

    def text_of(self, text: str) -> str:
        """What stands behind the prefix."""
        return text.removeprefix(self.prefix).strip()


def checked_prefix(prefix: str) -> str:
    """``prefix``, if an extension may have it."""
    if not prefix or prefix.startswith(RESERVED) or prefix != prefix.strip():
        raise ExtensionError(
            f"No input mode can begin with {prefix!r}.",
            hint=f"Take a sign like $ that does not begin with {' or '.join(RESERVED)}.",
        )
    return prefix


def mode_of(modes: Names[OwnedMode], text: str) -> OwnedMode | None:
    """The mode that takes ``text``: the longest prefix counts."""
    fitting = [prefix for prefix in modes.winners() if text.startswith(prefix)]
    return modes.get(max(fitting, key=len)) if fitting else None
