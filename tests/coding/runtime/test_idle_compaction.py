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


async def test_it_happens_after_a_while_and_not_when_the_person_goes_on(tmp_path: Path) -> None:
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

    ends = [event for event in stage.told if isinstance(event, CompactionEnd)]
    assert [end.reason for end in ends] == ["idle"]
    await session.close()


async def test_nothing_waits_when_it_is_not_wanted(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    session = await stage.open()
    await session.prompts.prompt("hi")

    assert stage.clock.sleeping == 0
    await session.close()
