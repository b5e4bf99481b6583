"""Paths into SQLite databases: ``db.sqlite:table``, ``db.sqlite:table:key`` and queries."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from pi.batteries.rich_files import archives, databases
from pi.batteries.rich_files.session_files import starts_with, write_file
from pi.extension import (
    ExtensionAPI,
    FileChange,
    FileWrite,
    FileWritten,
    Record,
    Resource,
    ResourceRef,
    ResourceWindow,
    ToolFailed,
    ToolResult,
)


class _DatabaseWrite(Record):
    """A write that waits for the file layers."""

    ref: databases.DatabasePath
    content: str
    after: bytes


class DatabaseHandler:
    """``db.sqlite:table``, ``db.sqlite:table:key`` and queries."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._writing = asyncio.Lock()
        self._pending: dict[Path, _DatabaseWrite] = {}

    def parse(self, path: str) -> ResourceRef | None:
        """Claim paths into databases; files without the header of SQLite are plain files."""
        found = self._split(path)
        return None if found is None else ResourceRef(text=path, rest=found.table)

    def touches(self, ref: ResourceRef) -> tuple[str, ...]:
        """The database: writes to its rows run in order."""
        return (self._of(ref).file,)

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """Return tables, rows or the result of a query."""
        found = self._of(ref)
        stop = threading.Event()
        try:
            text, details = await asyncio.to_thread(
                databases.read_database, self._existing(found), found, stop
            )
        finally:
            stop.set()  # a thread cannot be cancelled; the query looks at this flag
        return Resource(text=text, details=details)

    async def write(self, ref: ResourceRef, text: str) -> ToolResult:
        """Insert, update or delete a row."""
        found = self._of(ref)
        if found.query is not None:
            raise ToolFailed("SQLite write paths do not support query parameters")
        if not found.table:
            raise ToolFailed("SQLite write path must target a table")
        if found.key is not None and not found.key.strip():
            raise ToolFailed("SQLite row writes require a non-empty row key")
        file = self._existing(found)
        if file.stat().st_size > archives.MAX_ARCHIVE:
            raise ToolFailed(f"Databases above {archives.MAX_ARCHIVE >> 20} MiB are read only.")
        async with self._writing:
            after, result = await asyncio.to_thread(databases.changed_copy, file, found, text)
            if result.changed:
                self._pending[file] = _DatabaseWrite(ref=found, content=text, after=after)
                try:
                    await write_file(self._pi, str(file), after)
                finally:
                    del self._pending[file]
        return ToolResult.of(result.text, details={"meta": {"sourcePath": str(file)}})

    async def commit(self, change: FileChange, write: FileWrite) -> FileWritten:
        """Change the row in place instead of replacing the file.

        Other programs may have the database open, and a replaced file would lose what they write.
        The outer layers have seen, and may have refused, the bytes that result from it.
        """
        pending = self._pending.get(change.path)
        if pending is None:
            return await write(change)
        if change.after != pending.after:
            raise ToolFailed(
                "An extension changed the content of the database; nothing is written."
            )

        def work() -> None:
            with databases.changing(change.path) as db:
                databases.write_row(db, pending.ref, pending.content)

        await asyncio.to_thread(work)
        return FileWritten()

    def _existing(self, found: databases.DatabasePath) -> Path:
        file = self._pi.context.files.resolve(found.file)
        if not file.is_file():
            raise ToolFailed(f"SQLite database '{found.file}' not found")
        return file

    def _of(self, ref: ResourceRef) -> databases.DatabasePath:
        found = self._split(ref.text)
        if found is None:
            raise ToolFailed(f"{ref.text} is not a path into a database.")
        return found

    def _split(self, path: str) -> databases.DatabasePath | None:
        if "://" in path.partition("?")[0]:
            return None
        candidates = [*databases.database_paths(path)]
        if not candidates:
            return None
        resolve = self._pi.context.files.resolve
        if not candidates[0].is_bare and resolve(path).exists():
            return None
        for each in candidates:
            file = resolve(each.file)
            if file.is_file():
                return each if starts_with(file, databases.MAGIC) else None
        first = candidates[0]
        return None if first.is_bare or resolve(first.file).exists() else first
