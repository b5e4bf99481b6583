"""Pictures in the lines of a session file ↔ references to blobs.

In memory a line always has its pictures; only the file may have references in their place, and only
if a person wants it so: the original pi cannot read them.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable
from operator import is_

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, decode_line, encode_line
from pi.base.records import Record
from pi.coding.blobs.store import PREFIX, BlobStore

log = logging.getLogger(__name__)

THRESHOLD = 1024
"""Characters of base64 from which on a picture is stored outside."""

_EXTENSIONS = {"image/jpeg": "jpg", "image/svg+xml": "svg"}


class BlobOptions(Record):
    """The setting ``blobs``."""

    externalize_images: bool = False
    """Whether large pictures are stored outside of session files."""


def externalised(line: bytes, store: BlobStore) -> bytes:
    """A line as the file is to have it: large pictures are references.

    The same bytes if there are none, or if they cannot be stored.
    """
    if b"image" not in line or len(line) < THRESHOLD:
        return line
    try:
        return _changed(line, lambda data, kind: _put(data, kind, store))
    except PiError as problem:
        log.warning("pictures stay in the session file: %s", problem)
        return line


def rehydrated(line: bytes, store: BlobStore) -> bytes:
    """A line of a file as it is used: with its pictures. A reference to a lost one stays."""
    if PREFIX.encode() not in line:
        return line
    return _changed(line, lambda data, kind: _get(data, kind, store))


_Change = Callable[[str, str], str | None]
"""From a picture's data, or reference, and its type to what takes its place; ``None``: nothing.

The type is empty for a data URL, which is stored as the text that it is.
"""


def _changed(line: bytes, change: _Change) -> bytes:
    try:
        entry = decode_line(line)
        changed = _walk(entry, change)
    except (BadLine, RecursionError):  # nothing that holds a picture is nested so deeply
        return line
    return line if changed is entry else encode_line(changed)


def _walk(value: object, change: _Change) -> object:
    """``value`` with its pictures changed; the very same object if none is."""
    match value:
        case dict():
            return _walk_object(value, change)
        case list():
            items = [_walk(item, change) for item in value]
            return value if all(map(is_, items, value)) else items
        case _:
            return value


def _walk_object(value: Json, change: _Change) -> Json:
    changed = {key: _walk(item, change) for key, item in value.items()}
    match value:
        case {"type": "image", "data": str(data), "mimeType": str(kind)}:
            changed["data"] = change(data, kind) or data
        case {"image_url": str(url)}:
            changed["image_url"] = change(url, "") or url
        case _:
            pass
    return value if all(changed[key] is item for key, item in value.items()) else changed


def _put(data: str, kind: str, store: BlobStore) -> str | None:
    if len(data) < THRESHOLD or data.startswith(PREFIX):
        return None
    if not kind:
        is_picture = data.startswith("data:image/") and ";base64," in data
        return store.put(data.encode()).ref if is_picture else None
    try:
        decoded = base64.b64decode(data, validate=True)
    except binascii.Error:
        return None
    if base64.b64encode(decoded).decode() != data:  # written in a way that would not come back
        return None
    extension = _EXTENSIONS.get(kind, kind.rpartition("/")[2])
    return store.put(decoded, extension=extension).ref


def _get(ref: str, kind: str, store: BlobStore) -> str | None:
    if not ref.startswith(PREFIX):
        return None
    try:
        data = store.get(ref)
    except PiError as problem:
        log.warning("%s", problem)
        return None
    if data is None:
        log.warning("a picture of the session is missing: %s", ref)
        return None
    return base64.b64encode(data).decode() if kind else data.decode("utf-8", "replace")
