"""Tokens in use, the branch as compaction items, and tool results that can be pruned."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import UNSET

from pi.agent.compaction.budget import (
    CompactionItem,
    Role,
    ToolExchange,
    estimate_tokens,
    exchanges,
)
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.token_estimates import counted_tokens, estimated_tokens
from pi.ai.transcript import checkpoint
from pi.base.records import Record, replace
from pi.base.tasks import LARGE, off_loop
from pi.coding.session.context import (
    Edits,
    convert_to_llm,
    edited,
    edits_on,
    first_kept,
    latest_compaction,
    message_as_edited,
    message_of,
)
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import (
    HAND_OFF,
    BashExecution,
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    ContextEdit,
    CustomMessage,
    Entry,
    MessageEntry,
    SessionMessage,
)
from pi.coding.session.log import SessionLog


class Measured(Record):
    """A branch, ready to be compacted."""

    items: tuple[CompactionItem, ...]
    """Starts at the first entry that the previous compaction kept."""
    covered: tuple[CompactionItem, ...]
    """The items before ``items``, which the previous compaction covers."""
    tokens: int
    previous: Compaction | None
    instructions: SystemMessage | None
    """The combined system messages."""
    ratio: float = 1.0
    """The provider's count of the conversation divided by the estimate."""
    archived: tuple[CompactionItem, ...] = ()
    """The end of ``covered`` that has no text summary: it was archived in another form."""
    archived_summary: str = ""
    """The last text summary before ``archived``."""


def tokens_in_use(
    conversation: SessionConversation,
    *,
    without: str = "",
    messages: Sequence[SessionMessage] | None = None,
) -> int:
    """Return the tokens in use.

    Uses the provider's count of the last response, plus an estimate for later entries and edits, so
    that only the newest entries are read. Counts from before a compaction are ignored. ``without``
    is the id of an entry that is not counted. ``messages`` are those of the conversation, if known.
    """
    log = conversation.log
    since = 0
    edits: dict[str, Json | None] = {without: None} if without else {}
    for position in log.tree.upwards(log.leaf):
        outline = log.tree.outlines[position]
        if outline.type == "compaction":
            omitted_tokens = _estimate_tokens(message_of(log.entry(without))) if without else 0
            messages = conversation.messages() if messages is None else messages
            return estimated_tokens(convert_to_llm(messages)) - omitted_tokens
        if outline.type == "context_edit" and isinstance(edit := log.at(position), ContextEdit):
            edits.setdefault(edit.target_id, edit.replacement)
        elif outline.id in edits:
            since += _estimate_tokens(message_as_edited(log.at(position), edits))
        else:
            counted, estimated = _size(conversation, position)
            if counted:
                # The estimate of what was left out may exceed the provider's count.
                return max(counted - _saved_tokens(log, position, edits), 0) + since
            if not edits and position in conversation.totals:
                since += conversation.totals[position]
                break
            since += estimated
    if not edits and log.leaf is not None:
        conversation.totals[log.leaf] = since
    return since


async def prepare_conversation(conversation: SessionConversation) -> None:
    """Decode and measure a long conversation in a thread; a short one needs no preparation."""
    await conversation.prepare()
    if len(conversation.log.tree) > LARGE:
        await asyncio.to_thread(measure_sizes, conversation)


def measure_sizes(conversation: SessionConversation) -> None:
    """Fill the caches for ``tokens_in_use``, as far as it will read them.

    Safe in a thread: it only adds what is not known yet, and the log only grows.
    """
    log, leaf, since = conversation.log, conversation.log.leaf, 0
    for position in log.tree.upwards(leaf):
        if log.tree.outlines[position].type in ("compaction", "context_edit"):
            return
        if position in conversation.totals:
            since += conversation.totals[position]
            break
        counted, estimated = _size(conversation, position)
        if counted:
            return
        since += estimated
    if leaf is not None:
        conversation.totals[leaf] = since


def _size(conversation: SessionConversation, position: int) -> tuple[int, int]:
    """Return the provider's count at an entry, and the estimate for the entry alone.

    Cached: a long conversation without responses is measured at every boundary.
    """
    size = conversation.sizes.get(position)
    if size is None:
        entry = conversation.log.at(position)
        counted = _counted_tokens(entry)
        size = (counted, 0 if counted else _estimate_tokens(message_of(entry)))
        conversation.sizes[position] = size
    return size


def _counted_tokens(entry: Entry) -> int:
    """Return the provider's count for a response; 0 for other entries."""
    match entry:
        case MessageEntry(message=AssistantMessage() as answer):
            return counted_tokens(answer)
        case _:
            return 0


def _saved_tokens(log: SessionLog, position: int, edits: Edits) -> int:
    """Return the tokens that later ``edits`` take off the count of the response at ``position``."""
    if not edits:
        return 0
    path = log.tree.path(position)
    edits_then, outlines = edits_on(log, path), log.tree.outlines
    visible = path[first_kept(log, path) :]
    entries = [
        log.at(visible_position)
        for visible_position in visible
        if outlines[visible_position].id in edits
    ]
    return sum(
        _estimate_tokens(message_as_edited(entry, edits_then))
        - _estimate_tokens(message_as_edited(entry, edits))
        for entry in entries
    )


