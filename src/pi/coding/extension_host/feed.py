"""A session as data, in one order: what there is, then every entry, event and move of the leaf."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, Literal, Self

import msgspec

from pi.base.records import Record
from pi.coding.extension_host.control import HostedSession


class FeedItem(Record):
    """One step of a session."""

    seq: int
    kind: Literal["snapshot", "entry", "event", "leaf"]
    data: Any
    """JSON: of a snapshot the header, all entries, the leaf and the answer so far."""


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
        self._unsubscribe: Callable[[], None] = session.subscribe(self._hear)

    def close(self) -> None:
        """End the iteration after what has been told so far."""
        if not self._closed:
            self._closed = True
            self._unsubscribe()
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
        log, partial = self._session.log, self._session.partial_answer
        self._items.clear()
        self._seen, self._leaf = len(log.tree), log.leaf_id
        self._put(
            "snapshot",
            {
                "header": msgspec.to_builtins(log.header),
                "entries": [log.json(place) for place in range(self._seen)],
                "leafId": self._leaf,
                "partial": None if partial is None else msgspec.to_builtins(partial),
            },
        )

    def _hear(self, event: Any) -> None:
        if len(self._items) >= self._size:
            self._start()
            return
        self._entries()
        self._put("event", msgspec.to_builtins(event))

    def _entries(self) -> None:
        """What is new in the log: it is there before anybody is told of it."""
        log = self._session.log
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

    def _put(self, kind: Literal["snapshot", "entry", "event", "leaf"], data: Any) -> None:
        self._items.append(FeedItem(seq=next(self._numbers), kind=kind, data=data))
        self._ready.set()
