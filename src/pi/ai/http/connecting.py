"""Opening a connection: TCP, the tunnel of a proxy, TLS."""

from __future__ import annotations

import asyncio
import ssl

from pi.ai.http.connection import Connection
from pi.ai.http.dialing import dial
from pi.ai.http.errors import ConnectFailed, HttpError, ProxyFailed, TimedOut, os_reason
from pi.ai.http.exchange import Exchange
from pi.ai.http.proxy import Proxy, encode_connect
from pi.ai.http.timeouts import NO_TIMEOUTS
from pi.ai.http.tls import TlsContext, tls_failure
from pi.ai.http.urls import Origin
from pi.base.records import Record


class Route(Record):
    """How a server is reached; connections of the same route may stand in for each other."""

    origin: Origin
    proxy: Proxy | None = None

    @property
    def fetching_proxy(self) -> Proxy | None:
        """The proxy that makes plain requests for us; for https it only gives a tunnel."""
        return self.proxy if self.origin.scheme == "http" else None


async def connect(
    route: Route, *, tls: TlsContext, registry: set[Connection], seconds: float | None
) -> Connection:
    """An open connection that can carry a request to ``route.origin``, within ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            return await _connect(route, tls, registry)
    except TimeoutError as problem:
        raise TimedOut(
            f"Connecting to {_name(route)} took longer than {seconds:g} s.", kind="connect"
        ) from problem


async def _connect(route: Route, tls: TlsContext, registry: set[Connection]) -> Connection:
    nearest = route.proxy.origin if route.proxy else route.origin
    connection = await _open(nearest, "proxy " if route.proxy else "", registry)
    try:
        if nearest.scheme == "https":
            await _secure(connection, nearest, tls)
        if route.proxy and not route.fetching_proxy:
            await _tunnel(connection, route.origin, route.proxy)
            connection.peer = _name(route)  # whose certificate comes next
            await _secure(connection, route.origin, tls)
        connection.peer = _name(route)
    except BaseException:
        connection.abort()
        raise
    return connection


async def _open(origin: Origin, role: str, registry: set[Connection]) -> Connection:
    peer = role + origin.netloc
    try:
        dialled = await dial(origin.host, origin.port)
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(peer, registry), sock=dialled
        )
    except OSError as problem:
        raise ConnectFailed(f"Cannot connect to {peer}: {os_reason(problem)}.") from problem
    except UnicodeError as problem:  # a label of the name is empty or too long
        raise ConnectFailed(f"Cannot connect to {peer}: it is not a host name.") from problem
    return connection


async def _secure(connection: Connection, origin: Origin, tls: TlsContext) -> None:
    context = await tls.get()
    try:
        await connection.secure(context, origin.host)
    except ssl.SSLError as problem:
        raise tls_failure(connection.peer, problem) from problem
    except OSError as problem:
        raise ConnectFailed(
            f"{connection.peer} ended the TLS handshake: {os_reason(problem)}."
        ) from problem


async def _tunnel(connection: Connection, origin: Origin, proxy: Proxy) -> None:
    exchange = Exchange(connection, NO_TIMEOUTS, bodiless=True)
    answer = await exchange.send(encode_connect(origin, proxy))
    if not 200 <= answer.status < 300:
        raise proxy_refusal(proxy, origin, answer.status)


def proxy_refusal(proxy: Proxy, origin: Origin, status: int) -> HttpError:
    """The error for a proxy that answers ``status`` in place of ``origin``."""
    who, whom = f"The proxy {proxy.origin.netloc}", origin.netloc
    if status == 407:
        return ProxyFailed(
            f"{who} wants a user name and a password to connect to {whom}.",
            hint="Put those that it accepts into the proxy URL: http://user:password@host:port.",
        )
    if status >= 500:
        return ConnectFailed(f"{who} cannot reach {whom} (status {status}).")
    return ProxyFailed(f"{who} refuses to connect to {whom} (status {status}).")


def _name(route: Route) -> str:
    if route.proxy is None:
        return route.origin.netloc
    return f"{route.origin.netloc} (through proxy {route.proxy.origin.netloc})"
