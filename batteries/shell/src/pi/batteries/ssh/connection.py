"""One shared connection to a host: opened at the first call, and again after it was lost."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from pi.batteries.ssh.scripts import (
    Target,
    call_arguments,
    check_arguments,
    connection_failure,
    master_arguments,
)
from pi.extension import Child, ExtensionAPI, PiError, Record, Scope, ToolFailed

KIND = "ssh"
"""Kind of the processes, for spawn wraps."""
MAX_STDERR = 16 * 1024
"""Bytes of the messages of ssh that are kept."""
MAX_SOCKET = 80
"""Bytes of a socket's path: systems allow about 104, and ssh appends some while it binds it."""
MARGIN = 10.0
"""Seconds for name resolution and keys, in addition to those for connecting."""
CHECK_SECONDS = 5.0
"""Timeout for the check of the shared connection after a failed call."""
LOST = 255
"""Exit code of ssh if ssh itself fails."""


class Sink(Protocol):
    """Receives output as it arrives."""

    def write(self, data: bytes, /) -> None:
        """Append bytes."""


class RemoteResult(Record):
    """The result of a script."""

    code: int | None
    """``None`` if ssh was ended by a signal."""
    output: bytes = b""
    stderr: str = ""
    """The text of standard error."""


class HostConnection:
    """The connection to one host."""

    def __init__(self, target: Target, scope: Scope) -> None:
        self._target = target
        self.host = target.host
        """The host as the user named it."""
        self._scope = scope
        self._opening = asyncio.Lock()
        self._end: asyncio.Task[Any] | None = None
        """Done when the ssh process has ended, which may be long after it closed its output."""
        self._master_scope: Scope | None = None
        self._folder: Path | None = None
        self._count = 0
        scope.on_close(self.close)

    async def run(
        self,
        pi: ExtensionAPI,
        script: str,
        *,
        content: bytes | None = None,
        sink: Sink | None = None,
        limit: int = 1024 * 1024,
    ) -> RemoteResult:
        """Run a script. Its output goes to ``sink``, or ``limit`` bytes of it are returned.

        Standard input stays open while it runs, unless there is ``content``. Cancelling the call
        ends it. Raises ``ToolFailed`` if the host cannot be reached or the connection is lost.
        """
        socket = await self._open(pi)
        argv = call_arguments(self._target, socket, script)
        async with self._start_call(pi, argv) as child:
            async with asyncio.TaskGroup() as tasks:
                errors = tasks.create_task(_collect(child.errors, MAX_STDERR))
                output = tasks.create_task(
                    _collect(child.output, limit) if sink is None else _pass_on(child.output, sink)
                )
                tasks.create_task(_feed(child, script.encode(), content))
            end = await child.wait()
        messages = errors.result().decode("utf-8", "replace")
        if end.exit_code == LOST and await self._is_lost(pi, socket):
            await self._drop()
            raise ToolFailed(f"The connection to {self.host} was lost. What ran there was ended.")
        return RemoteResult(code=end.exit_code, output=output.result(), stderr=messages)

    async def _is_lost(self, pi: ExtensionAPI, socket: str) -> bool:
        """Whether ssh failed, not a command that ended with the same code.

        If the network fails, a call may end without a message before the shared connection does.
        The shared connection then no longer answers, although its process and socket still exist.
        """
        argv = check_arguments(self._target, socket)
        try:
            async with asyncio.timeout(CHECK_SECONDS), self._start_call(pi, argv) as child:
                return (await child.wait()).exit_code != 0
        except TimeoutError:
            return True

    async def close(self) -> None:
        """End the connection and all calls over it."""
        await self._drop()
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
            self._folder = None

    # Shared connection ----------------------------------------------------------------------------

    async def _open(self, pi: ExtensionAPI) -> str:
        """Open the shared connection if needed. Returns the path of its socket."""
        async with self._opening:
            if not self._is_up:
                await self._drop()
                await self._connect(pi)
            return self._socket

    @property
    def _socket(self) -> str:
        assert self._folder is not None
        return str(self._folder / str(self._count))

    @property
    def _is_up(self) -> bool:
        return self._end is not None and not self._end.done() and Path(self._socket).exists()

    async def _connect(self, pi: ExtensionAPI) -> None:
        if self._folder is None:
            self._folder = await asyncio.to_thread(_private_folder)
        self._count += 1
        argv = master_arguments(self._target, self._socket)
        self._master_scope = self._scope.inner("ssh")
        try:
            child = await pi.spawn(
                argv,
                kind=KIND,
                env=ssh_environment(pi.context.user_environ),
                cwd=pi.context.agent_dir,
                scope=self._master_scope,
            )
        except PiError as error:
            raise ToolFailed(error.explain()) from error
        seconds = self._target.connect_seconds + MARGIN
        errors = self._master_scope.spawn(
            _collect(child.errors, MAX_STDERR), name="messages of ssh"
        )
        try:
            async with asyncio.timeout(seconds):
                line = await child.output.readline()
                if not line:
                    await child.wait()
        except TimeoutError as error:
            await self._drop()
            message = f"Connecting to {self.host} took longer than {seconds:g} s."
            raise ToolFailed(message) from error
        except ValueError as error:  # the line exceeds the limit
            await self._drop()
            message = f"Cannot connect to {self.host}: ssh wrote something else than expected."
            raise ToolFailed(message) from error
        except BaseException:
            await self._drop()
            raise
        if not line:
            messages = (await errors).decode("utf-8", "replace")
            await self._drop()
            raise ToolFailed(connection_failure(self.host, messages))
        self._end = self._master_scope.spawn(child.wait(), name="end of ssh")

    async def _drop(self) -> None:
        scope, self._end, self._master_scope = self._master_scope, None, None
        if scope is not None:
            await scope.close()

    # Calls ----------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _start_call(self, pi: ExtensionAPI, argv: list[str]) -> AsyncIterator[Child]:
        scope = self._scope.inner("ssh call")
        try:
            yield await pi.spawn(
                argv,
                kind=KIND,
                env=ssh_environment(pi.context.user_environ),
                cwd=pi.context.agent_dir,
                scope=scope,
            )
        except PiError as error:
            raise ToolFailed(error.explain()) from error
        finally:
            await scope.close()


def ssh_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables for ssh in addition to those of every program: ssh agent and Kerberos cache."""
    names = ("SSH_AUTH_SOCK", "KRB5CCNAME")
    return {name: environ[name] for name in names if name in environ}


def _private_folder() -> Path:
    """A folder for the sockets that only the user can open, with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="pi-ssh-"))
    if len(str(folder).encode()) > MAX_SOCKET:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="pi-ssh-", dir="/tmp"))
    return folder


async def _feed(child: Child, script: bytes, content: bytes | None) -> None:
    try:
        await child.write(script)
        if content is not None:
            await child.write(content)
    except ConnectionError:
        return  # the script or the connection has ended: the exit code shows why
    if content is not None:
        child.close_stdin()


async def _collect(stream: asyncio.StreamReader, limit: int) -> bytes:
    data = bytearray()
    while chunk := await stream.read(65536):
        data += chunk[: limit - len(data)]
    return bytes(data)


async def _pass_on(stream: asyncio.StreamReader, sink: Sink) -> bytes:
    while chunk := await stream.read(65536):
        sink.write(chunk)
    return b""
