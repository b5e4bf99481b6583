"""Opens connections: TCP, proxy tunnel, TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from itertools import chain, zip_longest
from typing import Any

from pi.ai.http.addresses import AddressPolicy
from pi.ai.http.connection import Connection, HttpExchange
from pi.ai.http.errors import (
    ConnectFailed,
    HttpError,
    InvalidRequest,
    ProxyFailed,
    TimedOut,
    os_reason,
)
from pi.ai.http.request import (
    NO_TIMEOUTS,
    HeaderPairs,
    Origin,
    basic_authorization,
    encode_lines,
    parse_url,
)
from pi.ai.http.tls import TlsContext, tls_failure
from pi.base.records import Record

# TCP (RFC 8305, "happy eyeballs") -----------------------------------------------------------------
#
# If a name has several addresses, the next one is tried while the last is slow. The implementation
# of asyncio is not used: it leaks the socket of an attempt that succeeds at the moment it is
# cancelled (seen with Python 3.11).


_DELAY = 0.25

Address = tuple[Any, ...]
"""Family, type, protocol, canonical name and socket address, as ``getaddrinfo`` returns them."""
Attempt = asyncio.Task[socket.socket]


async def open_socket(host: str, port: int, policy: AddressPolicy | None = None) -> socket.socket:
    """Return a connected socket; raises ``OSError`` or ``UnicodeError`` if no address works.

    With a ``policy`` all addresses are checked first, and only these are tried.
    """
    addresses = _interleaved(await _resolve(host, port))
    for address in addresses if policy is not None else ():
        assert policy is not None
        policy.check(host, port, address[4][0])
    attempts: list[Attempt] = []
    winner: Attempt | None = None
    try:
        winner = await _race(addresses, attempts)
    finally:
        for attempt in attempts:
            if attempt is not winner:
                _give_up(attempt)
    return winner.result()


async def open_stream(
    host: str, port: int, *, policy: AddressPolicy | None, seconds: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the streams of a TCP connection to an address that ``policy`` allows."""
    name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        async with asyncio.timeout(seconds):
            opened = await open_socket(host, port, policy)
        return await asyncio.open_connection(sock=opened)
    except TimeoutError as error:
        raise TimedOut(
            f"Connecting to {name} took longer than {seconds:g} s.", kind="connect"
        ) from error
    except OSError as error:
        raise ConnectFailed(f"Cannot connect to {name}: {os_reason(error)}.") from error
    except UnicodeError as error:  # a label of the name is empty or too long
        raise ConnectFailed(f"Cannot connect to {name}: it is not a host name.") from error


async def _race(addresses: list[Address], attempts: list[Attempt]) -> Attempt:
    """Return the first attempt that succeeds, or the last one if all have failed."""
    running: set[Attempt] = set()
    while addresses or running:
        if addresses:
            attempts.append(asyncio.create_task(_connect_socket(addresses.pop(0))))
            running.add(attempts[-1])
        done, running = await asyncio.wait(
            running,
            timeout=_DELAY if addresses else None,
            return_when=asyncio.FIRST_COMPLETED,
        )
        for attempt in done:
            if attempt.exception() is None:
                return attempt
    return attempts[-1]


async def _connect_socket(address: Address) -> socket.socket:
    family, kind, protocol, _, target = address
    opened = socket.socket(family, kind, protocol)
    try:
        opened.settimeout(0)  # never block: the loop waits
        await asyncio.get_running_loop().sock_connect(opened, target)
    except BaseException:
        opened.close()
        raise
    return opened


def _give_up(attempt: Attempt) -> None:
    """Close the socket of an attempt; a running one does so when it is cancelled."""
    if not attempt.cancel() and attempt.exception() is None:
        attempt.result().close()


async def _resolve(host: str, port: int) -> list[Address]:
    name = host.encode("ascii")  # bytes: text would load the codec of international names
    try:
        # A literal address needs no name server and no thread.
        return list(
            socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        )
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        return list(await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM))


def _interleaved(addresses: list[Address]) -> list[Address]:
    """Return the addresses with alternating families, the preferred family first."""
    families = dict.fromkeys(address[0] for address in addresses)
    columns = ([a for a in addresses if a[0] == family] for family in families)
    return [address for address in chain.from_iterable(zip_longest(*columns)) if address]


