"""HTTP requests: parsed URLs, timeouts, encoded heads, and the User-Agent. Pure.

``urllib.parse`` is imported only for the rare URL that needs quoting: it costs 3 ms at start-up.
"""

from __future__ import annotations

import re
import sys
from binascii import b2a_base64
from functools import cache
from string import ascii_letters, digits

from pi.ai.http.addresses import AddressPolicy
from pi.ai.http.errors import InvalidRequest, TimeoutKind
from pi.base.records import Record

DEFAULT_PORTS = {"http": 80, "https": 443}

_NAME_CHARACTERS = frozenset(f"{ascii_letters}{digits}._~-")
_ADDRESS = r"\[(?P<address>[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._~-]+)?)\](?::(?P<port>.*))?"
_DIGITS = frozenset(digits)
_QUOTED_AS_IT_IS = "%/:?#[]@!$&'()*+,;=~"


class Origin(Record):
    """Scheme, host and port of a connection."""

    scheme: str
    host: str
    """Lower case, ASCII, an IPv6 address without its brackets."""
    port: int

    @property
    def netloc(self) -> str:
        """``host:port`` for messages and tunnels, with brackets for IPv6."""
        return f"{self._bracketed}:{self.port}"

    @property
    def host_header(self) -> str:
        """``host`` or ``host:port`` for the Host field: no default port, no zone."""
        if self.port == DEFAULT_PORTS[self.scheme]:
            return self._bracketed
        return f"{self._bracketed}:{self.port}"

    @property
    def _bracketed(self) -> str:
        address, _, _ = self.host.partition("%")
        return f"[{address}]" if ":" in address else address


class Url(Record):
    """One parsed URL."""

    origin: Origin
    target: str
    """Path and query, ready for the request line."""
    userinfo: str = ""
    """``user:password`` as written, still percent-encoded."""


def parse_url(text: str) -> Url:
    """Parse an absolute http or https URL; raises ``InvalidRequest`` for anything else."""
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in DEFAULT_PORTS:
        raise InvalidRequest("A URL must start with http:// or https://.")
    rest, _, _ = rest.partition("#")
    split = min((index for index in map(rest.find, "/?") if index >= 0), default=len(rest))
    authority = rest[:split]
    if "\\" in authority or not authority.isprintable():  # browsers read a backslash as a slash
        raise InvalidRequest("The host part of a URL holds a backslash or a control character.")
    userinfo, _, netloc = authority.rpartition("@")
    origin = _origin(scheme, netloc)
    return Url(origin=origin, target=_target(rest[split:], origin), userinfo=userinfo)


def basic_authorization(userinfo: str) -> str:
    """Return the ``Basic`` credentials for a percent-encoded ``user:password``."""
    user, _, password = userinfo.partition(":")
    if "%" in userinfo:
        from urllib.parse import unquote  # lazy: see the module's docstring

        user, password = unquote(user), unquote(password)
    token = b2a_base64(f"{user}:{password}".encode(), newline=False)
    return f"Basic {token.decode()}"


def _origin(scheme: str, netloc: str) -> Origin:
    text = _ascii(netloc)
    if not text.startswith("["):  # no regular expression: compiling one delays the first request
        host, _, number = text.partition(":")
        valid = bool(host) and _NAME_CHARACTERS.issuperset(host)
    elif parts := re.fullmatch(_ADDRESS, text):
        host, number, valid = parts["address"].replace("%25", "%"), parts["port"] or "", True
    else:
        valid = False
    if not valid or len(number) > 5 or not _DIGITS.issuperset(number):
        raise InvalidRequest(f"{netloc!r} is not a host with an optional port.")
    port = int(number or DEFAULT_PORTS[scheme])
    if not 0 < port < 65536:
        raise InvalidRequest(f"{port} is not a port (in the URL of {host}).")
    return Origin(scheme=scheme, host=host.lower(), port=port)


def _ascii(netloc: str) -> str:
    if netloc.isascii():
        return netloc
    host, colon, port = netloc.partition(":")
    try:
        return host.encode("idna").decode() + colon + port
    except UnicodeError as error:
        raise InvalidRequest(f"{netloc!r} is not a host name.") from error


def _target(text: str, origin: Origin) -> str:
    if not text.startswith("/"):
        text = f"/{text}"
    if not text.isprintable():
        raise InvalidRequest(f"The URL of {origin.netloc} holds a control character.")
    if text.isascii() and " " not in text:
        return text
    from urllib.parse import quote  # lazy: see the module's docstring

    return quote(text, safe=_QUOTED_AS_IT_IS)


# Requests -----------------------------------------------------------------------------------------


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


# User-Agent, e.g. ``pi (linux 6.18.44; x64)`` -----------------------------------------------------


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
    """Return the header for these values of ``platform``; non-ASCII parts are left out."""
    name = machine.lower()
    text = f"pi ({system} {release}; {ARCHITECTURES.get(name, name)})"
    return "".join(character for character in text if " " <= character <= "~")
