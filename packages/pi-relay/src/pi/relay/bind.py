"""The address of the relay: ``host:port``, a port, or the path of a Unix socket."""

from __future__ import annotations

from typing import Final

from pi.base.errors import PiError
from pi.base.records import Record

DEFAULT: Final = "127.0.0.1:7475"


class Bind(Record):
    """An address to listen on."""

    host: str = ""
    port: int = 0
    path: str = ""
    """A Unix socket; then host and port are empty."""


def parse_bind(text: str) -> Bind:
    """The address in ``RELAY_BIND`` or ``--bind``; raises ``PiError`` if it is invalid."""
    text = text.strip() or DEFAULT
    if "/" in text:
        return Bind(path=text)
    host, separator, port = text.rpartition(":")
    if not separator:
        host = "127.0.0.1"
    host = host.removeprefix("[").removesuffix("]")
    if not port.isdecimal() or int(port) > 65_535 or not host:
        raise PiError(
            f"Invalid address for the relay: {text}",
            hint="Use HOST:PORT, PORT (this machine only) or the path of a socket.",
        )
    return Bind(host=host, port=int(port))
