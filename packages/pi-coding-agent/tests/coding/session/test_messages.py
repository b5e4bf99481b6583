from __future__ import annotations

import msgspec

from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
)


def test_messages_are_written_as_the_original_writes_them() -> None:
    written = [
        msgspec.json.encode(message).decode()
        for message in (
            BashExecution(command="ls", output="", exit_code=0),
            CustomMessage(custom_type="c", content="x", display=False),
            BranchSummaryMessage(summary="s", from_id="f"),
            CompactionSummaryMessage(summary="s", tokens_before=1),
        )
    ]

    assert written == [
        '{"role":"bashExecution","command":"ls","output":"","exitCode":0,"cancelled":false,'
        '"truncated":false,"timestamp":0}',
        '{"role":"custom","customType":"c","content":"x","display":false,"timestamp":0}',
        '{"role":"branchSummary","summary":"s","fromId":"f","timestamp":0}',
        '{"role":"compactionSummary","summary":"s","tokensBefore":1,"timestamp":0}',
    ]
