"""Connects the formats to ``read`` and ``write``, and guards all writes of files.

Paths lead into archives (``archive.zip:inner/path``) and into SQLite databases
(``db.sqlite:table``, ``db.sqlite:table:key`` and queries).
"""

from __future__ import annotations

import asyncio
import re
import stat
import threading
from pathlib import Path
from typing import Any

from pi.batteries.rich_files import archives, databases
from pi.batteries.rich_files.conflicts import ConflictHandler
from pi.batteries.rich_files.files import (
    DOCUMENTS,
    DocumentReader,
    convert,
    read_file,
    relative,
    starts_with,
    write_file,
)
from pi.extension import (
    ExtensionAPI,
    FileChange,
    FileWrite,
    FileWritten,
    Record,
    Resource,
    ResourceRef,
    ResourceWindow,
    ToolContext,
    ToolFailed,
    ToolResult,
    one_line,
    replace,
)


class _DatabaseWrite(Record):
    """A write to a database that passes through the file layers."""

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
        """Parse a path into a database; ``None`` for other paths and files that are not SQLite."""
        database_path = self._split(path)
        return None if database_path is None else ResourceRef(text=path, rest=database_path.table)

    def touches(self, ref: ResourceRef) -> tuple[str, ...]:
        """The database file: writes to its rows run in order."""
        return (self._database_path(ref).file,)

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """Return tables, rows or the result of a query."""
        database_path = self._database_path(ref)
        stop = threading.Event()
        try:
            text, details = await asyncio.to_thread(
                databases.read_database, self._existing(database_path), database_path, stop
            )
        finally:
            stop.set()  # a thread cannot be cancelled; the query checks this flag
        if not database_path.table and database_path.query is None:
            file = database_path.file
            text += (
                f"\n\n[Read {file}:TABLE for its columns and first rows, {file}:TABLE:KEY for one"
                f" row, {file}?q=SELECT … for a query.]"
            )
        return Resource(text=text, details=details)

    async def write(self, ref: ResourceRef, text: str) -> ToolResult:
        """Insert, update or delete a row. Raises ``ToolFailed``."""
        database_path = self._database_path(ref)
        if database_path.query is not None:
            raise ToolFailed("SQLite write paths do not support query parameters")
        if not database_path.table:
            raise ToolFailed("SQLite write path must target a table")
        if database_path.key is not None and not database_path.key.strip():
            raise ToolFailed("SQLite row writes require a non-empty row key")
        file = self._existing(database_path)
        if file.stat().st_size > archives.MAX_ARCHIVE:
            raise ToolFailed(f"Databases above {archives.MAX_ARCHIVE >> 20} MiB are read only.")
        async with self._writing:
            after, result = await asyncio.to_thread(
                databases.changed_copy, file, database_path, text
            )
            if result.changed:
                self._pending[file] = _DatabaseWrite(ref=database_path, content=text, after=after)
                try:
                    await write_file(self._pi, str(file), after)
                finally:
                    del self._pending[file]
        return ToolResult.of(result.text, details={"meta": {"sourcePath": str(file)}})

    async def commit(self, change: FileChange, write: FileWrite) -> FileWritten:
        """File layer: change the row in place instead of replacing the file.

        Other programs may have the database open, and their writes to a replaced file would be
        lost. The outer layers have checked the resulting bytes and may have refused them.
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

    def _existing(self, database_path: databases.DatabasePath) -> Path:
        file = self._pi.context.files.resolve(database_path.file)
        if not file.is_file():
            raise ToolFailed(f"SQLite database '{database_path.file}' not found")
        return file

    def _database_path(self, ref: ResourceRef) -> databases.DatabasePath:
        database_path = self._split(ref.text)
        if database_path is None:
            raise ToolFailed(f"{ref.text} is not a path into a database.")
        return database_path

    def _split(self, path: str) -> databases.DatabasePath | None:
        if "://" in path.partition("?")[0]:
            return None
        candidates = [*databases.database_paths(path)]
        if not candidates:
            return None
        resolve = self._pi.context.files.resolve
        if not candidates[0].is_bare and resolve(path).exists():
            return None
        for candidate in candidates:
            file = resolve(candidate.file)
            if file.is_file():
                return candidate if starts_with(file, databases.MAGIC) else None
        first = candidates[0]
        return None if first.is_bare or resolve(first.file).exists() else first


class ArchiveHandler:
    """``archive.zip:inner/path``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._writing = asyncio.Lock()

    def parse(self, path: str) -> ResourceRef | None:
        """Parse a path of or into an archive; ``None`` for other paths.

        A file whose name contains the colon takes precedence.
        """
        archive_path = self._split(path)
        return None if archive_path is None else ResourceRef(text=path, rest=archive_path.inner)

    def touches(self, ref: ResourceRef) -> tuple[str, ...]:
        """The archive file: writes to its members run in order."""
        return (self._archive_path(ref).archive,)

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """Return a member, or the list of members."""
        archive_path = self._archive_path(ref)
        data, kind = await self._bytes(archive_path.archive), archives.kind_of(archive_path.archive)
        inner = archives.clean_inner(archive_path.inner)
        if not inner or archive_path.inner.endswith("/"):
            return await self._list(data, kind, inner)
        listed = await asyncio.to_thread(archives.members, data, kind)
        if not any(
            _same(member.name, inner) and member.kind != "directory" for member in listed
        ) and any(
            archives.clean_name(member.name).startswith(f"{inner}/") or _same(member.name, inner)
            for member in listed
        ):
            return await self._list(data, kind, inner)
        content = await asyncio.to_thread(archives.read_member, data, kind, inner)
        if (suffix := Path(inner).suffix.lower()) in DOCUMENTS:
            document = await convert(content, DOCUMENTS[suffix], {})
            return Resource(content=document.content, details=document.details)
        if b"\0" in content[:8192]:
            raise ToolFailed(f"{ref.text} is binary ({len(content):,} bytes).")
        return Resource(text=content.decode("utf-8", "replace"))

    async def list(self, ref: ResourceRef) -> list[str]:
        """The names of the members below the path."""
        archive_path = self._archive_path(ref)
        data = await self._bytes(archive_path.archive)
        listed = await asyncio.to_thread(
            archives.members, data, archives.kind_of(archive_path.archive)
        )
        below = archives.clean_inner(archive_path.inner)
        return [
            member.name for member in listed if archives.clean_name(member.name).startswith(below)
        ]

    async def write(self, ref: ResourceRef, text: str) -> ToolResult:
        """Replace or add a member; the archive is rewritten as a whole."""
        archive_path, files = self._archive_path(ref), self._pi.context.files
        inner = archives.clean_inner(archive_path.inner, for_write=True)
        async with self._writing:
            exists = await files.exists(archive_path.archive)
            data = await self._bytes(archive_path.archive) if exists else None
            now = self._pi.scope.clock.now_ms() // 1000
            changed = await asyncio.to_thread(
                archives.write_member,
                data,
                archives.kind_of(archive_path.archive),
                inner,
                text.encode(),
                now=now,
            )
            await write_file(self._pi, archive_path.archive, changed)
        display_path = relative(self._pi, archive_path.archive)
        return ToolResult.of(
            f"Successfully wrote {len(text.encode())} bytes to {display_path}:{inner}",
            details={"resolvedPath": str(files.resolve(archive_path.archive))},
        )

    async def _list(self, data: bytes, kind: archives.Kind, below: str) -> Resource:
        listed = await asyncio.to_thread(archives.members, data, kind)
        prefix = f"{below}/" if below else ""
        matches = [
            member for member in listed if f"{archives.clean_name(member.name)}/".startswith(prefix)
        ]
        if below and not matches:
            raise ToolFailed(f"There is no {below} in the archive.")
        lines = [_member_line(member) for member in matches]
        members = [{"name": member.name, "size": member.size} for member in matches[:1000]]
        details = {"members": members, "total": len(matches)}
        return Resource(text="\n".join(lines) or "(the archive is empty)", details=details)

    async def _bytes(self, archive: str) -> bytes:
        return await read_file(self._pi, archive, archives.MAX_ARCHIVE)

    def _archive_path(self, ref: ResourceRef) -> archives.ArchivePath:
        archive_path = self._split(ref.text)
        if archive_path is None:
            raise ToolFailed(f"{ref.text} is not a path into an archive.")
        return archive_path

    def _split(self, path: str) -> archives.ArchivePath | None:
        if "://" in path:
            return None
        candidates = [*archives.archive_paths(path)]
        if not candidates:
            return None
        resolve = self._pi.context.files.resolve
        if candidates[0].has_colon and resolve(path).exists():
            return None
        for candidate in candidates:
            file = resolve(candidate.archive)
            if file.is_file() and (candidate.has_colon or _is_archive(file)):
                return candidate
        first = candidates[0]
        # A new name is one of an archive, too: a text of that name would be no archive.
        return None if resolve(first.archive).exists() else first


