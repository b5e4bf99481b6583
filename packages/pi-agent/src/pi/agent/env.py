"""Protocols of the environment in which tools work (files and shell), and its error values.

Implementations for this machine, a container or a remote machine live above this layer, which
touches no disk and starts no process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

from pi.base.errors import PiError
from pi.base.records import Record

# Errors are values with a code that is the same in every backend. Messages are for users and may
# change; programs use the code. Cancellation is not an error: it is ``asyncio.CancelledError``.


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
    """Why a file or folder could not be read, written or inspected."""

    code: FileErrorCode
    message: str
    path: str = ""
    """As given by the caller."""


class ExecutionError(Record):
    """Why a command has no exit code."""

    code: ExecutionErrorCode
    message: str


class SessionError(Record):
    """Why a conversation could not be opened or added to."""

    code: SessionErrorCode
    message: str


E = TypeVar("E", FileError, ExecutionError, SessionError)


class _Failed(PiError, Generic[E]):
    """Carries an error value as an exception."""

    def __init__(self, error: E, *, hint: str = "") -> None:
        super().__init__(error.message, hint=hint)
        self.error: E = error


class FileFailed(_Failed[FileError]):
    """A file operation failed and changed nothing; ``error`` says why."""


class ExecutionFailed(_Failed[ExecutionError]):
    """A command could not be started; ``error`` says why."""


class SessionFailed(_Failed[SessionError]):
    """A conversation could not be opened or written; ``error`` says why."""


OnOutput: TypeAlias = Callable[[str], Awaitable[None] | None]
"""Called with the output of a command as it arrives, stderr included. An exception ends the
command.
"""

MAX_OUTPUT = 1_000_000
"""Characters of output kept in a result: the last ones, where errors are."""


class FileInfo(Record):
    """File metadata."""

    name: str
    path: str
    """Absolute."""
    kind: Literal["file", "directory", "other"]
    """Kind of the link target, if it is a link; ``other`` is a device, a pipe or a broken link."""
    size: int
    """Bytes."""
    modified_ms: int
    """Milliseconds since 1970."""


class ExecResult(Record):
    """Result of a command."""

    exit_code: int | None
    """``None`` if the command did not exit by itself; ``error`` says why."""
    output: str
    """Combined stdout and stderr, up to ``MAX_OUTPUT`` characters."""
    truncated: bool = False
    """Whether the beginning of ``output`` was dropped."""
    error: ExecutionError | None = None


class FileSystem(Protocol):
    """File operations. Paths are absolute or relative to ``cwd``.

    All methods raise ``FileFailed`` on failure.
    """

    @property
    def cwd(self) -> str:
        """The base of relative paths."""
        ...

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file."""
        ...

    async def write_file(self, path: str, data: bytes) -> None:
        """Replace the content of a file atomically; creates missing parent folders."""
        ...

    async def stat(self, path: str) -> FileInfo:
        """Return the metadata of a file or folder."""
        ...

    async def list_dir(self, path: str) -> Sequence[FileInfo]:
        """Return the entries of a folder, sorted by name."""
        ...

    async def exists(self, path: str) -> bool:
        """Whether the path exists; true for a broken link."""
        ...

    async def mkdir(self, path: str) -> None:
        """Create a folder and its parents; an existing folder is not an error."""
        ...

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link (not its target) or a folder."""
        ...

    async def real_path(self, path: str) -> str:
        """Return the absolute path with all links resolved; the file may be missing."""
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
        """Run a command line to its end; ``env`` is added to the inherited variables.

        On timeout (seconds) or cancellation the whole process tree is killed. Raises
        ``ExecutionFailed`` if the command could not be started.
        """
        ...


class ExecutionEnv(FileSystem, Shell, Protocol):
    """Files and shell that tools use instead of direct disk and process access."""
