"""A session in numbers, in the JSON names of RPC."""

from __future__ import annotations

from pi.ai.messages import AssistantMessage, ToolResultMessage, Usage
from pi.base.records import UNSET, Record, UnsetType
from pi.coding.session.entries import BranchSummary, Compaction, Entry, MessageEntry, UsageEntry


class TokenTotals(Record):
    """Tokens of everything that was ever asked in a session."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0


class ContextUsage(Record):
    """How full the window is; unknown after a compaction until the next answer."""

    tokens: int | None
    context_window: int
    percent: float | None


class SessionStats(Record):
    """Counts and cost of the whole file: every branch, and what was compacted away."""

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


def usage_of(entry: Entry) -> Usage | None:
    """What an entry has cost, if a model was asked for it."""
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
        case _:
            return None
