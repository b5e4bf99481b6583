"""Posts a request over HTTP and feeds the events of the response to a decoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Protocol, runtime_checkable

from msgspec import field

from pi.ai.builder import MessageBuilder
from pi.ai.errors import (
    BadAnswer,
    ProviderError,
    RateLimited,
)
from pi.ai.event_stream import Flush
from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.exchange import ResponseStream
from pi.ai.http.request import HttpRequest, Timeouts
from pi.ai.json_text import json_bytes
from pi.ai.kept import KeptSessions
from pi.ai.messages import Json
from pi.ai.request import Call, StreamOptions
from pi.ai.wire_support.repeats import FailedRequests
from pi.ai.wire_support.response_limits import Allowance, KeepAliveLimit
from pi.ai.wire_support.sse import ServerEvent, SseReader
from pi.base.clock import Clock
from pi.base.records import Record, replace
from pi.base.tasks import off_loop

MAX_ERROR_BYTES = 64 * 1024
"""Bytes of an error page that are read."""
MAX_BACKOFF = 8.0
"""Maximum seconds between two attempts, where the server requests no delay."""

RETRY_COUNT = "x-stainless-retry-count"
"""The header of the SDKs of OpenAI and Anthropic: a server with a cache of answers, or one that
records rollouts, tells a repeated request from a second one by it."""
_COUNTING_APIS = ("openai-", "azure-openai-", "anthropic-")

_OPENAI_TIMEOUTS = (
    ("first_byte", "PI_OPENAI_STREAM_FIRST_EVENT_TIMEOUT_MS"),
    ("idle", "PI_OPENAI_STREAM_IDLE_TIMEOUT_MS"),
)
"""Variables for timeouts, in milliseconds."""


class Services(Record):
    """Resources of the wires: HTTP client, clock, environment."""

    http: HttpClient
    clock: Clock
    environ: Mapping[str, str]
    kept: KeptSessions = field(default_factory=KeptSessions)
    """What the wires made of the messages of running sessions."""
    failed: FailedRequests = field(default_factory=FailedRequests)
    """The requests that failed last; a repeated one says so."""
    closing: AsyncExitStack = field(default_factory=AsyncExitStack)
    """Callbacks that close the connections which wires keep open between requests."""

    async def close(self) -> None:
        """Close connections that requests have left open."""
        await self.closing.aclose()
        await self.http.close()


class Decoder(Protocol):
    """Decodes the events of one wire and passes them to the builder. Pure."""

    finished: bool
    """Set by the wire's last event, or by its error: nothing after it is read."""

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode the events of one chunk up to the last one of the response.

        Raises ``ProviderError`` for an error inside the stream.
        """
        ...

    def end(self) -> None:
        """Called if the stream ended without the wire's last event: finish, or raise."""
        ...


@runtime_checkable
class IdleEndDecoder(Decoder, Protocol):
    """A decoder of a wire whose last event cannot be recognised for certain."""

    over_after: float | None
    """Seconds of silence that end the response; ``None`` while more is expected."""


class EventFramer(Protocol):
    """Splits a body into events."""

    first_bytes: bytes
    seen_event: bool

    def feed(self, chunk: bytes) -> Iterable[ServerEvent]:
        """Return the events that ``chunk`` completes."""
        ...

    def finish(self) -> Iterable[ServerEvent]:
        """Return the event at the end of the body."""
        ...


async def apply_payload_hook(call: Call, payload: Json) -> Json:
    """Return ``payload``, or its replacement by the caller's hook."""
    if call.options.on_payload is None:
        return payload
    replacement = await call.options.on_payload(payload, call.model)
    return payload if replacement is None else replacement


async def send(
    call: Call,
    payload: Json | bytes,
    *,
    url: str,
    headers: Mapping[str, str],
    decoder: Callable[[], Decoder],
    builder: MessageBuilder,
    flush: Flush,
    services: Services,
    frames: EventFramer | None = None,
) -> None:
    """Post ``payload`` and feed the response to a decoder until it has finished.

    The decoder is created when the response begins, so that its import does not delay the request.
    Bytes are posted unchanged, e.g. because a signature covers them. A rejected request is retried
    as often as the call allows; a response that has begun is not. Raises ``ProviderError`` for
    every failure; the partial response is in the builder.
    """
    body = (
        payload
        if isinstance(payload, bytes)
        else await off_loop(partial(json_bytes, payload), len(call.messages))
    )
    request = HttpRequest(
        method="POST",
        url=url,
        headers=final_headers(call, headers),
        body=body,
        timeouts=timeouts(call, services.environ),
    )
    answering = False
    for wait in (*_waits(call.options), None):
        try:
            sent = _counted(request, call, services.failed.attempts(body))
            async with services.http.stream(sent) as response:
                await _report(call, response)
                if not 200 <= response.status < 300:
                    prefix = await response.read_prefix(MAX_ERROR_BYTES)
                    raise _refused(response, prefix, services.clock)
                answering = True
                builder.start()
                keep_alives = KeepAliveLimit(call, services.clock)
                await _read(response, frames or SseReader(), decoder(), builder, flush, keep_alives)
                services.failed.forget(body)
                return
        except HttpError as error:
            failure = _connection_error(error)
            failure.__cause__ = error
        except RateLimited as rate_limit:
            failure = rate_limit
        except ProviderError:
            services.failed.add(body)
            raise
        services.failed.add(body)
        delay = None if answering else _delay(failure, wait, call.options)
        if delay is None:
            raise failure
        await services.clock.sleep(delay)


