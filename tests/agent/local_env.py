"""This machine as an ``ExecutionEnv``: proof that the protocol can be kept with what base has."""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pi.agent.env import MOST_OUTPUT, ExecResult, FileInfo, OnOutput
from pi.agent.error_codes import (
    ExecutionError,
    ExecutionErrorCode,
    ExecutionFailed,
    FileError,
    FileErrorCode,
    FileFailed,
)
from pi.base.files import FileProblem, replace_file
from pi.base.processes import Child, SpawnFailed, spawn

T = TypeVar("T")

READ_SIZE = 65536
CODES: dict[int | None, FileErrorCode] = {
    errno.ENOENT: "not_found",
    errno.EEXIST: "already_exists",
    errno.ENOTDIR: "not_a_directory",
    errno.EISDIR: "is_a_directory",
    errno.ENOTEMPTY: "not_empty",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.EROFS: "permission_denied",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.ENAMETOOLONG: "invalid_path",
    errno.ELOOP: "invalid_path",
}


class LocalEnv:
    """Files below ``cwd`` or anywhere, commands by ``sh``."""

    def __init__(
        self, cwd: Path, *, environ: Mapping[str, str], shell: str | None = shutil.which("sh")
    ) -> None:
        self._cwd = cwd
        self._environ = environ
        self._shell = shell

    @property
    def cwd(self) -> str:
        return str(self._cwd)

    # Files -------------------------------------------------------------------------------------

    async def read_file(self, path: str) -> bytes:
        return await _on_disk(path, "read", (self._cwd / path).read_bytes)

    async def write_file(self, path: str, data: bytes) -> None:
        await _on_disk(path, "write", lambda: _write(self._cwd / path, data))

    async def stat(self, path: str) -> FileInfo:
        return await _on_disk(path, "look at", lambda: _info(self._cwd / path))

    async def list_dir(self, path: str) -> Sequence[FileInfo]:
        folder = self._cwd / path
        return await _on_disk(path, "list", lambda: [*map(_info, sorted(folder.iterdir()))])

    async def exists(self, path: str) -> bool:
        return await _on_disk(path, "look at", lambda: os.path.lexists(self._cwd / path))

    async def mkdir(self, path: str) -> None:
        make = (self._cwd / path).mkdir
        await _on_disk(path, "make", lambda: make(parents=True, exist_ok=True))

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        await _on_disk(path, "remove", lambda: _remove(self._cwd / path, recursive))

    async def real_path(self, path: str) -> str:
        return await _on_disk(path, "follow", lambda: os.path.realpath(self._cwd / path))

    # Commands ----------------------------------------------------------------------------------

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
    ) -> ExecResult:
        if self._shell is None:
            raise _cannot("shell_unavailable", SpawnFailed("There is no sh on this machine."))
        folder = self._cwd / (cwd or "")
        try:
            child = await spawn(
                [self._shell, "-c", command], cwd=folder, env={**self._environ, **(env or {})}
            )
        except SpawnFailed as problem:
            code: ExecutionErrorCode = "spawn_failed" if folder.is_dir() else "invalid_directory"
            raise _cannot(code, problem) from problem
        output = Output(on_output)
        async with child:
            try:
                async with asyncio.timeout(timeout):
                    return await _heard(child, output)
            except TimeoutError:
                await child.terminate(grace=0)
                message = f"The command was killed after {timeout:g} seconds."
                return output.result(None, ExecutionError(code="timed_out", message=message))


class Output:
    """The last of what a command writes, told as it comes."""

    def __init__(self, tell: OnOutput | None) -> None:
        self._tell = tell
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self._truncated = False

    def add(self, data: bytes, *, final: bool = False) -> None:
        text = self._decode(data, final)
        if text and self._tell is not None:
            self._tell(text)
        self._truncated = self._truncated or len(self._text) + len(text) > MOST_OUTPUT
        self._text = (self._text + text)[-MOST_OUTPUT:]

    def result(self, exit_code: int | None, error: ExecutionError | None = None) -> ExecResult:
        self.add(b"", final=True)
        return ExecResult(
            exit_code=exit_code, output=self._text, truncated=self._truncated, error=error
        )


async def _heard(child: Child, output: Output) -> ExecResult:
    while data := await child.output.read(READ_SIZE):
        output.add(data)
    end = await child.wait()
    if end.signal is None:
        return output.result(end.exit_code)
    message = f"The command was ended by signal {end.signal}."
    return output.result(None, ExecutionError(code="killed", message=message))


async def _on_disk(path: str, doing: str, work: Callable[[], T]) -> T:
    with _coded(path, doing):
        return await asyncio.to_thread(work)


@contextmanager
def _coded(path: str, doing: str) -> Iterator[None]:
    try:
        yield
    except (OSError, FileProblem) as problem:
        cause = problem.__cause__ if isinstance(problem, FileProblem) else problem
        code = CODES.get(getattr(cause, "errno", None), "unknown")
        message = f"Cannot {doing} {path}: {getattr(cause, 'strerror', None) or problem}."
        raise FileFailed(FileError(code=code, message=message, path=path)) from problem
    except ValueError as problem:  # a zero byte
        message = f"Cannot {doing} {path!r}: no file can have this name."
        error = FileError(code="invalid_path", message=message, path=path)
        raise FileFailed(error) from problem


def _cannot(code: ExecutionErrorCode, problem: SpawnFailed) -> ExecutionFailed:
    return ExecutionFailed(ExecutionError(code=code, message=problem.message), hint=problem.hint)


def _write(path: Path, data: bytes) -> None:
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data)


def _info(path: Path) -> FileInfo:
    try:
        found = path.stat()
    except OSError:
        found = path.lstat()  # a link to nothing
    is_file, is_folder = stat.S_ISREG(found.st_mode), stat.S_ISDIR(found.st_mode)
    return FileInfo(
        name=path.name,
        path=os.path.normpath(path),
        kind="file" if is_file else "directory" if is_folder else "other",
        size=found.st_size,
        modified_ms=found.st_mtime_ns // 1_000_000,
    )


def _remove(path: Path, recursive: bool) -> None:
    if not path.is_dir() or path.is_symlink():
        path.unlink()
    elif recursive:
        shutil.rmtree(path)
    else:
        path.rmdir()
