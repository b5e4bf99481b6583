from __future__ import annotations

import pytest

from pi.tui.terminal import Capabilities, has_placeholders


@pytest.mark.behaviour("inline-images")
@pytest.mark.parametrize(
    ("capabilities", "env", "expected"),
    [
        (Capabilities(brand="kitty", images="kitty"), {}, True),
        (Capabilities(brand="ghostty", images="kitty"), {}, True),
        (Capabilities(brand="wezterm", images="kitty"), {}, False),
        (Capabilities(brand="wezterm", images="kitty"), {"PI_KITTY_PLACEHOLDERS": "1"}, True),
        (Capabilities(brand="kitty", images="kitty"), {"PI_NO_KITTY_PLACEHOLDERS": "1"}, False),
        (Capabilities(brand="kitty", images=None), {}, False),
        (Capabilities(brand="iterm2", images="iterm2"), {"PI_KITTY_PLACEHOLDERS": "1"}, False),
    ],
)
def test_unicode_placeholders_depend_on_the_terminal_and_can_be_overridden(
    capabilities: Capabilities, env: dict[str, str], expected: bool
) -> None:
    assert has_placeholders(capabilities, env) is expected
