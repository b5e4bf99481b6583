"""Hooks around the files of tools: layers see and change writes, guards check reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import field

from pi.ai.messages import Json
from pi.base.records import Record, replace


class FileChange(Record):
    """A file that is about to be written or removed.

    ``before`` and ``after`` are both ``None`` for a link or folder that is removed.
    """

    path: Path
    """Absolute."""
    before: bytes | None
    """``None`` if the file does not exist."""
    after: bytes | None
    """``None`` if it is removed."""
    mode: int | None = None
    """The new permission bits; ``None`` keeps the existing ones."""
    old_mode: int | None = None
    """The permission bits of the existing file."""
    call_id: str = ""
    """The tool call that writes it; empty outside of a tool call."""
    real: str = ""
    """``path`` with all links followed: the file that is written."""
    cwd: str = ""
    """The working directory of the session that writes."""


class FileRead(Record):
    """A file or folder that a tool call is about to read, as it is on disk."""

    path: Path
    """Absolute."""
    real: str
    """``path`` with all links followed: the file that is read."""
    cwd: str
    """The working directory of the session that reads."""
    call_id: str
    """The tool call that reads it."""


class FileWritten(Record):
    """The result of a write."""

    text: str = ""
    """For the model; replaces the text of the tool."""
    notes: tuple[str, ...] = ()
    """For the model; appended to the result of the tool."""
    details: Json = field(default_factory=dict)


FileWrite: TypeAlias = Callable[[FileChange], Awaitable[FileWritten]]
"""Writes through the remaining layers."""
FileLayer: TypeAlias = Callable[[FileChange, FileWrite], Awaitable[FileWritten]]
"""May replace the content, raise to prevent the write, and add notes to the result."""


OpenText: TypeAlias = Callable[[Path], Awaitable[str | None]]
"""Returns the text of a file that is open elsewhere; ``None`` reads the disk."""


class ReadGuard(Protocol):
    """Decides which files tool calls may read, by the actual path and after all decoding."""

    async def check(self, read: FileRead) -> None:
        """Raise ``ToolFailed`` if the file must not be read."""
        ...

    def hidden(self, cwd: str) -> Callable[[str, str], bool] | None:
        """Return which files searches and lists leave out, by path and actual path.

        ``None`` if they show all files. The function is called for every result: stay cheap.
        """
        ...


class WrappedFiles(Record):
    """A layer of an extension."""

    layer: FileLayer
    read: OpenText | None = None
    """For files with unsaved changes, such as those that an editor has open."""
    guard: ReadGuard | None = None
    nested: bool = True
    """Whether the layer also applies to the writes of nested sessions."""


class Writing:
    """The files of one tool call."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.written: list[FileWritten] = []


def running_call() -> str:
    """The id of the tool call that is running in this task; empty outside of a call."""
    writing = _writing.get()
    return "" if writing is None else writing.call_id


_writing: ContextVar[Writing | None] = ContextVar("writing", default=None)


@contextmanager
def writing_for(call_id: str) -> Iterator[Writing]:
    """Inside the context, files are read and written for a call; collect the results of writes."""
    writing = Writing(call_id)
    mark = _writing.set(writing)
    try:
        yield writing
    finally:
        _writing.reset(mark)


@contextmanager
def outside_calls() -> Iterator[None]:
    """Inside the context, reads and writes do not belong to the running tool call."""
    mark = _writing.set(None)
    try:
        yield
    finally:
        _writing.reset(mark)


async def write_through(layers: Sequence[FileLayer], change: FileChange, write: FileWrite) -> None:
    """Write through all layers, and collect the result for the tool call."""
    written = await through(layers, change, write)
    if (writing := _writing.get()) is not None:
        writing.written.append(written)


async def through(layers: Sequence[FileLayer], change: FileChange, write: FileWrite) -> FileWritten:
    """Write through all layers; the first is outermost, the last nearest to the disk."""
    if (writing := _writing.get()) is not None:
        change = replace(change, call_id=writing.call_id)
    for layer in reversed(layers):
        write = _inside(layer, write)
    return await write(change)


def _inside(layer: FileLayer, write: FileWrite) -> FileWrite:
    async def layered(change: FileChange) -> FileWritten:
        return await layer(change, write)

    return layered
