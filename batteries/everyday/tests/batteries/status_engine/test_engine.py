from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

from pi.batteries.status_engine.config import StatusEngineConfig
from pi.batteries.status_engine.engine import StatusEngine, StatusOutput
from pi.batteries.status_engine.items import StatusEngineState
from pi.batteries.status_engine.sources import ThrottledSource
from pi.batteries.status_engine.views import TYPESETTING
from pi.extension import replace
from tests.batteries.status_engine.samples import FULL

MODEL_ONLY = StatusEngineConfig(items=("model",))


class Script:
    """A source that returns the configured line."""

    def __init__(self, line: str = "") -> None:
        self.line = line
        self.asked: list[dict[str, Any]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.source = ThrottledSource(self._ask, start=self._start)

    async def done(self) -> None:
        await asyncio.gather(*self.tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def _ask(self, payload: bytes) -> str:
        self.asked.append(json.loads(payload))
        return self.line


def test_line_2_shows_the_selected_items_of_the_last_state() -> None:
    engine = StatusEngine(StatusEngineConfig())

    engine.set_state(FULL)
    before = engine.tick(0.0, 200)
    engine.set_state(replace(FULL, model="opus"))
    engine.set_line2_selection(["approval", "model", "approval"])

    assert before.line2.startswith("gpt-5 | medium | project | feature/")
    assert engine.tick(0.0, 200) == StatusOutput(line2="on-request | opus")
    assert engine.state == replace(FULL, model="opus")


async def test_line_3_is_updated_by_a_later_tick_and_removed_when_empty() -> None:
    script = Script("network ok")
    engine = StatusEngine(MODEL_ONLY, [script.source])
    engine.set_state(FULL)

    assert engine.tick(0.0, 80) == StatusOutput(line2="gpt-5")
    await script.done()
    assert engine.tick(0.1, 80) == StatusOutput(line2="gpt-5", line3="network ok")
    script.line = ""
    engine.mark_stale()
    engine.tick(0.3, 80)
    await script.done()
    assert engine.tick(0.4, 80) == StatusOutput(line2="gpt-5")


async def test_the_first_source_that_has_a_line_is_shown() -> None:
    command, file = Script(), Script("from the file")
    engine = StatusEngine(MODEL_ONLY, [command.source, file.source])

    engine.tick(0.0, 80)
    await file.done()
    from_file = engine.tick(0.1, 80).line3
    command.line = "from the command"
    engine.mark_stale()
    engine.tick(0.4, 80)
    await command.done()

    assert (from_file, engine.tick(0.5, 80).line3) == ("from the file", "from the command")


async def test_sources_are_queried_again_when_the_state_changes_except_for_the_time() -> None:
    script = Script()
    engine = StatusEngine(MODEL_ONLY, [script.source])

    engine.set_state(FULL)
    for now, state in enumerate((FULL, replace(FULL, since_session_ms=99_000))):
        engine.set_state(state)
        engine.tick(now, 80)
        await script.done()
    engine.set_state(replace(FULL, model="opus"))
    engine.tick(3.0, 80)
    await script.done()

    assert [reported["model"]["id"] for reported in script.asked] == ["gpt-5", "opus"]


async def test_the_payload_is_that_of_the_time_it_is_sent() -> None:
    script = Script()
    engine = StatusEngine(MODEL_ONLY, [script.source], version="1.2.3")

    engine.set_state(replace(FULL, since_session_ms=5_000))
    engine.tick(0.0, 80)
    await script.done()

    assert script.asked[0]["timing"] == {"since_session_ms": 5_000}
    assert script.asked[0]["cost"]["total_duration_ms"] == 5_000
    assert script.asked[0]["version"] == "1.2.3"


def test_the_total_duration_is_the_greatest_of_the_session() -> None:
    engine = StatusEngine(StatusEngineConfig())
    totals = []

    for session, since in (("a", 5), ("a", 900), ("a", 700), ("b", 3), ("b", 4)):
        engine.set_state(StatusEngineState(session_id=session, since_session_ms=since))
        totals.append(engine.total_duration_ms)

    assert totals == [5, 900, 900, 3, 4]


async def test_a_line_of_nothing_but_control_sequences_is_no_line() -> None:
    script = Script("\x1b[2J\x1b]0;title\x07")
    engine = StatusEngine(MODEL_ONLY, [script.source], text=TYPESETTING)

    engine.tick(0.0, 80)
    await script.done()

    assert engine.tick(0.1, 80).line3 is None


async def test_colours_are_kept_and_other_control_sequences_are_removed() -> None:
    script = Script("\x1b[32mok\x1b[0m \x1b[2J\x1b]52;c;eA==\x07\x1b[31mbad")
    engine = StatusEngine(MODEL_ONLY, [script.source], text=TYPESETTING)

    engine.tick(0.0, 80)
    await script.done()

    assert engine.tick(0.1, 80).line3 == "\x1b[32mok\x1b[0m \x1b[31mbad\x1b[0m"