class Proxy(Record):
    """An HTTP proxy, reached in plain text or over TLS."""

    origin: Origin
    authorization: str = ""

    @property
    def headers(self) -> HeaderPairs:
        """Headers for requests that the proxy itself answers."""
        if not self.authorization:
            return ()
        return (("Proxy-Authorization", self.authorization),)


def choose_proxy(
    origin: Origin, *, setting: str | None, environ: Mapping[str, str]
) -> Proxy | None:
    """Return the proxy for ``origin``, or None to connect directly.

    ``setting`` takes precedence over the environment; an empty one means no proxy. NO_PROXY applies
    in both cases.
    """
    text = _from_environment(origin.scheme, environ) if setting is None else setting.strip()
    if not text or _is_excepted(origin, _variable("NO_PROXY", environ)):
        return None
    return _parse_proxy(text)


def encode_connect(origin: Origin, proxy: Proxy) -> bytes:
    """Return the CONNECT request for a tunnel to ``origin``."""
    fields = [("Host", origin.netloc), *proxy.headers]
    return encode_lines("CONNECT", origin.netloc, fields)


def _from_environment(scheme: str, environ: Mapping[str, str]) -> str:
    name = f"{scheme.upper()}_PROXY"
    if name == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
        # Inside a CGI script HTTP_PROXY is the visitor's "Proxy:" header (httpoxy).
        return environ.get("http_proxy", "").strip() or _variable("ALL_PROXY", environ)
    return _variable(name, environ) or _variable("ALL_PROXY", environ)


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return (environ.get(name.lower()) or environ.get(name) or "").strip()


def _parse_proxy(text: str) -> Proxy:
    scheme, separator, _ = text.partition("://")
    if separator and scheme.lower() not in ("http", "https"):
        raise ProxyFailed(
            f"Proxies of the kind {scheme}:// are not supported.",
            hint="Use an http:// or https:// proxy, or except the host in NO_PROXY.",
        )
    try:
        url = parse_url(text if separator else f"http://{text}")
    except InvalidRequest as error:
        raise ProxyFailed(
            f"The proxy setting is not usable: {error.message}",
            hint="Check the httpProxy setting and the *_PROXY variables.",
        ) from error
    authorization = basic_authorization(url.userinfo) if url.userinfo else ""
    return Proxy(origin=url.origin, authorization=authorization)


def _is_excepted(origin: Origin, no_proxy: str) -> bool:
    return any(_matches(origin, rule) for rule in no_proxy.lower().replace(",", " ").split())


def _matches(origin: Origin, rule: str) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        return _is_in_network(origin.host, rule)
    name, port = _rule_parts(rule)
    if port and port != str(origin.port):
        return False
    name = name.removeprefix("*").removeprefix(".")
    return bool(name) and (origin.host == name or origin.host.endswith(f".{name}"))


def _rule_parts(rule: str) -> tuple[str, str]:
    """Return host and port of a NO_PROXY entry; a bare IPv6 address has colons and no port."""
    if rule.startswith("["):
        address, _, port = rule[1:].partition("]")
        return address, port.removeprefix(":")
    if rule.count(":") > 1:
        return rule, ""
    name, _, port = rule.partition(":")
    return name, port


def _is_in_network(host: str, rule: str) -> bool:
    from ipaddress import ip_address, ip_network  # lazy: 2 ms, and few users write networks here

    try:
        return ip_address(host) in ip_network(rule, strict=False)
    except ValueError:
        return False


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
        addresses = await _resolve(origin.host, origin.port)
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


def proxy_refusal(proxy: Proxy, origin: Origin, status: int) -> HttpError:
    """Return the error for a proxy that answers ``status`` instead of ``origin``."""
    name, target = f"The proxy {proxy.origin.netloc}", origin.netloc
    if status == 407:
        return ProxyFailed(
            f"{name} requires a user name and a password to connect to {target}.",
            hint="Put those that it accepts into the proxy URL: http://user:password@host:port.",
        )
    if status >= 500:
        return ConnectFailed(f"{name} cannot reach {target} (status {status}).")
    return ProxyFailed(f"{name} refuses to connect to {target} (status {status}).")


def _name(route: Route) -> str:
    if route.proxy is None:
        return route.origin.netloc
    return f"{route.origin.netloc} (through proxy {route.proxy.origin.netloc})"
