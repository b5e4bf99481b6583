"""Events of ``streamGenerateContent`` → an answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.ai.builder import CompleteReason, MessageBuilder, TextBlock
from pi.ai.errors import AnswerRefused, BadAnswer, BadRequest, ProviderError
from pi.ai.failures import from_error_object
from pi.ai.json_text import DONE, UNREADABLE, json_text
from pi.ai.messages import Json, Tool
from pi.ai.partial_json import parse_arguments
from pi.ai.wire.google_generate.arguments import rebuilt
from pi.ai.wire.google_generate.chunks import Chunk, FunctionCall, Part, decode, salvaged
from pi.ai.wire.google_generate.usage import Tally
from pi.base.records import UNSET

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
"""Stops by a filter: asking the same again gives the same."""

_REPHRASE = "Ask in other words or choose another model."


class GenerateDecoder:
    """Understands the events of one answer to a request that declared ``tools``."""

    def __init__(self, builder: MessageBuilder, tools: Sequence[Tool] = ()) -> None:
        self.finished = False
        self._builder = builder
        self._parameters = {tool.name: _parameter_names(tool) for tool in tools}
        self._block = 0
        """The key of the block that grows."""
        self._thinking: bool | None = None
        """Whether that block is a thought; ``None`` when no block can take more text."""
        self._answered = False
        """Whether there was a word or a call: thoughts alone are no answer."""
        self._called = False
        self._tally = Tally()
        builder.count_with(self._tally.usage)

    def feed(self, name: str, data: bytes) -> None:
        """Take one event; the one with a finish reason is the last."""
        try:
            chunk = decode(data)
        except UNREADABLE:
            chunk = self._odd(data)
        if chunk.error or chunk.prompt_feedback is not None:
            _raise_problem(chunk)
        if (counts := chunk.usage_metadata) is not None:
            self._tally.take(counts)
        if self._builder.response_id is UNSET:
            self._note_source(chunk)
        if not chunk.candidates or (candidate := chunk.candidates[0]) is None:
            return
        if (content := candidate.content) is not None and content.parts:
            for part in content.parts:
                if part is not None:
                    self._take(part)
        if candidate.finish_reason:
            self._finish(candidate.finish_reason, candidate.finish_message)

    def end(self) -> None:
        """The stream ended before a finish reason came."""
        raise BadAnswer("Stream ended without finishReason")

    # What arrives ------------------------------------------------------------------------------

    def _take(self, part: Part) -> None:
        text, signature = part.text, part.thought_signature
        if text or (signature and text is not None):
            thinking = part.thought is True
            if thinking is not self._thinking:
                self._next_block(thinking=thinking)
            if thinking:
                block: TextBlock = self._builder.thinking(self._block, text)
            else:
                block = self._builder.text(self._block, text)
                self._answered = self._answered or bool(text)
            if signature:
                block.signature = signature
        if part.function_call is not None:
            self._take_call(part.function_call, signature)

    def _take_call(self, call: FunctionCall, signature: str | None) -> None:
        """A call comes whole; arguments that are no object stay text and are reported."""
        self._next_block(thinking=None)
        self._answered = self._called = True
        key, name = self._block, call.name or ""
        block = self._builder.tool_call(key, call.id or "", name)
        block.thought_signature = signature or UNSET
        text, arguments = _arguments(call.args)
        if arguments is not None:
            block.arguments = rebuilt(arguments, self._parameters.get(name, ()))
            text = json_text(block.arguments)
        self._builder.arguments(key, text)
        self._builder.end(key)

    def _odd(self, data: bytes) -> Chunk:
        """What can be understood of data that is no event; nothing, if it ends the answer."""
        if data == DONE:  # a gateway's own last event
            self._take_done()
        return salvaged(data)

    def _take_done(self) -> None:
        if not self._answered:
            self.end()
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

    # How it ends -------------------------------------------------------------------------------

    def _finish(self, reason: str, message: str | None) -> None:
        self._builder.raw_stop_reason = reason
        word = reason.upper()
        if word == "MAX_TOKENS":  # also with calls: the last one may be cut
            self._complete("length")
        elif word == "STOP" and self._answered:
            self._complete("toolUse" if self._called else "stop")
        else:
            raise _failure(word, message)

    def _complete(self, reason: CompleteReason) -> None:
        self._builder.finish(reason)
        self.finished = True


def _arguments(args: Any) -> tuple[str, Json | None]:
    """Arguments as text and, where they are one, as an object."""
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
        told = _told(f"The provider blocked the prompt: {reason}", feedback.block_reason_message)
        raise AnswerRefused(told, hint=_REPHRASE, code=reason)


def _failure(word: str, message: str | None) -> ProviderError:
    """Why an answer with this finish reason is none."""
    if word == "STOP":
        return BadAnswer("The model stopped without an answer.", code=word)
    told = _told(f"Provider finish_reason: {word}", message)
    if word in _REFUSALS:
        return AnswerRefused(told, hint=_REPHRASE, code=word)
    if word == "MISSING_THOUGHT_SIGNATURE":
        return BadRequest(told, code=word)
    return BadAnswer(told, code=word)


def _told(what: str, why: str | None) -> str:
    return f"{what} ({why})" if why else what
