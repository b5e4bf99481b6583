"""MessageBuilder: a response while it grows; keeps the message and its events consistent.

A wire names each block by a key of its own (an index, an item id). The builder opens a block when
its key is first seen, assigns a content index, queues the event, and closes open blocks at the end,
so that no wire can emit a delta without a start or forget an end. The cost per delta does not
depend on the length of the message.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.ai.errors import AnswerTooLarge, ProviderError
from pi.ai.events import (
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from pi.ai.messages import (
    AssistantMessage,
    Json,
    RequestFailure,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from pi.ai.models.model import Model
from pi.ai.models.prices import priced
from pi.base.records import replace

ABORTED = "Request was aborted"
"""The error of a message that the caller has cancelled."""
INVALID_ARGUMENTS = "invalid_tool_arguments"
"""Type of the diagnostic that names a call whose arguments are not JSON."""

KEPT_OF_TOO_LARGE = 1024 * 1024
"""Characters of each block that are kept of a response that exceeds a limit."""

MAX_PARTS = 10_000
"""Limit of blocks in one response: 300,000 calls in 45 MB took 300 MB of memory."""

MAX_SHOWN = 2000
"""Characters of invalid arguments that the diagnostic keeps."""

CompleteReason: TypeAlias = Literal["stop", "length", "toolUse", "deferred"]

FindModel: TypeAlias = Callable[[str], Model | None]
"""Returns the same provider's model with that id."""


