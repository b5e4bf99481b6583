"""Descriptions of the entries of a session. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.base.records import Record, replace
from pi.base.terminal_text import one_line
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    Label,
    MessageEntry,
    ModelChange,
    SessionInfo,
    SessionMessage,
    ThinkingLevelChange,
    UnknownEntry,
    UsageEntry,
)
from pi.modes.interactive.dialogs.panel import summarise_message
from pi.modes.interactive.transcript.provider_errors import describe_failed_answer

Kind: TypeAlias = Literal["user", "assistant", "tool", "tools only", "other", "bookkeeping"]
"""``tools only`` is an answer without text; ``bookkeeping`` is not part of the conversation."""

LONGEST = 400
"""Characters of a text that are listed; all of them are searched."""

_MAIN_ARGUMENTS = ("command", "path", "pattern", "query", "url")
"""Tool arguments shown in a row, the most informative first."""


class Description(Record):
    """An entry on one row."""

    kind: Kind
    role: str
    """The role of a message, or the type of another entry."""
    text: str = ""
    words: str = ""
    """The search text, beside the role."""
    failed: bool = False


Calls: TypeAlias = Mapping[str, ToolCall]
"""Tool calls by id, to describe their results."""


def describe(entry: Entry, calls: Calls) -> Description:
    """Describe the entry for a list."""
    match entry:
        case MessageEntry(message=message):
            return _message(message, calls)
        case CustomMessageEntry(custom_type=kind, content=content):
            return _description("other", kind, _text_of(content))
        case Compaction(summary=summary, tokens_before=tokens):
            return _description("other", "compaction", f"{round(tokens / 1000)}k tokens", summary)
        case BranchSummary(summary=summary):
            return _description("other", "branch summary", summary)
        case _:
            return _bookkeeping(entry)


def _message(message: SessionMessage, calls: Calls) -> Description:
    match message:
        case UserMessage(content=content):
            text = _text_of(content)
            typed = summarise_message(text)
            return _description("user", "user", typed, "" if typed == text else text)
        case AssistantMessage():
            return _describe_answer(message)
        case ToolResultMessage():
            return _result(message, calls)
        case SystemMessage():
            return _description("bookkeeping", "system", "prompt and tools")
        case _:
            return _aside(message)


def _aside(
    message: BashExecution | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage,
) -> Description:
    match message:
        case BashExecution(command=command, output=output):
            return _description("other", "bash", command, output[:LONGEST])
        case CustomMessage(custom_type=kind, content=content):
            return _description("other", kind, _text_of(content))
        case _:
            return _description("other", "summary", message.summary)


def _result(message: ToolResultMessage, calls: Calls) -> Description:
    call = calls.get(message.tool_call_id)
    main_argument = snippet(call) if call else ""
    described = _description("tool", message.tool_name, main_argument, message.text[:LONGEST])
    return replace(described, failed=message.is_error)


def _describe_answer(message: AssistantMessage) -> Description:
    calls = " ".join(f"[{call.name}: {snippet(call)}]" for call in message.tool_calls)
    failed = message.stop_reason not in ("stop", "toolUse", "length")
    if message.text.strip():
        described = _description("assistant", "assistant", message.text, calls)
    elif message.tool_calls:
        described = _description("assistant" if failed else "tools only", "assistant", calls)
    else:
        reason = describe_failed_answer(message)
        described = _description("assistant", "assistant", f"({message.stop_reason}) {reason}")
    return replace(described, failed=failed)


def _bookkeeping(entry: Entry) -> Description:
    match entry:
        case ModelChange(provider=provider, model_id=model):
            role, text = "model", f"{provider}/{model}"
        case ThinkingLevelChange(thinking_level=level):
            role, text = "thinking", level
        case Label(label=label):
            role, text = "label", label if isinstance(label, str) else "(cleared)"
        case SessionInfo(name=name):
            role, text = "name", name if isinstance(name, str) else "(none)"
        case Custom(custom_type=kind):
            role, text = "custom", kind
        case ContextEdit(target_id=target):
            role, text = "context edit", target
        case UsageEntry(kind=kind):
            role, text = "usage", kind
        case UnknownEntry(data=data):
            role, text = str(data.get("type", "entry")), ""
        case _:
            role, text = "entry", ""
    return _description("bookkeeping", role, text)


def snippet(call: ToolCall) -> str:
    """Return the main argument of a tool call."""
    values = (call.arguments.get(name) for name in _MAIN_ARGUMENTS)
    text = next((value for value in values if isinstance(value, str) and value), "")
    return one_line(text)[:LONGEST]


def _description(kind: Kind, role: str, text: str, more: str = "") -> Description:
    return Description(
        kind=kind,
        role=one_line(role),
        text=one_line(text[:LONGEST]),
        words=f"{text} {more}".lower(),
    )


def _text_of(content: str | tuple[Text | Image, ...]) -> str:
    return " ".join(
        block.text if isinstance(block, Text) else "[image]" for block in blocks(content)
    )
