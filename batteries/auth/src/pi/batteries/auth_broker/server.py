"""The broker's HTTP server: ``/v1`` with snapshots, refreshes, blocks and usage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from pi.base.http_server import serve_http
from pi.base.server_guard import ServerGuard, bearer
from pi.batteries.auth_broker.protocol import (
    CHECK_SECONDS,
    MAX_WAIT,
    AccountBlock,
    AccountUsage,
    BrokerUnavailable,
    Limit,
    StoredAccount,
    check_entry,
    shared,
    snapshot_of,
)
from pi.batteries.auth_broker.refresher import AccountGone, Refresher
from pi.batteries.auth_broker.store import BrokerStore
from pi.extension import Clock, Json, PiError, Record, field, one_line, replace

MAX_BODY = 1024 * 1024
LOOK_SECONDS = 1.0
"""Interval of checks for changes of the file, e.g. by ``pi auth-broker login``."""
KEEP_ALIVE_SECONDS = 15.0
"""Pause after which a stream sends a comment, so that proxies keep it open."""

T = TypeVar("T")


class NewCredential(Record):
    """The body of ``POST /v1/credential``."""

    provider: str
    credential: Json
    label: str = ""


class RefreshRequest(Record):
    """The body of ``…/refresh``."""

    version: int | None = None
    """The version whose token was refused; without one, only a login that is due is renewed."""


class DisableRequest(Record):
    """The body of ``…/disable``."""

    reason: str = "disabled by a client"


class BlockRequest(Record):
    """The body of ``…/block``."""

    until: int
    reason: str = ""


class SeenUsage(Record):
    """The body of ``POST /v1/usage``."""

    id: str
    limits: tuple[Limit, ...] = field(default=())
    requests: int = 0


class BrokerServer:
    """Serves one store. Tokens are compared in constant time; refresh tokens are never sent."""

    def __init__(
        self,
        store: BrokerStore,
        refresher: Refresher,
        guard: ServerGuard,
        clock: Clock,
        report: Callable[[str], None],
    ) -> None:
        self._store = store
        self._refresher = refresher
        self._guard = guard
        self._clock = clock
        self._report = report
        self._changed = asyncio.Event()
        self._seen = -1
        self._body = (-1, 0, b"")
        """Generation, time in milliseconds, and bytes of the encoded snapshot."""
        self._usage: dict[str, AccountUsage] = {}

    def application(self) -> web.Application:
        """Return the application with all routes."""
        app = web.Application(middlewares=[self._check], client_max_size=MAX_BODY)
        app.router.add_routes(
            [
                web.get("/v1/healthz", self._healthz),
                web.get("/v1/snapshot", self._snapshot),
                web.get("/v1/snapshot/stream", self._stream),
                web.post("/v1/credential", self._add),
                web.post("/v1/credential/{id}/refresh", self._refresh),
                web.post("/v1/credential/{id}/disable", self._disable),
                web.post("/v1/credential/{id}/block", self._block),
                web.delete("/v1/credential/{id}/blocks", self._unblock),
                web.get("/v1/credentials/disabled", self._disabled),
                web.get("/v1/usage", self._usages),
                web.post("/v1/usage", self._use),
            ]
        )
        return app

    @asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncIterator[int]:
        """Listen until the block is left; yields the port. Renewals are awaited at the end."""
        async with serve_http(self.application(), host, port) as opened:
            work = [
                asyncio.create_task(self._look(), name="broker: look at the file"),
                asyncio.create_task(self._renew(), name="broker: renew"),
            ]
            try:
                yield opened
            finally:
                for task in work:
                    task.cancel()
                await asyncio.gather(*work, return_exceptions=True)
                await self._refresher.settle()

    # Background work ------------------------------------------------------------------------------

    async def _look(self) -> None:
        while True:
            with suppress(PiError):  # a damaged file is reported by the requests
                self._notice()
            await self._clock.sleep(LOOK_SECONDS)

    async def _renew(self) -> None:
        while True:
            try:
                await self._refresher.refresh_due()
            except PiError as error:
                self._report(error.message)
            await self._clock.sleep(CHECK_SECONDS)

    def _notice(self) -> int:
        """Wake waiting clients if the store has changed; returns the generation."""
        generation = self._store.read().generation
        if generation != self._seen:
            self._seen = generation
            self._changed.set()
            self._changed = asyncio.Event()
        return generation

    # Checks and errors of requests ----------------------------------------------------------------

    @web.middleware
    async def _check(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        refusal = self._guard.refusal(
            host=request.headers.get("Host", ""),
            origin=request.headers.get("Origin"),
            presented=bearer(request.headers.get("Authorization")),
            public=request.path == "/v1/healthz",
        )
        if refusal is not None:
            self._refused(request, refusal.reason)
            return _problem(refusal.status, refusal.reason)
        unknown = set(request.query) - {"wait"}
        if unknown:
            self._refused(request, "unknown parameter")
            return _problem(400, f"Unknown parameter {min(unknown)!r}.")
        try:
            return await handler(request)
        except (web.HTTPException, msgspec.MsgspecError, PiError) as error:
            return self._failed(request, error)

    def _failed(
        self, request: web.Request, error: web.HTTPException | msgspec.MsgspecError | PiError
    ) -> web.Response:
        match error:
            case web.HTTPException():
                self._refused(request, error.reason)
                return _problem(error.status, error.reason)
            case AccountGone():
                return _problem(410, error.explain())
            case BrokerUnavailable():
                return _problem(503, error.explain())
            case PiError():
                self._report(error.message)
                return _problem(500, error.explain())
            case _:
                return _problem(400, f"The request cannot be read: {error}")

    def _refused(self, request: web.Request, reason: str) -> None:
        # Neither headers nor the query: they may hold tokens.
        line = f"Refused {request.method} {request.path[:120]} of {request.remote}: {reason}"
        self._report(one_line(line))

    async def _read(self, request: web.Request, kind: type[T]) -> T:
        return msgspec.json.decode(await request.read() or b"{}", type=kind)

    # Endpoints ------------------------------------------------------------------------------------

    async def _healthz(self, request: web.Request) -> web.StreamResponse:
        return _json({"status": "ok", "version": 1})

    async def _snapshot(self, request: web.Request) -> web.StreamResponse:
        wait = _wait(request.query.get("wait"))
        etag = request.headers.get("If-None-Match", "").strip('W/" ')
        generation = self._notice()
        if wait and etag == str(generation):
            generation = await self._newer(generation, wait)
        headers = {"ETag": f'"{generation}"', "Cache-Control": "no-store"}
        if etag == str(generation):
            return web.Response(status=304, headers=headers)
        return web.Response(body=self._encoded(), content_type="application/json", headers=headers)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        sent = -1
        with suppress(ConnectionError):  # the client has gone
            while True:
                generation = self._notice()
                if generation != sent:
                    sent = generation
                    text = f"id: {generation}\nevent: snapshot\ndata: ".encode()
                    await response.write(text + self._encoded() + b"\n\n")
                elif await self._newer(generation, KEEP_ALIVE_SECONDS) == generation:
                    await response.write(b": alive\n\n")
        return response

    async def _add(self, request: web.Request) -> web.StreamResponse:
        new = await self._read(request, NewCredential)
        try:
            check_entry(new.credential)
        except ValueError as error:
            return _problem(400, f"The credential is refused: {error}.")
        account = await self._store.put(new.provider, new.credential, new.label)
        self._notice()
        return _json(msgspec.to_builtins(shared(account)))

    async def _refresh(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(request, RefreshRequest)
        account = await self._refresher.refresh(request.match_info["id"], body.version)
        self._notice()
        return _json(msgspec.to_builtins(shared(account)))

    async def _disable(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(request, DisableRequest)
        return await self._edit(
            request, lambda account: replace(account, disabled=body.reason or "disabled")
        )

    async def _block(self, request: web.Request) -> web.StreamResponse:
        body, now = await self._read(request, BlockRequest), self._clock.now_ms()

        def block(account: StoredAccount) -> StoredAccount:
            current = tuple(entry for entry in account.blocks if entry.until > now)
            new = AccountBlock(until=body.until, reason=body.reason)
            return replace(account, blocks=(*current, new))

        return await self._edit(request, block)

    async def _unblock(self, request: web.Request) -> web.StreamResponse:
        return await self._edit(request, lambda account: replace(account, blocks=()))

    async def _edit(
        self, request: web.Request, edit: Callable[[StoredAccount], StoredAccount]
    ) -> web.StreamResponse:
        id = request.match_info["id"]
        account = await self._store.change_account(id, edit)
        if account is None:
            return _problem(404, f"There is no account {id}.")
        self._notice()
        return _json(msgspec.to_builtins(shared(account)))

    async def _disabled(self, request: web.Request) -> web.StreamResponse:
        rows = [shared(account) for account in self._store.read().accounts if account.disabled]
        return _json({"accounts": msgspec.to_builtins(rows)})

    async def _usages(self, request: web.Request) -> web.StreamResponse:
        ids = {account.id for account in self._store.read().accounts}
        rows = [usage for id, usage in self._usage.items() if id in ids]
        return _json({"accounts": msgspec.to_builtins(rows)})

    async def _use(self, request: web.Request) -> web.StreamResponse:
        seen = await self._read(request, SeenUsage)
        if self._store.read().account(seen.id) is None:
            return _problem(404, f"There is no account {seen.id}.")
        old = self._usage.get(seen.id, AccountUsage(id=seen.id))
        self._usage[seen.id] = AccountUsage(
            id=seen.id,
            limits=seen.limits or old.limits,
            seen_at=self._clock.now_ms(),
            requests=old.requests + max(seen.requests, 0),
        )
        return _json(msgspec.to_builtins(self._usage[seen.id]))

    # Snapshots ------------------------------------------------------------------------------------

    async def _newer(self, generation: int, seconds: float) -> int:
        """Wait for another generation; returns the current one."""
        changed = self._changed
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await changed.wait()
        return self._notice()

    def _encoded(self) -> bytes:
        stored, now = self._store.read(), self._clock.now_ms()
        generation, encoded_at, body = self._body
        # Encoded again after a minute: clients compute the age of their copy from generated_at.
        if generation != stored.generation or now - encoded_at > 60_000:
            body = msgspec.json.encode(snapshot_of(stored, now))
            self._body = (stored.generation, now, body)
        return body


def _wait(text: str | None) -> float:
    try:
        return min(max(float(text or 0), 0.0), MAX_WAIT)
    except ValueError:
        return 0.0


def _json(value: Any) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value),
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def _problem(status: int, message: str) -> web.Response:
    body = msgspec.json.encode({"error": {"message": message}})
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
