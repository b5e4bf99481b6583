"""Tool results that the model need not be shown any more, as context edits. Pure.

Nothing is removed from the log, and a call keeps its result: only what it says is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.agent.compaction.items import Exchange, Item, exchanges
from pi.agent.compaction.tokens import estimate_tokens
from pi.ai.messages import Json, ToolCall, ToolResultMessage
from pi.base.records import Record
from pi.coding.session.entries import ContextEdit

PROTECTED_TOKENS = 40_000
"""Tool output, newest first, that is never pruned for its age."""
WORTH_TOKENS = 20_000
"""Less than this is not worth the provider's cache."""
SMALL_SUFFIX = 8_000
"""So much behind a result may be sent again for leaving it out."""
USELESS_NOTICE = "[Uneventful result elided]"
SUPERSEDED_NOTICE = "[Superseded by a later read of the same file]"


class Pruning(Record):
    """What to leave out, and about how many tokens that saves."""

    edits: tuple[ContextEdit, ...] = ()
    tokens_saved: int = 0


def prune_tool_outputs(items: Sequence[Item]) -> Pruning:
    """Old output, and output that is useless or superseded, if that saves enough together."""
    gone, stays = dict(_worthless(items)), protected(items)
    newer = 0
    for item in reversed(items):
        if not isinstance(item.message, ToolResultMessage) or item.id in gone:
            continue
        if newer >= PROTECTED_TOKENS and item.id not in stays:
            gone[item.id] = truncated_notice(item)
        newer += item.tokens
    pruning = _pruning(items, gone)
    return pruning if pruning.tokens_saved >= WORTH_TOKENS else Pruning()


def elide_worthless(items: Sequence[Item], *, cache_is_cold: bool) -> Pruning:
    """Useless and superseded results, where that costs the provider's cache little or nothing."""
    gone = dict(_worthless(items))
    if not cache_is_cold:
        behind = 0
        for item in reversed(items):
            if behind > SMALL_SUFFIX:
                gone.pop(item.id, None)
            behind += item.tokens
    return _pruning(items, gone)


def truncated_notice(item: Item) -> str:
    """What is shown in place of old output."""
    return f"[Output truncated - {item.tokens} tokens]"


def saved(item: Item, notice: str) -> int:
    """The tokens that showing ``notice`` in place of ``item`` saves; tiny results save none."""
    return item.tokens - estimate_tokens(notice)


def edit(item: Item, notice: str) -> ContextEdit:
    """The entry that shows ``notice`` in place of ``item``."""
    content: Json = {"content": [{"type": "text", "text": notice}]}
    return ContextEdit(target_id=item.id, replacement=content)


def protected(items: Sequence[Item]) -> frozenset[str]:
    """The ids of results that must stay: instructions of a skill are not output."""
    return frozenset(
        items[exchange.answered_at].id
        for exchange in exchanges(items)
        if exchange.answered_at is not None and _is_skill(exchange.call)
    )


def _worthless(items: Sequence[Item]) -> Iterator[tuple[str, str]]:
    """The ids of results that say nothing, or nothing any more, with their notices."""
    newest_read: dict[str, int] = {}
    answered = [
        exchange
        for exchange in exchanges(items)
        if exchange.answered_at is not None
        and not _is_error(exchange)
        and not _is_skill(exchange.call)
    ]
    for at, exchange in enumerate(answered):
        newest_read[_read(exchange)] = at
    for at, exchange in enumerate(answered):
        item = items[exchange.answered_at or 0]
        if item.useless:
            yield item.id, USELESS_NOTICE
        elif (read := _read(exchange)) and newest_read[read] != at:
            yield item.id, SUPERSEDED_NOTICE


def _pruning(items: Sequence[Item], gone: dict[str, str]) -> Pruning:
    chosen = [(item, gone[item.id]) for item in items if item.id in gone]
    worth = [(item, notice) for item, notice in chosen if saved(item, notice) > 0]
    return Pruning(
        edits=tuple(edit(item, notice) for item, notice in worth),
        tokens_saved=sum(saved(item, notice) for item, notice in worth),
    )


def _read(exchange: Exchange) -> str:
    """What exactly a read has read; empty for anything else."""
    call = exchange.call
    if call.name != "read" or not _path(call):
        return ""
    part = (call.arguments.get("offset"), call.arguments.get("limit"))
    return f"{_path(call)}\0{part}"


def _is_error(exchange: Exchange) -> bool:
    return exchange.result is not None and exchange.result.is_error


def _is_skill(call: ToolCall) -> bool:
    return call.name == "skill" or (call.name == "read" and _path(call).startswith("skill://"))


def _path(call: ToolCall) -> str:
    path = call.arguments.get("path")
    return path if isinstance(path, str) else ""
