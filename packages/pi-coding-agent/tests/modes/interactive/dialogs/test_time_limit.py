from __future__ import annotations

import asyncio
from pathlib import Path

from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.dialogs.time_limit import TimeLimit
from pi.testing import FakeClock
from tests.modes.interactive.fake_screen import FakeScreen, settle


async def start_with_limit(screen: FakeScreen, seconds: float | None) -> asyncio.Task[bool | None]:
    limit = TimeLimit(screen, seconds)
    dialog = asyncio.create_task(
        limit.wait_for(confirm(screen, "Sure?", aside=limit.remaining_text))
    )
    await screen.wait_until_shown()
    await settle()
    return dialog


def clock_of(screen: FakeScreen) -> FakeClock:
    assert isinstance(screen.host.clock, FakeClock)
    return screen.host.clock


async def test_the_title_counts_down_and_the_dialog_closes_at_the_timeout(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = await start_with_limit(screen, 2.5)
    titles = [screen.text().splitlines()[0]]
    for seconds in (0.5, 1, 0.9):
        await clock_of(screen).advance(seconds)
        titles.append(screen.text().splitlines()[0])
    assert titles == [" Sure? (3s)", " Sure? (2s)", " Sure? (1s)", " Sure? (1s)"]

    await clock_of(screen).advance(0.1)
    assert await dialog is None
    assert not screen.is_open


async def test_an_answer_in_time_counts(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = await start_with_limit(screen, 5)
    await screen.press("enter")
    assert await dialog is True


async def test_without_a_limit_nothing_is_counted(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = await start_with_limit(screen, None)
    assert screen.text().startswith(" Sure?\n")
    await clock_of(screen).advance(10_000)
    await screen.press("enter")
    assert await dialog is True


async def test_a_dialog_can_be_shown_before_there_is_a_session(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    del screen.host
    for seconds in (None, 2.5):
        dialog = await start_with_limit(screen, seconds)
        await screen.press("enter")
        assert await dialog is True
