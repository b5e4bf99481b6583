"""What goes wrong around an agent, as values with a code that is the same in every backend.

Messages are for people and change; programs decide by the code. Cancelling is none of these: it is
``asyncio.CancelledError`` everywhere.

FileErrorCode         not_found            there is no such file or folder
                      already_exists       something of that name is in the way
                      not_a_directory      a folder is needed and it is none
                      is_a_directory       a file is needed and it is a folder
                      not_empty            a folder that holds something is removed only recursively
                      permission_denied    we may not do that there
                      no_space             the disk or the quota is full
                      invalid_path         no file can have this name
                      unsupported          this environment cannot do that
                      unknown              anything else; the message says what

ExecutionErrorCode    timed_out            it ran longer than it may, and was killed
                      killed               a signal ended it
                      shell_unavailable    there is no shell to run commands with
                      invalid_directory    the working directory cannot be used
                      spawn_failed         it could not be started
                      unknown              anything else; the message says what

CompactionErrorCode   nothing_to_compact   all that there is would be kept anyway
                      aborted              somebody stopped it
                      summary_failed       the model gave no usable summary, twice
                      not_smaller          the result would be no shorter than what it replaces
                      too_large            not even a part fits the summarising model

SessionErrorCode      not_found            there is no such conversation
                      invalid              what is stored is no conversation
                      invalid_entry        something that the store cannot keep was to be kept
                      locked               another program writes to it
                      closed               it was closed and takes nothing more
                      storage_failed       the disk, or whatever keeps it, failed
                      unknown              anything else; the message says what
"""

from __future__ import annotations

from typing import Generic, Literal, TypeAlias, TypeVar

from pi.agent.compaction.errors import CompactionError, CompactionErrorCode, CompactionFailed
from pi.base.errors import PiError
from pi.base.records import Record

__all__ = [
    "CompactionError",
    "CompactionErrorCode",
    "CompactionFailed",
    "ExecutionError",
    "ExecutionErrorCode",
    "ExecutionFailed",
    "FileError",
    "FileErrorCode",
    "FileFailed",
    "SessionError",
    "SessionErrorCode",
    "SessionFailed",
]

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
