"""Restores secrets in the answers and tool calls of a model."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from pi.batteries.secrets.requests import LOCAL, NOT_RESTORED, URL, URLS
from pi.batteries.secrets.vault import LONGEST, OPENING, PLACEHOLDER, Vault
from pi.extension import (
    AssistantMessage,
    Done,
    Failed,
    Record,
    StreamEvent,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    replace,
)
from pi.extension.guards import tool_matches


class RestoreRules(Record):
    """The tools and texts in which placeholders are restored."""

    into: tuple[str, ...] = ()
    """``secrets.restoreInto``: names or patterns of tools, and ``urls``."""

    def tool(self, name: str) -> bool:
        """Whether arguments of a tool are restored."""
        if not any(fnmatchcase(name, pattern) for pattern in NOT_RESTORED):
            return True
        return any(tool_matches(pattern, name) for pattern in self.into)

    def text(self, text: str) -> bool:
        """Whether a text is restored: a URL is not, because its server would receive the value."""
        return URLS in self.into or not URL.match(text) or LOCAL.match(text) is not None


def restored_arguments(name: str, value: Any, vault: Vault, rules: RestoreRules) -> Any:
    """Arguments of a tool with the values of placeholders, where that is allowed."""
    return _restored(value, vault, rules) if rules.tool(name) else value


def _restored(value: Any, vault: Vault, rules: RestoreRules) -> Any:
    match value:
        case str():
            return vault.restore(value) if rules.text(value) else value
        case dict():
            return {
                vault.restore(key): _restored(member, vault, rules) for key, member in value.items()
            }
        case list() | tuple():
            return type(value)(_restored(member, vault, rules) for member in value)
        case _:
            return value


class Restoring:
    """Restores the tool calls of one answer while it streams."""

    def __init__(self, vault: Vault, rules: RestoreRules) -> None:
        self._vault = vault
        self._rules = rules
        self._names: dict[int, str] = {}
        self._partial: dict[int, str] = {}
        """The end of the arguments so far, if it may be the beginning of a placeholder."""

    async def events(self, answer: AsyncIterator[StreamEvent]) -> AsyncIterator[StreamEvent]:
        """The events of the answer, with restored tool calls."""
        async for event in answer:
            for changed in self._event(event):
                yield changed

    def _event(self, event: StreamEvent) -> Sequence[StreamEvent]:
        match event:
            case ToolCallStart():
                self._names[event.content_index] = event.tool_name
            case ToolCallDelta() if self._rules.tool(self._names.get(event.content_index, "")):
                return self._delta(event)
            case ToolCallEnd():
                partial = self._partial.pop(event.content_index, "")
                rest = (
                    [ToolCallDelta(content_index=event.content_index, delta=partial)]
                    if partial
                    else []
                )
                return (*rest, replace(event, tool_call=self._call(event.tool_call)))
            case Done():
                return (replace(event, message=self._message(event.message)),)
            case Failed():
                return (replace(event, error=self._message(event.error)),)
        return (event,)

    def _delta(self, event: ToolCallDelta) -> Sequence[StreamEvent]:
        index = event.content_index
        text = self._partial.pop(index, "") + event.delta
        text = PLACEHOLDER.sub(self._as_json, text)
        if length := _partial_length(text):
            self._partial[index] = text[-length:]
            text = text[:-length]
        return (ToolCallDelta(content_index=index, delta=text),) if text else ()

    def _as_json(self, match: re.Match[str]) -> str:
        # Deltas are pieces of JSON: quotes and line breaks of the value are escaped.
        value = self._vault.restore(match[0])
        return json.dumps(value, ensure_ascii=False)[1:-1]

    def _call(self, call: ToolCall) -> ToolCall:
        arguments = restored_arguments(call.name, call.arguments, self._vault, self._rules)
        return replace(call, arguments=arguments)

    def _message(self, message: AssistantMessage) -> AssistantMessage:
        if not message.tool_calls:
            return message
        content = (self._call(b) if isinstance(b, ToolCall) else b for b in message.content)
        return replace(message, content=tuple(content))


def _partial_length(text: str) -> int:
    """The number of characters at the end that may begin a placeholder."""
    start = text.rfind("<<", max(len(text) - LONGEST, 0))
    if start >= 0:
        tail = text[start:]
        is_open = OPENING.startswith(tail) or re.fullmatch(r"<<\$env:S[0-9a-f]*>?", tail)
        if is_open:
            return len(tail)
    return 1 if text.endswith("<") else 0
