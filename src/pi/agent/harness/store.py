"""Where conversations are kept: what is wanted of such a place, and one in memory.

A conversation is a log of entries that only grows; what the model is shown of it is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import field

from pi.agent.conversation import AgentMessage, Conversation
from pi.agent.env import SessionError, SessionErrorCode, SessionFailed
from pi.agent.policy import Draft
from pi.ai.messages import Json, SystemMessage, Text, Usage, UserMessage
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record

SUMMARY = """\
The conversation before this point was compacted into the following summary:

<summary>
{}
</summary>"""


class StoredModelChange(Record, tag="model_change"):
    """From here on another model answers."""

    provider: str
    model_id: str


class StoredThinkingLevel(Record, tag="thinking_level_change"):
    """From here on the model thinks more, or less."""

    thinking_level: ThinkingLevel


class StoredCompaction(Record, tag="compaction"):
    """What came before ``first_kept_id`` is shown to the model as a summary."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    details: Json
    usage: Usage
    timestamp: int = 0
    """When it was made, in milliseconds since 1970."""


Change: TypeAlias = StoredModelChange | StoredThinkingLevel | StoredCompaction
"""What a log keeps beside messages."""


class StoredEntry(Record):
    """One line of a log."""

    id: str
    value: Any
    """A message or a ``Change``."""


class StoredConversation(Conversation, Protocol):
    """An open conversation; nobody else writes to it."""

    @property
    def id(self) -> str:
        """By which it is opened again."""
        ...

    def entries(self) -> Sequence[StoredEntry]:
        """Everything that was ever kept, in order."""
        ...

    def close(self) -> None:
        """Let go of it; afterwards it takes nothing more."""
        ...


class ConversationStore(Protocol):
    """Keeps conversations. What cannot be done raises ``SessionFailed``."""

    def create(self) -> StoredConversation:
        """A new one, open."""
        ...

    def open(self, id: str) -> StoredConversation:
        """The one that was created under ``id``."""
        ...


class MemoryStore:
    """Conversations that live as long as the program."""

    def __init__(self) -> None:
        self._logs: dict[str, list[StoredEntry]] = {}
        self._open: set[str] = set()

    def create(self) -> StoredConversation:
        """A new one."""
        id = f"memory-{len(self._logs) + 1}"
        self._logs[id] = []
        return self.open(id)

    def open(self, id: str) -> StoredConversation:
        """An earlier one, unless it is open."""
        if id not in self._logs:
            raise _failed("not_found", f"There is no conversation {id}.")
        if id in self._open:
            raise _failed("locked", f"The conversation {id} is open already.")
        self._open.add(id)
        return _MemoryLog(id, self._logs[id], self._open)


class _MemoryLog:
    """A conversation of a ``MemoryStore``."""

    def __init__(self, id: str, entries: list[StoredEntry], open_ones: set[str]) -> None:
        self.id = id
        self._entries = entries
        self._open_ones = open_ones
        self._closed = False
        self._shown = visible_messages(entries)

    def entries(self) -> Sequence[StoredEntry]:
        return tuple(self._entries)

    def messages(self) -> Sequence[AgentMessage]:
        return self._shown

    def append(self, message: AgentMessage) -> None:
        self.add(message)

    def add(self, draft: Draft) -> Json | None:
        if self._closed:
            raise _failed("closed", f"The conversation {self.id} is closed.")
        self._entries.append(StoredEntry(id=f"{len(self._entries):08x}", value=draft))
        if isinstance(draft, StoredCompaction):
            self._shown = visible_messages(self._entries)
        elif not isinstance(draft, Change):
            self._shown.append(draft)
        return None

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._open_ones.discard(self.id)


def visible_messages(entries: Sequence[StoredEntry]) -> list[AgentMessage]:
    """What the model is shown: the latest summary and what it does not cover.

    System messages stay, also those that are covered: prompt and tools are what they add up to.
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
    """Where the part begins that is shown as it is, and the compaction that says so."""
    for at in range(len(entries) - 1, -1, -1):
        compaction = entries[at].value
        if isinstance(compaction, StoredCompaction):
            kept = (i for i in range(at) if entries[i].id == compaction.first_kept_id)
            return next(kept, at), compaction
    return 0, None


def changed_choices(
    entries: Sequence[StoredEntry], model: Model, thinking_level: ThinkingLevel
) -> list[Change]:
    """What the log does not know yet of the model and how much it thinks."""
    latest = {type(entry.value): entry.value for entry in entries}
    chosen: tuple[Change, ...] = (
        StoredModelChange(provider=model.provider, model_id=model.id),
        StoredThinkingLevel(thinking_level=thinking_level),
    )
    return [change for change in chosen if latest.get(type(change)) != change]


def _failed(code: SessionErrorCode, message: str) -> SessionFailed:
    return SessionFailed(SessionError(code=code, message=message))
