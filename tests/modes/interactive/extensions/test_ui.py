from __future__ import annotations

import inspect

from pi.coding.extension_host.ui import ExtensionUI
from pi.modes.interactive.extensions.ui import ScreenUI

SHARED = {"set_fact", "facts", "add_footer_line"}
"""Facts are kept for all modes alike; a footer line is a row below the footer."""


def test_everything_that_an_extension_may_want_is_there_on_a_screen() -> None:
    wanted = {name for name in vars(ExtensionUI) if not name.startswith("_")}

    assert wanted - set(vars(ScreenUI)) == SHARED


def test_every_member_is_called_as_the_contract_says() -> None:
    for name, member in inspect.getmembers(ScreenUI, inspect.isfunction):
        promised = getattr(ExtensionUI, name, None)
        if promised is not None and not name.startswith("_"):
            assert inspect.signature(member) == inspect.signature(promised), name
