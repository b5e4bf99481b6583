from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.port.extensions import InputMode
from tests.coding.extension_host.extension_session import extension_session


async def test_flags_shortcuts_and_input_modes_are_registered(tmp_path: Path) -> None:
    pressed: list[str] = []
    values: list[Any] = []
    ran: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        fast = pi.flag("fast", description="be quick")
        pi.register_flag("who", type="string", default="me")

        @pi.shortcut("ctrl+x")
        async def press(ctx: Any) -> None:
            """Do it."""
            pressed.append(ctx.mode)
            values.extend([fast(), pi.get_flag("who"), pi.get_flag("nope")])

        pi.add_input_mode("$", InputMode(label="python", run=lambda text, ctx: ran.append(text)))

    flags = {"flags": {"fast": True}}
    async with extension_session(tmp_path, extension, extension_options=flags) as hosted:
        extensions = hosted.session.extensions
        assert extensions.shortcuts() == {"ctrl+x": "Do it"}
        assert await extensions.press("ctrl+x")
        assert not await extensions.press("ctrl+y")
        assert (
            await extensions.handle_input("$ 1 + 1"),
            await extensions.handle_input("1 + 1"),
        ) == (True, False)
        assert extensions.input_mode("$") is not None
    assert (pressed, values, ran) == (["print"], [True, "me", None], ["1 + 1"])
