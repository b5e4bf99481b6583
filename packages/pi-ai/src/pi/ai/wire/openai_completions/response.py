"""Decodes the events of a Chat Completions stream, and assembles its tool calls. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from pi.ai.builder import CompleteReason, MessageBuilder, ThinkingBlock, ToolCallBlock
from pi.ai.errors import (
    AnswerRefused,
    BadAnswer,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
)
from pi.ai.failures.classify import from_error_object
from pi.ai.failures.overflow import FULL
from pi.ai.json_text import DONE, json_text
from pi.ai.messages import Json, Usage
from pi.ai.models.prices import TIER_FACTORS
from pi.ai.request import Call, host_of
from pi.ai.token_estimates import conversation_tokens
from pi.ai.tool_arguments import parse_arguments
from pi.ai.wire.openai_completions.chunks import (
    Chunk,
    ChunkChoice,
    Delta,
    FirstChunk,
    ReasoningDetails,
    ThinkTags,
    decode_chunk,
    decode_first,
    decode_lenient,
    parse_usage,
    reported_cost,
    thinking_delta,
)
from pi.ai.wire.openai_completions.compat import OPENAI_HOST, compat_of
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import UNREADABLE

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


# End of a response --------------------------------------------------------------------------------


NO_FINISH_REASON = "Stream ended without finish_reason"

LENGTH = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
"""Reasons for a truncated response, in lower case. Others that are no failure mean a stop."""

FAILURES: dict[str, type[ProviderError]] = {
    "content_filter": AnswerRefused,
    "sensitive": AnswerRefused,
    "error": ProviderUnavailable,
    "network_error": ProviderUnavailable,
    "insufficient_system_resource": ProviderUnavailable,
    "abort": ProviderUnavailable,
    "malformed_function_call": BadAnswer,
}

MISCOUNTED = 2048
"""Tokens by which our estimate may be wrong although a server truncated nothing."""


def complete_reason(word: str, *, calls: bool) -> CompleteReason:
    """Return the stop reason for a server's ``word``; calls are always run."""
    if word.lower() in LENGTH:
        return "length"
    return "toolUse" if calls else "stop"


def failure(word: str) -> ProviderError | None:
    """Return the error for a server's ``word``; ``None`` if it means no failure."""
    kind = FAILURES.get(word.lower())
    return None if kind is None else kind(f"Provider finish_reason: {word}")


def no_output_room(call: Call, reason: CompleteReason, usage: Usage) -> ContextOverflow | None:
    """Return the error of an empty response whose context was full or truncated.

    Local servers have smaller contexts than their models and do not report it. Returns ``None`` if
    a response is empty for other reasons.
    """
    if usage.output > 1:  # hidden thinking, or filtered text
        return None
    counted = usage.input + usage.cache_read + usage.cache_write
    sent = conversation_tokens(call.messages)
    full = max(counted, sent) >= FULL * call.model.context_window > 0
    cut = 0 < counted < (sent - MISCOUNTED) / 2
    if reason != "length" and not full and not cut:
        return None
    return ContextOverflow(
        f"{call.model.id} had no room left to answer: about {sent} tokens were sent"
        f" and the server counted {counted}.",
        hint="Compact the conversation, or give the server a larger context (llama.cpp: -c,"
        " Ollama: num_ctx, LM Studio: context length).",
    )


AFTER_A_REASON = 5.0
"""Seconds in which the usage and ``[DONE]`` may follow a finish reason."""


