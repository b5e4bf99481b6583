"""Blob store: bytes by hash, shared by all sessions; images in session lines as references.

In memory a line always contains its images. Only the file may have references instead, and only if
the user enables it: the original pi cannot read them.
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from operator import is_
from pathlib import Path

import msgspec

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file, replace_files
from pi.base.json_lines import BadLine, decode_line, encode_line
from pi.base.locks import FileLock
from pi.base.records import UNREADABLE, Record

log = logging.getLogger(__name__)


PREFIX = "blob:sha256:"
"""Prefix of a reference; the hash follows."""

MAX_BLOB_BYTES = 1024 * 1024 * 1024
"""Maximum bytes of a blob: as many as the output of a command may have."""

_HASH = "[0-9a-f]{64}"
_EXTENSION = "[a-z0-9]{1,8}"


class Blob(Record):
    """Stored bytes."""

    hash: str
    path: Path
    display_path: Path
    """The same bytes under a name with a file extension, if known."""

    @property
    def ref(self) -> str:
        """The reference in a session file."""
        return PREFIX + self.hash


class BlobStore:
    """A directory of blobs. Equal bytes are stored once.

    Blobs of ``owned_by`` are counted: each is removed with its last owner. Others stay for good,
    because session files refer to them.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, data: bytes, *, extension: str = "") -> Blob:
        """Store bytes; raises ``FileAccessError`` on failure. ``extension`` is without a dot."""
        hash = _hash(data)
        path = private_directory(self.directory) / hash
        if not path.exists():
            replace_file(path, data)
        display = path
        if re.fullmatch(_EXTENSION, extension):
            display = path.with_name(f"{hash}.{extension}")
            _link(path, display, data)
        return Blob(hash=hash, path=path, display_path=display)

    def put_many(self, contents: Iterable[bytes]) -> list[Blob]:
        """Store many contents with one flush of the disk; returns a blob for each, in order."""
        return _put_many(private_directory(self.directory), contents)

    def get(self, ref: str) -> bytes | None:
        """Return the bytes of a hash or reference; ``None`` if they are missing or were changed."""
        hash = ref.removeprefix(PREFIX)
        if not re.fullmatch(_HASH, hash):
            return None
        for folder in (self.directory, self.directory / _COUNTED):
            data = read_if_exists(folder / hash, max_bytes=MAX_BLOB_BYTES)
            if data is not None and _hash(data) != hash:
                log.warning("the blob %s is damaged", folder / hash)
            elif data is not None:
                return data
        return None

    def owned_by(self, owner: str) -> OwnedBlobs:
        """The counted blobs of ``owner``, e.g. of a session."""
        return OwnedBlobs(self.directory / _COUNTED, owner)

    def owners(self) -> list[str]:
        """All owners of counted blobs."""
        return [owner for owner, _ in _all_owners(self.directory / _COUNTED)]


_COUNTED, _OWNERS, _LOCK = "counted", "owners", "lock"
_LOCK_SECONDS = 15.0


class OwnedBlobs:
    """Counted blobs of one owner. A blob is removed when its last owner releases it.

    Each owner has a file with the hashes that it holds. Several processes may use one store.
    """

    def __init__(self, directory: Path, owner: str) -> None:
        self._directory = directory
        self._owner = owner
        self._file = directory / _OWNERS / _hash(owner.encode("utf-8", "surrogatepass"))[:32]

    def put(self, data: bytes) -> Blob:
        """Store bytes for this owner."""
        return self.put_many((data,))[0]

    def put_many(self, contents: Iterable[bytes]) -> list[Blob]:
        """Store many contents with one flush of the disk; returns a blob for each, in order."""
        payloads = tuple(contents)
        with self._make_lock():
            # The claim is stored first: a crash leaves a hash without a blob, which is harmless.
            self._hold(self._held_hashes() | {_hash(data) for data in payloads})
            return _put_many(self._directory, payloads)

    def refs(self) -> list[str]:
        """The references of the blobs that this owner holds."""
        return [PREFIX + hash for hash in sorted(self._held_hashes())]

    def release(self, refs: Iterable[str] | None = None) -> int:
        """Release some blobs, or all; returns the number removed because no owner is left."""
        if not self._directory.is_dir():
            return 0
        with self._make_lock():
            released = None if refs is None else {ref.removeprefix(PREFIX) for ref in refs}
            self._hold(set() if released is None else self._held_hashes() - released)
            used = {hash for _, hashes in _all_owners(self._directory) for hash in hashes}
            unused = [path for path in self._directory.iterdir() if _is_unused(path, used)]
            for path in unused:
                path.unlink(missing_ok=True)
            return len(unused)

    def _make_lock(self) -> FileLock:
        private_directory(self._directory / _OWNERS)
        return FileLock(self._directory / _LOCK, wait=_LOCK_SECONDS)

    def _held_hashes(self) -> set[str]:
        owner = _read_owner(self._file)
        return set() if owner is None else set(owner[1])

    def _hold(self, hashes: set[str]) -> None:
        if hashes:
            replace_file(self._file, msgspec.json.encode((self._owner, sorted(hashes))))
        else:
            self._file.unlink(missing_ok=True)


