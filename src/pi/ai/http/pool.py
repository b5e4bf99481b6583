"""Connections that wait for their next exchange."""

from __future__ import annotations

import asyncio

from pi.ai.http.connecting import Route
from pi.ai.http.connection import Connection

MAX_RESTING_PER_ROUTE = 8


class Pool:
    """Keeps connections between exchanges; ``open`` holds every one whose socket is open."""

    def __init__(self) -> None:
        self.open: set[Connection] = set()
        self._resting: dict[Route, list[Connection]] = {}

    def take(self, route: Route) -> Connection | None:
        """The connection to ``route`` that was used last and is ready, if there is one."""
        resting = self._resting.get(route, [])
        for connection in reversed(resting):
            if connection.ready:
                resting.remove(connection)
                return connection
        return None

    def keep(self, route: Route, connection: Connection) -> None:
        """Keep a connection that is at rest or will be in a moment."""
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
