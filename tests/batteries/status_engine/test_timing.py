from __future__ import annotations

from pathlib import Path

from pi.batteries.status_engine.timing import Stopwatch, stopwatch_of
from pi.extension import ExtensionAPI, ExtensionContext, SessionStartEvent
from pi.testing import FakeClock
from tests.coding.extension_host.stage import playing


async def test_a_stopwatch_counts_milliseconds_and_begins_anew() -> None:
    clock = FakeClock()
    await clock.advance(5)
    watch, read = Stopwatch(clock), []

    for seconds in (0, 1.2345, 1):
        await clock.advance(seconds)
        read.append(watch.milliseconds())
    watch.restart()

    assert (read, watch.milliseconds()) == ([0, 1234, 2234], 0)


async def test_it_says_what_the_session_says_also_after_a_reload_and_in_a_new_one(
    tmp_path: Path,
) -> None:
    watches: list[Stopwatch] = []

    def timed(pi: ExtensionAPI) -> None:
        async def begin(event: SessionStartEvent, ctx: ExtensionContext) -> None:
            watches.append(await stopwatch_of(pi, ctx.session_manager.get_session_id(), event))

        pi.on("session_start", begin)

    async with playing(tmp_path, timed) as play:
        said = []
        for act in (None, play.session.extensions.reload, play.session.sessions.new):
            if act is not None:
                await act()
            await play.stage.clock.advance(7)
            said.append((watches[-1].milliseconds(), play.session.since_session_ms()))

    assert len(watches) == 3
    assert said == [(7000, 7000), (14000, 14000), (7000, 7000)]
