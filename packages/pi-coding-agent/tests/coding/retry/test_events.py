"""The names of retry events on the wire."""

from __future__ import annotations

import msgspec

from pi.coding.retry import AutoRetryEnd, SummarizationRetryAttemptStart


def test_unset_fields_are_omitted_from_events() -> None:
    emitted = [
        AutoRetryEnd(success=True, attempt=1),
        SummarizationRetryAttemptStart(source="branchSummary"),
    ]

    assert [msgspec.json.encode(event) for event in emitted] == [
        b'{"type":"auto_retry_end","success":true,"attempt":1}',
        b'{"type":"summarization_retry_attempt_start","source":"branchSummary"}',
    ]
