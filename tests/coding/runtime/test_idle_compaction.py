"""A session that rests is compacted if its person wants that."""

from __future__ import annotations

from pathlib import Path

from pi.coding.compaction.events import CompactionEnd
from pi.testing import says
from tests.coding.runtime.stage import Stage

SETTINGS = (
    '{"compaction": {"idleEnabled": true, "idleThresholdTokens": 1,'
    ' "idleTimeoutSeconds": 60, "keepRecentTokens": 10}}'
)


async def test_it_compacts_after_a_delay_unless_the_user_continues(tmp_path: Path) -> None:
    steps = [says("a"), says("b"), says("Notes."), says("Notes."), says("Notes.")]
    stage = Stage(tmp_path, *steps)
    stage.write(".pi/agent/settings.json", SETTINGS)
    session = await stage.open()
    await session.prompts.prompt("word " * 4000)
    await stage.clock.advance(30)
    await session.prompts.prompt("word " * 4000)
    await stage.clock.advance(59)
    assert "compaction_start" not in stage.order
    await stage.clock.advance(1)

    ends = [event for event in stage.events if isinstance(event, CompactionEnd)]
    assert [end.reason for end in ends] == ["idle"]
    await session.close()


async def test_no_timer_runs_if_disabled(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    await session.prompts.prompt("hi")

    assert stage.clock.sleeping == 0
    await session.close()