def _member_line(member: archives.ArchiveMember) -> str:
    mode = "" if member.mode is None else f"{member.mode & 0o7777:04o} "
    name = one_line(member.name)  # a line break in a name must not look like another member
    if member.kind == "link" and member.target:
        return f"{mode}{name} -> {one_line(member.target)}"
    return f"{mode}{name}" + (f" ({member.size} bytes)" if member.kind == "file" else "")


def _same(name: str, inner: str) -> bool:
    return archives.clean_name(name) == inner


def _is_archive(file: Path) -> bool:
    return starts_with(file, b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b") or _tar_magic(file)


def _tar_magic(file: Path) -> bool:
    with file.open("rb") as source:
        source.seek(257)
        return source.read(5) == b"ustar"


CHECK_BYTES, HEADER_LINES = 1024, 40
"""Part of a file that is searched for the note that it is generated."""
_GENERATED = re.compile(
    r"@generated\b|\bcode generated\b.*\bdo not (?:edit|modify)\b"
    r"|\b(?:auto-?|automatically |machine )generated\b"
    r"|\bgenerated (?:file|code|by)\b.*\bdo not (?:edit|modify)\b"
    r"|\bdo not (?:edit|modify)\b.*\bgenerated\b|<auto-generated",
    re.IGNORECASE,
)


class WriteGuards:
    """Refuses to overwrite generated files, and makes new scripts executable."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def write(self, change: FileChange, write: FileWrite) -> FileWritten:
        """File layer. Raises ``ToolFailed`` for a generated file."""
        setting = self._pi.settings.get
        note = generated_note(change.before) if change.before is not None else None
        if note and setting("richFiles.generatedGuard"):
            raise ToolFailed(
                f"{change.path.name} is generated ({note!r}). Change its source and generate it"
                " again, or ask the user; richFiles.generatedGuard turns this check off."
            )
        written = await write(change)
        is_script = change.after is not None and change.after.startswith(b"#!")
        was_script = change.before is not None and change.before.startswith(b"#!")
        if not is_script or was_script or not setting("richFiles.shebangExecutable"):
            return written
        if await asyncio.to_thread(_make_executable, change.path):
            details = {**written.details, "madeExecutable": True}
            note = f"Made {change.path.name} executable."
            return replace(written, details=details, notes=(*written.notes, note))
        return written


def generated_note(data: bytes) -> str | None:
    """The line at the start of a file that marks it as generated; ``None`` for other files."""
    head = data[:CHECK_BYTES]
    if b"\0" in head:
        return None
    for line in head.decode("utf-8", "replace").splitlines()[:HEADER_LINES]:
        if _GENERATED.search(line):
            return line.strip()[:100]
    return None


def _make_executable(path: Path) -> bool:
    """Add the execute bit wherever the read bit is set. Returns False if that is not possible."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        executable = mode | ((mode & 0o444) >> 2)
        if executable == mode:
            return False
        path.chmod(executable)
    except OSError:
        return False  # a file system without modes
    return True


SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("richFiles.enabled", bool, False, "archives, databases, documents and conflicts"),
    ("richFiles.generatedGuard", bool, True, "refuse to overwrite generated files"),
    ("richFiles.shebangExecutable", bool, True, "make new scripts executable"),
)