class ChatDecoder:
    """Decodes one response. ``inputs`` names the tools that the model calls with free text.

    A block of text or thinking continues until the other kind begins; tool calls do not split text,
    since servers mix both. All blocks end together, after the last delta.
    """

    def __init__(self, call: Call, builder: MessageBuilder, inputs: Mapping[str, str]) -> None:
        self.finished = False
        self.over_after: float | None = None
        self._call = call
        self._builder = builder
        self._calls = CallDeltas(builder, inputs)
        self._tags = ThinkTags()
        self._details = ReasoningDetails()
        self._block = 0
        self._thinking: bool | None = None
        """Whether the current block is thinking; ``None`` before the first."""
        self._thought: ThinkingBlock | None = None
        self._plain: list[str] = []
        """Text of the last events, which contained nothing else."""
        self._decode: Callable[[bytes], Chunk | None] = decode_first
        self._reason: str | None = None

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode events up to the last one of the response."""
        try:
            for name, data in events:
                self._decode_event(name, data)
                if self.finished:
                    return
        finally:  # also before an error: what arrived stays
            self._add_plain()

    def end(self) -> None:
        """End of a body without ``[DONE]``; raises ``BadAnswer`` if the response is incomplete."""
        if self._reason is None and compat_of(self._call).supports_finish_reason:
            self._flush()
            raise BadAnswer(NO_FINISH_REASON)
        self._finish()

    # Chunks and deltas -------------------------------------------------------------------------

    def _decode_event(self, name: str, data: bytes) -> None:
        """Decode one event; this wire does not use event names."""
        try:
            chunk = self._decode(data)
        except UNREADABLE:
            chunk = self._unreadable(data)
        if chunk is None:
            return
        if type(chunk) is FirstChunk:
            self._name(chunk)
        if chunk.error or chunk.choices is None:
            self._look_for_error(data)
        for choice in chunk.choices or ():
            if choice is not None:
                if choice.delta is not None:
                    self._delta(choice.delta)
                if choice.finish_reason or choice.usage or choice.error or choice.message:
                    self._choice(choice)
        if chunk.usage is not None:
            self._count(chunk.usage)

    def _unreadable(self, data: bytes) -> FirstChunk | None:
        if data.strip() == DONE:
            self._finish()
            return None
        return decode_lenient(data)

    def _delta(self, delta: Delta) -> None:
        content = delta.content
        is_thinking = (
            delta.reasoning_content
            or delta.reasoning
            or delta.reasoning_text
            or delta.reasoning_details
            or delta.reasoning_opaque
        )
        # Most events are some text and nothing else: they pass here with the fewest steps.
        if (
            self._tags.plain
            and self._thinking is False
            and type(content) is str
            and "<" not in content
            and not is_thinking
            and not delta.tool_calls
            and not delta.refusal
        ):
            self._plain.append(content)
            return
        self._add_plain()
        if is_thinking:
            text, field = thinking_delta(delta, self._details)
            if text:
                self._add_thinking(text).signature = field
        if content:
            self._visible(content)
        if delta.tool_calls or delta.refusal:
            self._act(delta)

    def _add_plain(self) -> None:
        if self._plain:
            self._tags.unread += self._plain
            self._builder.texts(self._block, self._plain)
            self._plain = []

    def _act(self, delta: Delta) -> None:
        if delta.refusal:
            self._visible(delta.refusal)
        if isinstance(delta.tool_calls, list):
            for piece in delta.tool_calls:
                self._calls.add(piece)

    def _choice(self, choice: ChunkChoice) -> None:
        """Handle the fields of a choice beside its delta."""
        if choice.message is not None and choice.delta is None and self._builder.empty:
            self._delta(choice.message)  # servers that send the whole response at the end
        if choice.error:
            self._fail(from_error_object({"error": choice.error}))
        if choice.finish_reason and isinstance(choice.finish_reason, str):
            self._reason = choice.finish_reason
            self.over_after = AFTER_A_REASON
        if choice.usage is not None:
            self._count(choice.usage)

    def _visible(self, content: Any) -> None:
        text = content if isinstance(content, str) else _joined(content)
        self._add_pieces(self._tags.split(text))

    def _add_pieces(self, pieces: Iterable[tuple[bool, str]]) -> None:
        for thinking, text in pieces:
            if thinking:
                self._add_thinking(text)
            else:
                self._change(thinking=False)
                self._builder.text(self._block, text)

    def _add_thinking(self, text: str) -> ThinkingBlock:
        self._change(thinking=True)
        self._thought = self._builder.thinking(self._block, text)
        return self._thought

    def _change(self, *, thinking: bool) -> None:
        """Begin another block unless the current one is of that kind."""
        if self._thinking is not thinking:
            self._thinking = thinking
            self._block += 1

    def _name(self, chunk: FirstChunk) -> None:
        """Record id and model; the very first events of some servers lack them."""
        if chunk.id and isinstance(chunk.id, str):
            self._decode = decode_chunk
            self._builder.response_id = chunk.id
        if chunk.model and isinstance(chunk.model, str):
            self._builder.response_model = chunk.model
        tier = chunk.service_tier
        if isinstance(tier, str) and tier in TIER_FACTORS and host_of(self._call) == OPENAI_HOST:
            self._builder.cost_factor = TIER_FACTORS[tier]

    def _count(self, counted: Any) -> None:
        """Record the usage. After a finish reason it is the last expected event."""
        usage = parse_usage(counted)
        if usage is None:
            return
        self._builder.usage = usage
        self._builder.charged = reported_cost(counted)
        if self._reason is not None:
            self._finish()

    # End of the stream -------------------------------------------------------------------------

    def _finish(self) -> None:
        if self.finished:
            return
        self._flush()
        builder, word = self._builder, self._reason or ""
        if word:
            builder.raw_stop_reason = word
        elif builder.empty:
            raise BadAnswer(NO_FINISH_REASON)
        if error := failure(word):
            raise error
        reason = complete_reason(word, calls=bool(self._calls))
        if builder.empty and (lack := no_output_room(self._call, reason, builder.usage)):
            raise lack
        self.finished = True
        builder.finish(reason)

    def _flush(self) -> None:
        """Complete what was held back for events that will not come."""
        self._add_plain()
        self._add_pieces(self._tags.rest())
        self._calls.finish()
        if (proof := self._details.proof) is not None:
            if self._thought is None:
                self._add_thinking("").redacted = True
            assert self._thought is not None
            self._thought.signature = proof

    def _look_for_error(self, data: bytes) -> None:
        odd = decode_lenient(data)
        if odd is not None and odd.error:
            self._fail(from_error_object(odd.error))

    def _fail(self, error: ProviderError) -> NoReturn:
        self._flush()
        raise error


def _joined(parts: Any) -> str:
    """Return the text of content that came as a list of parts."""
    if not isinstance(parts, list):
        return ""
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))
