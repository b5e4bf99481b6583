"""Compacts a stored conversation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pi.agent.compaction.budget import CompactionItem, CompactionSettings, context_tokens
from pi.agent.compaction.compact import compact
from pi.agent.compaction.prepare import PreviousSummary, prepare
from pi.agent.compaction.summarise import Ask, SummaryInstructions
from pi.agent.conversation import Convert
from pi.agent.harness.store import (
    StoredCompaction,
    StoredEntry,
    StoredModelChange,
    StoredThinkingLevel,
    first_visible,
    visible_messages,
)
from pi.ai.messages import (
    AssistantMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model


async def compact_entries(
    entries: Sequence[StoredEntry],
    ask: Ask,
    settings: CompactionSettings,
    *,
    model: Model,
    convert: Convert,
    instructions: str = "",
) -> StoredCompaction:
    """Return the compaction entry to store, or raise ``CompactionFailed``."""
    start, earlier = first_visible(entries)
    items = [_item(entry, convert) for entry in entries]
    preparation = prepare(
        items[start:],
        settings,
        window=model.context_window,
        tokens_before=_tokens(entries, convert),
        previous=PreviousSummary(summary=earlier.summary, details=earlier.details)
        if earlier
        else None,
        before=items[:start],
        guidance=SummaryInstructions(custom_instructions=instructions),
    )
    result = await compact(preparation, ask, settings, model=model)
    return StoredCompaction(
        summary=result.summary,
        first_kept_id=result.first_kept_id,
        tokens_before=result.tokens_before,
        details=msgspec.to_builtins(result.details),
        usage=result.usage,
    )


def _item(entry: StoredEntry, convert: Convert) -> CompactionItem:
    match entry.value:
        case StoredModelChange() | StoredThinkingLevel() | StoredCompaction():
            return CompactionItem(id=entry.id, role="metadata")
        case SystemMessage() | UserMessage() | AssistantMessage() | ToolResultMessage() as message:
            return CompactionItem.of(entry.id, message)
        case own:
            said = convert([own])
            return CompactionItem(id=entry.id, role="custom", message=said[0] if said else None)


def _tokens(entries: Sequence[StoredEntry], convert: Convert) -> int:
    """Estimate the visible tokens. Usage reported before the latest compaction does not count."""
    changed = [at for at, entry in enumerate(entries) if isinstance(entry.value, StoredCompaction)]
    since = entries[changed[-1] + 1 :] if changed else entries
    messages = convert(visible_messages(entries))
    return context_tokens(messages, compacted=len(messages) - len(convert(visible_messages(since))))
