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

    def _grow(self, event: Json, inner: Json) -> list[Json]:
        block = (str(inner["type"]), int(inner.get("contentIndex", 0)))
        before = self.flush(all=True) if block != self._open or self._update is not None else []
        self._open, self._usage = block, event.get("usage")
        self._text += str(inner.get("delta", ""))
        return before


class RunView:
    """What a guest who joins now must see of a run: the answer so far, and running tools.

    Made from the events that were sent, not from the session: a stream may be ahead of its events,
    and the guest would get the difference twice.
    """

    def __init__(self) -> None:
        self._tools: dict[str, list[Json]] = {}
        self.partial: Json | None = None
        """The answer that is being streamed."""

    def see(self, event: Json) -> None:
        """Follow an event that was sent to guests."""
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
        """An answer begins, perhaps with some content."""
        if message is None:
            self.partial = None
        else:
            content = message.get("content")
            blocks = [dict(each) for each in content] if isinstance(content, list | tuple) else []
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
    known = {"id": inner.get("id", ""), "name": inner.get("toolName", "")}
    return {"type": "toolCall", **known, "arguments": {}}
