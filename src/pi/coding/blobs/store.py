"""Blobs: bytes under the hash of what they are, shared by all sessions."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.records import Record

log = logging.getLogger(__name__)

PREFIX = "blob:sha256:"
"""How a reference begins; the hash follows."""

LARGEST = 1024 * 1024 * 1024
"""Bytes of a blob that is read: as many as the output of a command may have."""

_HASH = "[0-9a-f]{64}"
_EXTENSION = "[a-z0-9]{1,8}"


class Blob(Record):
    """Bytes that are stored."""

    hash: str
    path: Path
    display_path: Path
    """The same bytes under a name that tells programs what they are, if that is known."""

    @property
    def ref(self) -> str:
        """What stands for the bytes in a session file."""
        return PREFIX + self.hash


class BlobStore:
    """A directory of blobs. The same bytes are stored once, whoever brings them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, data: bytes, *, extension: str = "") -> Blob:
        """Store bytes; ``FileProblem`` if that is impossible. ``extension`` is without a dot."""
        hash = _hash(data)
        path = private_directory(self.directory) / hash
        if not path.exists():
            replace_file(path, data)
        display = path
        if re.fullmatch(_EXTENSION, extension):
            display = path.with_name(f"{hash}.{extension}")
            _link(path, display, data)
        return Blob(hash=hash, path=path, display_path=display)

    def get(self, ref: str) -> bytes | None:
        """The bytes of a hash or of a reference; ``None`` if they are gone or were changed."""
        hash = ref.removeprefix(PREFIX)
        if not re.fullmatch(_HASH, hash):
            return None
        data = read_if_exists(self.directory / hash, most=LARGEST)
        if data is not None and _hash(data) != hash:
            log.warning("the blob %s is damaged", self.directory / hash)
            return None
        return data


def _hash(data: bytes) -> str:
    import hashlib  # loads OpenSSL's, for which a start without blobs need not wait

    return hashlib.sha256(data).hexdigest()


def _link(path: Path, display: Path, data: bytes) -> None:
    """Give a file a second name, or a copy where it can have only one. Not needed to go on."""
    if display.exists():
        return
    try:
        os.link(path, display)
    except OSError:
        try:
            replace_file(display, data)
        except PiError as problem:
            log.info("%s", problem)
