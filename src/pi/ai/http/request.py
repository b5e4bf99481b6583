"""A request, and the bytes of its head. Pure."""

from __future__ import annotations

import re

from pi.ai.http.errors import InvalidRequest
from pi.ai.http.timeouts import Timeouts
from pi.ai.http.urls import Url, basic_authorization
from pi.base.records import Record

HeaderPairs = tuple[tuple[str, str], ...]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIELD_VALUE = r"[\t -~\x80-\xff]*"
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class HttpRequest(Record):
    """What to ask a server; Host, Content-Length and, if not given, Accept-Encoding are added."""

    url: str
    method: str = "GET"
    headers: HeaderPairs = ()
    body: bytes = b""
    timeouts: Timeouts | None = None
    """Instead of the client's, for this exchange."""
    redirects: int = 0
    """How many redirects to follow, GET and HEAD only."""


def encode_head(
    request: HttpRequest, url: Url, *, proxy_headers: HeaderPairs | None = None
) -> bytes:
    """The request line and header fields, refusing whatever could smuggle in another line.

    ``proxy_headers`` is given when a proxy is to fetch the URL for us.
    """
    target = url.target
    if proxy_headers is not None:
        target = f"{url.origin.scheme}://{url.origin.host_header}{target}"
    given = {name.lower() for name, _ in request.headers}
    fields: list[tuple[str, str]] = []
    if "host" not in given:
        fields.append(("Host", url.origin.host_header))
    fields += (pair for pair in request.headers if not _is_our_length(pair, request))
    fields += proxy_headers or ()
    if "accept-encoding" not in given:
        fields.append(("Accept-Encoding", "identity"))
    if url.userinfo and "authorization" not in given:
        fields.append(("Authorization", basic_authorization(url.userinfo)))
    if request.body or request.method in _METHODS_WITH_BODY:
        fields.append(("Content-Length", str(len(request.body))))
    return encode_lines(request.method, target, fields)


def encode_lines(method: str, target: str, fields: list[tuple[str, str]]) -> bytes:
    """A request head made of checked parts."""
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
    """Whether ``pair`` says what we say ourselves; other framing is a way to smuggle requests."""
    name, value = pair[0].lower(), pair[1]
    if name == "transfer-encoding" or (
        name == "content-length" and value != str(len(request.body))
    ):
        raise InvalidRequest(f"Header {pair[0]} is set by the HTTP client.")
    return name == "content-length"
