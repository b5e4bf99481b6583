"""Tokens in use, and the branch as compaction items."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec import UNSET

from pi.agent.compaction.budget import (
    CompactionItem,
    Role,
)
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
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


# Context edits replace the content of tool results. Nothing is removed from the log, and every call
# keeps a result.
