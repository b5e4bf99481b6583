"""The effects of a tool call: what it reads, writes and contacts, after all decoding. Pure.

A tool declares them with the functions that it uses itself to find its files. A permission guard
that parsed the arguments on its own would decide about another file than the one that is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from pi.base.records import Record


class FileEffect(Record):
    """A file or folder that a call reads or writes."""

    path: str
    """Absolute, as the tool opens it; links are not followed."""
    real: str
    """Absolute, with all links followed."""
    member: str = ""
    """The part of the file that is used: a path in an archive, a table of a database."""
    writes: bool = False
    below: bool = False
    """Whether everything below the folder is read, as by a search."""


class CallEffects(Record):
    """Everything that one call reads, writes and contacts."""

    files: tuple[FileEffect, ...] = ()
    urls: tuple[str, ...] = ()
    """Addresses and other references that are not files."""
    cwd: str = ""
    """The working directory of the session that makes the call."""
    is_declared: bool = True
    """Whether the tool declares its effects; otherwise they are unknown."""

    @property
    def written(self) -> tuple[FileEffect, ...]:
        """The files that are written."""
        return tuple(file for file in self.files if file.writes)


UNKNOWN_EFFECTS = CallEffects(is_declared=False)

Effects: TypeAlias = Callable[[Any], CallEffects]
"""Returns the effects of a call with validated arguments. It may look at the disk."""


_judged: ContextVar[Any] = ContextVar("judged", default=None)


@contextmanager
def judging(tool: Any) -> Iterator[None]:
    """Inside the context, policies decide about a call of ``tool``."""
    mark = _judged.set(tool)
    try:
        yield
    finally:
        _judged.reset(mark)


def judged_tool(name: str) -> Any:
    """The tool whose call policies decide about; ``None`` for a tool of another name.

    The guards of a session also decide about the calls of its nested sessions, whose tools and
    working directory differ.
    """
    tool = _judged.get()
    return tool if tool is not None and tool.name == name else None
