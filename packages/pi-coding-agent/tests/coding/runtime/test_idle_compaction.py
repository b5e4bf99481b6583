"""An idle session is compacted if the user enables it."""

from __future__ import annotations

from pathlib import Path

from pi.coding.compaction.events import CompactionEnd
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture

SETTINGS = (
    '{"compaction": {"idleEnabled": true, "idleThresholdTokens": 1,'
    ' "idleTimeoutSeconds": 60, "keepRecentTokens": 10}}'
)


async def test_an_idle_session_is_compacted_after_a_delay_that_a_prompt_restarts(
    tmp_path: Path,
) -> None:
    steps = [says("a"), says("b"), says("Notes."), says("Notes."), says("Notes.")]
    fixture = SessionFixture(tmp_path, *steps)
    fixture.write(".pi/agent/settings.json", SETTINGS)
    session = await fixture.open()
    await session.prompts.prompt("word " * 4000)
    await fixture.clock.advance(30)
    await session.prompts.prompt("word " * 4000)
    await fixture.clock.advance(59)
    assert "compaction_start" not in fixture.order
    await fixture.clock.advance(1)

    ends = [event for event in fixture.events if isinstance(event, CompactionEnd)]
    assert [end.reason for end in ends] == ["idle"]
    await session.close()


async def test_no_timer_runs_if_idle_compaction_is_disabled(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    session = await fixture.open()
    await session.prompts.prompt("hi")

    assert fixture.clock.sleeping == 0
    await session.close()
