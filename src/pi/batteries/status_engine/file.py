"""Line 3 from a file that something else writes."""

from __future__ import annotations

from typing import Protocol

from pi.batteries.status_engine.command import first_line
from pi.batteries.status_engine.line_source import Ask
from pi.extension import PiError

LARGEST = 65_536
"""Bytes of a file that is looked into."""


class FileInfo(Protocol):
    """What is known of a file without reading it."""

    @property
    def kind(self) -> str:
        """``file``, ``directory`` or ``other``."""
        ...

    @property
    def size(self) -> int:
        """In bytes."""
        ...


class Files(Protocol):
    """The part of ``ctx.files`` that is needed."""

    async def stat(self, path: str) -> FileInfo:
        """What a file is."""
        ...

    async def read_file(self, path: str) -> bytes:
        """All that it holds."""
        ...


async def read_small(files: Files, path: str) -> str | None:
    """The text of a file; ``None`` if there is none, or nothing that can be read at once."""
    try:
        info = await files.stat(path)
        if info.kind != "file" or info.size > LARGEST:
            return None  # a pipe would never end
        content = await files.read_file(path)
    except PiError:
        return None
    return content.decode("utf-8", "replace")


def asking_file(path: str, files: Files) -> Ask:
    """Reads the first line; while there is no such file, there is no line."""

    async def ask(payload: bytes) -> str:
        return first_line(await read_small(files, path) or "")

    return ask