class TextBlock:
    """A growing text block."""

    __slots__ = ("index", "open", "parts", "signature")

    def __init__(self, index: int) -> None:
        self.index = index
        self.open = True
        self.parts: list[str] = []
        self.signature: str | UnsetType = UNSET

    @property
    def text(self) -> str:
        """The text so far; joined once, however often it is read."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    def block(self) -> Text:
        """Return the block as a record."""
        return Text(text=self.text, text_signature=self.signature)

    def end(self) -> StreamEvent:
        """Return the event that closes it."""
        return TextEnd(content_index=self.index, content=self.text)


class ThinkingBlock(TextBlock):
    """A growing thinking block."""

    __slots__ = ("redacted",)

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.redacted = False

    def block(self) -> Thinking:  # type: ignore[override]
        """Return the block as a record."""
        return Thinking(
            thinking=self.text,
            thinking_signature=self.signature,
            redacted=self.redacted or UNSET,
        )

    def end(self) -> StreamEvent:
        """Return the event that closes it."""
        return ThinkingEnd(content_index=self.index, content=self.text)


class ToolCallBlock(TextBlock):
    """A tool call whose arguments grow as JSON text."""

    __slots__ = ("_arguments", "_parsed", "id", "name", "namespace", "thought_signature")

    def __init__(self, index: int, id: str, name: str) -> None:
        super().__init__(index)
        self.id = id
        self.name = name
        self._arguments: Json | None = None
        self._parsed: Json | None = None
        """The arguments of a closed block: parsed once for all events and messages."""
        self.thought_signature: str | UnsetType = UNSET
        self.namespace: str | UnsetType = UNSET

    @property
    def arguments(self) -> Json | None:
        """The arguments; set by wires that receive them as an object."""
        return self._arguments

    @arguments.setter
    def arguments(self, arguments: Json | None) -> None:
        if self.open:
            self._arguments = arguments

    @property
    def broken(self) -> bool:
        """Whether the arguments are not a JSON object, even after repair."""
        return self._whole_arguments() is None

    def block(self) -> ToolCall:  # type: ignore[override]
        """Return the block as a record, with incomplete arguments as far as they parse."""
        return ToolCall(
            id=self.id,
            name=self.name,
            arguments=self._visible_arguments(),
            thought_signature=self.thought_signature,
            namespace=self.namespace,
        )

    def end(self) -> StreamEvent:
        """Return the event that closes it."""
        return ToolCallEnd(content_index=self.index, tool_call=self.block())

    def _visible_arguments(self) -> Json:
        if self._parsed is not None:
            return self._parsed
        from pi.ai.tool_arguments import parse_partial  # lazy, as below

        # An open block is incomplete: repairing it as a whole takes 4.6 ms for 87 KB.
        arguments = parse_partial(self.text) if self.open and self._arguments is None else None
        if not arguments:
            arguments = self._whole_arguments()
        if arguments is None:
            arguments = parse_partial(self.text)
        if not self.open:
            self._parsed = arguments
        return arguments

    def _whole_arguments(self) -> Json | None:
        # Lazy: it loads a parser that ``import pi.ai`` does not need.
        from pi.ai.tool_arguments import parse_arguments

        return self.arguments if self.arguments is not None else parse_arguments(self.text)


class MessageBuilder:
    """Builds one response. Wires call it; the stream takes its events and exposes its message."""

    def __init__(self, model: Model, *, now_ms: int, find_model: FindModel | None = None) -> None:
        self.model = model
        self._usage = Usage()
        self._count: Callable[[], Usage] | None = None
        self._priced = Usage()
        self._counted: tuple[object, ...] = ()
        """The inputs of ``_priced``: it is computed again when one of them changes."""
        self.cost_factor = 1.0
        """Price factor of the service tier."""
        self.charged: float | None = None
        """The total that the server itself reported, in dollars."""
        self.is_billed = True
        """Whether ``charged`` is the amount on the provider's bill."""
        self.response_id: str | UnsetType = UNSET
        self.response_model: str | UnsetType = UNSET
        self.raw_stop_reason: str | UnsetType = UNSET
        self.thinking_level: str | UnsetType = UNSET
        self.diagnostics: list[Json] = []
        self.failure: ProviderError | None = None
        self.final: AssistantMessage | None = None
        """The final message; set once, then nothing can be added."""
        self.timestamp = now_ms
        """The time of the response, in milliseconds since 1970."""
        self._find_model = find_model
        self._blocks: list[TextBlock] = []
        self._by_key: dict[Hashable, TextBlock] = {}
        self._call_ids: set[str] = set()
        self._events: list[StreamEvent] = []
        self._started = False

    @property
    def started(self) -> bool:
        """Whether the server accepted the request."""
        return self._started

    @property
    def usage(self) -> Usage:
        """The token counts reported so far."""
        return self._usage if self._count is None else self._count()

    @usage.setter
    def usage(self, usage: Usage) -> None:
        self._usage, self._count = usage, None

    def count_with(self, count: Callable[[], Usage]) -> None:
        """Call ``count`` for the usage when needed: for servers that report it in every event.

        It returns the same object until there are new counts.
        """
        self._count = count

    # Content --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Emit ``Start``: the server accepted the request. Later calls do nothing: a repaired
        request may be sent again."""
        if not self._started:
            self._started = True
            self._events.append(Start())

    def texts(self, key: Hashable, deltas: Sequence[str]) -> None:
        """Append to the text block ``key``, with an event for each delta."""
        for delta in deltas:
            self.text(key, delta)

    def text(self, key: Hashable, delta: str) -> TextBlock:
        """Append to the text block ``key``."""
        block = self._by_key.get(key)
        # some servers continue a block after its end
        if block is None or (delta and not block.open):
            block = self._open(key, TextBlock(len(self._blocks)))
            self._events.append(TextStart(content_index=block.index))
        if delta:
            block.parts.append(delta)
            self._events.append(TextDelta(content_index=block.index, delta=delta))
        return block

    def thinking(self, key: Hashable, delta: str) -> ThinkingBlock:
        """Append to the thinking block ``key``."""
        block = self._by_key.get(key)
        if block is None or (delta and not block.open):
            block = self._open(key, ThinkingBlock(len(self._blocks)))
            self._events.append(ThinkingStart(content_index=block.index))
        assert isinstance(block, ThinkingBlock)
        if delta:
            block.parts.append(delta)
            self._events.append(ThinkingDelta(content_index=block.index, delta=delta))
        return block

    def tool_call(self, key: Hashable, id: str, name: str) -> ToolCallBlock:
        """Return the tool call ``key``, opened if it is new.

        A missing or repeated ``id`` is replaced, because results refer to their call by it.
        """
        block = self._by_key.get(key)
        if block is None:
            if not id or id in self._call_ids:
                id = f"call_{self.timestamp:x}_{len(self._blocks)}"
            self._call_ids.add(id)
            block = self._open(key, ToolCallBlock(len(self._blocks), id, name))
            self._events.append(ToolCallStart(content_index=block.index, id=id, tool_name=name))
        assert isinstance(block, ToolCallBlock)
        return block

    def arguments(self, key: Hashable, delta: str) -> None:
        """Append JSON text to the arguments of the tool call ``key``, which must exist."""
        block = self._by_key[key]
        if delta and block.open:
            block.parts.append(delta)
            self._events.append(ToolCallDelta(content_index=block.index, delta=delta))

    def find(self, key: Hashable) -> TextBlock | None:
        """Return the block that was opened under ``key``."""
        return self._by_key.get(key)

    def end(self, key: Hashable) -> None:
        """Close the block ``key``; does nothing if it is not open."""
        block = self._by_key.get(key)
        if block is not None and block.open:
            block.open = False
            self._events.append(block.end())

    # End of the message ---------------------------------------------------------------------------

    def finish(self, reason: CompleteReason) -> None:
        """Finish the message as complete."""
        if self.final is not None:
            return
        self._note_broken_calls()
        self._end_all()
        self.final = self.message(reason)
        self._events.append(Done(reason=reason, message=self.final))

    def fail(self, error: ProviderError) -> None:
        """Finish the message with ``error``; blocks of a too large message are truncated."""
        self.failure = error
        if isinstance(error, AnswerTooLarge):
            for block in self._blocks:
                block.parts = [block.text[:KEPT_OF_TOO_LARGE]]
        from pi.ai.failures.sentence import describe_failure  # lazy: for failures only

        failure = describe_failure(error, self.timestamp)
        self._end_with("error", error.message, failure)

    def abort(self) -> None:
        """Finish the message as aborted."""
        self._end_with("aborted", ABORTED)

    # State ----------------------------------------------------------------------------------------

    def take(self) -> list[StreamEvent]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    @property
    def has_news(self) -> bool:
        """Whether there are events that were not taken yet."""
        return bool(self._events)

    @property
    def empty(self) -> bool:
        """Whether no block has been opened."""
        return not self._blocks

    @property
    def size(self) -> int:
        """Characters received so far, in all blocks."""
        return sum(len(block.text) for block in self._blocks)

    def priced_usage(self) -> Usage:
        """Return the tokens so far with their cost; the same object until one of them changes."""
        usage, name = self.usage, self.response_model
        counted = (usage, name, self.cost_factor, self.charged, self.is_billed)
        if counted != self._counted:
            model = self.model
            if isinstance(name, str) and name != model.id and self._find_model is not None:
                model = self._find_model(name) or model
            self._priced = priced(
                usage,
                model.cost,
                factor=self.cost_factor,
                charged=self.charged,
                billed=self.is_billed,
            )
            self._counted = counted
        return self._priced

    def message(self, reason: StopReason = "pending", error: str | None = None) -> AssistantMessage:
        """Return the message so far, with its cost."""
        return AssistantMessage(
            content=tuple(block.block() for block in self._blocks),
            api=self.model.api,
            provider=self.model.provider,
            model=self.model.id,
            response_model=UNSET if self.response_model == self.model.id else self.response_model,
            response_id=self.response_id,
            provider_thinking_level=self.thinking_level,
            diagnostics=tuple(self.diagnostics) or UNSET,
            usage=self.priced_usage(),
            stop_reason=reason,
            error_message=UNSET if error is None else error,
            raw_stop_reason=self.raw_stop_reason,
            timestamp=self.timestamp,
        )

    # -------------------------------------------------------------------------------------------

    def _calls(self) -> Iterator[ToolCallBlock]:
        return (block for block in self._blocks if isinstance(block, ToolCallBlock))

    def _open(self, key: Hashable, block: TextBlock) -> TextBlock:
        if len(self._blocks) >= MAX_PARTS:
            raise AnswerTooLarge(
                f"The answer exceeds the limit of {MAX_PARTS:,} parts and was stopped.",
                hint="Ask for less at once, or choose another model.",
            )
        self._blocks.append(block)
        self._by_key[key] = block
        return block

    def _note_broken_calls(self) -> None:
        """Record which calls have arguments that are not JSON: they must be refused, not run."""
        for block in self._calls():
            if block.broken:
                from pi.ai.tool_arguments import refusal_reason  # lazy, as above

                details = {"toolCallId": block.id, "text": block.text[:MAX_SHOWN]}
                if reason := refusal_reason(block.text):
                    details["reason"] = reason
                note = {"type": INVALID_ARGUMENTS, "timestamp": self.timestamp, "details": details}
                self.diagnostics.append(note)

    def _end_all(self) -> None:
        for block in self._blocks:
            if block.open:
                block.open = False
                self._events.append(block.end())

    def _end_with(
        self,
        reason: Literal["error", "aborted"],
        error: str,
        failure: RequestFailure | UnsetType = UNSET,
    ) -> None:
        if self.final is not None:
            return
        self._end_all()
        self.final = replace(self.message(reason, error), failure=failure)
        self._events.append(Failed(reason=reason, error=self.final))
