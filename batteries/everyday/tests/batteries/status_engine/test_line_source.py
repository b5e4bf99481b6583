from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

from pi.batteries.status_engine.sources import SourceFailed, ThrottledSource


class LineSourceFixture:
    """A line source whose queries are answered by the test."""

    def __init__(self, **options: Any) -> None:
        self.asked: list[bytes] = []
        self.lines: list[str] = []
        self.problems: list[str] = []
        self._answers: list[asyncio.Future[str]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.source = ThrottledSource(
            self._ask,
            start=self._start,
            on_line=lambda: self.lines.append(self.source.line),
            on_error=self.problems.append,
            **options,
        )

    @property
    def is_asked(self) -> bool:
        return not self._answers[-1].done()

    def poll(self, now: float) -> None:
        self.source.poll(now, lambda: b"%d" % round(now * 1000))

    async def answer(self, line: str | SourceFailed) -> None:
        if isinstance(line, str):
            self._answers[-1].set_result(line)
        else:
            self._answers[-1].set_exception(line)
        await self._tasks[-1]

    async def asks(self) -> list[bytes]:
        await asyncio.sleep(0)
        return self.asked

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.ensure_future(work))

    async def _ask(self, payload: bytes) -> str:
        self.asked.append(payload)
        self._answers.append(asyncio.get_running_loop().create_future())
        return await self._answers[-1]


async def test_the_first_poll_queries_the_source_and_shows_its_response() -> None:
    kit = LineSourceFixture()

    kit.poll(7.0)
    assert (await kit.asks(), kit.source.line) == ([b"7000"], "")
    await kit.answer("here")

    assert (kit.source.line, kit.lines) == ("here", ["here"])


async def test_the_source_is_queried_at_most_every_300_ms() -> None:
    kit = LineSourceFixture()

    for hundredth in range(100):
        kit.source.mark_stale()
        kit.poll(hundredth / 100)
        await kit.asks()
        if kit.is_asked:
            await kit.answer("x")

    assert kit.asked == [b"0", b"300", b"600", b"900"]


async def test_queries_do_not_overlap_and_the_next_one_uses_the_latest_state() -> None:
    kit = LineSourceFixture()
    kit.poll(0.0)
    await kit.asks()

    for now in (0.4, 0.8, 1.2):
        kit.source.mark_stale()
        kit.poll(now)
    assert await kit.asks() == [b"0"]
    await kit.answer("late")
    kit.poll(1.3)

    assert await kit.asks() == [b"0", b"1300"]
    await kit.answer("latest")
    assert kit.lines == ["late", "latest"]


async def test_without_events_nothing_is_requested() -> None:
    kit = LineSourceFixture()
    kit.poll(0.0)
    await kit.asks()
    await kit.answer("x")

    kit.poll(100.0)

    assert await kit.asks() == [b"0"]


async def test_the_refresh_interval_queries_the_source_without_events() -> None:
    kit = LineSourceFixture(refresh=1.0)

    for now in (0.0, 0.5, 1.0, 1.5, 2.0):
        kit.poll(now)
        await kit.asks()
        if kit.is_asked:
            await kit.answer("x")

    assert kit.asked == [b"0", b"1000", b"2000"]


async def test_the_refresh_interval_is_at_least_300_ms() -> None:
    kit = LineSourceFixture(refresh=0.01)

    for now in (0.0, 0.1, 0.2, 0.31):
        kit.poll(now)
        await kit.asks()
        if kit.is_asked:
            await kit.answer("x")

    assert kit.asked == [b"0", b"310"]


async def test_failures_keep_the_last_good_line_and_the_first_is_reported() -> None:
    kit = LineSourceFixture(refresh=0.3)

    answers: list[str | SourceFailed] = ["good", *map(SourceFailed, ("slow", "slow", "broken"))]
    for number, answer in enumerate(answers):
        kit.poll(number * 10)
        await kit.asks()
        await kit.answer(answer)

    assert (kit.source.line, kit.lines) == ("good", ["good"])
    assert kit.problems == ["slow"]


async def test_an_unchanged_line_is_not_published_again() -> None:
    kit = LineSourceFixture(refresh=0.3)

    for now, line in enumerate(("a", "a", "b", "")):
        kit.poll(now)
        await kit.asks()
        await kit.answer(line)

    assert kit.lines == ["a", "b", ""]


async def test_a_failing_source_is_queried_with_exponential_back_off_until_it_succeeds() -> None:
    kit = LineSourceFixture(refresh=0.3)
    answers: list[str | SourceFailed] = [*[SourceFailed("no")] * 8, "good", "good"]
    times = []

    for hundredth in range(8000):
        kit.poll(hundredth / 100)
        await kit.asks()
        if kit.is_asked and answers:
            times.append(hundredth / 100)
            await kit.answer(answers.pop(0))

    waits = [round(then - now, 1) for now, then in pairwise(times)]
    assert waits == [0.6, 1.2, 2.4, 4.8, 9.6, 19.2, 19.2, 19.2, 0.3]
    await kit.answer("")
