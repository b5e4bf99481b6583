"""Which way of showing pictures a terminal understands beyond its protocol. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pi.tui.capabilities import Capabilities

_KNOWS_PLACEHOLDERS = frozenset({"kitty", "ghostty"})


def has_placeholders(capabilities: Capabilities, env: Mapping[str, str]) -> bool:
    """Whether pictures can be shown as characters, which scroll and clip like any other text."""
    if capabilities.images != "kitty" or env.get("PI_NO_KITTY_PLACEHOLDERS") == "1":
        return False
    return capabilities.brand in _KNOWS_PLACEHOLDERS or env.get("PI_KITTY_PLACEHOLDERS") == "1"
