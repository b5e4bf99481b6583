"""Entries that the model no longer sees can still be listed."""

from __future__ import annotations

from pi.coding.compaction.execution import dropped
from tests.coding.compaction.compaction_fixture import always
from tests.coding.compaction.test_execution import MANUAL, fixture_with


async def test_dropped_entries_can_be_listed() -> None:
    fixture = await fixture_with(always)
    assert dropped(fixture.log) == []
    await fixture.compactor.compact(MANUAL)

    gone = [str(entry) for entry in dropped(fixture.log)]
    assert any("question 0" in entry for entry in gone)
    assert not any("answer 2" in entry for entry in gone)
