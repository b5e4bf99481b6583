"""Tokens in use, and the branch as compaction items."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import overload

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
    ContextPath,
    Edits,
    context_path,
    convert_to_llm,
    edited,
    edits_on,
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
    covered: Sequence[CompactionItem]
    """The items before ``items``, which the previous compaction covers; read at first access."""
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
    visible = context_path(log, position).visible
    edits_then, outlines = edits_on(log, visible), log.tree.outlines
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
    """Return the current branch as input of a compaction.

    ``without`` is the id of an entry to leave out. ``messages`` are those of the conversation, if
    known.
    """
    messages = conversation.messages() if messages is None else messages
    log = conversation.log
    path = context_path(log)
    covered = _CoveredItems(log, path, without)
    tokens = tokens_in_use(conversation, without=without, messages=messages)
    estimated = estimated_tokens(convert_to_llm(messages))
    archived, summary = _archive(log, covered, path.compaction)
    return Measured(
        items=tuple(branch_items(log, path.visible, without=without)),
        covered=covered,
        tokens=tokens,
        previous=path.compaction,
        instructions=checkpoint(_instructions(messages)),
        ratio=tokens / estimated if estimated and tokens else 1.0,
        archived=archived,
        archived_summary=summary,
    )


class _CoveredItems(Sequence[CompactionItem]):
    """The items of a branch before its context. They are many, and seldom needed."""

    def __init__(self, log: SessionLog, path: ContextPath, without: str) -> None:
        self._log = log
        self._without = without
        first = next(iter(path.visible), None)
        self._leaf = log.leaf if first is None else first
        self._is_empty = path.compaction is None or first is None

    @cached_property
    def positions(self) -> list[int]:
        """The positions of the items, from the root on."""
        return [] if self._is_empty else self._log.tree.path(self._leaf)[:-1]

    @cached_property
    def _items(self) -> list[CompactionItem]:
        edited_later = {**edits_on(self._log, self._log.tree.path(self._log.leaf))}
        edits = {**edited_later, self._without: None}
        return [_item(self._log.at(position), edits) for position in self.positions]

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, index: int) -> CompactionItem: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[CompactionItem]: ...

    def __getitem__(self, index: int | slice) -> CompactionItem | Sequence[CompactionItem]:
        return self._items[index]


def _archive(
    log: SessionLog, covered: _CoveredItems, latest: Compaction | None
) -> tuple[tuple[CompactionItem, ...], str]:
    """Return the covered items without a text summary, and the summary before them.

    None if the latest compaction is a text summary itself.
    """
    if latest is None or not _has_pictures(latest):
        return (), ""
    path = covered.positions
    outlines = log.tree.outlines
    for index in range(len(path) - 1, -1, -1):
        if outlines[path[index]].type != "compaction":
            continue
        entry = log.at(path[index])
        if isinstance(entry, Compaction) and not _has_pictures(entry):
            ids = (n for n in range(index) if outlines[path[n]].id == entry.first_kept_id)
            return tuple(covered[next(ids, index) :]), entry.summary
    return tuple(covered), ""


def _has_pictures(entry: Compaction) -> bool:
    content = () if entry.content is UNSET else entry.content
    return any(isinstance(block, Image) for block in content)


async def context_items(conversation: SessionConversation) -> tuple[CompactionItem, ...]:
    """Return the entries of the context: from the first that the previous compaction kept."""
    await conversation.prepare()
    conversation.messages()
    log, decoded = conversation.log, conversation.decoded

    def make() -> tuple[CompactionItem, ...]:
        return tuple(branch_items(log, context_path(log).visible, decoded=decoded))

    return await off_loop(make, len(log.tree) - log.tree.first)


def branch_items(
    log: SessionLog,
    path: Sequence[int],
    *,
    without: str = "",
    decoded: Mapping[int, SessionMessage] | None = None,
) -> list[CompactionItem]:
    """Return every entry of ``path`` as the model would see it, except ``without``.

    ``decoded`` are the messages of entries that were decoded already.
    """
    edits = {**edits_on(log, path), without: None}
    known = {} if decoded is None else decoded
    return [_item_at(log, position, edits, known.get(position)) for position in path]


def _item_at(
    log: SessionLog, position: int, edits: Edits, known: SessionMessage | None
) -> CompactionItem:
    if isinstance(known, UserMessage | AssistantMessage | ToolResultMessage):
        id = log.tree.outlines[position].id
        if id not in edits:
            converted = _convert(known)
            item = CompactionItem(
                id=id, role=_role(known), message=converted[0] if converted else None
            )
            is_useless = isinstance(known, ToolResultMessage) and known.useless is True
            return replace(item, useless=True) if is_useless else item
    return _item(log.at(position), edits)


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


def may_have_worthless(log: SessionLog, positions: Sequence[int]) -> bool:
    """Whether some results may be useless or superseded; decodes nothing.

    A result can be superseded if a file was read twice.
    """
    reads = 0
    for position in positions:
        line = log.line(position)
        if b'"useless"' in line:
            return True
        if b'"toolCall"' in line:
            reads += line.count(b'"read"')
    return reads > 1


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
    path = context_path(log).visible
    edits = edits_on(log, path)
    ids = [log.tree.outlines[position].id for position in path]
    return {id for id in ids if edits.get(id, "") is not None}


# Context edits replace the content of tool results. Nothing is removed from the log, and every call
# keeps a result.
