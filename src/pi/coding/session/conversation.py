"""A session as the agent sees it: the log to append to, and what the model is shown of it."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.policy import Draft
from pi.ai.messages import Json, SystemMessage, UserMessage
from pi.coding.session.context import REPLACING, message_of, shown_messages
from pi.coding.session.entries import (
    ContextEdit,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    KnownEntry,
    MessageEntry,
    SessionMessage,
)
from pi.coding.session.log import SessionLog

PUBLIC = (ContextEdit, Custom, CustomMessageEntry, MessageEntry)
"""Drafts that are told as ``entry_appended``; the others have events of their own or none."""


class SessionConversation:
    """Implements ``pi.agent.conversation.Conversation`` on a log.

    What is shown grows with the log and is computed anew only after a compaction, a context edit
    or a move of the leaf, so that the cost of a turn does not grow with the conversation. It does
    not matter who adds to the log or moves its leaf.
    """

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self._shown: list[SessionMessage] = []
        self._said: dict[int | None, SessionMessage] = {}
        """By place, what was appended since and is the same when it is read back from the log."""
        self.sizes: dict[int, tuple[int, int]] = {}
        """By place: tokens that the provider counted with an entry, and the estimate for it alone.

        A cache of whoever measures; entries never change.
        """
        self._leaf: int | None = None
        self._seen = 0

    def messages(self) -> Sequence[SessionMessage]:
        """What the model is shown: the same sequence, only longer, unless earlier parts change."""
        new = self._new_places()
        outlines = self.log.tree.outlines
        if new is None or any(outlines[place].type in REPLACING for place in new):
            self._shown = shown_messages(self.log)
        else:
            added = (self._said.get(place) or message_of(self.log.at(place)) for place in new)
            self._shown += [message for message in added if message is not None]
        self._said.clear()
        self._leaf, self._seen = self.log.leaf, len(self.log.tree)
        return self._shown

    def append(self, message: SessionMessage) -> None:
        """Keep a message; when this returns it is kept."""
        self.log.append(entry_for(message))
        if isinstance(message, SystemMessage | UserMessage):
            # The first request would otherwise wait until messages of all kinds can be read.
            self._said[self.log.leaf] = message

    def add(self, draft: Draft) -> Json | None:
        """Keep an entry or a message; its public form, if it is told to the public."""
        entry = self.log.append(entry_for(draft))
        return self.log.json(self.log.tree.place(entry.id)) if isinstance(entry, PUBLIC) else None

    def _new_places(self) -> list[int] | None:
        """What was appended since the last look, in order; ``None`` if the leaf went elsewhere."""
        new = []
        place = self.log.leaf
        while place is not None and place >= self._seen:
            new.append(place)
            place = self.log.tree.parent(place)
        new.reverse()
        return new if place == self._leaf else None


def entry_for(draft: SessionMessage | KnownEntry) -> KnownEntry:
    """The entry that keeps a message; an entry is given as it is."""
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
