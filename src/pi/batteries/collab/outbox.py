"""What the host has to send: one lane for all in order, and one for each peer. Pure.

Frames get their counters when they are taken out, so that a frame that was dropped leaves no gap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from pi.extension import Record

SHED_ABOVE: Final = 4 * 1024 * 1024
STOP_ABOVE: Final = 32 * 1024 * 1024
PEER_LIMIT: Final = 2 * 1024 * 1024

KEEP, MESSAGE_UPDATE, TOOL_UPDATE, ADVISORY = range(4)
"""How early a frame is dropped when the connection is too slow: the highest first."""


class Outgoing(Record):
    """A frame to be sealed."""

    peer: int
    make: Callable[[], bytes]
    """Returns the plaintext, when it is sent."""
    size: int
    level: int = KEEP


class Outbox:
    """The queues of a host."""

    def __init__(self) -> None:
        self._main: deque[Outgoing] = deque()
        self._bulk: dict[int, deque[Outgoing]] = {}
        self._size = 0
        self.shed = 0
        """Frames that were dropped because the connection is too slow."""

    @property
    def size(self) -> int:
        """Bytes that wait in the lane for all."""
        return self._size

    @property
    def overloaded(self) -> bool:
        """Whether even dropping advisory frames did not help."""
        return self._size > STOP_ABOVE

    def put(self, frame: Outgoing) -> None:
        """Queue a frame in the lane for all: broadcasts, and what must be in order with them."""
        self._main.append(frame)
        self._size += frame.size
        if self._size > SHED_ABOVE:
            self._shed()

    def put_bulk(self, frame: Outgoing) -> bool:
        """Queue a frame for one peer; returns False, and drops its queue, if there is too much."""
        queue = self._bulk.setdefault(frame.peer, deque())
        queue.append(frame)
        if sum(each.size for each in queue) > PEER_LIMIT:
            self.drop(frame.peer)
            return False
        return True

    def drop(self, peer: int) -> None:
        """Forget everything for a peer."""
        self._bulk.pop(peer, None)
        if any(each.peer == peer for each in self._main):
            self._keep([each for each in self._main if each.peer != peer])

    def clear(self) -> None:
        """Forget everything: the connection is a new one."""
        self._main.clear()
        self._bulk.clear()
        self._size = 0

    def take(self) -> Outgoing | None:
        """The next frame: the lane for all first, then the peers in turn."""
        if self._main:
            frame = self._main.popleft()
            self._size -= frame.size
            return frame
        if not self._bulk:
            return None
        peer = next(iter(self._bulk))
        queue = self._bulk.pop(peer)
        frame = queue.popleft()
        if queue:
            self._bulk[peer] = queue  # at the end: it waits for the others
        return frame

    def _shed(self) -> None:
        for level in (ADVISORY, TOOL_UPDATE, MESSAGE_UPDATE):
            self._keep([each for each in self._main if each.level != level])
            if self._size <= SHED_ABOVE:
                return

    def _keep(self, frames: list[Outgoing]) -> None:
        self.shed += len(self._main) - len(frames)
        self._main = deque(frames)
        self._size = sum(each.size for each in frames)
