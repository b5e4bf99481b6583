"""Starts a program, exchanges data with it and waits for its end."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Protocol

from pi.base.errors import PiError
from pi.base.processes.direct import DirectProcess, SpawnFailed
from pi.base.processes.environment import MARKER
from pi.base.records import Record

if TYPE_CHECKING:
    from pi.base.processes.progress import Usage

log = logging.getLogger(__name__)

MAX_BUFFERED_BYTES = 1024 * 1024
"""Bytes buffered for a slow reader before the child has to wait; larger than any pipe."""
QUIET_AFTER_EXIT = 0.1
"""Seconds of silence after which an ended child is expected to write nothing more."""
MAX_DRAIN_SECONDS = 1.0
"""Seconds after which output of a background process is no longer read."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

FRAME_HEADER = 4
MAX_FRAME_BYTES = 64 * 1024 * 1024


class BadFrame(PiError):
    """The output of a program is not a sequence of frames."""


class Process(Protocol):
    """A program below the supervisor, or a plain child of ours (``direct.py``)."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    @property
    def pid(self) -> int:
        """The process id."""

    @property
    def returncode(self) -> int | None:
        """Exit code, -n for signal n; ``None`` while it runs."""

    @property
    def is_gone(self) -> bool:
        """Whether the program and everything it started have ended."""

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call ``on_exit`` when the program itself has ended."""

    async def terminate(self, grace: float) -> None:
        """Send SIGTERM to all and wait up to ``grace`` seconds until none is left."""

    def interrupt(self) -> None:
        """Send SIGINT to the program's process group."""

    def kill(self) -> None:
        """Kill all, including new children; not async, so that it cannot be interrupted."""


class Exit(Record):
    """How a process ended: with a code, or by a signal."""

    exit_code: int | None = None
    signal: int | None = None

    @property
    def ok(self) -> bool:
        """Whether it succeeded; death by a signal is a failure."""
        return self.exit_code == 0


class Finished(Exit):
    """The result of ``run``."""

    output: bytes = b""
    errors: bytes = b""
    timed_out: bool = False
    stalled: bool = False
    """Whether it was ended because it did nothing for too long."""
    flooded: bool = False
    """Whether it was ended because it wrote ``MAX_FLOOD_BYTES``."""
    truncated: bool = False
    """Whether output or errors exceeded the limit."""


async def spawn(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: Literal["null", "pipe"] = "null",
    output: Literal["pipe", "null"] = "pipe",
    errors: Literal["merged", "separate"] = "merged",
    detached: bool = False,
) -> Child:
    """Start a program; use ``async with`` on the child, so that nothing is left running.

    Its standard error is merged into ``output`` or read separately. The program and its descendants
    end with pi, even if pi is killed. A ``detached`` program goes on; it must not use our pipes,
    which end with pi.
    """
    name = os.urandom(8).hex()
    lineage = f"{env[MARKER]}.{name}" if MARKER in env else name
    start = _start_detached if detached else _start_supervised
    try:
        process = await start(
            command,
            cwd=cwd,
            env={**env, MARKER: lineage},
            marker=name,
            stdin=stdin == "pipe",
            output=output == "pipe",
            errors=errors == "separate",
        )
    except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument or variable
        raise _spawn_failed(command[0], cwd, error) from error
    child = Child(process)
    try:
        await child._connect()
    except BaseException as error:
        await child.__aexit__(type(error))
        raise
    return child


_detached: list[tuple[str, DirectProcess]] = []
"""Commands that outlive pi."""


async def _start_detached(command: Sequence[str], **options: Any) -> Process:
    process = DirectProcess(command, **options)
    _detached[:] = [program for program in _detached if program[1].is_running]
    _detached.append((" ".join(command), process))
    return process


def left_running() -> list[str]:
    """Return the detached programs that still run, each with its process id."""
    return [
        f"{command} (pid {process.pid})" for command, process in _detached if process.is_running
    ]


async def _start_supervised(command: Sequence[str], **options: Any) -> Process:
    if sys.platform == "win32":
        return DirectProcess(command, **options)
    from pi.base.processes import supervised  # lazy: Windows cannot import it

    for _ in range(2):
        try:
            return await supervised.start_supervised(command, **options)
        except supervised.SupervisorLost as error:
            supervised.SUPERVISOR.drop()
            reason = error
    log.warning("programs run without a supervisor, which cannot be started: %s", reason)
    return DirectProcess(command, **options)