# The forms of paths are in the fields ``path``: both texts are in every request.
ABOUT_READ = (
    " Also opens archives (zip, tar), SQLite databases (?q=SELECT … runs a query), PDFs and"
    " notebooks (?pages=2-5), and merge conflicts."
)
ABOUT_WRITE = (
    " A row is written as a JSON5 object; with a key that row is updated, and empty content deletes"
    " it. A conflict is resolved by text, or by @ours, @theirs, @base or @both."
)


def extension(pi: ExtensionAPI) -> None:
    """Register the path forms, the scheme and the guards."""
    pi.settings.declare_all(SETTINGS)
    pi.add_view("tool", "read", "pi.batteries.rich_files.views:read")
    guards = WriteGuards(pi)
    pi.wrap_files(guards.write, nested=False)  # nested sessions load this extension, too
    databases_of_session = DatabaseHandler(pi)
    # Archives are added last, so they win: a path that names both is an archive.
    pi.add_path_form(
        databases_of_session.parse, databases_of_session, example="app.sqlite:table:key"
    )
    pi.wrap_files(databases_of_session.commit, at="last", nested=False)
    archives_of_session = ArchiveHandler(pi)
    pi.add_path_form(archives_of_session.parse, archives_of_session, example="app.zip:inner/path")
    conflicts_of_session = ConflictHandler(pi)
    pi.add_scheme("conflict", conflicts_of_session, example="conflict://N")
    documents = DocumentReader(pi)
    pi.wrap_tool("read", conflicts_of_session.after_read, description=lambda own: own + ABOUT_READ)
    pi.wrap_tool("read", documents.read)
    pi.wrap_tool("write", _call_unchanged, description=lambda own: own + ABOUT_WRITE)


async def _call_unchanged(params: Any, ctx: ToolContext, inner: Any) -> Any:
    return await inner(params)
