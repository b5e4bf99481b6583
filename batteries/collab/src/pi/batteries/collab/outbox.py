"""Outgoing frames of the host: merging of streamed texts, and queues. Pure.

Texts of a streamed answer are merged so that 400 tokens are not 400 frames. The end of a text is
held back while it could be the beginning of a longer word, because redaction does not recognise
half a key.

There is one queue for broadcasts and what must be in order with them, and one queue for each peer.
Frames get their counters when they leave the queue, so that a dropped frame leaves no gap.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from pi.extension import Json, Record

MERGE_SECONDS: Final = 0.04
_WORD_END = re.compile(r"[A-Za-z0-9_\-./+=:~%]+\Z")
MAX_HELD: Final = 512
_DELTAS = ("text_delta", "thinking_delta", "toolcall_delta")
SHED_ABOVE: Final = 4 * 1024 * 1024
STOP_ABOVE: Final = 32 * 1024 * 1024
PEER_LIMIT: Final = 2 * 1024 * 1024

KEEP, MESSAGE_UPDATE, TOOL_UPDATE, ADVISORY = range(4)
"""Levels of frames. A slow connection drops the highest level first, and never ``KEEP``."""


class Merger:
    """Merges the events of a streamed answer and of tool output."""

    def __init__(self, redact: Callable[[Any], Any]) -> None:
        self._redact = redact
        self._usage: Any = None
        self._open: tuple[str, int] | None = None
        """Kind and index of the block whose text is being collected."""
        self._text = ""
        self._update: tuple[str, Json] | None = None
        """Call id and event of the last unsent output of a running tool."""

    @property
    def waiting(self) -> bool:
        """Whether there is text or output to flush."""
        return bool(self._text) or self._update is not None

    def add(self, event: Json) -> list[Json]:
        """Add an event; returns the events to send now, in order."""
        kind = event.get("type")
        if kind == "message_update":
            inner = event.get("assistantMessageEvent")
            inner = inner if isinstance(inner, dict) else {}
            if inner.get("type") in _DELTAS:
                return self._grow(event, inner)
        elif kind == "tool_execution_update":
            call = str(event.get("toolCallId"))
            before = self.flush(all=True) if self._update and self._update[0] != call else []
            self._update = (call, event)
            return before
        if kind == "tool_execution_end" and self._update is not None:
            self._update = None  # the end has the whole output
        return [*self.flush(all=True), self._redact(event)]

    def flush(self, *, all: bool = False) -> list[Json]:
        """The text and output since the last flush; with ``all`` also the text held back."""
        updates: list[Json] = []
        if self._text and self._open is not None:
            cut = len(self._text)
            if not all and (word := _WORD_END.search(self._text)) is not None:
                cut = word.start() if cut - word.start() < MAX_HELD else cut
            sent, self._text = self._text[:cut], self._text[cut:]
            if sent:
                kind, index = self._open
                inner = {"type": kind, "contentIndex": index, "delta": self._redact(sent)}
                updates.append(
                    {"type": "message_update", "usage": self._usage, "assistantMessageEvent": inner}
                )
        if self._update is not None:
            (_, update), self._update = self._update, None
            updates.append(self._redact(update))
        return updates

    def _grow(self, event: Json, inner: Json) -> list[Json]:
        block = (str(inner["type"]), int(inner.get("contentIndex", 0)))
        before = self.flush(all=True) if block != self._open or self._update is not None else []
        self._open, self._usage = block, event.get("usage")
        self._text += str(inner.get("delta", ""))
        return before


class RunView:
    """The state of a run for guests that join now: the answer so far, and running tools.

    Built from the events that were sent, not from the session: a stream may be ahead of its events,
    and the guest would get the difference twice.
    """

    def __init__(self) -> None:
        self._tools: dict[str, list[Json]] = {}
        self.partial: Json | None = None
        """The answer that is being streamed."""

    def see(self, event: Json) -> None:
        """Update the state with an event that was sent to guests."""
        kind = event.get("type")
        if kind == "message_update":
            inner = event.get("assistantMessageEvent")
            if self.partial is not None and isinstance(inner, dict):
                self._grow(self.partial["content"], inner)
        elif kind == "message_start":
            message = event.get("message")
            is_answer = isinstance(message, dict) and message.get("role") == "assistant"
            self.begin(message if is_answer else None)
        elif kind == "message_end":
            self.partial = None
        elif kind in ("agent_start", "agent_end", "agent_settled"):
            self._tools.clear()
            self.partial = None
        else:
            self._see_tool(str(kind), str(event.get("toolCallId")), event)

    def begin(self, message: Json | None) -> None:
        """Begin an answer, which may have content already; ``None`` if none is streamed."""
        if message is None:
            self.partial = None
        else:
            content = message.get("content")
            blocks = [dict(block) for block in content] if isinstance(content, list | tuple) else []
            self.partial = {**message, "content": blocks}

    def tools(self) -> list[Json]:
        """The events of running tools."""
        return [event for events in self._tools.values() for event in events]

    def _see_tool(self, kind: str, call: str, event: Json) -> None:
        if kind == "tool_execution_start":
            self._tools[call] = [event]
        elif kind == "tool_execution_update" and call in self._tools:
            self._tools[call][1:] = [event]
        elif kind == "tool_execution_end":
            self._tools.pop(call, None)

    def _grow(self, blocks: list[Json], inner: Json) -> None:
        index, (kind, _, step) = inner.get("contentIndex"), str(inner["type"]).partition("_")
        if type(index) is not int or not 0 <= index <= len(blocks):
            return
        if index == len(blocks):
            blocks.append(_empty_block(kind, inner))
        block = blocks[index]
        if kind == "toolcall":
            if step == "end" and isinstance(call := inner.get("toolCall"), dict):
                blocks[index] = {"type": "toolCall", **call}
        elif step == "delta":
            block[kind] = str(block.get(kind, "")) + str(inner.get("delta", ""))
        elif step == "end":
            block[kind] = inner.get("content", "")


def _empty_block(kind: str, inner: Json) -> Json:
    if kind != "toolcall":
        return {"type": kind, kind: ""}
    fields = {"id": inner.get("id", ""), "name": inner.get("toolName", "")}
    return {"type": "toolCall", **fields, "arguments": {}}


class Outgoing(Record):
    """A frame to be sealed."""

    peer: int
    make: Callable[[], bytes]
    """Returns the plaintext; called when the frame is sent. Empty bytes are not sent."""
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
        """Bytes in the main queue."""
        return self._size

    @property
    def overloaded(self) -> bool:
        """Whether the main queue is too large even after frames were dropped."""
        return self._size > STOP_ABOVE

    def put(self, frame: Outgoing) -> None:
        """Add a frame to the main queue: broadcasts, and frames in order with them."""
        self._main.append(frame)
        self._size += frame.size
        if self._size > SHED_ABOVE:
            self._shed()

    def put_bulk(self, frame: Outgoing) -> bool:
        """Add a frame to the queue of a peer; if that is too large, drop it and return False."""
        queue = self._bulk.setdefault(frame.peer, deque())
        queue.append(frame)
        if sum(queued.size for queued in queue) > PEER_LIMIT:
            self.drop(frame.peer)
            return False
        return True

    def drop(self, peer: int) -> None:
        """Remove all frames for a peer."""
        self._bulk.pop(peer, None)
        if any(queued.peer == peer for queued in self._main):
            self._keep([queued for queued in self._main if queued.peer != peer])

    def clear(self) -> None:
        """Remove all frames."""
        self._main.clear()
        self._bulk.clear()
        self._size = 0

    def take(self) -> Outgoing | None:
        """The next frame: from the main queue first, then from the peers in turn."""
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
            self._bulk[peer] = queue  # moved to the end: the other peers come first
        return frame

    def _shed(self) -> None:
        for level in (ADVISORY, TOOL_UPDATE, MESSAGE_UPDATE):
            self._keep([queued for queued in self._main if queued.level != level])
            if self._size <= SHED_ABOVE:
                return

    def _keep(self, frames: list[Outgoing]) -> None:
        self.shed += len(self._main) - len(frames)
        self._main = deque(frames)
        self._size = sum(outgoing.size for outgoing in frames)