async def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    max_output: int,
    input: bytes | None = None,
    stall: float | None = None,
    detached: bool = False,
) -> Finished:
    """Run a short program to its end and keep the first ``max_output`` bytes of each stream.

    After ``timeout`` seconds its tree is killed; the result holds the output so far. With ``stall``
    it is also killed after that many seconds in which the tree did nothing, and after a flood of
    output. Its background processes end with pi, unless it is ``detached``.
    """
    stdin: Literal["null", "pipe"] = "null" if input is None else "pipe"
    timed_out = stalled = False
    async with (
        await spawn(
            command, cwd=cwd, env=env, stdin=stdin, errors="separate", detached=detached
        ) as child,
        asyncio.TaskGroup() as tasks,
    ):
        if input is not None:
            tasks.create_task(_feed(child, input))
        flood = None if stall is None else asyncio.Event()
        received = [0]
        output = tasks.create_task(_collect(child.output, max_output, received, flood))
        errors = tasks.create_task(_collect(child.errors, max_output, received, flood))
        if flood is not None:
            ending = tasks.create_task(_end_at(flood, child))
        try:
            async with asyncio.timeout(timeout):
                if stall is not None:
                    from pi.base.processes.progress import is_stalled  # lazy: few are watched

                    look = partial(_usage, child.pid, cwd, received)
                    stalled = await is_stalled(child.wait, look, stall)
                if stalled:
                    await child.terminate()
                end = await child.wait()
        except TimeoutError:
            timed_out = True
            await child.terminate()
            end = await child.wait()
        if flood is not None:
            ending.cancel()
    return Finished(
        exit_code=end.exit_code,
        signal=end.signal,
        output=output.result()[:max_output],
        errors=errors.result()[:max_output],
        timed_out=timed_out,
        stalled=stalled,
        flooded=flood is not None and flood.is_set(),
        truncated=max(len(output.result()), len(errors.result())) > max_output,
    )


MAX_FLOOD_BYTES = 64 * 1024 * 1024
"""Output above which a watched program counts as broken: a short program writes a few lines."""


async def _feed(child: Child, data: bytes) -> None:
    with suppress(ConnectionError):  # a program need not read all its input
        await child.write(data)
    child.close_stdin()


def _usage(pid: int, cwd: Path, received: list[int]) -> Usage | None:
    from pi.base.processes.progress import usage_of, visible_usage  # lazy: few are watched

    return usage_of(pid) if sys.platform == "linux" else visible_usage(pid, cwd, received[0])


async def _collect(
    output: asyncio.StreamReader,
    limit: int,
    received: list[int],
    flood: asyncio.Event | None = None,
) -> bytes:
    """Return the output; one byte more than ``limit`` means that there was more.

    Adds the bytes to ``received``, which counts both streams.
    """
    collected, size = bytearray(), 0
    while chunk := await output.read(MAX_BUFFERED_BYTES):
        collected += chunk[: limit + 1 - len(collected)]
        size += len(chunk)
        received[0] += len(chunk)
        if flood is not None and size > MAX_FLOOD_BYTES:
            flood.set()
    return bytes(collected)


async def _end_at(flood: asyncio.Event, child: Child) -> None:
    await flood.wait()
    await child.terminate()


