"""Which addresses a page may point to, and which pictures it may hold."""

from __future__ import annotations

import base64
import binascii
import re

SCHEMES = ("http", "https", "mailto")
PICTURES = {
    "image/png": b"\x89PNG\r\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""Kinds of pictures that every browser shows and none runs, with how their bytes begin."""

# What browsers drop or ignore in an address, so that it cannot hide a scheme: controls, spaces,
# and characters without width.
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_DATA_URL = re.compile(r"data:(?P<kind>[a-z]+/[a-z]+);base64,(?P<data>.*)", re.DOTALL)


def link(address: str) -> str:
    """The address without what cannot be seen, if a page may point to it; else nothing."""
    seen = _INVISIBLE.sub("", address)
    scheme = _SCHEME.match(seen)
    return seen if scheme and scheme[1].lower() in SCHEMES else ""


def picture(data: str, mime_type: str) -> str:
    """The picture as a URL that holds all of it; nothing if it is not what it says it is."""
    kind = mime_type.strip().lower()
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if kind not in PICTURES or not content.startswith(PICTURES[kind]):
        return ""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def picture_url(address: str) -> str:
    """A picture that is written as a ``data:`` URL, if a page may hold it; else nothing."""
    parts = _DATA_URL.fullmatch(address.strip())
    return picture(parts["data"], parts["kind"]) if parts else ""
