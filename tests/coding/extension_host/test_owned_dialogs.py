from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.stage import FakeUI, playing


@pytest.mark.behaviour("timed-out-dialogs-close")
async def test_the_dialog_of_a_cancelled_handler_closes(tmp_path: Path) -> None:
    opened, closed = asyncio.Event(), asyncio.Event()

    class Waiting(FakeUI):
        async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
            opened.set()
            try:
                await asyncio.Event().wait()
            finally:
                closed.set()
            return True

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        async def ask(event: Any, ctx: Any) -> None:
            await ctx.ui.confirm("Sure?", "Really?")

    steps = (calls("bash", command="true"), says("never"))
    async with playing(tmp_path, extension, steps=steps) as play:
        play.session.extensions.attach(Waiting(), "tui")
        running = asyncio.ensure_future(play.session.prompt("go"))
        await opened.wait()
        await play.stage.clock.advance(100)  # a dialog has no deadline
        assert not closed.is_set()
        await play.session.abort()
        await running

    assert closed.is_set()
