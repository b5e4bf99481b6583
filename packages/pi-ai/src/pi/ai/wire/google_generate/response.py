"""Decodes the events of ``streamGenerateContent``, and counts tokens. Pure.

Typed decoding skips the rest of an event in C. Every field may be null, and an event whose fields
have other types than Google documents is decoded piece by piece instead of being lost.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from pi.ai.builder import CompleteReason, MessageBuilder, TextBlock
from pi.ai.errors import AnswerRefused, BadAnswer, BadRequest, ProviderError
from pi.ai.failures.classify import from_error_object
from pi.ai.json_text import DONE, json_text, read_json
from pi.ai.messages import Json, Tool, Usage
from pi.ai.tool_arguments import parse_arguments
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import UNREADABLE


class EventShape(msgspec.Struct, rename="camel", gc=False):
    """A part of an event; unknown fields are skipped."""


class FunctionCall(EventShape):
    """A tool call."""

    name: str | None = None
    args: Any = None
    id: str | None = None


class Part(EventShape):
    """A part of a response."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None


class Content(EventShape):
    """The content of a candidate in this event."""

    parts: list[Part | None] | None = None


class Candidate(EventShape):
    """One of the alternatives; we request one."""

    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class UsageMetadata(EventShape):
    """Tokens so far."""

    prompt_token_count: int | None = None
    """The whole prompt, including cached tokens."""
    cached_content_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    """Without thinking."""
    thoughts_token_count: int | None = None


class PromptFeedback(EventShape):
    """The filter's verdict on the prompt."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class Chunk(EventShape):
    """One event."""

    candidates: list[Candidate | None] | None = None
    usage_metadata: UsageMetadata | None = None
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: PromptFeedback | None = None
    error: Any = None


EMPTY = Chunk()

decode = msgspec.json.Decoder(Chunk).decode
"""Decodes an event; raises ``UNREADABLE`` if it is not as Google documents it."""
S = TypeVar("S", bound=EventShape)


def decode_lenient(data: bytes) -> Chunk:
    """Decode what is valid of an event with fields of the wrong types.

    Raises ``BadAnswer`` if it is not even JSON.
    """
    event = read_json(data)
    if isinstance(event, list) and event:  # without ``alt=sse`` events come as a list
        event = event[0]
    if not isinstance(event, dict):
        return EMPTY
    candidates = event.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    fields = {key: value for key, value in event.items() if not isinstance(value, dict | list)}
    chunk = _fitting(fields, Chunk)
    chunk.candidates = [_salvaged_candidate(first)] if isinstance(first, dict) else None
    chunk.usage_metadata = _fitting(event.get("usageMetadata"), UsageMetadata)
    chunk.prompt_feedback = _fitting(event.get("promptFeedback"), PromptFeedback)
    chunk.error = event.get("error")
    return chunk


def _salvaged_candidate(candidate: Json) -> Candidate:
    content = candidate.get("content")
    raw_parts = content.get("parts") if isinstance(content, dict) else None
    parts: list[Part | None] = []
    if isinstance(raw_parts, list):
        parts += (_fitting(part, Part) for part in raw_parts)
    rest = {key: value for key, value in candidate.items() if key != "content"}
    salvaged = _fitting(rest, Candidate)
    salvaged.content = Content(parts=parts)
    return salvaged


def _fitting(value: Any, kind: type[S]) -> S:
    """Return ``value`` as ``kind``, without the fields that do not fit."""
    fitting: Json = {}
    for name, inner in value.items() if isinstance(value, dict) else ():
        try:
            msgspec.convert({name: inner}, kind, strict=False)
        except msgspec.ValidationError:
            continue
        fitting[name] = inner
    return msgspec.convert(fitting, kind, strict=False)


class UsageCounter:
    """The tokens of one response. Every event reports totals; they are summed up when read."""

    def __init__(self) -> None:
        self._prompt = self._tool_prompt = self._cached = self._candidates = 0
        self._thoughts: int | None = None
        self._usage: Usage | None = Usage()

    def update(self, counts: UsageMetadata) -> None:
        """Update from the counts of an event; missing ones keep their earlier value."""
        self._usage = None
        if counts.prompt_token_count is not None:
            self._prompt = counts.prompt_token_count
        if counts.candidates_token_count is not None:
            self._candidates = counts.candidates_token_count
        if counts.cached_content_token_count is not None:
            self._cached = counts.cached_content_token_count
        if counts.tool_use_prompt_token_count is not None:
            self._tool_prompt = counts.tool_use_prompt_token_count
        if counts.thoughts_token_count is not None:
            self._thoughts = counts.thoughts_token_count

    def usage(self) -> Usage:
        """Return the tokens so far; the same object until an event has new counts."""
        if self._usage is None:
            self._usage = Usage(
                input=max(self._prompt + self._tool_prompt - self._cached, 0),
                output=self._candidates + (self._thoughts or 0),
                cache_read=self._cached,
                reasoning=UNSET if self._thoughts is None else self._thoughts,
            )
        return self._usage


# Flattened arguments of tool calls. Geminis sometimes send ``{"edits[0].path": "a"}`` instead of
# ``{"edits": [{"path": "a"}]}``.


_PATH = r"[^.\[\]]+(?:\.[^.\[\]]+|\[\d+\])+"
_STEP = r"[^.\[\]]+"


class _Node(dict[str | int, Any]):
    """An object or a list that is being rebuilt; values of the model's own are plain."""


