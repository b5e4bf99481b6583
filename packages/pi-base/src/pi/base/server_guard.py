"""Access checks of pi's servers: token, Host and Origin of a request; and the token file."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from pi.base.errors import PiError
from pi.base.files import PRIVATE, private_directory, read_if_exists, replace_file
from pi.base.records import Record

LOOPBACK_NAMES = ("localhost", "ip6-localhost")


class GuardRefusal(Record):
    """Why a request is refused."""

    status: int
    reason: str
    """For the client and the log; never contains what the client sent as a token."""


class ServerGuard(Record):
    """The checks that precede every request.

    Pages in a browser are refused altogether: a request with an ``Origin`` comes from one. On the
    loopback the ``Host`` must be of the loopback, or a page could reach the server under a name of
    its own that resolves to 127.0.0.1 (DNS rebinding).
    """

    token: str
    """Empty if no token is required."""
    host: str
    """The address that the server listens on."""

    def refusal(
        self, *, host: str, origin: str | None, presented: Sequence[str], public: bool = False
    ) -> GuardRefusal | None:
        """Return why a request is refused; ``None`` if it is allowed.

        ``presented`` are the tokens it carries; a ``public`` path needs none.
        """
        if origin is not None:
            return GuardRefusal(status=403, reason="requests of web pages are refused")
        if is_loopback(self.host) and not is_loopback(_host_name(host)):
            return GuardRefusal(status=403, reason="the Host is not this machine")
        if public or not self.token:
            return None
        if not presented:
            return GuardRefusal(status=401, reason="the token is missing")
        if not any(same_token(token, self.token) for token in presented):
            return GuardRefusal(status=401, reason="the token is wrong")
        return None


def guard_for(host: str, token: str, *, no_auth: bool = False) -> ServerGuard:
    """Return the guard of a server; raises ``PiError`` for one that would be open to others."""
    if no_auth and not is_loopback(host):
        raise PiError(
            f"--no-auth is refused on {host}: others could use your credentials.",
            hint="Listen on 127.0.0.1, or leave out --no-auth.",
        )
    return ServerGuard(token="" if no_auth else token, host=host)


def port_number(text: object, default: int) -> int:
    """Return the port that an option names; ``default`` if it is empty. Raises ``PiError``."""
    if not text:
        return default
    if not str(text).isdecimal() or int(str(text)) > 65_535:
        raise PiError(f"{text} is not a port.")
    return int(str(text))


def same_token(presented: str, expected: str) -> bool:
    """Compare two tokens; the time it takes does not depend on where they differ."""
    return hmac.compare_digest(_digest(presented), _digest(expected))


def bearer(header: str | None) -> tuple[str, ...]:
    """Return the token of an ``Authorization`` header."""
    scheme, _, token = (header or "").partition(" ")
    return (token.strip(),) if scheme.lower() == "bearer" and token.strip() else ()


def is_loopback(host: str) -> bool:
    """Whether a name or address is that of this machine alone."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str | None:
    """Return the token in a file, or ``None``. Raises ``PiError`` if others can read the file."""
    data = read_if_exists(path)
    if data is None:
        return None
    if sys.platform != "win32" and (
        path.stat().st_mode & 0o077 or path.parent.stat().st_mode & 0o077
    ):
        raise PiError(
            f"Other users can read {path}.",
            hint=f"Run: chmod 700 {path.parent} && chmod 600 {path}; then make a new token.",
        )
    return data.decode("utf-8", "replace").strip() or None


def make_token(path: Path, *, new: bool = False) -> str:
    """Return the token in a file; makes one if it is missing, or always with ``new``."""
    private_directory(path.parent)
    token = None if new else read_token(path)
    if token is None:
        token = secrets.token_urlsafe(32)
        replace_file(path, f"{token}\n".encode())
        if sys.platform != "win32":
            path.parent.chmod(0o700)
            path.chmod(PRIVATE)
    return token


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _host_name(host: str) -> str:
    """Return a ``Host`` header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host