def _is_unused(path: Path, used: set[str]) -> bool:
    return re.fullmatch(_HASH, path.name) is not None and path.name not in used


def _all_owners(directory: Path) -> Iterator[tuple[str, list[str]]]:
    try:
        files = sorted((directory / _OWNERS).iterdir())
    except OSError:
        return
    for file in files:
        if (owner := _read_owner(file)) is not None:
            yield owner


def _read_owner(file: Path) -> tuple[str, list[str]] | None:
    """Read an owner and its hashes. A damaged file raises ``PiError``: nothing is removed then."""
    stored = read_if_exists(file)
    if stored is None:
        return None
    try:
        return msgspec.json.decode(stored, type=tuple[str, list[str]])
    except UNREADABLE as error:
        raise PiError(
            f"The owner file {file} is damaged: {error}.",
            hint="Remove it; the blobs that only it names are removed later.",
        ) from error


def _put_many(folder: Path, contents: Iterable[bytes]) -> list[Blob]:
    blobs: list[Blob] = []
    new: dict[Path, bytes] = {}
    for data in contents:
        hash = _hash(data)
        path = folder / hash
        blobs.append(Blob(hash=hash, path=path, display_path=path))
        if not path.exists():
            new[path] = data
    replace_files(new)
    return blobs


def _hash(data: bytes) -> str:
    import hashlib  # deferred: loads OpenSSL, which a start without blobs does not need

    return hashlib.sha256(data).hexdigest()


def _link(path: Path, display: Path, data: bytes) -> None:
    """Hard-link a file under a second name, or copy it. Failures are ignored."""
    if display.exists():
        return
    try:
        os.link(path, display)
    except OSError:
        try:
            replace_file(display, data)
        except PiError as error:
            log.info("%s", error)


THRESHOLD = 1024
"""Minimum base64 length of an image that is stored outside."""

_EXTENSIONS = {"image/jpeg": "jpg", "image/svg+xml": "svg"}


class BlobOptions(Record):
    """The setting ``blobs``."""

    externalize_images: bool = False
    """Whether large images are stored outside session files."""


def externalised(line: bytes, store: BlobStore) -> bytes:
    """Return a line in its file form: large images as references.

    Unchanged if there are none, or if they cannot be stored.
    """
    if b"image" not in line or len(line) < THRESHOLD:
        return line
    try:
        return _change_line(line, lambda data, kind: _put(data, kind, store))
    except PiError as error:
        log.warning("pictures stay in the session file: %s", error)
        return line


def externalised_compaction(line: bytes, store: BlobStore) -> bytes:
    """Return the line of a compaction in its file form; other lines are unchanged.

    The original pi does not read the images of a compaction, so nothing is lost for it.
    """
    if b'"compaction"' not in line or b"image" not in line:
        return line
    try:
        entry = decode_line(line)
    except BadLine:
        return line
    is_compaction = isinstance(entry, dict) and entry.get("type") == "compaction"
    return externalised(line, store) if is_compaction else line


def rehydrated(line: bytes, store: BlobStore, missing: set[str]) -> bytes:
    """Return a line of a file with its images. References that stay are added to ``missing``."""
    if PREFIX.encode() not in line:
        return line

    def get(data: str, kind: str) -> str | None:
        if not data.startswith(PREFIX):
            return None
        if (image := _get(data, kind, store)) is None:
            missing.add(data)
        return image

    return _change_line(line, get)


_Change = Callable[[str, str], str | None]
"""Maps image data or a reference, and its type, to a replacement; ``None``: unchanged.

The type is empty for a data URL, which is stored as text.
"""


def _change_line(line: bytes, change: _Change) -> bytes:
    try:
        entry = decode_line(line)
        changed = _walk(entry, change)
    except (BadLine, RecursionError):  # nothing that contains an image is nested so deeply
        return line
    return line if changed is entry else encode_line(changed)


def _walk(value: object, change: _Change) -> object:
    """Return ``value`` with its images changed; the same object if there are none."""
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
    if base64.b64encode(decoded).decode() != data:  # not canonical base64: it would not round-trip
        return None
    extension = _EXTENSIONS.get(kind, kind.rpartition("/")[2])
    return store.put(decoded, extension=extension).ref


def _get(ref: str, kind: str, store: BlobStore) -> str | None:
    try:
        data = store.get(ref)
    except PiError as error:
        log.warning("%s", error)
        return None
    if data is None:
        log.warning("a picture of the session is missing: %s", ref)
        return None
    return base64.b64encode(data).decode() if kind else data.decode("utf-8", "replace")
