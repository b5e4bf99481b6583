"""Streams one model response: request, stream, and the message to store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Literal, NewType, TypeAlias

from msgspec import UNSET, Struct

from pi.agent.conversation import with_instructions
from pi.agent.events import EventDispatcher, MessageStart, MessageUpdate
from pi.agent.policy import Abort, Aborted, Interrupt, Next, Policy, Request, StopRun, overriding
from pi.ai.errors import ProviderError
from pi.ai.event_stream import EventStream
from pi.ai.events import (
    Delta,
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    TextStart,
    ThinkingDelta,
    ThinkingStart,
    ToolCallDelta,
)
from pi.ai.messages import (
    AssistantMessage,
    Interruption,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
)
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import replace

log = logging.getLogger(__name__)


MessageToken = NewType("MessageToken", int)
"""Identifies one response of an agent; never reused."""


class StreamingResponse:
    """The response being streamed, so that code outside the stream can interrupt it.

    A policy that decides after the delta was delivered can no longer raise ``Interrupt``; it calls
    ``interrupt`` with the token of the response instead.
    """

    def __init__(self) -> None:
        self.cut: Interrupt | None = None
        """The interrupt of the newest response, if any."""
        self.started = False
        """Whether the start of the newest response was emitted."""
        self._newest = 0
        self._stop: Callable[[], None] | None = None

    @property
    def token(self) -> MessageToken | None:
        """Token of the open response; ``None`` between responses and after an interrupt."""
        is_open = self._stop is not None and self.cut is None
        return MessageToken(self._newest) if is_open else None

    @contextmanager
    def streaming(self, stop: Callable[[], None]) -> Iterator[None]:
        """Context in which a response is open and ``stop`` ends it."""
        self._newest += 1
        self._stop, self.cut, self.started = stop, None, False
        try:
            yield
        finally:
            self._stop = None

    def interrupt(self, token: MessageToken, cut: Interrupt) -> bool:
        """Interrupt the response of ``token``. Returns False if it has ended or was interrupted
        already.
        """
        if self._stop is None or token != self.token:
            return False
        self.cut = cut
        self._stop()
        return True


SendRequest: TypeAlias = Callable[[Request], EventStream]
"""Sends a request to a model. Never raises: failures are in the stream."""

MAX_CUTS = 5
"""Consecutive interrupts after which the run is ended."""
ABORTED_EARLY = "This operation was aborted"
_DELTAS = (TextDelta, ThinkingDelta, ToolCallDelta)


class ModelResponse(Struct):
    """A finished response, successful or not."""

    message: AssistantMessage
    error: ProviderError | None = None
    next: Next = Next()
    """Decision that follows from its end: ``again`` after an interrupt, ``stop`` if stopped."""


class ResponseReader:
    """Reads the responses of one run, one at a time."""

    def __init__(
        self,
        send: SendRequest,
        policies: Sequence[Policy],
        *,
        events: EventDispatcher,
        clock: Clock,
        abort: Abort,
        open_answer: StreamingResponse | None = None,
    ) -> None:
        self._send = send
        # Policies that do not override ``on_delta`` must not cost anything per token.
        self._before_request, self._after_answer, self._watchers = overriding(
            policies, "before_request", "after_answer", "on_delta"
        )
        self._events = events
        self._clock = clock
        self._abort = abort
        self._open = open_answer or StreamingResponse()
        self._cuts = 0

    async def answer(self, request: Request) -> ModelResponse:
        """Send a request, emit its events, and return the response to store."""
        try:
            request = await self._apply_policies(request)
        except Aborted:
            return await self._not_sent(request, "error", ABORTED_EARLY)
        except StopRun as stop:
            response = await self._not_sent(request, "aborted", stop.reason)
            response.next = stop.next
            return response
        response = await self._read_stream(request)
        if response.message.stop_reason != "aborted" or response.next.claimed:
            await self._revise(response)
        if response.message.interrupt is UNSET:
            self._cuts = 0
        return response

    async def _apply_policies(self, request: Request) -> Request:
        for policy in self._before_request:
            try:
                changed = await self._abort.wait(partial(policy.before_request, request))
            except (StopRun, Aborted):
                raise
            except Exception:
                log.exception("%s failed before a request", type(policy).__name__)
                continue
            if changed.messages is not request.messages:
                changed = _with_instructions(changed, request, policy)
            request = changed
        if self._abort.requested:
            raise Aborted
        return request

    async def _read_stream(self, request: Request) -> ModelResponse:
        started = self._clock.monotonic()
        stream = self._send(request)
        cut: Interrupt | StopRun | None = None
        unseen: list[StreamEvent] = []
        async with aclosing(stream):
            with self._abort.on_abort(stream.abort), self._open.streaming(stream.abort):
                try:
                    await self._emit_events(stream, unseen)
                except (Interrupt, StopRun) as reason:
                    cut = reason
        message = replace(
            await stream.result(),
            thinking_level=request.thinking,
            duration_ms=round((self._clock.monotonic() - started) * 1000),
        )
        if cut is not None:
            message = _as_emitted(message, (*unseen, *await stream.take()))
        if not self._open.started:
            await self._events.emit(MessageStart(message=message))
        if cut := cut or self._open.cut:
            return self._cut(message, cut)
        return ModelResponse(message, stream.failure)

    async def _emit_events(self, stream: EventStream, unseen: list[StreamEvent]) -> None:
        """Emit the events of a response until it ends or is interrupted.

        ``unseen`` gets the events after the delta at which a policy interrupted it.
        """
        events, watchers = self._events, self._watchers
        answer_so_far = partial(getattr, stream, "partial")
        while arrived := await stream.take():
            remaining = iter(arrived)
            for event in remaining:
                if self._open.cut is not None:
                    return  # deltas that arrived before the interrupt are not shown
                if isinstance(event, _DELTAS):
                    if watchers:
                        try:
                            watchers = _watch(watchers, event, answer_so_far)
                        except (Interrupt, StopRun):
                            unseen += remaining
                            raise
                elif isinstance(event, Start):
                    self._open.started = True
                    await events.emit(MessageStart(message=_without_content(stream.partial)))
                    continue
                # The final message carries the error of ``Failed``.
                if events.has_update_listeners and not isinstance(event, (Done, Failed)):
                    await events.emit(
                        MessageUpdate(usage=stream.usage, assistant_message_event=event)
                    )

    def _cut(self, message: AssistantMessage, cut: Interrupt | StopRun) -> ModelResponse:
        if isinstance(cut, StopRun):
            return ModelResponse(_stopped(message, cut), next=cut.next)
        self._cuts += 1
        message = replace(
            message,
            content=_without_calls(message),
            interrupt=Interruption(by=cut.by, reason=cut.reason),
        )
        if self._cuts > MAX_CUTS:
            reason = f"The answer was cut {self._cuts} times in a row: {cut.reason}"
            return ModelResponse(
                replace(message, stop_reason="error", error_message=reason, failure=UNSET),
                next=Next(action="stop", reason=reason),
            )
        if cut.keep and (content := _replayable(message)):
            message = replace(message, stop_reason="stop", error_message=UNSET, content=content)
        else:
            message = replace(message, stop_reason="aborted", error_message=cut.reason)
        return ModelResponse(message, next=Next(action="again", entries=cut.entries))

    async def _revise(self, response: ModelResponse) -> None:
        """Let policies change a response before it is stored."""
        for policy in self._after_answer:
            try:
                response.message = await self._abort.wait(
                    partial(policy.after_answer, response.message)
                )
            except StopRun as stop:
                response.message, response.next = _stopped(response.message, stop), stop.next
            except Interrupt as cut:
                if response.next.claimed:  # already cut: the first interrupt wins
                    continue
                cut.by = cut.by or type(policy).__name__
                cut_answer = self._cut(response.message, cut)
                response.message, response.next = cut_answer.message, cut_answer.next
            except Aborted:
                return
            except Exception:
                log.exception("%s failed after a response", type(policy).__name__)

    async def _not_sent(
        self, request: Request, reason: Literal["error", "aborted"], text: str
    ) -> ModelResponse:
        message = failed_message(request.model, reason, text, now_ms=self._clock.now_ms())
        await self._events.emit(MessageStart(message=message))
        return ModelResponse(message)


def failed_message(
    model: Model, reason: Literal["error", "aborted"], text: str, *, now_ms: int
) -> AssistantMessage:
    """Make the message that is stored when there is no response."""
    return AssistantMessage(
        api=model.api,
        provider=model.provider,
        model=model.id,
        stop_reason=reason,
        error_message=text,
        timestamp=now_ms,
    )


def _without_content(message: AssistantMessage) -> AssistantMessage:
    """Return the message without content, whatever has arrived already."""
    return AssistantMessage(
        api=message.api,
        provider=message.provider,
        model=message.model,
        response_id=message.response_id,
        usage=message.usage,
        stop_reason="pending",
        timestamp=message.timestamp,
    )


def _watch(
    watchers: list[Policy], delta: Delta, answer: Callable[[], AssistantMessage]
) -> list[Policy]:
    """Pass ``delta`` to the policies; returns those that did not fail."""
    working = watchers
    for policy in watchers:
        try:
            policy.on_delta(delta, answer)
        except StopRun:
            raise
        except Interrupt as cut:
            cut.by = cut.by or type(policy).__name__
            raise
        except Exception:
            log.exception("%s failed during a delta", type(policy).__name__)
            working = [other for other in working if other is not policy]
    return working


def _with_instructions(changed: Request, request: Request, policy: Policy) -> Request:
    """Restore the instructions of ``request`` if ``policy`` dropped all of them."""
    instructions = [message for message in request.messages if isinstance(message, SystemMessage)]
    messages = with_instructions(changed.messages, instructions)
    if len(messages) == len(changed.messages):
        return changed
    log.warning("%s dropped the prompt from a request; it was restored", type(policy).__name__)
    return replace(changed, messages=messages)


def _as_emitted(message: AssistantMessage, unseen: Sequence[StreamEvent]) -> AssistantMessage:
    """Return a cut response without the text that had arrived but was not emitted.

    A server may send a whole response at once. The log keeps only the text that the user saw.
    """
    begun: set[int] = set()
    dropped: dict[int, int] = {}
    for event in unseen:
        match event:
            case TextStart() | ThinkingStart():
                begun.add(event.content_index)
            case (
                TextDelta(content_index=index, delta=text)
                | ThinkingDelta(content_index=index, delta=text)
            ):
                dropped[index] = dropped.get(index, 0) + len(text)
    blocks: list[Text | Thinking | ToolCall] = []
    for index, block in enumerate(message.content):
        length = dropped.get(index, 0)
        if index in begun:
            continue
        if length and isinstance(block, Text):
            block = Text(text=block.text[:-length])
        elif length and isinstance(block, Thinking):
            block = Thinking(thinking=block.thinking[:-length])
        blocks.append(block)
    return replace(message, content=tuple(blocks))


def _stopped(message: AssistantMessage, stop: StopRun) -> AssistantMessage:
    return replace(message, stop_reason="aborted", error_message=stop.reason)


def _without_calls(message: AssistantMessage) -> tuple[Text | Thinking, ...]:
    """Return the content of a cut response without its calls, which never ran."""
    return tuple(block for block in message.content if not isinstance(block, ToolCall))


def _replayable(message: AssistantMessage) -> tuple[Text | Thinking, ...]:
    """Return the content of a cut response that can be sent back: no thinking without signature."""
    return tuple(
        block
        for block in _without_calls(message)
        if not (isinstance(block, Thinking) and block.thinking_signature is UNSET)
    )
