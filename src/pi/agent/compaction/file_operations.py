"""Files that a conversation has read and changed, from its tool calls. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from posixpath import normpath

from pi.agent.compaction.budget import CompactionItem, exchanges
from pi.agent.compaction.text import SUMMARY_TAGS, escape_tags, wrap_in_tag
from pi.ai.messages import Json
from pi.base.records import Record

READING = frozenset({"read"})
CHANGING = frozenset({"write", "edit"})

_LINES = r"(?::|#L)\d+(?:[-+]L?\d+)?(?:,\d+(?:[-+]\d+)?)*$"
"""A line selection after a path, e.g. ``:10-20,30``."""
_URL = r"^[A-Za-z][A-Za-z0-9+.-]*://"


class FileLists(Record):
    """Files by operation, the latest last; no file is in both lists."""

    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()


def file_operations(items: Sequence[CompactionItem], earlier: FileLists | None = None) -> FileLists:
    """Return the files of ``earlier``, of successful calls in ``items``, and of summaries."""
    read, modified = _Touched(), _Touched()
    for lists in (earlier or FileLists(), *(file_lists(item.details or {}) for item in items)):
        read.add(lists.read_files)
        modified.add(lists.modified_files)
    for exchange in exchanges(items):
        if exchange.result is not None and exchange.result.is_error:
            continue
        path = _path(exchange.call.arguments)
        if path and exchange.call.name in READING:
            read.add([path])
        elif path and exchange.call.name in CHANGING:
            modified.add([path])
    return FileLists(
        read_files=tuple(path for path in read.paths if path not in modified.paths),
        modified_files=tuple(modified.paths),
    )


class FileOps(Record):
    """Files by operation, in the form that extensions of the original expect."""

    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    edited: frozenset[str] = frozenset()
    """Includes files that an earlier compaction lists as modified."""


def by_operation(items: Sequence[CompactionItem], files: FileLists) -> FileOps:
    """Split ``files`` by operation; ``items`` shows which files were written completely."""
    calls = (exchange.call for exchange in exchanges(items))
    written = {_path(call.arguments) for call in calls if call.name == "write"}
    modified = frozenset(files.modified_files)
    return FileOps(
        read=frozenset(files.read_files), written=modified & written, edited=modified - written
    )


def file_blocks(files: FileLists, most: int) -> str:
    """Return ``<read-files>`` and ``<modified-files>``, one path per line, within ``most``
    characters.

    If not all fit, changed files precede read ones and new ones precede old ones.
    """
    modified = _block("modified-files", files.modified_files, most)
    left = most - len(modified) - 1 if modified else most
    read = _block("read-files", files.read_files, left)
    return "\n".join(filter(None, (read, modified)))


class _Touched:
    """Paths in the order of their last use."""

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}

    def add(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.paths.pop(path, None)
            self.paths[path] = None


def _path(arguments: Json) -> str | None:
    """Return the file of a call; ``None`` for a URL or a path with line breaks."""
    path = arguments.get("path") or arguments.get("file_path")
    if not isinstance(path, str) or re.search(_URL, path) or not path.isprintable():
        return None
    return normpath(re.sub(_LINES, "", path.strip())) if path.strip() else None


def file_lists(details: Json) -> FileLists:
    """Return the lists in the details of a stored summary, also of another program."""
    return FileLists(
        read_files=_strings(details.get("readFiles")),
        modified_files=_strings(details.get("modifiedFiles")),
    )


def _strings(value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list | tuple) else ()
    return tuple(item for item in found if isinstance(item, str))


def _block(tag: str, paths: Sequence[str], most: int) -> str:
    lines = [escape_tags(path, SUMMARY_TAGS) for path in paths]
    if len(whole := wrap_in_tag(tag, "\n".join(lines))) <= most:
        return whole if lines else ""
    left = most - len(wrap_in_tag(tag, f"... and {len(lines)} more"))
    shown: list[str] = []
    for line in reversed(lines):
        left -= len(line) + 1
        if left < 0:
            break
        shown.append(line)
    shown.reverse()
    rest = f"... and {len(lines) - len(shown)} more"
    return wrap_in_tag(tag, "\n".join((*shown, rest))) if shown else ""
