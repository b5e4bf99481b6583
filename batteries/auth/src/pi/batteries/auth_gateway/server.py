"""The gateway's HTTP server, and the four formats of its requests."""

from __future__ import annotations

import math
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any, Protocol, TypeAlias

import msgspec
from aiohttp import web

from pi.ai.events import TextEnd, ThinkingEnd
from pi.ai.wire.pi_messages import server as pi_messages
from pi.base.http_server import serve_http
from pi.base.server_guard import ServerGuard, bearer
from pi.batteries.auth_gateway.codecs import chat_completions, messages, responses
from pi.batteries.auth_gateway.codecs.served import EventEncoder, messages_for
from pi.batteries.auth_gateway.failures import UnknownModel, problem_of, retry_after
from pi.extension import (
    AssistantMessage,
    Clock,
    EventStream,
    Failed,
    Json,
    Message,
    Model,
    ProviderError,
    Record,
    StreamEvent,
    StreamOptions,
    one_line,
    replace,
)

MAX_BODY = 64 * 1024 * 1024
"""Maximum bytes of a request, which may contain pictures."""
ErrorShape: TypeAlias = Callable[[str, str], Json]
"""Returns the body of an error with a kind and a message."""


EncodeEvent: TypeAlias = Callable[[StreamEvent, Any], bytes]
"""Returns the bytes for an event and the block that it ends, if it ends one."""
EncodeAnswer: TypeAlias = Callable[[AssistantMessage], Json]


class ModelSource(Protocol):
    """``pi.models``."""

    def available(self) -> tuple[Model, ...]:
        """Every model that has credentials."""
        ...

    def ask(
        self, question: tuple[Message, ...], *, model: Model, options: StreamOptions
    ) -> EventStream:
        """Send a request and iterate over the answer."""
        ...


class ModelUse(Record):
    """Requests, tokens and cost of one model since the start of the gateway."""

    requests: int = 0
    failed: int = 0
    input: int = 0
    output: int = 0
    cost: float = 0.0


