"""Statistics of a session, with the JSON names of RPC."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType, field

from pi.ai.messages import AssistantMessage, ToolResultMessage, Usage
from pi.base.records import Record
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    Custom,
    Entry,
    MessageEntry,
    UsageEntry,
)


class TokenTotals(Record):
    """Tokens of all requests in a session."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0


class EntryTotals(Record):
    """Counts and cost of entries."""

    messages: dict[str, int] = field(default_factory=dict)
    """Message entries by the role of their message."""
    tool_calls: int = 0
    tokens: TokenTotals = TokenTotals()
    cost: float = 0.0


class ContextUsage(Record):
    """Fill level of the window; unknown between a compaction and the next response."""

    tokens: int | None
    context_window: int
    percent: float | None


class SessionStats(Record):
    """Counts and cost of the whole file: every branch, compacted parts included."""

    session_file: str | UnsetType = UNSET
    session_id: str
    user_messages: int
    assistant_messages: int
    tool_calls: int
    tool_results: int
    total_messages: int
    tokens: TokenTotals
    cost: float
    context_usage: ContextUsage | UnsetType = UNSET


MODEL_CALL = "pi:model-call"
"""Custom type of entries with the usage of requests that extensions made."""


class ModelCall(Record):
    """A request that an extension made outside of the conversation."""

    extension: str
    provider: str
    model: str
    usage: Usage


def model_call_entry(call: ModelCall) -> Custom:
    """Return the entry that records ``call``; other programs keep it as an unknown custom entry."""
    return Custom(custom_type=MODEL_CALL, data=msgspec.to_builtins(call))


def model_call_of(entry: Entry) -> ModelCall | None:
    """Return the request that an entry records; ``None`` for other entries."""
    if not isinstance(entry, Custom) or entry.custom_type != MODEL_CALL:
        return None
    try:
        return msgspec.convert(entry.data, ModelCall)
    except msgspec.ValidationError:
        return None  # written by another program


def usage_of(entry: Entry) -> Usage | None:
    """Return the usage of an entry, if a model was called for it."""
    match entry:
        case (
            MessageEntry(
                message=AssistantMessage(usage=Usage() as usage)
                | ToolResultMessage(usage=Usage() as usage)
            )
            | Compaction(usage=Usage() as usage)
            | BranchSummary(usage=Usage() as usage)
            | UsageEntry(usage=usage)
        ):
            return usage
        case Custom():
            call = model_call_of(entry)
            return None if call is None else call.usage
        case _:
            return None
