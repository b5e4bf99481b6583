"""Opens connections: directly or through a proxy, with TLS."""

from __future__ import annotations

import asyncio
import ssl

from pi.ai.http.addresses import AddressPolicy
from pi.ai.http.connection import Connection
from pi.ai.http.errors import (
    ConnectFailed,
    TimedOut,
    os_reason,
)
from pi.ai.http.exchange import HttpExchange
from pi.ai.http.proxy import Proxy, encode_connect, proxy_refusal
from pi.ai.http.request import NO_TIMEOUTS
from pi.ai.http.tcp import open_socket, resolve_host
from pi.ai.http.tls import TlsContext, tls_failure
from pi.ai.http.url import Origin
from pi.base.records import Record


class Route(Record):
    """Server, proxy and address policy; connections of the same route are interchangeable."""

    origin: Origin
    proxy: Proxy | None = None
    addresses: AddressPolicy | None = None
    """Checked when the connection was opened."""

    @property
    def fetching_proxy(self) -> Proxy | None:
        """The proxy that fetches plain requests for us; for https it only opens a tunnel."""
        return self.proxy if self.origin.scheme == "http" else None


async def connect(
    route: Route, *, tls: TlsContext, registry: set[Connection], seconds: float | None
) -> Connection:
    """Return an open connection to ``route.origin`` within ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            return await _connect(route, tls, registry)
    except TimeoutError as error:
        raise TimedOut(
            f"Connecting to {_name(route)} took longer than {seconds:g} s.", kind="connect"
        ) from error


async def _connect(route: Route, tls: TlsContext, registry: set[Connection]) -> Connection:
    nearest = route.proxy.origin if route.proxy else route.origin
    if route.proxy and route.addresses is not None:
        await _check_behind_proxy(route.origin, route.addresses)
    policy = None if route.proxy else route.addresses
    connection = await _open(nearest, "proxy " if route.proxy else "", registry, policy)
    try:
        if nearest.scheme == "https":
            await _secure(connection, nearest, tls)
        if route.proxy and not route.fetching_proxy:
            await _tunnel(connection, route.origin, route.proxy)
            connection.peer = _name(route)  # the next certificate is the server's
            await _secure(connection, route.origin, tls)
        connection.peer = _name(route)
    except BaseException:
        connection.abort()
        raise
    return connection


async def _check_behind_proxy(origin: Origin, policy: AddressPolicy) -> None:
    """Check the addresses that the proxy will connect to, if the name can be resolved here.

    The proxy resolves the name again and may get other addresses, which cannot be checked here.
    """
    try:
        addresses = await resolve_host(origin.host, origin.port)
    except (OSError, UnicodeError):
        return
    for address in addresses:
        policy.check(origin.host, origin.port, address[4][0])


async def _open(
    origin: Origin, role: str, registry: set[Connection], policy: AddressPolicy | None
) -> Connection:
    peer = role + origin.netloc
    try:
        dialled = await open_socket(origin.host, origin.port, policy)
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(peer, registry), sock=dialled
        )
    except OSError as error:
        raise ConnectFailed(f"Cannot connect to {peer}: {os_reason(error)}.") from error
    except UnicodeError as error:  # a label of the name is empty or too long
        raise ConnectFailed(f"Cannot connect to {peer}: it is not a host name.") from error
    return connection


async def _secure(connection: Connection, origin: Origin, tls: TlsContext) -> None:
    context = await tls.get()
    try:
        await connection.secure(context, origin.host)
    except ssl.SSLError as error:
        raise tls_failure(connection.peer, error) from error
    except OSError as error:
        raise ConnectFailed(
            f"{connection.peer} ended the TLS handshake: {os_reason(error)}."
        ) from error


async def _tunnel(connection: Connection, origin: Origin, proxy: Proxy) -> None:
    exchange = HttpExchange(connection, NO_TIMEOUTS, bodiless=True)
    answer = await exchange.send(encode_connect(origin, proxy))
    if not 200 <= answer.status < 300:
        raise proxy_refusal(proxy, origin, answer.status)


def _name(route: Route) -> str:
    if route.proxy is None:
        return route.origin.netloc
    return f"{route.origin.netloc} (through proxy {route.proxy.origin.netloc})"
