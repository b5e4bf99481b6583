"""Where tools work: the files and the shell of this machine, a container or another host.

Only what is wanted of such a place. Places themselves live above this layer, which touches no
disk and starts no process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from pi.agent.error_codes import ExecutionError
from pi.base.records import Record

OnOutput: TypeAlias = Callable[[str], Awaitable[None] | None]
"""Told what a command writes, errors included, as it comes. What it raises ends the command.

A command that writes more than a listener can take is held up by what the listener gives back.
"""

MOST_OUTPUT = 1_000_000
"""Characters of a command's output that its result keeps: the last ones, where errors stand."""


class FileInfo(Record):
    """What is known of a file without reading it."""

    name: str
    path: str
    """Absolute."""
    kind: Literal["file", "directory", "other"]
    """Of what it leads to, if it is a link; ``other`` is a device, a pipe or a link to nothing."""
    size: int
    """Bytes."""
    modified_ms: int
    """Milliseconds since 1970."""


class ExecResult(Record):
    """What a command came to."""

    exit_code: int | None
    """``None`` when it did not end by itself; ``error`` says why."""
    output: str
    """What it wrote to both of its outputs, up to ``MOST_OUTPUT`` characters."""
    truncated: bool = False
    """Whether the beginning of ``output`` is missing."""
    error: ExecutionError | None = None


class FileSystem(Protocol):
    """Files, by paths that are absolute or relative to ``cwd``.

    Whatever cannot be done raises ``FileFailed``.
    """

    @property
    def cwd(self) -> str:
        """The folder that relative paths start from."""
        ...

    async def read_file(self, path: str) -> bytes:
        """All that a file holds."""
        ...

    async def write_file(self, path: str, data: bytes) -> None:
        """Give a file new content in one step, and the folders above it if they are missing."""
        ...

    async def stat(self, path: str) -> FileInfo:
        """What a file or folder is."""
        ...

    async def list_dir(self, path: str) -> Sequence[FileInfo]:
        """What is in a folder, sorted by name."""
        ...

    async def exists(self, path: str) -> bool:
        """Whether there is something, if only a link to nothing."""
        ...

    async def mkdir(self, path: str) -> None:
        """Make a folder and those above it; one that is there already is fine."""
        ...

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link (not what it leads to) or a folder."""
        ...

    async def real_path(self, path: str) -> str:
        """The absolute path with every link followed; the file itself may be missing."""
        ...


class Shell(Protocol):
    """Runs commands."""

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
    ) -> ExecResult:
        """Run a command line to its end; ``env`` is added to the variables that it has anyway.

        After ``timeout`` seconds, or when the caller is cancelled, it is ended with everything
        that it has started. ``ExecutionFailed`` when it could not be started.
        """
        ...


class ExecutionEnv(FileSystem, Shell, Protocol):
    """A place where tools can work: what they are built with instead of a disk and a shell."""
