"""HTTP requests: timeouts and encoded heads. Pure."""

from __future__ import annotations

import re

from pi.ai.http.addresses import AddressPolicy
from pi.ai.http.errors import InvalidRequest, TimeoutKind
from pi.ai.http.url import Url, basic_authorization
from pi.base.records import Record

HeaderPairs = tuple[tuple[str, str], ...]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIELD_VALUE = r"[\t -~\x80-\xff]*"
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Timeouts(Record):
    """Three timeouts in seconds, each off if it is None or 0."""

    connect: float | None = 30.0
    """Until the connection is ready for a request: name, TCP, proxy and TLS together."""
    first_byte: float | None = 300.0
    """From the end of the request to the first byte of the response."""
    idle: float | None = 300.0
    """Between two reads of a response, or two writes of a request."""

    def limit(self, kind: TimeoutKind) -> float | None:
        """Return the seconds allowed for ``kind``, None if unlimited."""
        seconds: float | None = getattr(self, kind)
        return seconds if seconds and seconds > 0 else None


NO_TIMEOUTS = Timeouts(connect=None, first_byte=None, idle=None)
"""No limits: for exchanges that already have a deadline."""


class HttpRequest(Record):
    """A request; Host, Content-Length and, if not given, Accept-Encoding are added."""

    url: str
    method: str = "GET"
    headers: HeaderPairs = ()
    body: bytes = b""
    timeouts: Timeouts | None = None
    """Overrides the client's for this exchange."""
    redirects: int = 0
    """How many redirects to follow, GET and HEAD only."""
    addresses: AddressPolicy | None = None
    """The addresses that may be reached, also by redirects; ``None`` for all."""


def encode_head(
    request: HttpRequest, url: Url, *, proxy_headers: HeaderPairs | None = None
) -> bytes:
    """Return the request line and header fields; refuses line breaks in any part.

    ``proxy_headers`` is set if a proxy fetches the URL.
    """
    target = url.target
    if proxy_headers is not None:
        target = f"{url.origin.scheme}://{url.origin.host_header}{target}"
    names = {name.lower() for name, _ in request.headers}
    fields: list[tuple[str, str]] = []
    if "host" not in names:
        fields.append(("Host", url.origin.host_header))
    fields += (pair for pair in request.headers if not _is_our_length(pair, request))
    fields += proxy_headers or ()
    if "accept-encoding" not in names:
        fields.append(("Accept-Encoding", "identity"))
    if url.userinfo and "authorization" not in names:
        fields.append(("Authorization", basic_authorization(url.userinfo)))
    if request.body or request.method in _METHODS_WITH_BODY:
        fields.append(("Content-Length", str(len(request.body))))
    return encode_lines(request.method, target, fields)


def encode_lines(method: str, target: str, fields: list[tuple[str, str]]) -> bytes:
    """Return a request head made of checked parts."""
    if not re.fullmatch(_TOKEN, method):
        raise InvalidRequest(f"{method!r} is not a request method.")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in fields:
        if not re.fullmatch(_TOKEN, name):
            raise InvalidRequest(f"{name!r} is not a header name.")
        if not re.fullmatch(_FIELD_VALUE, value):
            # The value is not shown: it may be a key with a stray line break.
            raise InvalidRequest(f"The value of header {name} holds characters HTTP cannot carry.")
        lines.append(f"{name}: {value}")
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _is_our_length(pair: tuple[str, str], request: HttpRequest) -> bool:
    """Whether ``pair`` repeats our own length; other framing allows request smuggling."""
    name, value = pair[0].lower(), pair[1]
    if name == "transfer-encoding" or (
        name == "content-length" and value != str(len(request.body))
    ):
        raise InvalidRequest(f"Header {pair[0]} is set by the HTTP client.")
    return name == "content-length"
