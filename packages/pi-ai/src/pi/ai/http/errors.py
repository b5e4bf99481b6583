"""HTTP errors.

HttpError
├── InvalidRequest      the URL or a header cannot be sent: a bug or a wrong setting of ours
├── AddressRefused      the address policy of the request does not allow it (``addresses``)
├── ConnectFailed       no connection to the host: name, network, refused
├── TlsFailed           a certificate or the TLS versions do not fit
├── ProxyFailed         the proxy setting is invalid, or the proxy refuses
├── TimedOut            ``kind`` says which of the three timeouts ran out
├── ConnectionLost      closed or reset before the response began
│   └── BodyTruncated   closed or reset in the middle of the response
└── BadResponse         the response is not HTTP/1.1, or breaks a limit
    └── BodyTooLarge    its body exceeds the caller's limit

``retryable`` says whether a retry may succeed. Messages are one line and
name the host, never the URL: a URL may hold a key.
"""

from __future__ import annotations

import os
from typing import Literal

from pi.base.errors import PiError

TimeoutKind = Literal["connect", "first_byte", "idle"]


class HttpError(PiError):
    """An HTTP exchange failed."""

    retryable = False


class InvalidRequest(HttpError):
    """The request cannot be sent as it is."""


class ConnectFailed(HttpError):
    """The host could not be reached."""

    retryable = True


class TlsFailed(HttpError):
    """The certificates or TLS versions do not match."""


class ProxyFailed(HttpError):
    """The proxy cannot be used, or refuses the request."""


class TimedOut(HttpError):
    """Nothing happened for as long as the timeout ``kind`` allows."""

    retryable = True

    def __init__(self, message: str, *, kind: TimeoutKind) -> None:
        super().__init__(message)
        self.kind: TimeoutKind = kind


class ConnectionLost(HttpError):
    """The connection ended before the response was complete."""

    retryable = True


class BodyTruncated(ConnectionLost):
    """The response began and then stopped early."""


class BadResponse(HttpError):
    """The data received is not an acceptable response."""


class BodyTooLarge(BadResponse):
    """The decoded body is larger than the caller accepts."""


def os_reason(error: OSError) -> str:
    """Return the operating system's description of ``error``, in one line."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    reason = error.strerror or str(error) or type(error).__name__
    return " ".join(reason.split())
