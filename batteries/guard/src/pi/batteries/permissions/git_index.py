"""Reads the index of a git repository, because running git could run programs that it names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pi.extension import Record

_MAX_SIZE = 64 * 1024 * 1024
_SUBMODULE = 0o160000


class IndexEntry(Record):
    """A file of the index, or a folder with a repository of its own."""

    path: str
    is_submodule: bool


class IndexVersion(NamedTuple):
    """One version of an index, which most commands do not change: a key of caches."""

    file: Path
    modified: int = 0
    size: int = 0


def index_of(git_entry: Path) -> IndexVersion:
    """Return the current version of the index that ``.git`` names. Raises ``OSError``."""
    file = _index_file(git_entry)
    if not file.exists():
        return IndexVersion(file)
    status = file.stat()
    return IndexVersion(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def index_entries(index: IndexVersion) -> tuple[IndexEntry, ...]:
    """Return the entries of an index. Raises ``ValueError`` unless its form is version 2 or 3."""
    return tuple(_parsed(_read(index.file)))


def _parsed(data: bytes) -> Iterator[IndexEntry]:
    if not data:
        return
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3):
        raise ValueError("the index has another form")
    offset = 12
    for _ in range(count):
        mode = int.from_bytes(data[offset + 24 : offset + 28], "big")
        flags = int.from_bytes(data[offset + 60 : offset + 62], "big")
        start = offset + (64 if flags & 0x4000 else 62)
        end = data.index(b"\0", start)
        path = data[start:end].decode("utf-8", "surrogateescape")
        yield IndexEntry(path=path, is_submodule=mode == _SUBMODULE)
        offset += (end - offset + 8) // 8 * 8  # padded with one to eight zero bytes
    if b"link" in data[offset:]:
        raise ValueError("a part of the index is in another file")


def submodules(git_entry: Path) -> list[str]:
    """Return the paths of submodules. Raises ``ValueError`` if the index cannot be parsed."""
    if _SUBMODULE.to_bytes(4, "big") not in _read(_index_file(git_entry)):
        return []
    entries = index_entries(index_of(git_entry))
    return [entry.path for entry in entries if entry.is_submodule]


def _index_file(git_entry: Path) -> Path:
    git_dir = git_entry
    if git_entry.is_file():
        target = git_entry.read_text("utf-8", "replace").partition("gitdir:")[2].strip()
        git_dir = git_entry.parent / target
    return git_dir / "index"


def _read(file: Path) -> bytes:
    if not file.exists():
        return b""
    if file.stat().st_size > _MAX_SIZE:
        raise ValueError("the index is too large")
    return file.read_bytes()
