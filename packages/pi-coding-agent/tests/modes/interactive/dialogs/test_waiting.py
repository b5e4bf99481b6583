"""Waiting, with Escape to give up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.modes.interactive.dialogs.waiting import wait_for
from pi.testing import FakeClock
from tests.modes.interactive.fake_screen import FakeScreen, settle


async def test_the_spinner_turns_while_waiting_and_the_result_is_returned(tmp_path: Path) -> None:
    screen, ready = FakeScreen(tmp_path), asyncio.Event()

    async def work() -> str:
        await ready.wait()
        return "done"

    task = asyncio.create_task(wait_for(screen, "Working…", work()))
    await screen.wait_until_shown()
    await settle()
    first = screen.text()
    clock = screen.host.clock
    assert isinstance(clock, FakeClock)
    await clock.advance(0.1)
    await clock.advance(0.1)
    assert "Working…" in first
    assert screen.text() != first
    ready.set()
    assert await task == "done"
    assert not screen.is_open


async def test_escape_cancels_the_work(tmp_path: Path) -> None:
    screen, cancelled = FakeScreen(tmp_path), asyncio.Event()

    async def work() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    task = asyncio.create_task(wait_for(screen, "Working…", work()))
    await screen.press("escape")
    assert await task is None
    assert cancelled.is_set()


async def test_with_a_cancel_callback_the_work_is_not_cancelled_but_awaited(tmp_path: Path) -> None:
    screen, requested = FakeScreen(tmp_path), asyncio.Event()

    async def work() -> str:
        await requested.wait()
        return "stopped in order"

    task = asyncio.create_task(wait_for(screen, "Working…", work(), on_cancel=requested.set))
    await screen.press("ctrl+c")
    assert await task == "stopped in order"


async def test_a_failure_reaches_the_caller(tmp_path: Path) -> None:
    async def work() -> str:
        raise PiError("no")

    with pytest.raises(PiError, match="no"):
        await wait_for(FakeScreen(tmp_path), "Working…", work())
