"""The gateway's HTTP server: requests in, events of our models out."""

from __future__ import annotations

import math
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Protocol

import msgspec
from aiohttp import web

from pi.batteries.auth_gateway.formats import (
    FORMATS,
    EncodeAnswer,
    EncodeEvent,
    Format,
    UnknownModel,
    listed,
    problem_of,
    retry_after,
)
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
    ServerGuard,
    StreamEvent,
    StreamOptions,
    TextEnd,
    ThinkingEnd,
    bearer,
    one_line,
    replace,
    serve_http,
)

PORT = 4000
MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request: pictures are sent in it."""


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
    """What one model has answered since the start."""

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
        """Returns the application with all routes."""
        app = web.Application(middlewares=[self._check], client_max_size=MAX_BODY)
        for path in FORMATS:
            app.router.add_post(path, self._answer)
        app.router.add_get("/v1/models", self._list)
        app.router.add_get("/v1/usage", self._usage)
        app.router.add_get("/healthz", self._healthz)
        return app

    def serving(self, host: str, port: int) -> AbstractAsyncContextManager[int]:
        """Listen while the context is open; it gives the port.

        A client that goes away cancels its handler, which aborts the request to the model.
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
        messages = question.messages(model)
        stream = self._models.ask(messages, model=model, options=question.options)
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
        if isinstance(events[0], Failed):  # nothing has begun: an error with a status of its own
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
        """The model that a client names: ``provider/id``, or an id alone."""
        known = self._models.available()
        for model in known:
            if f"{model.provider}/{model.id}" == name:
                return model
        for model in known:
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
    if isinstance(event, TextEnd | ThinkingEnd):  # only the message knows its signature
        block = stream.partial.content[event.content_index]
    return encode(event, block)


def _json(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        status=status,
        body=msgspec.json.encode(value),
        content_type="application/json",
        headers=headers or {},
    )
