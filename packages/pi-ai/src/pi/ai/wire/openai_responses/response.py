"""Decodes the events of ``/responses`` into blocks of the message. Pure.

An output item is opened, grows by deltas and is closed with its whole content. Servers leave out
any of the three, send them in another order, or change an item's id on the way; its index in the
output stays the same, so blocks are kept by index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from pi.ai.builder import MessageBuilder, TextBlock, ToolCallBlock
from pi.ai.errors import AnswerRefused, BadAnswer
from pi.ai.failures.classify import from_error_object
from pi.ai.json_text import json_text, read_lenient
from pi.ai.messages import Json, Usage
from pi.ai.models.prices import TIER_FACTORS, billed_cost
from pi.ai.tool_arguments import parse_arguments
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import UNREADABLE

ItemKey: TypeAlias = int | str
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
        self._item_keys: dict[str, ItemKey] = {}
        self._parts: dict[ItemKey, int] = {}
        self._early: dict[ItemKey, str] = {}
        """Arguments of calls that are not known yet."""

    def item_key_of(self, item: Json, index: int) -> ItemKey:
        """Return the key of ``item`` when it was first seen; ``index`` if it is new."""
        keys = (self._item_keys.get(identifier) for identifier in _identifiers(item))
        return next((key for key in keys if key is not None), index)

    def item_key_by_id(self, identifier: str) -> ItemKey:
        """Return the key of an event that names only its item's id."""
        return self._item_keys.setdefault(identifier, identifier)

    # Deltas --------------------------------------------------------------------------------------

    def open(self, item_key: ItemKey, item: Json) -> None:
        """Handle the start of ``item``."""
        for identifier in _identifiers(item):
            self._item_keys[identifier] = item_key
        match item.get("type"):
            case "message":
                self._builder.text(item_key, "")
            case "reasoning":
                self._builder.thinking(("thought", item_key), "")
            case "function_call" | "custom_tool_call" if item.get("name"):
                if self._builder.find(("call", item_key)) is None:
                    self._open_call(item_key, item)

    def add_thinking(self, item_key: ItemKey, delta: str, part: int) -> None:
        """Append to thinking, whose summary comes in numbered parts."""
        if ("thought", item_key) in self.closed:
            return
        if self._parts.get(item_key, part) != part:
            delta = PARAGRAPH + delta
        self._parts[item_key] = part
        self._builder.thinking(("thought", item_key), delta)

    def add_arguments(self, item_key: ItemKey, delta: str) -> None:
        """Append JSON text to a call's arguments."""
        if self._builder.find(("call", item_key)) is None:
            self._early[item_key] = self._early.get(item_key, "") + delta
        elif ("call", item_key) not in self.closed:
            self._builder.arguments(("call", item_key), delta)

    def write(self, item_key: ItemKey, delta: str) -> None:
        """Append to the plain text of a call."""
        self.add_arguments(item_key, json_text(delta)[1:-1])

    # Complete items ------------------------------------------------------------------------------

    def close(self, item_key: ItemKey, item: Json) -> None:
        """Handle the end of ``item``, or its copy in the finished response."""
        match item.get("type"):
            case "message":
                self._close_text(item_key, item)
            case "reasoning":
                self._close_thought(item_key, item)
            case "function_call" | "custom_tool_call":
                self._close_call(item_key, item)

    def finish_arguments(self, item_key: ItemKey, arguments: Any) -> None:
        """Complete the arguments of a call; raises ``BadAnswer`` if the deltas had others."""
        key = ("call", item_key)
        block = self._builder.find(key)
        if not isinstance(block, ToolCallBlock) or key in self.closed or not arguments:
            return
        full_text = arguments if isinstance(arguments, str) else json_text(arguments)
        if not _complete(block, full_text, lambda rest: self._builder.arguments(key, rest)):
            streamed, final = parse_arguments(block.text), parse_arguments(full_text)
            if streamed is None:
                block.arguments = final
            elif final not in (None, streamed):
                raise BadAnswer(
                    f"The server sums up other arguments for {block.name} than it sent."
                )
        self.closed.add(key)

    def finish_text(self, item_key: ItemKey, text: Any) -> None:
        """Complete the plain text of a call."""
        block = self._builder.find(("call", item_key))
        if isinstance(block, ToolCallBlock) and isinstance(text, str):
            self.finish_arguments(item_key, {self._argument(block.name): text})

    # ---------------------------------------------------------------------------------------------

    def _open_call(self, item_key: ItemKey, item: Json) -> None:
        self.called = True
        name = _text(item.get("name"))
        self._builder.tool_call(("call", item_key), "|".join(_identifiers(item)), name)
        if item.get("type") == "custom_tool_call":
            self.add_arguments(item_key, json_text({self._argument(name): ""})[:-2])
        self.add_arguments(item_key, self._early.pop(item_key, ""))

    def _argument(self, tool: str) -> str:
        return self._text_arguments.get(tool, "input")

    def _close_text(self, item_key: ItemKey, item: Json) -> None:
        full_text = "".join(
            _text(part.get("text")) or _text(part.get("refusal"))
            for part in _objects(item, "content")
        )
        block = self._builder.find(item_key)
        if block is None and not full_text:
            return
        block = block or self._builder.text(item_key, "")
        if block.open:
            _complete(block, full_text, lambda rest: self._builder.text(item_key, rest))
        if identifier := _text(item.get("id")):
            phase = _text(item.get("phase"))
            mark = {"v": 1, "id": identifier, **({"phase": phase} if phase else {})}
            block.signature = json_text(mark)
        self._end(item_key)

    def _close_thought(self, item_key: ItemKey, item: Json) -> None:
        key = ("thought", item_key)
        texts = [_text(part.get("text")) for part in _objects(item, "summary")]
        full_text = PARAGRAPH.join(texts) or "".join(
            _text(part.get("text")) for part in _objects(item, "content")
        )
        block = self._builder.thinking(key, "")
        if block.open:
            _complete(block, full_text, lambda rest: self._builder.thinking(key, rest))
        if item.get("encrypted_content") or block.signature is UNSET:
            # Some servers send encrypted thinking only in the finished response.
            block.signature = json_text(item)
        self._end(key)

    def _close_call(self, item_key: ItemKey, item: Json) -> None:
        key = ("call", item_key)
        if self._builder.find(key) is None:
            self._open_call(item_key, item)
        if item.get("type") == "custom_tool_call":
            self.finish_text(item_key, item.get("input"))
        else:
            self.finish_arguments(item_key, item.get("arguments"))
        block = self._builder.find(key)
        if isinstance(block, ToolCallBlock) and block.open and item.get("namespace"):
            block.namespace = _text(item["namespace"])
        self._end(key)

    def _end(self, key: Hashable) -> None:
        self._builder.end(key)
        self.closed.add(key)


