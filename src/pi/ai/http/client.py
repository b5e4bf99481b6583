"""The HTTP client: requests, streams, and connections kept between them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType

from pi.ai.http.connecting import Route, connect, proxy_refusal
from pi.ai.http.errors import ConnectionLost
from pi.ai.http.exchange import Exchange
from pi.ai.http.pool import Pool
from pi.ai.http.proxy import Proxy, choose_proxy
from pi.ai.http.redirects import redirected
from pi.ai.http.request import HttpRequest, encode_head
from pi.ai.http.response import MAX_BODY_BYTES, HttpResponse, ResponseStream
from pi.ai.http.response_parser import ResponseHead
from pi.ai.http.timeouts import Timeouts
from pi.ai.http.tls import TlsContext, TlsSettings
from pi.ai.http.urls import parse_url


class HttpClient:
    """Speaks HTTP/1.1 with any server, through the proxy that the settings or ``environ`` name.

    ``proxy`` None means the environment's, an empty one none. Nothing is opened or loaded before
    the first request. Only ``HttpError`` and its children are raised, and ``CancelledError``,
    after which the socket is closed. Kept connections belong to the running event loop.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str],
        proxy: str | None = None,
        tls: TlsSettings | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._environ = environ
        self._proxy = proxy
        self._tls = TlsContext(tls or TlsSettings(), environ)
        self._timeouts = timeouts or Timeouts()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = Pool()

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[ResponseStream]:
        """A response as it arrives.

        Leaving the block early is fine: the connection is kept if the response ends within a
        moment. Leaving it with an exception closes the connection at once.
        """
        while True:
            route, exchange, head = await self._ask(request)
            try:
                if head.status == 407 and (proxy := route.fetching_proxy):
                    raise proxy_refusal(proxy, route.origin, head.status)
                following = redirected(request, head.status, head.headers)
                if following is None:
                    yield ResponseStream(head, exchange)
            except BaseException:
                exchange.cancel()
                raise
            if exchange.finish():
                self._pool.keep(route, exchange.connection)
            if following is None:
                return
            request = following

    async def request(self, request: HttpRequest, *, limit: int = MAX_BODY_BYTES) -> HttpResponse:
        """A whole response, whose body is at most ``limit`` bytes."""
        async with self.stream(request) as response:
            body = await response.read(limit=limit)
            return HttpResponse(status=response.status, headers=response.headers, body=body)

    def proxy_for(self, url: str) -> Proxy | None:
        """The proxy before ``url``, for protocols that begin as HTTP and then go on alone."""
        return choose_proxy(parse_url(url).origin, setting=self._proxy, environ=self._environ)

    async def tls_context(self) -> ssl.SSLContext:
        """The certificates of this client, for the same use."""
        return await self._tls.get()

    async def close(self) -> None:
        """Close every connection, also those in use; no file descriptor is left."""
        await self._current_pool().close()

    async def __aenter__(self) -> HttpClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _ask(self, request: HttpRequest) -> tuple[Route, Exchange, ResponseHead]:
        url = parse_url(request.url)
        proxy = choose_proxy(url.origin, setting=self._proxy, environ=self._environ)
        route = Route(origin=url.origin, proxy=proxy)
        fetching = route.fetching_proxy
        lines = encode_head(request, url, proxy_headers=fetching.headers if fetching else None)
        timeouts = request.timeouts or self._timeouts
        bodiless = request.method == "HEAD"
        pool = self._current_pool()
        if (kept := pool.take(route)) is not None:
            exchange = Exchange(kept, timeouts, bodiless=bodiless)
            try:
                return route, exchange, await exchange.send(lines, request.body)
            except ConnectionLost:
                if exchange.answered:
                    raise
                # The server hung up while the connection rested: ask again on a new one.
        connection = await connect(
            route, tls=self._tls, registry=pool.open, seconds=timeouts.limit("connect")
        )
        exchange = Exchange(connection, timeouts, bodiless=bodiless)
        return route, exchange, await exchange.send(lines, request.body)

    def _current_pool(self) -> Pool:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # what an earlier loop had opened ended with it
            self._loop, self._pool = loop, Pool()
        return self._pool
