"""A session as data, in one order: what there is, then every entry, event, move and choice."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import count
from typing import Any, Self

import msgspec

from pi.agent.events import MessageUpdate
from pi.base.records import replace
from pi.coding.extension_host.control import HostedSession
from pi.coding.extension_host.feed_items import FeedItem, Kind


class Feed:
    """Iterates over a session from now on, until it ends or ``close``.

    A reader that is more than ``size`` items behind is given a new snapshot in their place.
    """

    def __init__(self, session: HostedSession, *, size: int) -> None:
        self._session = session
        self._size = size
        self._numbers = count(1)
        self._items: deque[FeedItem] = deque()
        self._ready = asyncio.Event()
        self._closed = False
        self._start()
        self._ends = (
            session.events.subscribe(self._hear),
            session.events.on_moved(self._look),
        )

    def close(self) -> None:
        """End the iteration after what has been told so far."""
        if not self._closed:
            self._closed = True
            for end in self._ends:
                end()
            self._ready.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FeedItem:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        return self._items.popleft()

    def _start(self) -> None:
        """Begin with everything that there is."""
        log, partial = self._session.talk.log, self._session.talk.partial_answer
        self._items.clear()
        self._seen, self._leaf = len(log.tree), log.leaf_id
        self._state = self._chosen()
        self._put(
            "snapshot",
            {
                "header": msgspec.to_builtins(log.header),
                "entries": [log.json(place) for place in range(self._seen)],
                "leafId": self._leaf,
                "state": msgspec.to_builtins(self._session.facts.state()),
                "partial": None if partial is None else msgspec.to_builtins(partial),
            },
        )

    def _hear(self, event: Any) -> None:
        if len(self._items) >= self._size:
            self._start()
            return
        if not isinstance(event, MessageUpdate):  # tokens change nothing else, and are many
            self._look()
        self._put("event", msgspec.to_builtins(event))

    def _look(self) -> None:
        """Tell what is new in the log, which has it before anybody is told, and in the state."""
        self._entries()
        if (state := self._chosen()) != self._state:
            self._state = state
            self._put("state", msgspec.to_builtins(self._session.facts.state()))

    def _chosen(self) -> Any:
        """The state without what events tell anyway."""
        return replace(
            self._session.facts.state(),
            is_streaming=False,
            is_compacting=False,
            message_count=0,
            pending_message_count=0,
        )

    def _entries(self) -> None:
        log = self._session.talk.log
        for place in range(self._seen, len(log.tree)):
            entry = log.json(place)
            if entry.get("parentId") != self._leaf:
                self._put("leaf", entry.get("parentId"))
            self._put("entry", entry)
            self._leaf = entry.get("id")
        self._seen = len(log.tree)
        if log.leaf_id != self._leaf:
            self._leaf = log.leaf_id
            self._put("leaf", self._leaf)

    def _put(self, kind: Kind, data: Any) -> None:
        self._items.append(FeedItem(seq=next(self._numbers), kind=kind, data=data))
        self._ready.set()
