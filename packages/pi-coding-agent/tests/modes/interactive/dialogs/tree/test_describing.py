"""What entries are called in a list."""

from __future__ import annotations

from typing import Any

import pytest

from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Entry,
    Label,
    MessageEntry,
    ModelChange,
    SessionInfo,
    ThinkingLevelChange,
    UnknownEntry,
)
from pi.modes.interactive.dialogs.tree.descriptions import describe

CALL = ToolCall(id="1", name="bash", arguments={"command": "ls\n-l", "timeout": 5})


def message_entry(message: Any) -> Entry:
    return MessageEntry(message=message)


def answer(*content: Any, **more: Any) -> Entry:
    return message_entry(AssistantMessage(content=content, **more))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (message_entry(UserMessage(content="hello\nthere")), ("user", "user", "hello there")),
        (
            message_entry(UserMessage(content=(Text(text="see"), Image(data="", mime_type="x")))),
            ("user", "user", "see [image]"),
        ),
        (answer(Text(text="Yes."), CALL), ("assistant", "assistant", "Yes.")),
        (answer(CALL, stop_reason="toolUse"), ("tools only", "assistant", "[bash: ls -l]")),
        (answer(CALL, stop_reason="aborted"), ("assistant", "assistant", "[bash: ls -l]")),
        (
            answer(stop_reason="error", error_message="no"),
            ("assistant", "assistant", "(error) no"),
        ),
        (
            answer(stop_reason="error", error_message="529: a web page titled 'Error'"),
            ("assistant", "assistant", "(error) Overloaded (HTTP 529)"),
        ),
        (
            message_entry(ToolResultMessage(tool_call_id="1", tool_name="bash", content=())),
            ("tool", "bash", "ls -l"),
        ),
        (
            message_entry(ToolResultMessage(tool_call_id="?", tool_name="read", content=())),
            ("tool", "read", ""),
        ),
        (message_entry(BashExecution(command="pwd", output="/")), ("other", "bash", "pwd")),
        (message_entry(SystemMessage(content="x")), ("bookkeeping", "system", "prompt and tools")),
        (
            Compaction(summary="s", first_kept_id="1", tokens_before=45_200),
            ("other", "compaction", "45k tokens"),
        ),
        (BranchSummary(from_id="1", summary="notes"), ("other", "branch summary", "notes")),
        (CustomMessageEntry(custom_type="note", content="c"), ("other", "note", "c")),
        (ModelChange(provider="p", model_id="m"), ("bookkeeping", "model", "p/m")),
        (ThinkingLevelChange(thinking_level="low"), ("bookkeeping", "thinking", "low")),
        (Label(target_id="1"), ("bookkeeping", "label", "(cleared)")),
        (SessionInfo(name="n"), ("bookkeeping", "name", "n")),
        (Custom(custom_type="c"), ("bookkeeping", "custom", "c")),
        (ContextEdit(target_id="t", replacement=None), ("bookkeeping", "context edit", "t")),
        (
            UnknownEntry(data={"type": "new"}, id="1", parent_id=None),
            ("bookkeeping", "new", ""),
        ),
    ],
)
def test_every_kind_of_entry_has_a_name(entry: Entry, expected: tuple[str, str, str]) -> None:
    reported = describe(entry, {"1": CALL})
    assert (reported.kind, reported.role, reported.text) == expected


def test_failed_results_and_aborted_answers_are_marked() -> None:
    failed = ToolResultMessage(tool_call_id="1", tool_name="x", content=(), is_error=True)
    assert describe(message_entry(failed), {}).failed
    assert describe(answer(Text(text="a"), stop_reason="aborted"), {}).failed
    assert not describe(answer(Text(text="a")), {}).failed


def test_the_search_text_is_longer_than_the_listed_text() -> None:
    reported = describe(message_entry(UserMessage(content="x " * 1000 + "Needle")), {})
    assert "needle" in reported.words
    assert len(reported.text) < 500


def test_control_sequences_are_removed_from_texts() -> None:
    assert describe(message_entry(UserMessage(content="a\x1b]0;evil\x07b")), {}).text == "ab"
