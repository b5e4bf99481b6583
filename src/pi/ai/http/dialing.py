"""A TCP connection to a name with several addresses: the next is tried while the last is slow.

This is RFC 8305 ("happy eyeballs"). asyncio has its own, which loses the socket of an attempt that
succeeds in the moment it is cancelled (seen with Python 3.11), and we promise to lose none.
"""

from __future__ import annotations

import asyncio
import socket
from itertools import chain, zip_longest
from typing import Any

_DELAY = 0.25

Address = tuple[Any, ...]
"""Family, type, protocol, canonical name and socket address, as ``getaddrinfo`` gives them."""
Attempt = asyncio.Task[socket.socket]


async def dial(host: str, port: int) -> socket.socket:
    """A connected socket; ``OSError`` or ``UnicodeError`` when no address of ``host`` answers."""
    addresses = _interleaved(await _resolve(host, port))
    attempts: list[Attempt] = []
    winner: Attempt | None = None
    try:
        winner = await _race(addresses, attempts)
    finally:
        for attempt in attempts:
            if attempt is not winner:
                _give_up(attempt)
    return winner.result()


async def _race(addresses: list[Address], attempts: list[Attempt]) -> Attempt:
    """The first attempt that succeeds, or the last one when all have failed."""
    running: set[Attempt] = set()
    while addresses or running:
        if addresses:
            attempts.append(asyncio.create_task(_connect(addresses.pop(0))))
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


async def _connect(address: Address) -> socket.socket:
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
    """Close the socket of an attempt; one that is under way does so when it is cancelled."""
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
    """The addresses with their families in turn, the preferred family first."""
    families = dict.fromkeys(address[0] for address in addresses)
    columns = ([a for a in addresses if a[0] == family] for family in families)
    return [address for address in chain.from_iterable(zip_longest(*columns)) if address]
