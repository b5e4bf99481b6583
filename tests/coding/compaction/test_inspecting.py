"""Nothing is lost: what the model no longer sees can be looked at."""

from __future__ import annotations

from pi.coding.compaction.execution import dropped
from tests.coding.compaction.stage import always
from tests.coding.compaction.test_carrying_out import MANUAL, stage_with


async def test_the_user_can_see_what_was_dropped() -> None:
    stage = await stage_with(always)
    assert dropped(stage.log) == []
    await stage.compactor.compact(MANUAL)

    gone = [str(entry) for entry in dropped(stage.log)]
    assert any("question 0" in entry for entry in gone)
    assert not any("answer 2" in entry for entry in gone)
