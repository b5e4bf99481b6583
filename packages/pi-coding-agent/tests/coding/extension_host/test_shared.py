from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi.coding.extension_host.api.storage import SharedObjects
from pi.coding.extension_host.scope import Scope
from pi.testing import FakeClock


class SharedRoom:
    """Sessions that start and end, with shared objects."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.things = SharedObjects()
        self.story: list[str] = []

    def session(self) -> Scope:
        return Scope(self.clock, name="s", report=self._report)

    async def take(self, user: Scope, linger: float = 0) -> Any:
        async def make(scope: Scope) -> str:
            self.story.append("made")
            scope.on_close(lambda: self.story.append("closed"))
            return "a server"

        return await self.things.acquire("key", make, user=user, report=self._report, linger=linger)

    def _report(self, what: str, problem: BaseException) -> None:
        raise AssertionError(what) from problem


async def test_a_shared_object_is_created_once_and_closed_after_its_last_user() -> None:
    room = SharedRoom()
    one, two = room.session(), room.session()

    assert [await room.take(one), await room.take(two)] == ["a server", "a server"]
    await one.close()
    assert room.story == ["made"]
    await two.close()
    assert room.story == ["made", "closed"]


async def test_a_shared_object_can_linger_for_the_next_session() -> None:
    room = SharedRoom()
    one, two = room.session(), room.session()
    await room.take(one, linger=10)
    await one.close()
    await room.clock.advance(5)

    await room.take(two, linger=10)
    await room.clock.advance(20)
    assert room.story == ["made"]

    await two.close()
    await room.clock.advance(11)
    assert room.story == ["made", "closed"]


async def test_close_also_closes_lingering_shared_objects() -> None:
    room = SharedRoom()
    session = room.session()
    await room.take(session, linger=10)
    await session.close()
    await asyncio.sleep(0)

    await room.things.close()
    await asyncio.sleep(0)

    assert room.story == ["made", "closed"]


async def test_a_failed_creation_is_retried_by_the_next_user() -> None:
    room = SharedRoom()
    session = room.session()

    async def broken(scope: Scope) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await room.things.acquire("key", broken, user=session, report=room._report, linger=0)

    assert await room.take(session) == "a server"
    await session.close()


def test_a_shared_object_belongs_to_the_event_loop_that_created_it() -> None:
    room = SharedRoom()

    async def use() -> Any:
        return await room.take(room.session(), linger=10)

    async def close() -> None:
        await room.things.close()

    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        first.run_until_complete(use())
        second.run_until_complete(close())
        assert (room.story, room.things.keys) == (["made"], frozenset({"key"}))
        second.run_until_complete(use())
        assert room.story == ["made", "made"]
        first.run_until_complete(close())
        assert room.story == ["made", "made"]  # replaced: the first loop has nothing left
        second.run_until_complete(close())
        assert (room.story, room.things.keys) == (["made", "made", "closed"], frozenset())
    finally:
        first.close()
        second.close()


async def test_a_hanging_shared_object_delays_closing_only_for_the_grace_period() -> None:
    room = SharedRoom()

    async def make(scope: Scope) -> None:
        scope.on_close(asyncio.Event().wait)  # type: ignore[arg-type]

    await room.things.acquire("k", make, user=room.session(), report=room._report, linger=1)
    await room.take(room.session(), linger=1)

    async with asyncio.timeout(60):
        await room.things.close(grace=0.01)

    assert room.story == ["made", "closed"]
