"""Merges growing texts of a streamed answer, so that 400 tokens are not 400 frames. Pure.

Secrets: a redactor sees whole words only. The end of a text is held back while it could be the
beginning of a longer word, because half a key would pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from pi.extension import Json

MERGE_SECONDS: Final = 0.04
_WORD_END = re.compile(r"[A-Za-z0-9_\-./+=:~%]+\Z")
MAX_HELD: Final = 512
_DELTAS = ("text_delta", "thinking_delta", "toolcall_delta")
_ENDS = ("text_end", "thinking_end", "toolcall_end")


class Merger:
    """The texts of the answer that is being streamed."""

    def __init__(self, redact: Callable[[Any], Any]) -> None:
        self._redact = redact
        self._usage: Any = None
        self._open: tuple[str, int] | None = None
        """Kind and index of the block that grows."""
        self._text = ""
        self._update: tuple[str, Json] | None = None
        """The last output of a running tool, by the id of its call."""

    @property
    def waiting(self) -> bool:
        """Whether something is to be flushed."""
        return bool(self._text) or self._update is not None

    def add(self, event: Json) -> list[Json]:
        """Take an event; returns the events to send now, in order."""
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
        """What has grown since the last flush; ``all`` also what was held back."""
        found: list[Json] = []
        if self._text and self._open is not None:
            cut = len(self._text)
            if not all and (word := _WORD_END.search(self._text)) is not None:
                cut = word.start() if cut - word.start() < MAX_HELD else cut
            sent, self._text = self._text[:cut], self._text[cut:]
            if sent:
                kind, index = self._open
                inner = {"type": kind, "contentIndex": index, "delta": self._redact(sent)}
                found.append(
                    {"type": "message_update", "usage": self._usage, "assistantMessageEvent": inner}
                )
        if self._update is not None:
            (_, update), self._update = self._update, None
            found.append(self._redact(update))
        return found

    def without_unsent(self, partial: Json | None) -> Json | None:
        """An answer so far without the end that guests do not have yet: it comes as an event."""
        if partial is None or not self._text or self._open is None:
            return partial
        kind, index = self._open
        field = {"text_delta": "text", "thinking_delta": "thinking"}.get(kind)
        blocks = partial.get("content")
        if field is None or not isinstance(blocks, list) or index >= len(blocks):
            return partial
        block = blocks[index]
        text = block.get(field) if isinstance(block, dict) else None
        if not isinstance(text, str) or not text.endswith(self._text):
            return partial
        cut = {**block, field: text[: -len(self._text)]}
        return {**partial, "content": [*blocks[:index], cut, *blocks[index + 1 :]]}

    def _grow(self, event: Json, inner: Json) -> list[Json]:
        block = (str(inner["type"]), int(inner.get("contentIndex", 0)))
        before = self.flush(all=True) if block != self._open or self._update is not None else []
        self._open, self._usage = block, event.get("usage")
        self._text += str(inner.get("delta", ""))
        return before


class RunView:
    """What a guest who joins now must see of a run: the tools that are running."""

    def __init__(self) -> None:
        self._tools: dict[str, list[Json]] = {}

    def see(self, event: Json) -> None:
        """Follow an event that was sent to guests."""
        kind, call = event.get("type"), str(event.get("toolCallId"))
        if kind == "tool_execution_start":
            self._tools[call] = [event]
        elif kind == "tool_execution_update" and call in self._tools:
            self._tools[call][1:] = [event]
        elif kind == "tool_execution_end":
            self._tools.pop(call, None)
        elif kind in ("agent_start", "agent_end", "agent_settled"):
            self._tools.clear()

    def tools(self) -> list[Json]:
        """The events of running tools."""
        return [event for events in self._tools.values() for event in events]
