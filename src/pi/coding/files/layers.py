"""Hooks around every file write of a tool: they see the change, may replace it, and add notes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from msgspec import field

from pi.ai.messages import Json
from pi.base.records import Record


class FileChange(Record):
    """A file that is about to be written."""

    path: Path
    """Absolute."""
    before: bytes | None
    """``None`` if the file does not exist."""
    after: bytes
    call_id: str = ""
    """The tool call that writes it; empty outside of a tool call."""


class FileWritten(Record):
    """The result of a write."""

    notes: tuple[str, ...] = ()
    """For the model; appended to the result of the tool."""
    details: Json = field(default_factory=dict)


FileWrite: TypeAlias = Callable[[FileChange], Awaitable[FileWritten]]
"""Writes through the remaining layers."""
FileLayer: TypeAlias = Callable[[FileChange, FileWrite], Awaitable[FileWritten]]
"""May replace the content, raise to prevent the write, and add notes to the result."""


class Writing:
    """The writes of one tool call."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.written: list[FileWritten] = []


_writing: ContextVar[Writing | None] = ContextVar("writing", default=None)


@contextmanager
def writing_for(call_id: str) -> Iterator[Writing]:
    """Collect the results of all writes inside the context."""
    writing = Writing(call_id)
    mark = _writing.set(writing)
    try:
        yield writing
    finally:
        _writing.reset(mark)


async def write_through(layers: Sequence[FileLayer], change: FileChange, write: FileWrite) -> None:
    """Write through all layers; the first is outermost, the last nearest to the disk."""
    writing = _writing.get()
    if writing is not None:
        change = FileChange(
            path=change.path, before=change.before, after=change.after, call_id=writing.call_id
        )
    for layer in reversed(layers):
        write = _inside(layer, write)
    written = await write(change)
    if writing is not None:
        writing.written.append(written)


def _inside(layer: FileLayer, write: FileWrite) -> FileWrite:
    async def through(change: FileChange) -> FileWritten:
        return await layer(change, write)

    return through
