"""How long to wait for a server, and for what."""

from __future__ import annotations

from typing import Literal

from pi.base.records import Record

TimeoutKind = Literal["connect", "first_byte", "idle"]


class Timeouts(Record):
    """Three waits in seconds, each off when it is None or 0."""

    connect: float | None = 30.0
    """Until the connection can carry a request: name, TCP, proxy and TLS together."""
    first_byte: float | None = 300.0
    """From the end of the request to the first byte of the response."""
    idle: float | None = 300.0
    """Between two reads of a response, or two writes of a request."""

    def limit(self, kind: TimeoutKind) -> float | None:
        """Seconds allowed for ``kind``, None when it may take for ever."""
        seconds: float | None = getattr(self, kind)
        return seconds if seconds and seconds > 0 else None


NO_TIMEOUTS = Timeouts(connect=None, first_byte=None, idle=None)
"""Wait for ever: for exchanges that stand under a deadline already."""
