"""HTTP requests: encoded heads, header fields, and the User-Agent. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache

from pi.ai.http.addresses import AddressPolicy
from pi.ai.http.errors import InvalidRequest, Timeouts
from pi.ai.http.urls import Url, basic_authorization
from pi.base.records import Record

HeaderPairs = tuple[tuple[str, str], ...]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_FIELD_VALUE = r"[\t -~\x80-\xff]*"
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


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
    """Which addresses may be reached, also by redirects; ``None`` for all."""


def encode_head(
    request: HttpRequest, url: Url, *, proxy_headers: HeaderPairs | None = None
) -> bytes:
    """Returns the request line and header fields; refuses line breaks in any part.

    ``proxy_headers`` is set if a proxy fetches the URL.
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
    """Returns a request head made of checked parts."""
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


class Headers:
    """Header fields of a response: lower-case name and value, in the order of arrival."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = tuple((name.lower(), value) for name, value in pairs)

    def get(self, name: str, default: str = "") -> str:
        """Returns the value of ``name``; several fields of that name are joined with a comma."""
        return ", ".join(self.get_all(name)) or default

    def get_all(self, name: str) -> tuple[str, ...]:
        """Returns every value of ``name``, for fields that must not be joined (``Set-Cookie``)."""
        key_name = name.lower()
        return tuple(value for key, value in self._pairs if key == key_name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(key == name.lower() for key, _ in self._pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self._pairs == other._pairs

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __repr__(self) -> str:
        return f"Headers({list(self._pairs)!r})"


# The User-Agent: ``pi (linux 6.18.44; x64)``.


ARCHITECTURES = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "i386": "ia32",
    "i686": "ia32",
    "x86": "ia32",
    "armv6l": "arm",
    "armv7l": "arm",
    "ppc64le": "ppc64",
}
"""Node's names for architectures, which servers expect from pi."""


@cache
def user_agent() -> str:
    """The ``User-Agent`` header of every request."""
    import platform  # lazy: slow to load, and only a request needs it

    # Windows keeps in its version what others call a release: 10.0.19045 beside a bare 10.
    release = platform.version() if sys.platform == "win32" else platform.release()
    return describe(sys.platform, release, platform.machine())


def describe(system: str, release: str, machine: str) -> str:
    """Returns the header for these values of ``platform``; non-ASCII parts are left out."""
    name = machine.lower()
    text = f"pi ({system} {release}; {ARCHITECTURES.get(name, name)})"
    return "".join(character for character in text if " " <= character <= "~")
