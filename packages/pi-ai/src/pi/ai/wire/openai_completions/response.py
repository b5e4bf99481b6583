"""Decodes the events of a Chat Completions stream. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from pi.ai.builder import MessageBuilder, ThinkingBlock
from pi.ai.errors import (
    BadAnswer,
    ProviderError,
)
from pi.ai.failures.classify import from_error_object
from pi.ai.json_text import DONE
from pi.ai.models.prices import TIER_FACTORS, billed_cost
from pi.ai.request import Call, host_of
from pi.ai.wire.openai_completions.call_deltas import CallDeltas
from pi.ai.wire.openai_completions.chunks import (
    Chunk,
    ChunkChoice,
    Delta,
    FirstChunk,
    decode_chunk,
    decode_first,
    decode_lenient,
)
from pi.ai.wire.openai_completions.compat import OPENAI_HOST, compat_of
from pi.ai.wire.openai_completions.finish_reasons import complete_reason, failure, no_output_room
from pi.ai.wire.openai_completions.reasoning_details import ReasoningDetails, thinking_delta
from pi.ai.wire.openai_completions.think_tags import ThinkTags
from pi.ai.wire.openai_completions.token_ids import TokenIdCollector
from pi.ai.wire.openai_completions.usage import parse_usage
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import UNREADABLE

NO_FINISH_REASON = "Stream ended without finish_reason"


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
        self._tokens = TokenIdCollector()

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
            self._tokens.add_prompt(chunk.prompt_token_ids)
        if chunk.error or chunk.choices is None:
            self._look_for_error(data)
        for choice in chunk.choices or ():
            if choice is not None:
                if choice.delta is not None:
                    self._delta(choice.delta)
                if (
                    choice.finish_reason
                    or choice.usage
                    or choice.error
                    or choice.message
                    or choice.token_ids
                    or choice.logprobs
                ):
                    self._choice(choice)
        if chunk.usage is not None:
            self._record_usage(chunk.usage)

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
        self._tokens.add(choice.token_ids, choice.logprobs)
        if choice.message is not None and choice.delta is None and self._builder.empty:
            self._delta(choice.message)  # servers that send the whole response at the end
        if choice.error:
            self._fail(from_error_object({"error": choice.error}))
        if choice.finish_reason and isinstance(choice.finish_reason, str):
            self._reason = choice.finish_reason
            self.over_after = AFTER_A_REASON
        if choice.usage is not None:
            self._record_usage(choice.usage)

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

    def _record_usage(self, counted: Any) -> None:
        """Record the usage. After a finish reason it is the last expected event."""
        usage = parse_usage(counted)
        if usage is None:
            return
        self._builder.usage = usage
        self._builder.charged = billed_cost(counted)
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
        if (listener := self._call.options.on_token_ids) is not None:
            self._tokens.report(builder.response_id, listener)
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
