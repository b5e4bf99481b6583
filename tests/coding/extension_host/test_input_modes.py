from __future__ import annotations

import pytest

from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.input_modes import InputMode, OwnedMode, checked_prefix, mode_of
from pi.coding.extension_host.order import Names, Owner

OWNER = Owner(name="kernel", path="/home/ada/kernel.py")


def owned(prefix: str) -> OwnedMode:
    mode = InputMode(label=prefix, run=lambda text, ctx: None)
    return OwnedMode(prefix=prefix, mode=mode, context=None, owner=OWNER)


def test_the_longest_prefix_takes_a_text() -> None:
    modes: Names[OwnedMode] = Names()
    for prefix in ("$", "$$"):
        modes.add(prefix, owned(prefix), OWNER)

    found = [mode_of(modes, text) for text in ("$ 1", "$$ 1", "1 $", "")]

    assert [mode and mode.prefix for mode in found] == ["$", "$$", None, None]


def test_a_mode_is_given_what_stands_behind_its_prefix() -> None:
    assert owned("$").text_of("$  print($x) ") == "print($x)"


@pytest.mark.parametrize("prefix", ["", "/", "!", "!x", "@", " $", "$ "])
def test_what_means_something_already_is_no_prefix(prefix: str) -> None:
    with pytest.raises(ExtensionError, match="No input mode can begin with"):
        checked_prefix(prefix)


def test_any_other_sign_is_a_prefix() -> None:
    assert checked_prefix("$") == "$"
