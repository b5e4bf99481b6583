"""Paths into archives: ``archive.zip:inner/path``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.batteries.rich_files import archives
from pi.batteries.rich_files.documents import DOCUMENTS, converted
from pi.batteries.rich_files.session_files import read_file, relative, starts_with, write_file
from pi.extension import (
    ExtensionAPI,
    Resource,
    ResourceRef,
    ResourceWindow,
    ToolFailed,
    ToolResult,
    one_line,
)


class ArchiveHandler:
    """``archive.zip:inner/path``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._writing = asyncio.Lock()

    def parse(self, path: str) -> ResourceRef | None:
        """Claim paths into archives, and archives; a literal file of that name comes first."""
        found = self._split(path)
        return None if found is None else ResourceRef(text=path, rest=found.inner)

    def touches(self, ref: ResourceRef) -> tuple[str, ...]:
        """The archive: writes to its members run in order."""
        return (self._of(ref).archive,)

    async def read(self, ref: ResourceRef, window: ResourceWindow) -> Resource:
        """Return a member, or the list of members."""
        found = self._of(ref)
        data, kind = await self._bytes(found.archive), archives.kind_of(found.archive)
        inner = archives.clean_inner(found.inner)
        if not inner or found.inner.endswith("/"):
            return await self._list(data, kind, inner)
        listed = await asyncio.to_thread(archives.members, data, kind)
        if not any(_same(each.name, inner) and each.kind != "directory" for each in listed) and any(
            archives.clean_name(each.name).startswith(f"{inner}/") or _same(each.name, inner)
            for each in listed
        ):
            return await self._list(data, kind, inner)
        content = await asyncio.to_thread(archives.read_member, data, kind, inner)
        if (suffix := Path(inner).suffix.lower()) in DOCUMENTS:
            document = await converted(content, DOCUMENTS[suffix], {})
            return Resource(content=document.content, details=document.details)
        if b"\0" in content[:8192]:
            raise ToolFailed(f"{ref.text} is binary ({len(content):,} bytes).")
        return Resource(text=content.decode("utf-8", "replace"))

    async def list(self, ref: ResourceRef) -> list[str]:
        """The names of all members."""
        found = self._of(ref)
        data = await self._bytes(found.archive)
        listed = await asyncio.to_thread(archives.members, data, archives.kind_of(found.archive))
        below = archives.clean_inner(found.inner)
        return [each.name for each in listed if archives.clean_name(each.name).startswith(below)]

    async def write(self, ref: ResourceRef, text: str) -> ToolResult:
        """Replace or add a member; the archive is rewritten as a whole."""
        found, files = self._of(ref), self._pi.context.files
        inner = archives.clean_inner(found.inner, for_write=True)
        async with self._writing:
            exists = await files.exists(found.archive)
            data = await self._bytes(found.archive) if exists else None
            now = self._pi.scope.clock.now_ms() // 1000
            changed = await asyncio.to_thread(
                archives.write_member,
                data,
                archives.kind_of(found.archive),
                inner,
                text.encode(),
                now=now,
            )
            await write_file(self._pi, found.archive, changed)
        shown = relative(self._pi, found.archive)
        return ToolResult.of(
            f"Successfully wrote {len(text.encode())} bytes to {shown}:{inner}",
            details={"resolvedPath": str(files.resolve(found.archive))},
        )

    async def _list(self, data: bytes, kind: archives.Kind, below: str) -> Resource:
        listed = await asyncio.to_thread(archives.members, data, kind)
        prefix = f"{below}/" if below else ""
        shown = [each for each in listed if f"{archives.clean_name(each.name)}/".startswith(prefix)]
        if below and not shown:
            raise ToolFailed(f"There is no {below} in the archive.")
        lines = [_member_line(each) for each in shown]
        members = [{"name": each.name, "size": each.size} for each in shown[:1000]]
        details = {"members": members, "total": len(shown)}
        return Resource(text="\n".join(lines) or "(the archive is empty)", details=details)

    async def _bytes(self, archive: str) -> bytes:
        return await read_file(self._pi, archive, archives.MAX_ARCHIVE)

    def _of(self, ref: ResourceRef) -> archives.ArchivePath:
        found = self._split(ref.text)
        if found is None:
            raise ToolFailed(f"{ref.text} is not a path into an archive.")
        return found

    def _split(self, path: str) -> archives.ArchivePath | None:
        if "://" in path:
            return None
        candidates = [*archives.archive_paths(path)]
        if not candidates:
            return None
        resolve = self._pi.context.files.resolve
        if candidates[0].has_colon and resolve(path).exists():
            return None
        for each in candidates:
            file = resolve(each.archive)
            if file.is_file() and (each.has_colon or _is_archive(file)):
                return each
        first = candidates[0]
        return first if first.has_colon and not resolve(first.archive).exists() else None


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
