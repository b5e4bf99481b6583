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

    def _report(self, what: str, error: BaseException) -> None:
        raise AssertionError(what) from error


async def test_a_shared_object_is_created_once_and_closed_after_its_last_user() -> None:
    fixture = SharedRoom()
    one, two = fixture.session(), fixture.session()

    assert [await fixture.take(one), await fixture.take(two)] == ["a server", "a server"]
    await one.close()
    assert fixture.story == ["made"]
    await two.close()
    assert fixture.story == ["made", "closed"]


async def test_a_shared_object_can_linger_for_the_next_session() -> None:
    fixture = SharedRoom()
    one, two = fixture.session(), fixture.session()
    await fixture.take(one, linger=10)
    await one.close()
    await fixture.clock.advance(5)

    await fixture.take(two, linger=10)
    await fixture.clock.advance(20)
    assert fixture.story == ["made"]

    await two.close()
    await fixture.clock.advance(11)
    assert fixture.story == ["made", "closed"]


async def test_close_also_closes_lingering_shared_objects() -> None:
    fixture = SharedRoom()
    session = fixture.session()
    await fixture.take(session, linger=10)
    await session.close()
    await asyncio.sleep(0)

    await fixture.things.close()
    await asyncio.sleep(0)

    assert fixture.story == ["made", "closed"]


async def test_a_failed_creation_is_retried_by_the_next_user() -> None:
    fixture = SharedRoom()
    session = fixture.session()

    async def broken(scope: Scope) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await fixture.things.acquire("key", broken, user=session, report=fixture._report, linger=0)

    assert await fixture.take(session) == "a server"
    await session.close()


def test_a_shared_object_belongs_to_the_event_loop_that_created_it() -> None:
    fixture = SharedRoom()

    async def use() -> Any:
        return await fixture.take(fixture.session(), linger=10)

    async def close() -> None:
        await fixture.things.close()

    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        first.run_until_complete(use())
        second.run_until_complete(close())
        assert (fixture.story, fixture.things.keys) == (["made"], frozenset({"key"}))
        second.run_until_complete(use())
        assert fixture.story == ["made", "made"]
        first.run_until_complete(close())
        assert fixture.story == ["made", "made"]  # replaced: the first loop has nothing left
        second.run_until_complete(close())
        assert (fixture.story, fixture.things.keys) == (["made", "made", "closed"], frozenset())
    finally:
        first.close()
        second.close()


async def test_a_hanging_shared_object_delays_closing_only_for_the_grace_period() -> None:
    fixture = SharedRoom()

    async def make(scope: Scope) -> None:
        scope.on_close(asyncio.Event().wait)  # type: ignore[arg-type]

    await fixture.things.acquire(
        "k", make, user=fixture.session(), report=fixture._report, linger=1
    )
    await fixture.take(fixture.session(), linger=1)

    async with asyncio.timeout(60):
        await fixture.things.close(grace=0.01)

    assert fixture.story == ["made", "closed"]