def unflatten(arguments: Json, declared: Collection[str]) -> Json:
    """Return ``arguments`` with the objects and lists that flattened keys describe.

    ``declared`` names the tool's parameters. Only a key that is not one of them but begins with one
    is split: a dot is a valid part of a name. Pieces that do not fit together stay unchanged.
    """
    flat = {key: steps for key in arguments if (steps := _steps(key, declared))}
    if not flat:
        return arguments
    root = _Node({key: value for key, value in arguments.items() if key not in flat})
    for key, steps in flat.items():
        if not _put(root, steps, arguments[key]):
            return arguments
    return {str(key): _to_json(value) for key, value in root.items()}


def _steps(key: str, declared: Collection[str]) -> list[str | int]:
    """Return the path that a flattened key describes; empty for a plain name."""
    if key in declared or not re.fullmatch(_PATH, key):
        return []
    first, *rest = re.finditer(_STEP, key)
    if first[0] not in declared:
        return []
    return [first[0], *(int(step[0]) if _is_index(key, step) else step[0] for step in rest)]


def _is_index(key: str, step: re.Match[str]) -> bool:
    return key[step.start() - 1] == "["


def _put(root: _Node, steps: list[str | int], value: Any) -> bool:
    """Store ``value`` at its path; returns ``False`` if another value is there."""
    node: Any = root
    *parents, last = steps
    for step in parents:
        if not _fits(node, step):
            return False
        node = node.setdefault(step, _Node())
    if not _fits(node, last) or last in node:
        return False
    node[last] = value
    return True


def _fits(node: Any, step: str | int) -> bool:
    """Whether ``node`` is a rebuilt one of the right kind: list or object."""
    return isinstance(node, _Node) and type(next(iter(node), step)) is type(step)


def _to_json(value: Any) -> Any:
    if not isinstance(value, _Node):
        return value
    if isinstance(next(iter(value)), int):
        return [_to_json(item) for _, item in sorted(value.items())]
    return {key: _to_json(item) for key, item in value.items()}


_REFUSALS = frozenset(
    {
        "BLOCKLIST",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_SAFETY",
        "LANGUAGE",
        "MODEL_ARMOR",
        "PROHIBITED_CONTENT",
        "RECITATION",
        "SAFETY",
        "SPII",
    }
)
"""Stops by a filter: a retry gives the same result."""

_UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"
"""Sent by servers that write out every field while there is no reason."""

AFTER_A_REASON = 0.25
"""Seconds in which more may arrive after a finish reason."""
AFTER_REASONS_ONLY = 2.0
"""The same if every event so far had a reason, as with some servers."""

_REPHRASE = "Ask in other words or choose another model."