class GatewayServer:
    """Serves the models that have credentials. Every request is decoded and encoded again."""

    def __init__(
        self,
        models: ModelSource,
        guard: ServerGuard,
        clock: Clock,
        report: Callable[[str], None],
        source_of: Callable[[str], str] = lambda provider: "",
    ) -> None:
        self._models = models
        self._guard = guard
        self._clock = clock
        self._report = report
        self._source_of = source_of
        self._use: dict[str, ModelUse] = {}

    def application(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(middlewares=[self._check], client_max_size=MAX_BODY)
        for path in FORMATS:
            app.router.add_post(path, self._answer)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/v1/usage", self._usage)
        app.router.add_get("/healthz", self._healthz)
        return app

    def serving(self, host: str, port: int) -> AbstractAsyncContextManager[int]:
        """Listen while the context is open; it yields the port.

        A client that disconnects cancels its handler, which aborts the request to the model.
        """
        return serve_http(self.application(), host, port, cancels_handlers=True)

    @web.middleware
    async def _check(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        key = request.headers.get("x-api-key")
        refusal = self._guard.refusal(
            host=request.headers.get("Host", ""),
            origin=request.headers.get("Origin"),
            presented=(*bearer(request.headers.get("Authorization")), *((key,) if key else ())),
            public=request.path == "/healthz",
        )
        form = FORMATS.get(request.path, FORMATS["/v1/chat/completions"])
        if refusal is not None:
            # Neither headers nor the query: they may hold tokens.
            line = f"Refused {request.method} {request.path[:120]} of {request.remote}: "
            self._report(one_line(line + refusal.reason))
            kind = "authentication_error" if refusal.status == 401 else "permission_error"
            return _json(form.error(kind, refusal.reason), refusal.status)
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _json(form.error("not_found_error", error.reason), error.status)

    # Answers --------------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        form = FORMATS[request.path]
        try:
            question = form.read(await request.read())
            model = self._model(question.model)
        except (ProviderError, UnknownModel) as error:
            return self._failed(form, error, error.message)
        stream = self._models.ask(question.messages(model), model=model, options=question.options)
        stream.on_end = lambda message: self._count(model, message)
        id, created = f"{form.prefix}{secrets.token_hex(12)}", self._clock.now_ms() // 1000
        async with aclosing(stream):
            if question.whole is not None:
                return await self._whole(form, stream, question.whole(id, created))
            return await self._events(request, form, stream, question.events(id, created))

    async def _whole(
        self, form: Format, stream: EventStream, encode: EncodeAnswer
    ) -> web.StreamResponse:
        message = await stream.result()
        if message.stop_reason in ("error", "aborted"):
            return self._failed(form, stream.failure, message.error_message or "aborted")
        return _json(encode(message))

    async def _events(
        self, request: web.Request, form: Format, stream: EventStream, encode: EncodeEvent
    ) -> web.StreamResponse:
        events = await stream.take()
        if isinstance(events[0], Failed):  # before the answer: an HTTP error instead of a stream
            message = events[0].error.error_message or events[0].reason
            return self._failed(form, stream.failure, message)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        with suppress(ConnectionResetError):  # the client has gone; the stream is closed
            while events:
                # One write for all events of a read: a system call costs more than their encoding.
                data = b"".join([_encoded(event, stream, encode) for event in events])
                if data:
                    await response.write(data)
                events = await stream.take()
            await response.write_eof()
        return response

    def _model(self, name: str) -> Model:
        """The model with the name ``provider/id`` or the id. Raises ``UnknownModel``."""
        models = self._models.available()
        for model in models:
            if f"{model.provider}/{model.id}" == name:
                return model
        for model in models:
            if model.id == name:
                return model
        raise UnknownModel(f"There is no model {name[:100]!r} with credentials here.")

    def _failed(self, form: Format, failure: Exception | None, message: str) -> web.Response:
        problem = problem_of(failure)
        headers = {"x-should-retry": "true" if problem.retry else "false"}
        wait = retry_after(failure)
        if wait is not None:
            headers["Retry-After"] = str(math.ceil(wait))
        return _json(form.error(problem.kind, message), problem.status, headers)

    def _count(self, model: Model, message: AssistantMessage) -> None:
        name = f"{model.provider}/{model.id}"
        old, usage = self._use.get(name, ModelUse()), message.usage
        self._use[name] = replace(
            old,
            requests=old.requests + 1,
            failed=old.failed + (message.stop_reason in ("error", "aborted")),
            input=old.input + usage.input + usage.cache_read + usage.cache_write,
            output=old.output + usage.output,
            cost=old.cost + usage.cost.total,
        )

    # Information ----------------------------------------------------------------------------------

    async def _list(self, request: web.Request) -> web.StreamResponse:
        return _json(listed(self._models.available()))

    async def _usage(self, request: web.Request) -> web.StreamResponse:
        providers = sorted({model.provider for model in self._models.available()})
        sources = {name: text for name in providers if (text := self._source_of(name))}
        return _json({"models": msgspec.to_builtins(self._use), "credentials": sources})

    async def _healthz(self, request: web.Request) -> web.StreamResponse:
        return _json({"status": "ok", "version": 1})


def _encoded(event: StreamEvent, stream: EventStream, encode: EncodeEvent) -> bytes:
    block = None
    if isinstance(event, TextEnd | ThinkingEnd):  # its signature is only in the message
        block = stream.partial.content[event.content_index]
    return encode(event, block)


def _json(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        status=status,
        body=msgspec.json.encode(value),
        content_type="application/json",
        headers=headers or {},
    )


class Question(Record):
    """A decoded request of a client."""

    model: str
    options: StreamOptions
    messages: Callable[[Model], tuple[Message, ...]]
    """Returns the conversation for the model that answers."""
    events: Callable[[str, int], EncodeEvent]
    """Returns the encoder of the answer's events; gets an id and the time in seconds."""
    whole: Callable[[str, int], EncodeAnswer] | None = None
    """Returns the encoder of the whole answer; ``None`` if the client requested events."""


class Format(Protocol):
    """One format of requests and answers."""

    prefix: str
    """The beginning of the ids of its answers."""

    def read(self, body: bytes) -> Question:
        """Decode a request; raises ``BadRequest``."""
        ...

    def error(self, kind: str, message: str) -> Json:
        """The body of an error."""
        ...


class ServedFormat:
    """Chat Completions, Messages or Responses, by their server modules."""

    def __init__(
        self, codec: Any, encoder: Callable[..., EventEncoder], prefix: str, error: ErrorShape
    ) -> None:
        self._codec = codec
        self._encoder = encoder
        self.prefix = prefix
        self.error = error

    def read(self, body: bytes) -> Question:
        """Decode a request; raises ``BadRequest``."""
        request = self._codec.decode_request(body)
        api = self._codec.API

        def whole(id: str, created: int) -> EncodeAnswer:
            return self._encoder(request, id, created).whole

        return Question(
            model=request.model,
            options=request.options,
            messages=lambda target: messages_for(request, api, target),
            events=lambda id, created: self._encoder(request, id, created).encode,
            whole=None if request.stream else whole,
        )


class PiFormat:
    """The events of pi itself, as the wire ``pi-messages`` sends them; always a stream."""

    prefix = "pi_"

    def read(self, body: bytes) -> Question:
        """Decode a request; raises ``BadRequest``."""
        request = pi_messages.read_proxy_request(body)
        return Question(
            model=request.model,
            options=pi_messages.proxy_stream_options(request.options),
            messages=lambda target: pi_messages.proxy_messages(request, target),
            events=lambda id, created: _pi_event,
        )

    def error(self, kind: str, message: str) -> Json:
        """The body of an error."""
        return {"error": {"type": kind, "message": message}}


def _pi_event(event: StreamEvent, block: Any) -> bytes:
    return pi_messages.encode_event(event, block=block)


def _openai_error(kind: str, message: str) -> Json:
    return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


def _anthropic_error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


FORMATS: dict[str, Format] = {
    "/v1/chat/completions": ServedFormat(
        chat_completions,
        lambda request, id, created: chat_completions.ChatEncoder(
            request, response_id=id, created=created
        ),
        "chatcmpl-",
        _openai_error,
    ),
    "/v1/messages": ServedFormat(
        messages,
        lambda request, id, created: messages.MessagesEncoder(request, response_id=id),
        "msg_",
        _anthropic_error,
    ),
    "/v1/responses": ServedFormat(
        responses,
        lambda request, id, created: responses.ResponsesEncoder(
            request, response_id=id, created=created
        ),
        "resp_",
        _openai_error,
    ),
    "/v1/pi/stream": PiFormat(),
    "/v1/pi/messages": PiFormat(),
}
"""Formats by path. The wire ``pi-messages`` appends ``/messages`` to its base URL."""


def listed(models: tuple[Model, ...]) -> Json:
    """The list of models, with the fields that the SDKs of OpenAI and Anthropic read."""
    rows = [
        {
            "id": f"{model.provider}/{model.id}",
            "object": "model",
            "type": "model",
            "created": 0,
            "created_at": "1970-01-01T00:00:00Z",
            "owned_by": model.provider,
            "display_name": model.name,
        }
        for model in models
    ]
    ends = {"first_id": rows[0]["id"], "last_id": rows[-1]["id"]} if rows else {}
    return {"object": "list", "data": rows, "has_more": False, **ends}
