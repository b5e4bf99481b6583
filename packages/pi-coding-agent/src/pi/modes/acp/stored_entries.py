"""Sends every entry of the session log, so that a client can rebuild the session file.

The protocol has no field for entries. They are in the ``_meta`` of an update that changes nothing
else: clients that do not know pi ignore it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from pi.ai.messages import Json
from pi.modes.acp.updates import pi_meta

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort

BATCH = 1000
"""Maximum of entries in one update: a line of a long session must not become too large."""


class StoredEntries:
    """The entries of one session that the client has, and those that it lacks."""

    def __init__(self, port: SessionPort, send: Callable[[Json], Awaitable[None] | None]) -> None:
        self._port = port
        self._send = send
        self._log = port.entries.log
        self._sent = 0

    def skip(self) -> None:
        """The client has everything that is stored now."""
        self._sent = len(self._log.tree)

    def publish(self) -> None:
        """Send the header if it is new, and all entries that were not sent."""
        log = self._port.entries.log
        if log is not self._log:
            self._log, self._sent = log, 0
        total = len(log.tree)
        while self._sent < total:
            end = min(total, self._sent + BATCH)
            entries = [
                msgspec.Raw(log.line(position).strip()) for position in range(self._sent, end)
            ]
            fields = {"entries": entries} | ({} if self._sent else {"header": log.header})
            self._sent = end
            self._send({"sessionUpdate": "session_info_update", "_meta": pi_meta(**fields)})
