from __future__ import annotations

import asyncio

from pi.modes.interactive.composer.prompt import PAUSE_SECONDS, TypingDetector
from pi.testing import FakeClock


async def test_there_is_no_wait_without_typing() -> None:
    clock = FakeClock()
    typing = TypingDetector(clock)

    await typing.wait()
    typing.typed()
    await clock.advance(PAUSE_SECONDS)
    await typing.wait()

    assert clock.sleeping == 0


async def test_every_key_restarts_the_wait() -> None:
    clock = FakeClock()
    typing = TypingDetector(clock)
    typing.typed()
    waiting = asyncio.create_task(typing.wait())
    states = []

    for _ in range(3):
        await clock.advance(PAUSE_SECONDS / 2)
        states.append(waiting.done())
        typing.typed()
    await clock.advance(PAUSE_SECONDS)

    assert (states, waiting.done()) == ([False, False, False], True)


async def test_a_command_ends_the_wait_for_a_pause() -> None:
    typing = TypingDetector(FakeClock())
    typing.typed()

    typing.end_pause()

    await typing.wait()
