"""Calls that a tool makes while it runs: their events, and the record in the tool's result."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from msgspec import UNSET

from pi.agent.events import (
    AgentEvent,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    is_nested,
)
from pi.ai.json_text import json_text
from pi.ai.messages import Json, NestedCall, NestedCalls, Text
from pi.base.records import replace

MAX_CALLS = 256
MAX_ARGUMENT_BYTES = 8 * 1024
"""Arguments of one call; longer ones are left out, and their size is recorded."""
MAX_TOTAL_BYTES = 32 * 1024
"""Arguments of all calls of one result."""
MAX_ERROR_CHARACTERS = 500


class NestedCallLog:
    """The calls that the tool of one call makes. ``emit`` queues an event of the run."""

    def __init__(self, parent_id: str, emit: Callable[[AgentEvent], None]) -> None:
        self._parent_id = parent_id
        self._emit = emit
        self._calls: dict[str, NestedCall] = {}
        self._count = 0
        self._bytes = 0

    def new_id(self) -> str:
        """Return the id of the next call."""
        self._count += 1
        return f"{self._parent_id}/{self._count}"

    def handle(self, event: AgentEvent) -> None:
        """Record an event of a nested call, and emit it with the id of the outer call."""
        if not isinstance(event, ToolExecutionStart | ToolExecutionUpdate | ToolExecutionEnd):
            return
        if is_nested(event):  # a call of a call: recorded there
            self._emit(event)
            return
        if isinstance(event, ToolExecutionStart):
            self._start(event.tool_call_id, event.tool_name, event.args)
        elif isinstance(event, ToolExecutionEnd):
            self._end(event)
        self._emit(replace(event, parent_tool_call_id=self._parent_id))

    def calls(self) -> NestedCalls | None:
        """Return the record; ``None`` if the tool made no calls."""
        if not self._count:
            return None
        calls = tuple(self._calls.values())
        return NestedCalls(calls=calls, complete=len(calls) == self._count)

    def _start(self, id: str, name: str, arguments: Json) -> None:
        if len(self._calls) >= MAX_CALLS:
            return
        call = NestedCall(id=id, name=name)
        size = len(json_text(arguments).encode("utf-8", "replace"))
        if size > MAX_ARGUMENT_BYTES or self._bytes + size > MAX_TOTAL_BYTES:
            self._calls[id] = replace(call, arguments_bytes=size)
        else:
            self._bytes += size
            self._calls[id] = replace(call, arguments=arguments)

    def _end(self, event: ToolExecutionEnd) -> None:
        call = self._calls.get(event.tool_call_id)
        if call is None:
            return
        texts = (block.text for block in event.result.content if isinstance(block, Text))
        self._calls[call.id] = replace(
            call,
            status="error" if event.is_error else "ok",
            duration_ms=event.duration_ms,
            error="\n".join(texts)[:MAX_ERROR_CHARACTERS] if event.is_error else UNSET,
        )


current_log: ContextVar[NestedCallLog | None] = ContextVar("nested_calls", default=None)
"""The log of the call whose tool is running; ``None`` elsewhere."""
