"""The files that a conversation has read and changed, from its tool calls. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from posixpath import normpath

from pi.agent.compaction.budget import CompactionItem, exchanges
from pi.agent.compaction.text import SUMMARY_TAGS, escape_tags, wrap_in_tag
from pi.ai.messages import (
    Json,
)
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


class FileTree(FileLists):
    """Files that are shown as one tree."""

    also_read: tuple[str, ...] = ()
    """Modified files that were read as well."""


def file_tree(
    items: Sequence[CompactionItem], files: FileLists, earlier: Json | None = None
) -> FileTree:
    """Return ``files`` with those that were read as well, also before an ``earlier`` summary."""
    earlier_details = earlier or {}
    read = set(_strings(earlier_details.get("readFiles"))) | set(
        _strings(earlier_details.get("alsoReadFiles"))
    )
    for exchange in exchanges(items):
        if exchange.call.name in READING and not (exchange.result and exchange.result.is_error):
            read.add(_path(exchange.call.arguments) or "")
    return FileTree(
        read_files=files.read_files,
        modified_files=files.modified_files,
        also_read=tuple(path for path in files.modified_files if path in read),
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

    If not all fit, changed files precede read ones and new ones precede old ones. A ``FileTree``
    becomes one ``<files>`` block instead.
    """
    if isinstance(files, FileTree):
        return _tree_block(files, most)
    modified = _path_block("modified-files", files.modified_files, most)
    remaining = most - len(modified) - 1 if modified else most
    read = _path_block("read-files", files.read_files, remaining)
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
    entries = value if isinstance(value, list | tuple) else ()
    return tuple(item for item in entries if isinstance(item, str))


MAX_TREE = 20
"""Maximum number of files in a tree."""


def _tree_block(files: FileTree, most: int) -> str:
    """Return the tree of the newest files that fit, changed ones first."""
    marks = dict.fromkeys(files.read_files, "Read")
    marks |= {path: "RW" if path in files.also_read else "Write" for path in files.modified_files}
    order = [*reversed(files.modified_files), *reversed(files.read_files)]
    for count in range(min(MAX_TREE, len(order)), 0, -1):
        lines = _tree({path: marks[path] for path in sorted(order[:count])})
        if more := len(order) - count:
            lines.append(f"… ({more} more files omitted)")
        if len(block := wrap_in_tag("files", "\n".join(lines))) <= most:
            return block
    return ""


def _tree(marks: dict[str, str]) -> list[str]:
    """Return the lines: a heading for each folder, one more ``#`` inside the folder above."""
    lines: list[str] = []
    open_folders: list[str] = []
    by_folder: dict[str, list[str]] = {}
    for path in marks:
        by_folder.setdefault(path.rpartition("/")[0], []).append(path)
    for folder in sorted(by_folder):
        while open_folders and not folder.startswith(f"{open_folders[-1]}/"):
            open_folders.pop()
        relative_folder = folder.removeprefix(f"{open_folders[-1]}/") if open_folders else folder
        if folder:
            open_folders.append(folder)
            heading = f"{'#' * len(open_folders)} {relative_folder}/"
            lines.append(escape_tags(heading, SUMMARY_TAGS))
        for path in by_folder[folder]:
            name = escape_tags(path.rpartition("/")[2], SUMMARY_TAGS)
            lines.append(f"{name} ({marks[path]})")
    return lines


def _path_block(tag: str, paths: Sequence[str], most: int) -> str:
    lines = [escape_tags(path, SUMMARY_TAGS) for path in paths]
    if len(block := wrap_in_tag(tag, "\n".join(lines))) <= most:
        return block if lines else ""
    remaining = most - len(wrap_in_tag(tag, f"... and {len(lines)} more"))
    fitting: list[str] = []
    for line in reversed(lines):
        remaining -= len(line) + 1
        if remaining < 0:
            break
        fitting.append(line)
    fitting.reverse()
    rest = f"... and {len(lines) - len(fitting)} more"
    return wrap_in_tag(tag, "\n".join((*fitting, rest))) if fitting else ""
