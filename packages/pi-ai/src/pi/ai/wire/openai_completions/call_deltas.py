"""Assembles the tool calls of a stream from their deltas. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi.ai.builder import MessageBuilder, ToolCallBlock
from pi.ai.json_text import json_text
from pi.ai.messages import Json
from pi.ai.tool_arguments import parse_arguments

PARSED_ALWAYS = 256 * 1024
"""Longer arguments are not parsed again with every delta."""

FREE_TEXT = "input"
"""The argument of a free text for a tool that was not declared with one."""


class _Call:
    """A partial call; its block opens when its name is known."""

    __slots__ = ("block", "free_text", "id", "key", "object", "unparsed", "waiting")

    def __init__(self, number: int, id: str) -> None:
        self.key = ("call", number)
        self.id = id
        self.block: ToolCallBlock | None = None
        self.waiting: list[str] = []
        """Arguments that came before the name."""
        self.object: Json = {}
        """Arguments that came as an object, or as parts of one."""
        self.free_text = False
        """Whether a free text is being written into the arguments."""
        self.unparsed = 0
        """Length of long arguments when they were last parsed without success."""

    @property
    def complete(self) -> bool:
        """Whether its arguments are a complete object, so that further ones belong to
        another call."""
        text = "" if self.block is None else self.block.text
        if self.object or not text:
            return bool(self.object)
        # A server that repeats the name in every delta would make us parse everything every time.
        if len(text) > PARSED_ALWAYS and len(text) < self.unparsed * 1.1:
            return False
        is_complete = parse_arguments(text) is not None
        if not is_complete:
            self.unparsed = len(text)
        return is_complete


class CallDeltas:
    """Joins the elements of ``tool_calls``.

    The index identifies the call of a piece; ids may change or be missing. Only if a server gives
    every call the same index, a new id and name after complete arguments begin another call.
    """

    def __init__(self, builder: MessageBuilder, inputs: Mapping[str, str]) -> None:
        self._builder = builder
        self._inputs = inputs
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, delta: Any) -> None:
        """Add one element."""
        if not isinstance(delta, dict):
            return
        function, custom = _object(delta, "function"), _object(delta, "custom")
        if not function and not custom:
            return
        name = _text(function, "name") or _text(custom, "name")
        call = self._find(delta.get("index"), _text(delta, "id"), name)
        if name and call.block is None:
            self._open(call, name)
        self._arguments(call, function.get("arguments"))
        if text := _text(custom, "input"):
            self._free_text(call, text)
        if call.block is not None and (extra := _object(delta, "extra_content")):
            call.block.thought_signature = json_text(extra)

    def finish(self) -> None:
        """Complete the calls after the last delta."""
        for call in self._calls:
            if call.block is None:
                # without a name: the agent reports the error when it runs the call
                self._open(call, "")
            if call.free_text:
                self._arguments(call, '"}')
            elif call.object and call.block is not None and not call.block.parts:
                self._arguments(call, json_text(call.object))

    def _find(self, index: Any, id: str, name: str) -> _Call:
        call: _Call | None
        if isinstance(index, int):
            call = self._by_index.get(index)
        elif id:
            call = self._by_id.get(id)
        else:
            call = self._calls[-1] if self._calls else None
        if call is None or (name and _is_another(call, index, id) and call.complete):
            call = _Call(len(self._calls), id)
            self._calls.append(call)
        call.id = call.id or id
        if isinstance(index, int):
            self._by_index[index] = call
        if id:
            self._by_id[id] = call
        return call

    def _open(self, call: _Call, name: str) -> None:
        call.block = self._builder.tool_call(call.key, call.id, name)
        for piece in call.waiting:
            self._builder.arguments(call.key, piece)

    def _arguments(self, call: _Call, arguments: Any) -> None:
        if isinstance(arguments, str):
            if call.block is None:
                call.waiting.append(arguments)
            else:
                self._builder.arguments(call.key, arguments)
        elif isinstance(arguments, dict):
            call.object |= arguments

    def _free_text(self, call: _Call, text: str) -> None:
        """Write ``text`` as a string of the arguments' JSON, so that all calls have the
        same form."""
        if not call.free_text:
            call.free_text = True
            name = "" if call.block is None else call.block.name
            self._arguments(call, f'{{{json_text(self._inputs.get(name, FREE_TEXT))}:"')
        self._arguments(call, json_text(text)[1:-1])


def _is_another(call: _Call, index: Any, id: str) -> bool:
    return id != call.id if id else not isinstance(index, int)


def _object(values: Json, name: str) -> Json:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _text(values: Json, name: str) -> str:
    text = values.get(name)
    if isinstance(text, int) and not isinstance(text, bool):
        return str(text)
    return text if isinstance(text, str) else ""
