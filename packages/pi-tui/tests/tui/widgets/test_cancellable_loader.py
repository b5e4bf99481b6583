from __future__ import annotations

import pytest

from pi.tui.input.keymap import Keymap
from pi.tui.widgets.loader import CancellableLoader


@pytest.mark.behaviour("selectors")
@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_escape_and_ctrl_c_cancel_once(key: str) -> None:
    cancelled: list[str] = []
    loader = CancellableLoader("x", on_cancel=lambda: cancelled.append("now"))

    for data in ("a", "\r", key, key):
        loader.handle_input(data)

    assert (cancelled, loader.is_cancelled) == (["now"], True)


def test_the_cancel_key_can_be_bound() -> None:
    cancelled: list[str] = []
    keymap = Keymap({"tui.select.cancel": ("q",)})
    loader = CancellableLoader(on_cancel=lambda: cancelled.append("now"), keymap=keymap)

    loader.handle_input("\x1b")
    assert cancelled == []
    loader.handle_input("q")
    assert cancelled == ["now"]
