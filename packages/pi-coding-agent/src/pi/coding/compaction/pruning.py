"""Tool results that can be pruned from the requests of a long conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.agent.compaction.budget import (
    CompactionItem,
    ToolExchange,
    estimate_tokens,
    exchanges,
)
from pi.ai.messages import (
    Json,
    ToolCall,
    ToolResultMessage,
)
from pi.base.records import Record
from pi.coding.session.entries import (
    ContextEdit,
)

PROTECTED_TOKENS = 40_000
"""Tokens of the newest tool output, which is never pruned for its age."""
WORTH_TOKENS = 20_000
"""Minimum saving that justifies losing the provider's cache."""
SMALL_SUFFIX = 8_000
"""Maximum tokens after an elided result: the provider has to process them again."""
USELESS_NOTICE = "[Uneventful result elided]"
SUPERSEDED_NOTICE = "[Superseded by a later read of the same file]"


class Pruning(Record):
    """The edits, and about how many tokens they save."""

    edits: tuple[ContextEdit, ...] = ()
    tokens_saved: int = 0


def prune_tool_outputs(items: Sequence[CompactionItem]) -> Pruning:
    """Prune old, useless and superseded output if the total saving is large enough."""
    notices, protected_ids = dict(_worthless_results(items)), protected(items)
    newer_tokens = 0
    for item in reversed(items):
        if not isinstance(item.message, ToolResultMessage) or item.id in notices:
            continue
        if newer_tokens >= PROTECTED_TOKENS and item.id not in protected_ids:
            notices[item.id] = truncated_notice(item)
        newer_tokens += item.tokens
    pruning = _pruning(items, notices)
    return pruning if pruning.tokens_saved >= WORTH_TOKENS else Pruning()


def elide_worthless(items: Sequence[CompactionItem], *, cache_is_cold: bool) -> Pruning:
    """Elide useless and superseded results where that costs little or no provider cache."""
    notices = dict(_worthless_results(items))
    if not cache_is_cold:
        suffix_tokens = 0
        for item in reversed(items):
            if suffix_tokens > SMALL_SUFFIX:
                notices.pop(item.id, None)
            suffix_tokens += item.tokens
    return _pruning(items, notices)


def truncated_notice(item: CompactionItem) -> str:
    """Return the replacement of old output."""
    return f"[Output truncated - {item.tokens} tokens]"


def saved(item: CompactionItem, notice: str) -> int:
    """Return the tokens saved by showing ``notice`` instead; negative for tiny results."""
    return item.tokens - estimate_tokens(notice)


def edit(item: CompactionItem, notice: str) -> ContextEdit:
    """Make the entry that shows ``notice`` instead of ``item``."""
    content: Json = {"content": [{"type": "text", "text": notice}]}
    return ContextEdit(target_id=item.id, replacement=content)


def protected(items: Sequence[CompactionItem]) -> frozenset[str]:
    """Return the ids of results that must stay: skills, which are instructions."""
    return frozenset(
        items[exchange.answered_at].id
        for exchange in exchanges(items)
        if exchange.answered_at is not None and _is_skill(exchange.call)
    )


def _worthless_results(items: Sequence[CompactionItem]) -> Iterator[tuple[str, str]]:
    """Yield the ids of useless or superseded results with their notices."""
    newest_read: dict[str, int] = {}
    answered = [
        exchange
        for exchange in exchanges(items)
        if exchange.answered_at is not None
        and not _is_error(exchange)
        and not _is_skill(exchange.call)
    ]
    for index, exchange in enumerate(answered):
        newest_read[_read(exchange)] = index
    for index, exchange in enumerate(answered):
        item = items[exchange.answered_at or 0]
        if item.useless:
            yield item.id, USELESS_NOTICE
        elif (read := _read(exchange)) and newest_read[read] != index:
            yield item.id, SUPERSEDED_NOTICE


def _pruning(items: Sequence[CompactionItem], notices: dict[str, str]) -> Pruning:
    noticed = [(item, notices[item.id]) for item in items if item.id in notices]
    saving = [(item, notice) for item, notice in noticed if saved(item, notice) > 0]
    return Pruning(
        edits=tuple(edit(item, notice) for item, notice in saving),
        tokens_saved=sum(saved(item, notice) for item, notice in saving),
    )


def _read(exchange: ToolExchange) -> str:
    """Return a key for the file and lines that a read call has read; empty for other calls."""
    call = exchange.call
    if call.name != "read" or not _path(call):
        return ""
    part = (call.arguments.get("offset"), call.arguments.get("limit"))
    return f"{_path(call)}\0{part}"


def _is_error(exchange: ToolExchange) -> bool:
    return exchange.result is not None and exchange.result.is_error


def _is_skill(call: ToolCall) -> bool:
    return call.name == "skill" or (call.name == "read" and _path(call).startswith("skill://"))


def _path(call: ToolCall) -> str:
    path = call.arguments.get("path")
    return path if isinstance(path, str) else ""
