from __future__ import annotations

import errno
import socket

from pi.ai.http.errors import (
    BadResponse,
    BodyTruncated,
    ConnectFailed,
    ConnectionLost,
    InvalidRequest,
    ProxyFailed,
    TimedOut,
    TlsFailed,
    os_reason,
)


def test_only_temporary_http_errors_are_retryable() -> None:
    assert {
        kind.__name__: kind.retryable
        for kind in (
            InvalidRequest,
            ConnectFailed,
            TlsFailed,
            ProxyFailed,
            TimedOut,
            ConnectionLost,
            BodyTruncated,
            BadResponse,
        )
    } == {
        "InvalidRequest": False,
        "ConnectFailed": True,
        "TlsFailed": False,
        "ProxyFailed": False,
        "TimedOut": True,
        "ConnectionLost": True,
        "BodyTruncated": True,
        "BadResponse": False,
    }


def test_the_reason_of_an_os_error_is_one_line_without_addresses() -> None:
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)")

    assert os_reason(refused) == "Connection refused"
    assert os_reason(socket.gaierror(-2, "Name or service not known")) == (
        "Name or service not known"
    )
    assert os_reason(OSError("Multiple exceptions:\n one, two")) == "Multiple exceptions: one, two"
    assert os_reason(ConnectionResetError()) == "ConnectionResetError"
