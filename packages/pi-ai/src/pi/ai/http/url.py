"""Parsed URLs of HTTP requests. Pure.

``urllib.parse`` is imported only for the rare URL that needs quoting: it costs 3 ms at start-up.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from string import ascii_letters, digits

from pi.ai.http.errors import InvalidRequest
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