async def measured_off_loop(conversation: SessionConversation, *, without: str = "") -> Measured:
    """Return ``measured`` without blocking the event loop: 200,000 entries take seconds."""
    await conversation.prepare()
    messages = tuple(conversation.messages())  # changes the conversation: not in a thread
    work = partial(measured, conversation, without=without, messages=messages)
    return await off_loop(work, len(conversation.log.tree.outlines))


def measured(
    conversation: SessionConversation,
    *,
    without: str = "",
    messages: Sequence[SessionMessage] | None = None,
) -> Measured:
    """Return the current branch as input of a compaction; reads the whole branch.

    ``without`` is the id of an entry to leave out. ``messages`` are those of the conversation, if
    known.
    """
    messages = conversation.messages() if messages is None else messages
    log = conversation.log
    path = log.tree.path(log.leaf)
    items = branch_items(log, path, without=without)
    start, (_, previous) = first_kept(log, path), latest_compaction(log, path)
    tokens = tokens_in_use(conversation, without=without, messages=messages)
    estimated = estimated_tokens(convert_to_llm(messages))
    archived_from, summary = _find_archive(log, path, previous)
    return Measured(
        items=tuple(items[start:]),
        covered=tuple(items[:start]),
        tokens=tokens,
        previous=previous,
        instructions=checkpoint(_instructions(messages)),
        ratio=tokens / estimated if estimated and tokens else 1.0,
        archived=() if archived_from is None else tuple(items[archived_from:start]),
        archived_summary=summary,
    )


def _find_archive(
    log: SessionLog, path: Sequence[int], latest: Compaction | None
) -> tuple[int | None, str]:
    """Return the index in ``path`` from which there is no text summary, and the summary before.

    The index is ``None`` if the latest compaction is a text summary itself.
    """
    if latest is None or not _has_pictures(latest):
        return None, ""
    outlines = log.tree.outlines
    for index in range(len(path) - 1, -1, -1):
        if outlines[path[index]].type != "compaction":
            continue
        entry = log.at(path[index])
        if isinstance(entry, Compaction) and not _has_pictures(entry):
            ids = (n for n in range(index) if outlines[path[n]].id == entry.first_kept_id)
            return next(ids, index), entry.summary
    return 0, ""


def _has_pictures(entry: Compaction) -> bool:
    content = () if entry.content is UNSET else entry.content
    return any(isinstance(block, Image) for block in content)


def branch_items(
    log: SessionLog, path: Sequence[int], *, without: str = ""
) -> list[CompactionItem]:
    """Return every entry of ``path`` as the model would see it, except ``without``."""
    edits = {**edits_on(log, path), without: None}
    return [_item(log.at(position), edits) for position in path]


def _item(entry: Entry, edits: Edits) -> CompactionItem:
    original = message = message_of(entry)
    if message is not None and entry.id in edits:
        message = edited(message, edits[entry.id])
    converted = _convert(message)
    item = CompactionItem(
        id=entry.id, role=_role(original), message=converted[0] if converted else None
    )
    match entry, message:
        case BranchSummary(details=dict(details), from_hook=hook), _ if hook is not True:
            return replace(item, details=details)
        case _, CustomMessage(custom_type=kind, details=dict(details)) if kind == HAND_OFF:
            return replace(item, details=details)
        case _, ToolResultMessage(useless=True):
            return replace(item, useless=True)
        case _:
            return item


def _role(message: SessionMessage | None) -> Role:
    return "metadata" if message is None else _ROLES[type(message)]


_ROLES: dict[type[SessionMessage], Role] = {
    SystemMessage: "system",
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResultMessage: "toolResult",
    BashExecution: "bashExecution",
    CustomMessage: "custom",
    BranchSummaryMessage: "branchSummary",
    CompactionSummaryMessage: "compactionSummary",
}


def _convert(message: SessionMessage | None) -> list[Message]:
    return [] if message is None else convert_to_llm([message])


def _estimate_tokens(message: SessionMessage | None) -> int:
    return estimated_tokens(_convert(message))


def _instructions(messages: Sequence[SessionMessage]) -> list[SystemMessage]:
    return [message for message in messages if isinstance(message, SystemMessage)]


def latest_answer(log: SessionLog) -> str | None:
    """Return the id of the newest response on the branch."""
    for position in log.tree.upwards(log.leaf):
        entry = log.at(position) if log.may_be_answer(position) else None
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            return entry.id
    return None


def shown_ids(log: SessionLog) -> set[str]:
    """Return the ids of the entries that the model sees, edited ones included."""
    path = log.tree.path(log.leaf)
    edits = edits_on(log, path)
    ids = [log.tree.outlines[position].id for position in path[first_kept(log, path) :]]
    return {id for id in ids if edits.get(id, "") is not None}


# Pruning ------------------------------------------------------------------------------------------

# Context edits replace the content of tool results. Nothing is removed from the log, and every call
# keeps a result.

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
