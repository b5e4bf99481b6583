"""Why an HTTP exchange failed.

HttpError
├── InvalidRequest      the URL or a header cannot be sent: a bug or a wrong setting of ours
├── ConnectFailed       no connection to the host: name, network, refused
├── TlsFailed           a certificate or the TLS versions do not fit
├── ProxyFailed         the proxy setting or the proxy itself says no
├── TimedOut            ``kind`` says which of the three timeouts ran out
├── ConnectionLost      closed or reset before the answer began
│   └── BodyTruncated   closed or reset in the middle of the answer
└── BadResponse         the answer is not HTTP/1.1, or breaks a limit
    └── BodyTooLarge    its body exceeds the caller's limit

``retryable`` says whether the same request may go well a moment later. Messages are one line and
name the host, never the URL: a URL may hold a key.
"""

from __future__ import annotations

import os
from typing import Literal

from pi.base.errors import PiError
from pi.base.records import Record

# How long to wait for a server, and for what.


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


class HttpError(PiError):
    """An exchange with a server did not come to a whole response."""

    retryable = False


class InvalidRequest(HttpError):
    """The request cannot be put on the wire as it is."""


class ConnectFailed(HttpError):
    """The host could not be reached."""

    retryable = True


class TlsFailed(HttpError):
    """The two sides do not trust or do not understand each other."""


class ProxyFailed(HttpError):
    """The proxy cannot be used, or refuses to serve us."""


class TimedOut(HttpError):
    """Nothing happened for as long as the timeout called ``kind`` allows."""

    retryable = True

    def __init__(self, message: str, *, kind: TimeoutKind) -> None:
        super().__init__(message)
        self.kind: TimeoutKind = kind


class ConnectionLost(HttpError):
    """The connection ended before the response was whole."""

    retryable = True


class BodyTruncated(ConnectionLost):
    """The response began and then stopped early."""


class BadResponse(HttpError):
    """What arrived is not a response that we accept."""


class BodyTooLarge(BadResponse):
    """The decoded body is larger than the caller accepts."""


def os_reason(error: OSError) -> str:
    """The operating system's words for ``error``, in one line."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    words = error.strerror or str(error) or type(error).__name__
    return " ".join(words.split())