class GenerateDecoder:
    """Decodes the events of one response to a request that declared ``tools``.

    Google's last event has a finish reason, but compatible servers may send one with every event:
    the response is over when nothing follows.
    """

    def __init__(self, builder: MessageBuilder, tools: Sequence[Tool] = ()) -> None:
        self.finished = False
        self.over_after: float | None = None
        self._only_reasons = True
        """Whether every event so far had a finish reason."""
        self._builder = builder
        self._parameters = {tool.name: _parameter_names(tool) for tool in tools}
        self._block = 0
        """The key of the current block."""
        self._thinking: bool | None = None
        """Whether that block is thinking; ``None`` if no block can take more text."""
        self._has_answer = False
        """Whether there was text or a call: thinking alone is not a response."""
        self._called = False
        self._is_cut = False
        """Whether the latest finish reason is the output limit."""
        self._tally = UsageCounter()
        builder.count_with(self._tally.usage)

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode events up to the last one of the response."""
        for name, data in events:
            self._decode_event(name, data)
            if self.finished:
                return

    def end(self) -> None:
        """The stream is over: finish, if there was a finish reason."""
        if self.over_after is None:
            raise BadAnswer("Stream ended without finishReason")
        self._finish()

    # Chunks and parts --------------------------------------------------------------------------

    def _decode_event(self, name: str, data: bytes) -> None:
        """Decode one event."""
        try:
            chunk = decode(data)
        except UNREADABLE:
            chunk = self._decode_lenient(data)
        if chunk.error or chunk.prompt_feedback is not None:
            _raise_problem(chunk)
        if (counts := chunk.usage_metadata) is not None:
            self._tally.update(counts)
        if self._builder.response_id is UNSET:
            self._note_source(chunk)
        if not chunk.candidates or (candidate := chunk.candidates[0]) is None:
            return
        if (content := candidate.content) is not None and content.parts:
            for part in content.parts:
                if part is not None:
                    self._add_part(part)
        self._note_reason(candidate.finish_reason or "", candidate.finish_message)

    def _add_part(self, part: Part) -> None:
        text, signature = part.text, part.thought_signature
        if text or (signature and text is not None):
            thinking = part.thought is True
            if thinking is not self._thinking:
                self._next_block(thinking=thinking)
            if thinking:
                block: TextBlock = self._builder.thinking(self._block, text)
            else:
                block = self._builder.text(self._block, text)
                self._has_answer = self._has_answer or bool(text)
            if signature:
                block.signature = signature
        if part.function_call is not None:
            self._add_call(part.function_call, signature)

    def _add_call(self, call: FunctionCall, signature: str | None) -> None:
        """Add a complete call; arguments that are not an object stay text and are reported."""
        self._next_block(thinking=None)
        self._has_answer = self._called = True
        key, name = self._block, call.name or ""
        block = self._builder.tool_call(key, call.id or "", name)
        block.thought_signature = signature or UNSET
        text, arguments = _arguments(call.args)
        if arguments is not None:
            block.arguments = unflatten(arguments, self._parameters.get(name, ()))
            text = json_text(block.arguments)
        self._builder.arguments(key, text)
        self._builder.end(key)

    def _decode_lenient(self, data: bytes) -> Chunk:
        """Decode leniently what is not an event; returns nothing if it ends the response."""
        if data == DONE:  # a gateway's own last event
            self._handle_done()
        return decode_lenient(data)

    def _handle_done(self) -> None:
        if self.over_after is not None or not self._has_answer:
            self.end()
        else:
            self._complete("toolUse" if self._called else "stop")

    def _next_block(self, *, thinking: bool | None) -> None:
        self._builder.end(self._block)
        self._block += 1
        self._thinking = thinking

    def _note_source(self, chunk: Chunk) -> None:
        if chunk.response_id:
            self._builder.response_id = chunk.response_id
        if chunk.model_version:
            self._builder.response_model = chunk.model_version.removeprefix("models/")

    # End of the stream -------------------------------------------------------------------------

    def _note_reason(self, reason: str, message: str | None) -> None:
        word = reason.upper()
        if word in ("", _UNSPECIFIED):
            self._only_reasons = False
            return
        self._builder.raw_stop_reason = reason
        if word not in ("STOP", "MAX_TOKENS"):
            raise _failure(word, message)
        self._is_cut = word == "MAX_TOKENS"
        self.over_after = AFTER_REASONS_ONLY if self._only_reasons else AFTER_A_REASON

    def _finish(self) -> None:
        if self._is_cut:  # also with calls: the last one may be cut
            self._complete("length")
        elif self._has_answer:
            self._complete("toolUse" if self._called else "stop")
        else:
            raise BadAnswer("The model stopped without an answer.", code="STOP")

    def _complete(self, reason: CompleteReason) -> None:
        self._builder.finish(reason)
        self.finished = True


def _arguments(args: Any) -> tuple[str, Json | None]:
    """Return arguments as text and, if they are one, as an object."""
    if args is None:
        return "{}", {}
    if isinstance(args, str):
        return args, parse_arguments(args)
    return json_text(args), args if isinstance(args, dict) else None


def _parameter_names(tool: Tool) -> frozenset[str]:
    properties = tool.parameters.get("properties")
    return frozenset(properties) if isinstance(properties, dict) else frozenset()


def _raise_problem(chunk: Chunk) -> None:
    if chunk.error:
        raise from_error_object({"error": chunk.error})
    feedback = chunk.prompt_feedback
    if feedback is not None and (reason := feedback.block_reason):
        text = _join(f"The provider blocked the prompt: {reason}", feedback.block_reason_message)
        raise AnswerRefused(text, hint=_REPHRASE, code=reason)


def _failure(word: str, message: str | None) -> ProviderError:
    """Return the error for a failing finish reason."""
    text = _join(f"Provider finish_reason: {word}", message)
    if word in _REFUSALS:
        return AnswerRefused(text, hint=_REPHRASE, code=word)
    if word == "MISSING_THOUGHT_SIGNATURE":
        return BadRequest(text, code=word)
    return BadAnswer(text, code=word)


def _join(text: str, detail: str | None) -> str:
    return f"{text} ({detail})" if detail else text