def _counted(request: HttpRequest, call: Call, attempts: int) -> HttpRequest:
    """Return a request with the number of its failed attempts, where servers know the header."""
    if not attempts or not call.model.api.startswith(_COUNTING_APIS):
        return request
    return replace(request, headers=(*request.headers, (RETRY_COUNT, str(attempts))))


def _waits(options: StreamOptions) -> Iterator[float]:
    """Yield the seconds before each retry, where the server requests no delay."""
    return (min(0.5 * 2**attempt, MAX_BACKOFF) for attempt in range(options.max_retries))


def _delay(failure: ProviderError, wait: float | None, options: StreamOptions) -> float | None:
    """Return the seconds before a retry; ``None`` if it is not allowed or useless."""
    if wait is None or not isinstance(failure, RateLimited):
        return None
    delay = wait if failure.retry_after is None else failure.retry_after
    longest = options.max_retry_delay_ms / 1000 or math.inf
    return delay if delay <= longest else None


# Failures are classified by a deferred import: every first request would pay for it.
def _refused(response: ResponseStream, body: bytes, clock: Clock) -> ProviderError:
    from pi.ai.failures.classify import from_status  # lazy: for failures only

    return from_status(response.status, response.headers, body, clock)


def _connection_error(error: HttpError) -> ProviderError:
    from pi.ai.failures.classify import from_http  # lazy: for failures only

    return from_http(error)


def _error_in_body(body: bytes) -> ProviderError | None:
    from pi.ai.failures.classify import from_body  # lazy: for failures only

    return from_body(body)


async def _read(
    response: ResponseStream,
    frames: EventFramer,
    decoder: Decoder,
    builder: MessageBuilder,
    flush: Flush,
    keep_alives: KeepAliveLimit,
) -> None:
    idle_decoder = decoder if isinstance(decoder, IdleEndDecoder) else None
    allowance = Allowance(builder)
    try:
        async for chunk in response:
            allowance.spend(len(chunk))
            decoder.feed(frames.feed(chunk))
            if decoder.finished:
                return
            keep_alives.received(has_events=builder.has_news)
            flush()
            if idle_decoder is not None:
                response.exchange.allow_silence(idle_decoder.over_after)
    except HttpError:
        if idle_decoder is None or idle_decoder.over_after is None:
            raise
    decoder.feed(frames.finish())
    if decoder.finished:
        return
    if not frames.seen_event:
        raise _error_in_body(frames.first_bytes) or BadAnswer(
            "The server closed the connection without an answer."
        )
    decoder.end()


async def _report(call: Call, response: ResponseStream) -> None:
    if call.options.on_response is not None:
        await call.options.on_response(response.status, dict(response.headers), call.model)


def final_headers(call: Call, headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the wire's headers, overlaid by the model's, the credential's and the caller's.

    The caller removes a header with ``None``.
    """
    merged: dict[str, tuple[str, str]] = {}
    layers: tuple[Mapping[str, str | None], ...] = (
        headers,
        call.model.headers or {},
        call.access.headers,
        call.options.headers or {},
    )
    for layer in layers:
        for name, value in layer.items():
            if value is None:
                merged.pop(name.lower(), None)
            else:
                merged[name.lower()] = (name, value)
    return tuple(merged.values())


def timeouts(call: Call, environ: Mapping[str, str]) -> Timeouts | None:
    """Return the caller's timeouts; ``0`` means no limit.

    With the wires of OpenAI, variables in ``environ`` apply too.
    """
    limits: dict[str, float] = {}
    if call.options.timeout_ms is not None:
        limits = dict.fromkeys(("first_byte", "idle"), call.options.timeout_ms / 1000)
    if call.model.api.startswith("openai-"):
        named = {name: _seconds(environ.get(variable)) for name, variable in _OPENAI_TIMEOUTS}
        limits |= {name: seconds for name, seconds in named.items() if seconds}
    return Timeouts(**limits) if limits else None


def _seconds(milliseconds: str | None) -> float:
    return int(milliseconds) / 1000 if milliseconds and milliseconds.isdecimal() else 0
