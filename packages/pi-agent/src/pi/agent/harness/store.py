"""Conversation stores: the protocol and an implementation in memory.

A conversation is an append-only log of entries; the messages for the model are derived from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import field

from pi.agent.conversation import AgentMessage, Conversation
from pi.agent.env import SessionError, SessionErrorCode, SessionFailed
from pi.agent.policy import Draft
from pi.ai.messages import Json, SystemMessage, Text, Usage, UserMessage
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.records import Record

SUMMARY = """\
The conversation before this point was compacted into the following summary:

<summary>
{}
</summary>"""


class StoredModelChange(Record, tag="model_change"):
    """The model changes here."""

    provider: str
    model_id: str


class StoredThinkingLevel(Record, tag="thinking_level_change"):
    """The thinking level changes here."""

    thinking_level: ThinkingLevel


class StoredCompaction(Record, tag="compaction"):
    """Entries before ``first_kept_id`` are replaced by a summary."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    details: Json
    usage: Usage
    timestamp: int = 0
    """Time of creation, in milliseconds since 1970."""


Change: TypeAlias = StoredModelChange | StoredThinkingLevel | StoredCompaction
"""Entries other than messages."""


class StoredEntry(Record):
    """One entry of a log."""

    id: str
    value: Any
    """A message or a ``Change``."""


class StoredConversation(Conversation, Protocol):
    """An open conversation; only its owner writes to it."""

    @property
    def id(self) -> str:
        """Used to open it again."""
        ...

    def entries(self) -> Sequence[StoredEntry]:
        """Return all entries in order."""
        ...

    def close(self) -> None:
        """Close it; later writes fail."""
        ...


class ConversationStore(Protocol):
    """Stores conversations. Methods raise ``SessionFailed`` on failure."""

    def create(self) -> StoredConversation:
        """Create and open a conversation."""
        ...

    def open(self, id: str) -> StoredConversation:
        """Open an existing conversation."""
        ...


class MemoryStore:
    """Conversations in memory."""

    def __init__(self) -> None:
        self._logs: dict[str, list[StoredEntry]] = {}
        self._open: set[str] = set()

    def create(self) -> StoredConversation:
        """Create and open a conversation."""
        id = f"memory-{len(self._logs) + 1}"
        self._logs[id] = []
        return self.open(id)

    def open(self, id: str) -> StoredConversation:
        """Open an existing conversation, unless it is open."""
        if id not in self._logs:
            raise _failed("not_found", f"Conversation {id} not found.")
        if id in self._open:
            raise _failed("locked", f"Conversation {id} is already open.")
        self._open.add(id)
        return _MemoryLog(id, self._logs[id], self._open)


class _MemoryLog:
    """A conversation of a ``MemoryStore``."""

    def __init__(self, id: str, entries: list[StoredEntry], open_ones: set[str]) -> None:
        self.id = id
        self._entries = entries
        self._open_ones = open_ones
        self._closed = False
        self._visible_messages = visible_messages(entries)

    def entries(self) -> Sequence[StoredEntry]:
        return tuple(self._entries)

    def messages(self) -> Sequence[AgentMessage]:
        return self._visible_messages

    def append(self, message: AgentMessage) -> None:
        self.add(message)

    def add(self, draft: Draft) -> Json | None:
        if self._closed:
            raise _failed("closed", f"Conversation {self.id} is closed.")
        self._entries.append(StoredEntry(id=f"{len(self._entries):08x}", value=draft))
        if isinstance(draft, StoredCompaction):
            self._visible_messages = visible_messages(self._entries)
        elif not isinstance(draft, Change):
            self._visible_messages.append(draft)
        return None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._open_ones.discard(self.id)


def visible_messages(entries: Sequence[StoredEntry]) -> list[AgentMessage]:
    """Return the messages for the model: the latest summary and all later messages.

    System messages are always kept: together they declare prompt and tools.
    """
    start, compaction = first_visible(entries)
    messages: list[AgentMessage] = []
    if compaction is not None:
        values = (entry.value for entry in entries[:start])
        messages += [value for value in values if isinstance(value, SystemMessage)]
        summary = Text(text=SUMMARY.format(compaction.summary))
        messages.append(UserMessage(content=(summary,), timestamp=compaction.timestamp))
    rest = (entry.value for entry in entries[start:])
    return messages + [value for value in rest if not isinstance(value, Change)]


def first_visible(entries: Sequence[StoredEntry]) -> tuple[int, StoredCompaction | None]:
    """Return the index of the first entry shown unchanged, and the latest compaction."""
    for index in range(len(entries) - 1, -1, -1):
        compaction = entries[index].value
        if isinstance(compaction, StoredCompaction):
            indices = (i for i in range(index) if entries[i].id == compaction.first_kept_id)
            return next(indices, index), compaction
    return 0, None


def changed_choices(
    entries: Sequence[StoredEntry], model: Model, thinking_level: ThinkingLevel
) -> list[Change]:
    """Return the changes that record the current model and thinking level, if not recorded yet."""
    latest = {type(entry.value): entry.value for entry in entries}
    chosen: tuple[Change, ...] = (
        StoredModelChange(provider=model.provider, model_id=model.id),
        StoredThinkingLevel(thinking_level=thinking_level),
    )
    return [change for change in chosen if latest.get(type(change)) != change]


def _failed(code: SessionErrorCode, message: str) -> SessionFailed:
    return SessionFailed(SessionError(code=code, message=message))
