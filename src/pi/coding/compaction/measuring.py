"""How full the window is, and the branch as compaction sees it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.items import Item, Role
from pi.ai.estimate import counted_tokens, message_tokens
from pi.ai.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.transcript import checkpoint
from pi.base.records import Record, replace
from pi.coding.session.context import Edits, edited, edits_on, message_of
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.conversion import convert_to_llm
from pi.coding.session.entries import BranchSummary, Compaction, ContextEdit, Entry, MessageEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.messages import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SessionMessage,
)


class Measured(Record):
    """A branch, ready to be compacted."""

    items: tuple[Item, ...]
    """From the first entry that the earlier compaction kept."""
    covered: tuple[Item, ...]
    """What came before that."""
    tokens: int
    previous: Compaction | None
    instructions: SystemMessage | None
    """What all system messages add up to."""


def tokens_in_use(conversation: SessionConversation) -> int:
    """How much of the window the conversation takes; the cost does not grow with its length.

    As the provider counted it with the last answer, and a guess for what came after. What was
    counted before a compaction says nothing.
    """
    log = conversation.log
    since = 0
    gone: set[str] = set()
    place = log.leaf
    while place is not None and log.tree.outlines[place].type != "compaction":
        entry = log.at(place)
        if isinstance(entry, ContextEdit):
            gone.add(entry.target_id)
        elif entry.id not in gone:
            for message in _converted(message_of(entry)):
                if isinstance(message, AssistantMessage) and (counted := counted_tokens(message)):
                    return counted + since
                since += message_tokens(message)
        place = log.tree.parent(place)
    return sum(map(message_tokens, convert_to_llm(conversation.messages())))


def measured(conversation: SessionConversation) -> Measured:
    """Everything that a compaction needs to know of the branch; reads all of it."""
    entries = list(conversation.log.branch())
    items = branch_items(conversation.log)
    start, previous = _first_kept(entries)
    return Measured(
        items=tuple(items[start:]),
        covered=tuple(items[:start]),
        tokens=tokens_in_use(conversation),
        previous=previous,
        instructions=checkpoint(_instructions(conversation.messages())),
    )


def branch_items(log: SessionLog) -> list[Item]:
    """Every entry of the branch, as the model would be shown it."""
    path = log.tree.path(log.leaf)
    edits = edits_on(log, path)
    return [_item(log.at(place), edits) for place in path]


def _item(entry: Entry, edits: Edits) -> Item:
    message = message_of(entry)
    role = _role(message)
    if message is not None and entry.id in edits:
        message = edited(message, edits[entry.id])
    said = _converted(message)
    item = Item(id=entry.id, role=role, message=said[0] if said else None)
    match entry, message:
        case BranchSummary(details=dict(details), from_hook=hook), _ if hook is not True:
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


def _converted(message: SessionMessage | None) -> list[Message]:
    return [] if message is None else convert_to_llm([message])


def _first_kept(entries: Sequence[Entry]) -> tuple[int, Compaction | None]:
    """Where the part begins that is shown as it is, and the compaction that says so."""
    for at in range(len(entries) - 1, -1, -1):
        compaction = entries[at]
        if isinstance(compaction, Compaction):
            kept = (i for i in range(at) if entries[i].id == compaction.first_kept_id)
            return next(kept, at), compaction
    return 0, None


def _instructions(messages: Sequence[SessionMessage]) -> list[SystemMessage]:
    return [message for message in messages if isinstance(message, SystemMessage)]


def latest_answer(log: SessionLog) -> str | None:
    """The id of the newest answer on the branch."""
    place = log.leaf
    while place is not None:
        entry = log.at(place)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
            return entry.id
        place = log.tree.parent(place)
    return None


def shown_ids(log: SessionLog) -> set[str]:
    """The entries that the model is shown something of, edited ones included."""
    path = log.tree.path(log.leaf)
    edits = edits_on(log, path)
    entries = [log.at(place) for place in path]
    start, _ = _first_kept(entries)
    return {entry.id for entry in entries[start:] if edits.get(entry.id, "") is not None}
