"""What an entry of a session is called in a list, and by which words it is found. Pure."""

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
    UsageEntry,
)
from pi.coding.session.messages import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SessionMessage,
)
from pi.modes.interactive.dialogs.typed import typed_in_short

Kind: TypeAlias = Literal["user", "assistant", "tool", "tools only", "other", "bookkeeping"]
"""``tools only`` is an answer without words; ``bookkeeping`` says nothing of the conversation."""

LONGEST = 400
"""Characters of a text that are listed; all of them are searched."""

_TELLING = ("command", "path", "pattern", "query", "url")
"""Arguments of tools that say most, the best first."""


class Description(Record):
    """An entry on one row."""

    kind: Kind
    role: str
    """Who speaks, or the type of an entry in which nobody does."""
    text: str = ""
    words: str = ""
    """What a search looks at, beside the role."""
    failed: bool = False


Calls: TypeAlias = Mapping[str, ToolCall]
"""Tool calls by their id, so that results can say what they are the results of."""


def describe(entry: Entry, calls: Calls) -> Description:
    """The entry for a list."""
    match entry:
        case MessageEntry(message=message):
            return _message(message, calls)
        case CustomMessageEntry(custom_type=kind, content=content):
            return _told("other", kind, _words(content))
        case Compaction(summary=summary, tokens_before=tokens):
            return _told("other", "compaction", f"{round(tokens / 1000)}k tokens", summary)
        case BranchSummary(summary=summary):
            return _told("other", "branch summary", summary)
        case _:
            return _bookkeeping(entry)


def _message(message: SessionMessage, calls: Calls) -> Description:
    match message:
        case UserMessage(content=content):
            words = _words(content)
            typed = typed_in_short(words)
            return _told("user", "user", typed, "" if typed == words else words)
        case AssistantMessage():
            return _answer(message)
        case ToolResultMessage():
            return _result(message, calls)
        case SystemMessage():
            return _told("bookkeeping", "system", "prompt and tools")
        case _:
            return _aside(message)


def _aside(
    message: BashExecution | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage,
) -> Description:
    match message:
        case BashExecution(command=command, output=output):
            return _told("other", "bash", command, output[:LONGEST])
        case CustomMessage(custom_type=kind, content=content):
            return _told("other", kind, _words(content))
        case _:
            return _told("other", "summary", message.summary)


def _result(message: ToolResultMessage, calls: Calls) -> Description:
    call = calls.get(message.tool_call_id)
    asked = snippet(call) if call else ""
    told = _told("tool", message.tool_name, asked, message.text[:LONGEST])
    return replace(told, failed=message.is_error)


def _answer(message: AssistantMessage) -> Description:
    calls = " ".join(f"[{call.name}: {snippet(call)}]" for call in message.tool_calls)
    failed = message.stop_reason not in ("stop", "toolUse", "length")
    if message.text.strip():
        told = _told("assistant", "assistant", message.text, calls)
    elif message.tool_calls:
        told = _told("assistant" if failed else "tools only", "assistant", calls)
    else:
        reason = message.error_message if isinstance(message.error_message, str) else ""
        told = _told("assistant", "assistant", f"({message.stop_reason}) {reason}")
    return replace(told, failed=failed)


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
    return _told("bookkeeping", role, text)


def snippet(call: ToolCall) -> str:
    """What a tool was called with, in a few words."""
    found = (call.arguments.get(name) for name in _TELLING)
    told = next((value for value in found if isinstance(value, str) and value), "")
    return one_line(told)[:LONGEST]


def _told(kind: Kind, role: str, text: str, more: str = "") -> Description:
    return Description(
        kind=kind,
        role=one_line(role),
        text=one_line(text[:LONGEST]),
        words=f"{text} {more}".lower(),
    )


def _words(content: str | tuple[Text | Image, ...]) -> str:
    return " ".join(
        block.text if isinstance(block, Text) else "[image]" for block in blocks(content)
    )
