from __future__ import annotations

import asyncio

import pytest

from pi.coding.extension_host.open_dialogs import OpenDialogs


class FakeUser:
    """A user whose answer the test sets."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.says: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.is_bothered = False

    async def ask(self) -> str | None:
        self.is_bothered = True
        self.asked.set()
        try:
            return await self.says
        finally:
            self.is_bothered = False


async def test_an_answer_is_returned_to_the_caller() -> None:
    user, dialogs = FakeUser(), OpenDialogs()
    user.says.set_result("yes")

    assert await dialogs.answer(user.ask(), None) == "yes"


async def test_the_end_of_the_session_cancels_every_dialog() -> None:
    user, dialogs = FakeUser(), OpenDialogs()
    waiting = asyncio.ensure_future(dialogs.answer(user.ask(), "left"))
    await user.asked.wait()

    dialogs.cancel_all()

    assert await waiting == "left"
    assert not user.is_bothered


async def test_cancelling_the_caller_cancels_the_dialog() -> None:
    user, dialogs = FakeUser(), OpenDialogs()
    waiting = asyncio.ensure_future(dialogs.answer(user.ask(), "left"))
    await user.asked.wait()

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert not user.is_bothered