class Child:
    """A running program. Read its output while waiting for it: a full pipe blocks it.

    ``output`` and ``errors`` (empty if merged) end when the last writer has closed them. Once the
    program itself has ended, output of a background process that holds the pipe is read only until
    it is quiet. Leaving ``async with`` by an exception, or before the program has ended, terminates
    its tree; background processes of a program that has ended continue, and their output is
    dropped.
    """

    def __init__(self, process: Process) -> None:
        self.pid = process.pid
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._listeners = _Listener(process.stdout), _Listener(process.stderr)
        self.output = self._listeners[0].reader
        """Standard output, as an ``asyncio.StreamReader``."""
        self.errors = self._listeners[1].reader
        """Standard error; empty if it is merged into ``output``."""

    @property
    def is_gone(self) -> bool:
        """Whether the program and everything it started have ended."""
        return self._process.is_gone

    def memory(self) -> int | None:
        """Return the resident bytes of the program and its descendants. Blocks for milliseconds.

        ``None`` if it has ended, or where the system does not show it.
        """
        from pi.base.processes.progress import memory_of  # lazy: few programs are watched

        return memory_of(self.pid)

    async def wait(self) -> Exit:
        """Wait until the program itself has ended; its background processes may go on."""
        await self._exited.wait()
        code = self._process.returncode
        assert code is not None
        return Exit(exit_code=code) if code >= 0 else Exit(signal=-code)

    async def write(self, data: bytes) -> None:
        """Write to its standard input; raises ConnectionError once it no longer reads."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(data)
            await self._writer.drain()
        if self._writer is None or self._writer.is_closing():  # may have changed while we waited
            raise BrokenPipeError("the program has ended or its input was closed")

    async def write_frame(self, data: bytes) -> None:
        """Write ``data`` after its length (four bytes, big-endian); raises like ``write``."""
        await self.write(len(data).to_bytes(FRAME_HEADER, "big") + data)

    async def read_frame(self, *, limit: int = MAX_FRAME_BYTES) -> bytes | None:
        """Return the data of the next frame of its output; ``None`` at the end of the output.

        Raises ``BadFrame`` if a frame is larger than ``limit`` or the output ends inside it.
        """
        try:
            header = await self.output.readexactly(FRAME_HEADER)
            size = int.from_bytes(header, "big")
            if size > limit:
                raise BadFrame(f"The program announced a frame of {size} bytes; {limit} allowed.")
            return await self.output.readexactly(size)
        except asyncio.IncompleteReadError as error:
            if not error.partial and error.expected == FRAME_HEADER:
                return None
            raise BadFrame("The output of the program ends inside a frame.") from error

    def close_stdin(self) -> None:
        """Close its standard input."""
        if self._writer is not None:
            self._writer.close()

    def interrupt(self) -> None:
        """Send SIGINT to the program's process group, as Ctrl+C in a terminal does."""
        self._process.interrupt()

    async def terminate(self, *, grace: float = GRACE) -> None:
        """End the program and its descendants, also those that an ended program has left running.

        They get SIGTERM and, after ``grace`` seconds or when we are cancelled, SIGKILL.
        """
        try:
            await self._process.terminate(grace)
        finally:
            self._process.kill()

    async def __aenter__(self) -> Child:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None or not self._exited.is_set():
                await self.terminate()
        finally:
            self._abandon_input()
            for listener in self._listeners:
                listener.close()

    async def _connect(self) -> None:
        if self._process.stdin is not None:
            end = await self._loop.connect_write_pipe(_Listener, self._process.stdin)
            self._writer = asyncio.StreamWriter(*end, reader=None, loop=self._loop)
        for listener in self._listeners:
            await listener.connect()
        self._process.watch(self._on_exit)

    def _on_exit(self) -> None:
        if self._exited.is_set():
            return
        self._abandon_input()
        for listener in self._listeners:
            listener.close_soon()
        self._exited.set()

    def _abandon_input(self) -> None:
        if self._writer is None:
            return
        if self._writer.transport.get_write_buffer_size() > 0:
            self._writer.transport.abort()  # closing would wait for a reader
        else:
            self._writer.close()


class _Listener(asyncio.StreamReaderProtocol):
    """Passes the data of a pipe to its reader until no more is expected."""

    def __init__(self, pipe: IO[bytes] | None = None) -> None:
        self.reader = asyncio.StreamReader(limit=MAX_BUFFERED_BYTES // 2)
        super().__init__(self.reader)
        self._pipe = pipe
        self._transport: asyncio.BaseTransport | None = None
        self._has_new_data = False

    async def connect(self) -> None:
        """Start reading."""
        if self._pipe is None:
            self.reader.feed_eof()
        else:
            await asyncio.get_running_loop().connect_read_pipe(lambda: self, self._pipe)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._has_new_data = True
        super().data_received(data)

    def close(self) -> None:
        """Stop reading; data that has arrived can still be read."""
        if self._transport is not None:
            self._transport.close()
        elif self._pipe is not None:
            self._pipe.close()

    def close_soon(self) -> None:
        """Stop reading soon, although a background process may hold the pipe."""
        self._has_new_data = True
        self._settle(time.monotonic() + MAX_DRAIN_SECONDS)

    def _settle(self, deadline: float) -> None:
        if self._pipe is None or self._transport is None or self._transport.is_closing():
            return
        if self._has_new_data and time.monotonic() < deadline:
            self._has_new_data = False
            loop = asyncio.get_running_loop()
            loop.call_later(QUIET_AFTER_EXIT, self._settle, deadline)
            return
        if sys.platform != "win32":
            with suppress(BlockingIOError):  # data left by a slow reader of ours
                if data := os.read(self._pipe.fileno(), MAX_BUFFERED_BYTES):
                    self.data_received(data)
        self._transport.close()


def _spawn_failed(program: str, cwd: Path, error: OSError | ValueError) -> SpawnFailed:
    if not cwd.is_dir():
        fault = "is not a directory" if cwd.exists() else "does not exist"
        return SpawnFailed(f"Cannot start {program}: the working directory {cwd} {fault}.")
    if isinstance(error, FileNotFoundError):
        hint = "Install it, or check its name and PATH."
        return SpawnFailed(f"Cannot start {program}: there is no such program.", hint=hint)
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        return SpawnFailed(
            f"Cannot start {program}: its arguments or the environment are too long.",
            hint="Shorten them, or pass long text in a file.",
        )
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return SpawnFailed(f"Cannot start {program}: {reason}.")