def _complete(block: TextBlock, full_text: str, add: Callable[[str], object]) -> bool:
    """Append the rest of ``full_text``; returns False if the block is not its beginning."""
    if not full_text.startswith(block.text):
        return False
    add(full_text[len(block.text) :])
    return True


def _identifiers(item: Json) -> list[str]:
    """Return the ids of an item: for a call the id that its result names comes first."""
    return [name for name in map(_text, (item.get("call_id"), item.get("id"))) if name]


def _objects(item: Json, name: str) -> list[Json]:
    parts = item.get(name)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


TEXT_DELTA = "response.output_text.delta"


class ResponseEvent(msgspec.Struct, gc=False):
    """The fields of all events that are used."""

    type: str = ""
    delta: str | None = None
    output_index: int | None = None
    item_id: str | None = None
    summary_index: int | None = None
    arguments: Any = None
    input: Any = None
    item: Any = None
    response: Any = None
    error: Any = None
    status: Any = None
    code: Any = None
    message: Any = None


_EVENTS = msgspec.json.Decoder(ResponseEvent, strict=False)
_decode = _EVENTS.decode


class ResponsesDecoder:
    """Decodes one response; ``text_arguments`` are those of the request's ``ResponsesTools``."""

    def __init__(
        self, builder: MessageBuilder, text_arguments: Mapping[str, str] | None = None
    ) -> None:
        self.finished = False
        self._builder = builder
        self._items = OutputItems(builder, text_arguments or {})
        self._closed = self._items.closed
        self._handlers: dict[str, Callable[[ResponseEvent], None]] = {
            "response.created": self._on_response,
            "response.in_progress": self._on_response,
            TEXT_DELTA: self._on_text,
            "response.refusal.delta": self._on_text,
            "response.reasoning_summary_text.delta": self._on_thought,
            "response.reasoning_text.delta": self._on_thought,
            "response.function_call_arguments.delta": self._on_arguments,
            "response.function_call_arguments.done": self._on_all_arguments,
            "response.custom_tool_call_input.delta": self._on_input,
            "response.custom_tool_call_input.done": self._on_all_input,
            "response.output_item.added": self._on_item,
            "response.output_item.done": self._on_whole_item,
            "response.completed": self._on_end,
            "response.incomplete": self._on_end,
            "response.failed": self._on_end,
            "response.cancelled": self._on_end,
            "response.done": self._on_end,
            "error": self._on_error,
        }

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode events up to the last one of the response."""
        for name, data in events:
            self._decode_event(name, data)
            if self.finished:
                return

    def end(self) -> None:
        """Called if the stream ended without its last event: raises ``BadAnswer``."""
        raise BadAnswer("The stream ended before the response was complete.")

    # Output items --------------------------------------------------------------------------------

    def _decode_event(self, name: str, data: bytes) -> None:
        """Decode one event; raises ``ProviderError`` for an error or invalid JSON."""
        try:
            event = _decode(data)
        except UNREADABLE:
            event = read_lenient(_EVENTS, data) or ResponseEvent()
        kind = event.type or name
        output_index = event.output_index
        if kind == TEXT_DELTA and event.delta and output_index is not None:
            if output_index not in self._closed:
                self._builder.text(output_index, event.delta)
        elif (handle := self._handlers.get(kind)) is not None:
            event.type = kind
            try:
                handle(event)
            except RecursionError as error:
                raise BadAnswer("The server sent an event that is nested too deeply.") from error
        # Other events are newer than this module, or about the server's own tools.

    def _on_text(self, event: ResponseEvent) -> None:
        if event.delta and (item_key := self._event_key(event)) not in self._closed:
            self._builder.text(item_key, event.delta)

    def _on_thought(self, event: ResponseEvent) -> None:
        if event.delta:
            self._items.add_thinking(self._event_key(event), event.delta, event.summary_index or 0)

    def _on_arguments(self, event: ResponseEvent) -> None:
        self._items.add_arguments(self._event_key(event), event.delta or "")

    def _on_all_arguments(self, event: ResponseEvent) -> None:
        self._items.finish_arguments(self._event_key(event), event.arguments)

    def _on_input(self, event: ResponseEvent) -> None:
        self._items.write(self._event_key(event), event.delta or "")

    def _on_all_input(self, event: ResponseEvent) -> None:
        self._items.finish_text(self._event_key(event), event.input)

    def _on_item(self, event: ResponseEvent) -> None:
        if isinstance(event.item, dict):
            self._items.open(self._event_key(event), event.item)

    def _on_whole_item(self, event: ResponseEvent) -> None:
        if isinstance(event.item, dict):
            self._items.close(self._event_key(event), event.item)

    def _event_key(self, event: ResponseEvent) -> ItemKey:
        if event.output_index is not None:
            return event.output_index
        identifier = event.item.get("id") if isinstance(event.item, dict) else event.item_id
        return self._items.item_key_by_id(str(identifier))

    # The whole response --------------------------------------------------------------------------

    def _on_response(self, event: ResponseEvent) -> None:
        if isinstance(event.response, dict):
            self._note(event.response)

    def _note(self, response: Json) -> None:
        builder = self._builder
        if isinstance(identifier := response.get("id"), str):
            builder.response_id = identifier
        if isinstance(model := response.get("model"), str) and model:
            builder.response_model = model
        if isinstance(counts := response.get("usage"), dict):
            builder.usage = read_usage(counts)
            builder.charged = billed_cost(counts)
        if isinstance(tier := response.get("service_tier"), str):
            builder.cost_factor = TIER_FACTORS.get(tier, 1.0)

    def _on_end(self, event: ResponseEvent) -> None:
        response: Json = event.response if isinstance(event.response, dict) else {}
        self.finished = True
        self._note(response)
        output = response.get("output")
        for index, item in enumerate(output if isinstance(output, list) else ()):
            if isinstance(item, dict):
                self._items.close(self._items.item_key_of(item, index), item)
        status = response.get("status") or event.type.rpartition(".")[2]
        self._builder.raw_stop_reason = str(status)
        match status:
            case "failed" | "cancelled":
                raise from_error_object(_error_object(response.get("error"), f"response {status}"))
            case "incomplete":
                self._cut_short(response)
            case _:
                self._builder.finish("toolUse" if self._items.called else "stop")

    def _cut_short(self, response: Json) -> None:
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        if isinstance(reason, str):
            self._builder.raw_stop_reason = reason
        if reason == "content_filter":
            raise AnswerRefused("The provider's filter ended the answer.", code="content_filter")
        self._builder.finish("length")

    def _on_error(self, event: ResponseEvent) -> None:
        self.finished = True
        status = event.status if isinstance(event.status, int) else None
        flat = {"code": event.code, "message": event.message}
        raise from_error_object(_error_object(event.error, flat), status=status)


def _error_object(error: Any, otherwise: Json | str) -> Json | str:
    return error if error and isinstance(error, dict | str) else otherwise


def read_usage(counts: Json) -> Usage:
    """Return the token counts of a response."""
    input_details, output_details = _details(counts, "input"), _details(counts, "output")
    cached, cache_write = (
        _read_count(input_details, "cached_tokens"),
        _read_count(input_details, "cache_write_tokens"),
    )
    reasoning = output_details.get("reasoning_tokens")
    return Usage(
        input=max(_read_count(counts, "input_tokens") - cached - cache_write, 0),
        output=_read_count(counts, "output_tokens"),
        cache_read=cached,
        cache_write=cache_write,
        reasoning=reasoning if isinstance(reasoning, int) else UNSET,
        total_tokens=_read_count(counts, "total_tokens"),
    )


def _details(counts: Json, direction: str) -> Json:
    details = counts.get(f"{direction}_tokens_details")
    return details if isinstance(details, dict) else {}


def _read_count(counts: Json, name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and value > 0 else 0
