"""Decodes output items into blocks of the message. Pure.

An item is opened, grows by deltas and is closed with its whole content. Servers leave out any of
the three, send them in another order, or change an item's id on the way; its index in the output
stays the same, so blocks are kept by index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from msgspec import UNSET

from pi.ai.builder import MessageBuilder, TextBlock, ToolCallBlock
from pi.ai.errors import BadAnswer
from pi.ai.json_text import json_text, parse_arguments
from pi.ai.messages import Json

Place: TypeAlias = int | str
"""Index of an item in the output; its id if the server sends no index."""

PARAGRAPH = "\n\n"
"""Separates two parts of a thinking summary."""


class OutputItems:
    """Passes the events of items to the builder."""

    def __init__(self, builder: MessageBuilder, text_arguments: Mapping[str, str]) -> None:
        self.called = False
        """Whether the model calls a tool."""
        self.closed: set[Hashable] = set()
        """Keys of complete items: later deltas are ignored."""
        self._builder = builder
        self._text_arguments = text_arguments
        self._places: dict[str, Place] = {}
        self._parts: dict[Place, int] = {}
        self._early: dict[Place, str] = {}
        """Arguments of calls that are not known yet."""

    def place_of(self, item: Json, index: int) -> Place:
        """Returns the place of ``item`` when it was first seen; ``index`` if it is new."""
        known = (self._places.get(identifier) for identifier in _identifiers(item))
        return next((place for place in known if place is not None), index)

    def place_by_id(self, identifier: str) -> Place:
        """Returns the place of an event that names only its item's id."""
        return self._places.setdefault(identifier, identifier)

    # While it grows ------------------------------------------------------------------------------

    def open(self, place: Place, item: Json) -> None:
        """The server begins ``item``."""
        for identifier in _identifiers(item):
            self._places[identifier] = place
        match item.get("type"):
            case "message":
                self._builder.text(place, "")
            case "reasoning":
                self._builder.thinking(("thought", place), "")
            case "function_call" | "custom_tool_call" if item.get("name"):
                if self._builder.find(("call", place)) is None:
                    self._open_call(place, item)

    def think(self, place: Place, delta: str, part: int) -> None:
        """Append to thinking, whose summary comes in numbered parts."""
        if ("thought", place) in self.closed:
            return
        if self._parts.get(place, part) != part:
            delta = PARAGRAPH + delta
        self._parts[place] = part
        self._builder.thinking(("thought", place), delta)

    def add_arguments(self, place: Place, delta: str) -> None:
        """Append JSON text to a call's arguments."""
        if self._builder.find(("call", place)) is None:
            self._early[place] = self._early.get(place, "") + delta
        elif ("call", place) not in self.closed:
            self._builder.arguments(("call", place), delta)

    def write(self, place: Place, delta: str) -> None:
        """Append to the plain text of a call."""
        self.add_arguments(place, json_text(delta)[1:-1])

    # When it is whole ----------------------------------------------------------------------------

    def close(self, place: Place, item: Json) -> None:
        """The server ends ``item``, or names it in the finished response."""
        match item.get("type"):
            case "message":
                self._close_text(place, item)
            case "reasoning":
                self._close_thought(place, item)
            case "function_call" | "custom_tool_call":
                self._close_call(place, item)

    def finish_arguments(self, place: Place, arguments: Any) -> None:
        """The arguments of a call are complete."""
        key = ("call", place)
        block = self._builder.find(key)
        if not isinstance(block, ToolCallBlock) or key in self.closed or not arguments:
            return
        whole = arguments if isinstance(arguments, str) else json_text(arguments)
        if not _complete(block, whole, lambda rest: self._builder.arguments(key, rest)):
            streamed, final = parse_arguments(block.text), parse_arguments(whole)
            if streamed is None:
                block.arguments = final
            elif final not in (None, streamed):
                raise BadAnswer(
                    f"The server sums up other arguments for {block.name} than it sent."
                )
        self.closed.add(key)

    def finish_text(self, place: Place, text: Any) -> None:
        """The plain text of a call is complete."""
        block = self._builder.find(("call", place))
        if isinstance(block, ToolCallBlock) and isinstance(text, str):
            self.finish_arguments(place, {self._argument(block.name): text})

    # ---------------------------------------------------------------------------------------------

    def _open_call(self, place: Place, item: Json) -> None:
        self.called = True
        name = _text(item.get("name"))
        self._builder.tool_call(("call", place), "|".join(_identifiers(item)), name)
        if item.get("type") == "custom_tool_call":
            self.add_arguments(place, json_text({self._argument(name): ""})[:-2])
        self.add_arguments(place, self._early.pop(place, ""))

    def _argument(self, tool: str) -> str:
        return self._text_arguments.get(tool, "input")

    def _close_text(self, place: Place, item: Json) -> None:
        whole = "".join(
            _text(part.get("text")) or _text(part.get("refusal"))
            for part in _objects(item, "content")
        )
        block = self._builder.find(place)
        if block is None and not whole:
            return
        block = block or self._builder.text(place, "")
        if block.open:
            _complete(block, whole, lambda rest: self._builder.text(place, rest))
        if identifier := _text(item.get("id")):
            phase = _text(item.get("phase"))
            mark = {"v": 1, "id": identifier, **({"phase": phase} if phase else {})}
            block.signature = json_text(mark)
        self._end(place)

    def _close_thought(self, place: Place, item: Json) -> None:
        key = ("thought", place)
        texts = [_text(part.get("text")) for part in _objects(item, "summary")]
        whole = PARAGRAPH.join(texts) or "".join(
            _text(part.get("text")) for part in _objects(item, "content")
        )
        block = self._builder.thinking(key, "")
        if block.open:
            _complete(block, whole, lambda rest: self._builder.thinking(key, rest))
        if item.get("encrypted_content") or block.signature is UNSET:
            # Some servers send encrypted thinking only in the finished response.
            block.signature = json_text(item)
        self._end(key)

    def _close_call(self, place: Place, item: Json) -> None:
        key = ("call", place)
        if self._builder.find(key) is None:
            self._open_call(place, item)
        if item.get("type") == "custom_tool_call":
            self.finish_text(place, item.get("input"))
        else:
            self.finish_arguments(place, item.get("arguments"))
        block = self._builder.find(key)
        if isinstance(block, ToolCallBlock) and block.open and item.get("namespace"):
            block.namespace = _text(item["namespace"])
        self._end(key)

    def _end(self, key: Hashable) -> None:
        self._builder.end(key)
        self.closed.add(key)


def _complete(block: TextBlock, whole: str, add: Callable[[str], object]) -> bool:
    """Append what deltas have left out of ``whole``; returns False if they differ."""
    if not whole.startswith(block.text):
        return False
    add(whole[len(block.text) :])
    return True


def _identifiers(item: Json) -> list[str]:
    """Returns the ids of an item: for a call the id that its result names comes first."""
    return [name for name in map(_text, (item.get("call_id"), item.get("id"))) if name]


def _objects(item: Json, name: str) -> list[Json]:
    parts = item.get(name)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
