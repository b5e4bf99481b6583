"""A strategy of an extension can preserve data between compactions."""

from __future__ import annotations

from pi.base.records import replace
from pi.coding.compaction.events import CompactionResult
from pi.coding.compaction.request import CompactionRequest
from pi.coding.compaction.strategies import Declined, Outcome, Strategy, Work
from pi.testing import says
from tests.coding.compaction.compaction_fixture import OPTIONS, CompactionFixture


class Archive:
    """Shows a count in place of the old part, as an extension could."""

    async def compact(self, work: Work) -> Outcome:
        if work.preparation is None:
            return Declined(why=work.why_not)
        before = work.previous.preserve_data if work.previous else {}
        count = (before or {}).get("count", 0) + len(work.preparation.history)
        return CompactionResult(
            summary=f"{count} entries are in the archive.",
            first_kept_id=work.preparation.first_kept_id,
            tokens_before=work.tokens,
            preserve_data={"count": count},
        )


async def test_preserved_data_of_a_strategy_is_passed_to_its_next_compaction() -> None:
    archive: Strategy = Archive()

    fixture = CompactionFixture(
        *[says("a")] * 4,
        options=replace(OPTIONS, strategy="archive", enabled=False),
        strategies={"archive": archive},
    )
    for n in range(2):
        await fixture.agent.prompt("word " * 2_000)
        await fixture.agent.prompt("word " * 2_000)
        await fixture.compactor.compact(CompactionRequest(reason="manual"))
        assert "entries are in the archive" in fixture.shown, n

    assert fixture.kinds.count("compaction") == 2
    counts = [
        int(summary.split()[0])
        for summary in (str(getattr(entry, "summary", "")) for entry in fixture.log.branch())
        if summary
    ]
    assert counts[1] > counts[0] > 0
