"""The record that the mock server keeps of a request and its answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Exchange:
    """One request and its answer, filled while it happens.

    Times are ``time.monotonic_ns``, which all processes of one machine share.
    """

    method: str
    path: str
    headers_ns: int
    """When the request's headers were complete."""
    body_ns: int
    """When its body was complete: the request is read."""
    received_bytes: int
    """Length of the body."""
    body: str
    status: int = 0
    sent_bytes: int = 0
    """Everything that went out: headers, framing and payload."""
    first_byte_ns: int | None = None
    last_byte_ns: int | None = None
    """None until the answer is sent; it stays None if the client hung up."""
