"""HTTP client: requests, streams, redirects, and the pool of kept connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType

from pi.ai.http.connect import Route, connect
from pi.ai.http.connection import Connection
from pi.ai.http.errors import BadResponse, ConnectionLost, InvalidRequest
from pi.ai.http.exchange import MAX_BODY_BYTES, HttpExchange, HttpResponse, ResponseStream
from pi.ai.http.proxy import Proxy, choose_proxy, proxy_refusal
from pi.ai.http.request import HttpRequest, Timeouts, encode_head
from pi.ai.http.response_parser import Headers, ResponseHead
from pi.ai.http.tls import TlsContext, TlsSettings
from pi.ai.http.url import parse_url
from pi.base.records import replace

MAX_RESTING_PER_ROUTE = 8


class Pool:
    """Keeps idle connections; ``open`` holds every connection whose socket is open."""

    def __init__(self) -> None:
        self.open: set[Connection] = set()
        self._resting: dict[Route, list[Connection]] = {}

    def take(self, route: Route) -> Connection | None:
        """Return the most recently used ready connection to ``route``, if there is one."""
        resting = self._resting.get(route, [])
        for connection in reversed(resting):
            if connection.ready:
                resting.remove(connection)
                return connection
        return None

    def keep(self, route: Route, connection: Connection) -> None:
        """Keep a connection that is idle or will be in a moment."""
        resting = [other for other in self._resting.get(route, ()) if not other.ended]
        if len(resting) >= MAX_RESTING_PER_ROUTE:
            resting.pop(0).abort()
        self._resting[route] = [*resting, connection]

    async def close(self) -> None:
        """Close every socket, also those in use, and wait until they are closed."""
        self._resting.clear()
        closing = list(self.open)
        for connection in closing:
            connection.abort()
        if closing:
            await asyncio.wait([connection.closed for connection in closing])
        await asyncio.sleep(0)  # asyncio closes the socket of a failed handshake one step later


_STATUSES = frozenset({301, 302, 303, 307, 308})
_SAFE_HEADERS = frozenset({"accept", "accept-encoding", "accept-language", "range", "user-agent"})


def redirected(request: HttpRequest, status: int, headers: Headers) -> HttpRequest | None:
    """Return the request of a redirect, or None if the response is final.

    Another origin gets no header that could be a credential, and https never falls back to http.
    """
    if status not in _STATUSES or request.method not in ("GET", "HEAD") or not request.redirects:
        return None
    if not (location := headers.get("location")):
        return None
    from urllib.parse import urljoin  # lazy: redirects are rare and this import costs 3 ms

    origin = parse_url(request.url).origin
    try:
        target_url = urljoin(request.url, location)
        target = parse_url(target_url).origin
    except (ValueError, InvalidRequest) as error:
        raise BadResponse(f"{origin.netloc} redirects to an invalid URL.") from error
    if origin.scheme == "https" and target.scheme == "http":
        raise BadResponse(f"{origin.netloc} redirects from https to plain http; not followed.")
    safe_headers = request.headers
    if target != origin:
        safe_headers = tuple(pair for pair in safe_headers if pair[0].lower() in _SAFE_HEADERS)
    return replace(request, url=target_url, headers=safe_headers, redirects=request.redirects - 1)


class HttpClient:
    """HTTP/1.1 client, using the proxy of the settings or of ``environ``.

    ``proxy`` is None for that of the environment, empty for no proxy. Nothing is opened or loaded
    before the first request. Only ``HttpError`` and its subclasses are raised, and
    ``CancelledError``, after which the socket is closed. Kept connections belong to the running
    event loop.
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
        self.tls = TlsContext(tls or TlsSettings(), environ)
        """Also used for protocols that begin as HTTP, such as WebSocket."""
        self._timeouts = timeouts or Timeouts()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool = Pool()

    @asynccontextmanager
    async def stream(
        self, request: HttpRequest, *, limit: int | None = None
    ) -> AsyncIterator[ResponseStream]:
        """Yield a response as a stream, which raises ``BodyTooLarge`` after ``limit`` bytes.

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
                    yield ResponseStream(head, exchange, url=request.url, limit=limit)
            except BaseException:
                exchange.cancel()
                raise
            if exchange.finish():
                self._pool.keep(route, exchange.connection)
            if following is None:
                return
            request = following

    async def request(self, request: HttpRequest, *, limit: int = MAX_BODY_BYTES) -> HttpResponse:
        """Return a whole response, whose body is at most ``limit`` bytes."""
        async with self.stream(request) as response:
            body = await response.read(limit=limit)
            return HttpResponse(
                status=response.status, headers=response.headers, body=body, url=response.url
            )

    def proxy_for(self, url: str) -> Proxy | None:
        """Return the proxy for ``url``, for protocols that begin as HTTP, such as WebSocket."""
        return choose_proxy(parse_url(url).origin, setting=self._proxy, environ=self._environ)

    async def close(self) -> None:
        """Close every connection, also those in use; no file descriptor is left."""
        await self._current_pool().close()

    async def __aenter__(self) -> HttpClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _ask(self, request: HttpRequest) -> tuple[Route, HttpExchange, ResponseHead]:
        url = parse_url(request.url)
        proxy = choose_proxy(url.origin, setting=self._proxy, environ=self._environ)
        route = Route(origin=url.origin, proxy=proxy, addresses=request.addresses)
        fetching = route.fetching_proxy if proxy else None
        lines = encode_head(request, url, proxy_headers=fetching.headers if fetching else None)
        timeouts = request.timeouts or self._timeouts
        bodiless = request.method == "HEAD"
        pool = self._current_pool()
        if (resting := pool.take(route)) is not None:
            exchange = HttpExchange(resting, timeouts, bodiless=bodiless)
            try:
                return route, exchange, await exchange.send(lines, request.body)
            except ConnectionLost:
                if exchange.parser.started:
                    raise
                # The server closed the idle connection: send the request again on a new one.
        connection = await connect(
            route, tls=self.tls, registry=pool.open, seconds=timeouts.limit("connect")
        )
        exchange = HttpExchange(connection, timeouts, bodiless=bodiless)
        return route, exchange, await exchange.send(lines, request.body)

    def _current_pool(self) -> Pool:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # connections of an earlier loop ended with it
            self._loop, self._pool = loop, Pool()
        return self._pool
