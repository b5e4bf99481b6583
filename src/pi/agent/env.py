"""Where tools work: the files and the shell of this machine, a container or another host.

Only what is wanted of such a place. Places themselves live above this layer, which touches no
disk and starts no process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from pi.base.errors import PiError
from pi.base.records import Record

# What goes wrong around an agent, as values with a code that is the same in every backend.
#
# Messages are for people and change; programs decide by the code. Cancelling is none of these: it
# is ``asyncio.CancelledError`` everywhere.
#
# FileErrorCode not_found there is no such file or folder already_exists something of that name is
# in the way not_a_directory a folder is needed and it is none is_a_directory a file is needed and
# it is a folder not_empty a folder that holds something is removed only recursively
# permission_denied we may not do that there no_space the disk or the quota is full invalid_path
# no file can have this name unsupported this environment cannot do that unknown anything else;
# the message says what
#
# ExecutionErrorCode timed_out it ran longer than it may, and was killed killed a signal ended it
# shell_unavailable there is no shell to run commands with invalid_directory the working directory
# cannot be used spawn_failed it could not be started unknown anything else; the message says what
#
# CompactionErrorCode nothing_to_compact all that there is would be kept anyway aborted somebody
# stopped it summary_failed the model gave no usable summary, twice not_smaller the result would
# be no shorter than what it replaces too_large not even a part fits the summarising model
#
# SessionErrorCode not_found there is no such conversation invalid what is stored is no
# conversation invalid_entry something that the store cannot keep was to be kept locked another
# program writes to it closed it was closed and takes nothing more storage_failed the disk, or
# whatever keeps it, failed unknown anything else; the message says what


FileErrorCode: TypeAlias = Literal[
    "not_found",
    "already_exists",
    "not_a_directory",
    "is_a_directory",
    "not_empty",
    "permission_denied",
    "no_space",
    "invalid_path",
    "unsupported",
    "unknown",
]
ExecutionErrorCode: TypeAlias = Literal[
    "timed_out", "killed", "shell_unavailable", "invalid_directory", "spawn_failed", "unknown"
]
SessionErrorCode: TypeAlias = Literal[
    "not_found", "invalid", "invalid_entry", "locked", "closed", "storage_failed", "unknown"
]


class FileError(Record):
    """Why a file or folder could not be read, written or looked at."""

    code: FileErrorCode
    message: str
    path: str = ""
    """As it was asked for."""


class ExecutionError(Record):
    """Why a command gave no exit code."""

    code: ExecutionErrorCode
    message: str


class SessionError(Record):
    """Why a conversation could not be opened or added to."""

    code: SessionErrorCode
    message: str


E = TypeVar("E", FileError, ExecutionError, SessionError)


class _Failed(PiError, Generic[E]):
    """An error value on its way to somebody who handles it."""

    def __init__(self, error: E, *, hint: str = "") -> None:
        super().__init__(error.message, hint=hint)
        self.error: E = error


class FileFailed(_Failed[FileError]):
    """Nothing was read or changed; ``error`` says why."""


class ExecutionFailed(_Failed[ExecutionError]):
    """A command could not be started; ``error`` says why."""


class SessionFailed(_Failed[SessionError]):
    """A conversation could not be used; ``error`` says why."""


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
    """What it wrote to both of its outputs, up to ``MAX_OUTPUT_BYTES`` characters."""
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
