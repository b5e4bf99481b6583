"""The session log as the agent's ``Conversation``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pi.agent.policy import Draft
from pi.ai.messages import AssistantMessage, Json, SystemMessage, UserMessage
from pi.base.records import replace
from pi.base.tasks import LARGE
from pi.coding.session.context import (
    REPLACING,
    message_of,
    provider_in_file,
    shown_messages,
)
from pi.coding.session.entries import (
    ContextEdit,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    KnownEntry,
    MessageEntry,
    ModelChange,
    SessionMessage,
    UsageEntry,
)
from pi.coding.session.log import SessionLog

PUBLIC = (ContextEdit, Custom, CustomMessageEntry, MessageEntry)
"""Drafts that are emitted as ``entry_appended``; others have their own events or none."""


class SessionConversation:
    """Implements ``pi.agent.conversation.Conversation`` on a log.

    The messages grow with the log and are recomputed only after a compaction, a context edit or a
    move of the leaf, so that the cost of a turn does not grow with the conversation. Other code may
    append to the log or move its leaf at any time.
    """

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self._shown: list[SessionMessage] = []
        self._appended: dict[int | None, SessionMessage] = {}
        """By position: appended messages that are identical when read back from the log."""
        self.decoded: Mapping[int, SessionMessage] = {}
        """By position: messages that were decoded when all of them were computed.

        Kept until the conversation grows: what looks at all entries at the start finds them here.
        """
        self.sizes: dict[int, tuple[int, int]] = {}
        """By position: tokens that the provider counted at an entry, and the estimate for it alone.

        Cache for the measuring code; entries never change.
        """
        self.totals: dict[int, int] = {}
        """By position: the estimate for everything up to an entry, if no provider has counted any.

        Cache for a long conversation without responses.
        """
        self.compacted: dict[int, bool] = {}
        """By position: whether a compaction followed the last response. A cache as well."""
        self._leaf: int | None = None
        self._seen = 0

    def messages(self) -> Sequence[SessionMessage]:
        """Return the messages for the model; the same growing list until earlier parts change."""
        outlines = self.log.tree.outlines
        if self.log.leaf == self._leaf and len(outlines) == self._seen:
            return self._shown
        # At first, the entries before the context of a long session have not been read.
        new = self._new_places() if self._seen or not self.log.tree.first else None
        if new is None or any(outlines[position].type in REPLACING for position in new):
            decoded: dict[int, SessionMessage] = {}
            self._shown = shown_messages(self.log, decoded=decoded)
            self.decoded = decoded
        else:
            self.decoded = {}
            added = (
                self._appended.get(position) or message_of(self.log.at(position))
                for position in new
            )
            self._shown += [message for message in added if message is not None]
        self._appended.clear()
        self._leaf, self._seen = self.log.leaf, len(outlines)
        return self._shown

    async def prepare(self) -> None:
        """Decode many new entries without blocking the loop; ``messages`` finds them decoded."""
        log, seen = self.log, self._seen
        leaf, length = log.leaf, len(log.tree.outlines)
        if length - seen <= LARGE:
            return
        decoded: dict[int, SessionMessage] = {}
        messages = await asyncio.to_thread(shown_messages, log, leaf, decoded=decoded)
        if self._seen == seen:  # nothing else has called messages() meanwhile
            self._shown, self._leaf, self._seen = messages, leaf, length
            self.decoded = decoded
            # Messages that were appended meanwhile are still needed.
            self._appended = {
                position: message
                for position, message in self._appended.items()
                if (position or 0) >= length
            }

    def append(self, message: SessionMessage) -> None:
        """Store a message before returning."""
        self.log.append(self._as_in_file(entry_for(message)))
        if isinstance(message, SystemMessage | UserMessage):
            # Keeps the decoders of all message types off the path of the first request.
            self._appended[self.log.leaf] = message

    def add(self, draft: Draft) -> Json | None:
        """Store an entry or a message; returns its public form, if it is public."""
        entry = self.log.append(self._as_in_file(entry_for(draft)))
        return self.log.json(self.log.tree.place(entry.id)) if isinstance(entry, PUBLIC) else None

    def _as_in_file(self, entry: KnownEntry) -> KnownEntry:
        """Return an entry with the id of its provider that the file already uses."""
        match entry:
            case MessageEntry(message=AssistantMessage() as answer):
                provider = provider_in_file(self.log, answer.provider)
                if provider != answer.provider:
                    return replace(entry, message=replace(answer, provider=provider))
            case ModelChange() | UsageEntry():
                return replace(entry, provider=provider_in_file(self.log, entry.provider))
        return entry

    def _new_places(self) -> list[int] | None:
        """Return the positions appended since the last ``messages()``.

        ``None`` if the leaf moved to another branch.
        """
        new: list[int] = []
        before: int | None = None
        for position in self.log.tree.upwards(self.log.leaf):
            if position < self._seen:
                before = position
                break
            new.append(position)
        new.reverse()
        return new if before == self._leaf else None


def entry_for(draft: SessionMessage | KnownEntry) -> KnownEntry:
    """Return the entry for a message; an entry is returned unchanged."""
    if isinstance(draft, CustomMessage):
        return CustomMessageEntry(
            custom_type=draft.custom_type,
            content=draft.content,
            display=draft.display,
            details=draft.details,
        )
    if isinstance(draft, SessionMessage):
        return MessageEntry(message=draft)
    return draft
