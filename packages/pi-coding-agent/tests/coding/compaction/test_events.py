"""The names of compaction events on the wire."""

from __future__ import annotations

import msgspec

from pi.coding.compaction.events import CompactionEnd, CompactionResult, CompactionStart


def test_events_have_the_recorded_form() -> None:
    result = CompactionResult(
        summary="s", first_kept_id="a", tokens_before=1, estimated_tokens_after=2
    )
    emitted = [
        CompactionStart(reason="threshold"),
        CompactionEnd(reason="manual", result=result),
        CompactionEnd(reason="manual", error_message="Compaction failed: no"),
    ]

    assert [msgspec.json.encode(event).decode() for event in emitted] == [
        '{"type":"compaction_start","reason":"threshold"}',
        '{"type":"compaction_end","reason":"manual","result":{"summary":"s",'
        '"firstKeptEntryId":"a","tokensBefore":1,"estimatedTokensAfter":2},'
        '"aborted":false,"willRetry":false}',
        '{"type":"compaction_end","reason":"manual","aborted":false,"willRetry":false,'
        '"errorMessage":"Compaction failed: no"}',
    ]
