"""Opens TCP connections (RFC 8305, "happy eyeballs").

If a name has several addresses, the next one is tried while the last is slow. The implementation of
asyncio is not used: it leaks the socket of an attempt that succeeds at the moment it is cancelled
(seen with Python 3.11).
"""

from __future__ import annotations

import asyncio
import socket
from itertools import chain, zip_longest
from typing import Any

from pi.ai.http.addresses import AddressPolicy
from pi.ai.http.errors import (
    ConnectFailed,
    TimedOut,
    os_reason,
)

_DELAY = 0.25

Address = tuple[Any, ...]
"""Family, type, protocol, canonical name and socket address, as ``getaddrinfo`` returns them."""

Attempt = asyncio.Task[socket.socket]


async def open_socket(host: str, port: int, policy: AddressPolicy | None = None) -> socket.socket:
    """Return a connected socket; raises ``OSError`` or ``UnicodeError`` if no address works.

    With a ``policy`` all addresses are checked first, and only these are tried.
    """
    addresses = _interleaved(await resolve_host(host, port))
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


async def resolve_host(host: str, port: int) -> list[Address]:
    """Return the addresses of a name, or of a literal address."""
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
