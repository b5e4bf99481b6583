"""Links to shared sessions: parsing and writing. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final
from urllib.parse import urlsplit

from pi.batteries.collab.sealing import VERSION, Keys
from pi.extension import PiError, Record

LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_SEPARATOR = re.compile(r"\.|#|%23")
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_FORM = "ROOM.5.SECRET, RELAY/r/ROOM.5.SECRET or https://RELAY/#ROOM.5.SECRET"


class BadLink(PiError):
    """A link that cannot be used."""


class Link(Record):
    """A room at a relay, with the secrets to read and, for full links, to write."""

    relay: str
    """``ws://host[:port]`` or ``wss://host[:port]``, maybe with a path prefix."""
    keys: Keys

    @property
    def room(self) -> str:
        """The id of the room as text."""
        return encode(self.keys.room)

    @property
    def code(self) -> str:
        """Room, version and secret."""
        return f"{self.room}.{VERSION}.{encode(self.keys.key + self.keys.token)}"

    def text(self) -> str:
        """The link for ``/join``, with its relay."""
        base = self.relay.removeprefix("wss://")
        if relay_address(base) != self.relay:  # TLS on this machine, where plain ws is the default
            base = self.relay
        return f"{base}/r/{self.code}"

    def page(self, web: str = "") -> str:
        """The link for a browser; ``web`` is the address of the page, by default the relay."""
        base = web.rstrip("/") or "http" + self.relay.removeprefix("ws")
        return f"{base}/#{self.code}"

    def view_only(self) -> Link:
        """The link for viewers."""
        return Link(relay=self.relay, keys=self.keys.view_only())


def encode(data: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """The bytes of base64url without padding; raises ``ValueError``."""
    if not _WORD.fullmatch(text):
        raise ValueError("not base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("not base64url") from error
    if encode(data) != text:  # a spelling that another decoder may read differently
        raise ValueError("not canonical base64url")
    return data


def parse_link(text: str, default_relay: str = "") -> Link:
    """Parse a link; raises ``BadLink``, whose message never contains the secret."""
    link = text.strip().strip("\"'<>")
    if "://" not in link and "/" not in link:
        keys = _keys(link)  # first: a text that is no link has no relay either
        if not default_relay:
            raise BadLink(
                "The link names no relay.", hint="Set collab.relayUrl, or use RELAY/r/LINK."
            )
        return Link(relay=relay_address(default_relay), keys=keys)
    for marker in ("/r/", "/#", "/%23"):
        base, separator, code = link.partition(marker)
        if separator:
            return Link(relay=relay_address(base), keys=_keys(code))
    raise BadLink("This is not a link to a shared session.", hint=f"Links look like {_FORM}.")


def relay_address(text: str) -> str:
    """The WebSocket address for a relay as a user writes it; raises ``BadLink``."""
    address = text.strip().rstrip("/")
    if "://" not in address:
        host = urlsplit(f"//{address}").hostname or ""
        # There are no certificates for this machine.
        address = f"{'ws' if host in LOCAL_HOSTS else 'wss'}://{address}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadLink(f"Invalid address of a relay: {text}") from error
    scheme = {"http": "ws", "ws": "ws", "https": "wss", "wss": "wss"}.get(parts.scheme)
    if scheme is None or not host or parts.query or parts.fragment or parts.username:
        raise BadLink(
            f"Invalid address of a relay: {text}", hint="Use relay.example.com or wss://…."
        )
    if scheme == "ws" and host not in LOCAL_HOSTS:
        raise BadLink(
            f"The relay {host} would be used without TLS.",
            hint="Plain ws:// is allowed for localhost only; put a TLS proxy before the relay.",
        )
    bracketed = f"[{host}]" if ":" in host else host
    return f"{scheme}://{bracketed}{'' if port is None else f':{port}'}{parts.path}"


def _keys(code: str) -> Keys:
    parts = _SEPARATOR.split(code.strip("/"))
    if len(parts) == 2:
        raise BadLink(
            f"The link is of protocol version 4; this pi speaks version {VERSION}.",
            hint="Ask the host for a new link, from a pi of this version.",
        )
    if len(parts) != 3:
        raise BadLink("This is not a link to a shared session.", hint=f"Links look like {_FORM}.")
    room_text, version, secret = parts
    if version != str(VERSION):
        raise BadLink(
            f"The link is of protocol version {version[:8]}; this pi speaks version {VERSION}.",
            hint="Host and guest need the same version: update the older pi.",
        )
    try:
        room_id, data = decode(room_text), decode(secret)
    except ValueError:
        raise BadLink("The link is damaged.", hint="Copy it once more, as a whole.") from None
    if len(room_id) != 16 or len(data) not in (32, 48):
        raise BadLink("The link is incomplete.", hint="Copy it once more, as a whole.")
    return Keys(room=room_id, key=data[:32], token=data[32:])
