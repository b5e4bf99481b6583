"""Starting a program, talking to it, and waiting for its end."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from pi.base.errors import PiError
from pi.base.processes.direct import DirectProcess
from pi.base.processes.environment import MARKER
from pi.base.records import Record

log = logging.getLogger(__name__)

MOST_WAITING = 1024 * 1024
"""Bytes that wait for a slow reader before the child has to wait too; no pipe holds more."""
QUIET_AFTER_EXIT = 0.1
"""Seconds of silence after which a child that has ended is expected to say nothing more."""
LONGEST_DRAIN = 1.0
"""Seconds after which even a talkative background process is no longer listened to."""
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""


class SpawnFailed(PiError):
    """A program could not be started."""


class Process(Protocol):
    """A program below the supervisor, or a plain child of ours (``direct.py``)."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def returncode(self) -> int | None:
        """How it ended, -n by signal n; ``None`` while it runs."""

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left of it and of what it has started."""

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call ``on_exit`` when the program itself has ended."""

    async def ask_to_end(self, grace: float) -> None:
        """Send SIGTERM to all and wait up to ``grace`` seconds until none is left."""

    def kill(self) -> None:
        """Kill all, and what they start meanwhile; not async, so that nothing interrupts it."""


class Exit(Record):
    """How a process ended: with a code, or by a signal."""

    exit_code: int | None = None
    signal: int | None = None

    @property
    def ok(self) -> bool:
        """Whether it succeeded; death by a signal is a failure."""
        return self.exit_code == 0


class Finished(Exit):
    """What ``run`` has seen of a process."""

    output: bytes = b""
    errors: bytes = b""
    timed_out: bool = False
    truncated: bool = False
    """Whether there was more output or errors than asked for."""


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
    """Start a program; ``async with`` the child, so that nothing is left behind.

    What it writes to its standard error comes with its ``output``, or separately. It ends with pi
    at the latest, with all that it has started, even if pi is killed; a ``detached`` one goes on.
    That must not have our pipes, which end with us.
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
    except (OSError, ValueError) as error:  # ValueError: a zero byte in a word or variable
        raise _spawn_failed(command[0], cwd, error) from error
    child = Child(process)
    try:
        await child._connect()
    except BaseException as error:
        await child.__aexit__(type(error))
        raise
    return child


_detached: list[tuple[str, DirectProcess]] = []
"""Commands that go on without us."""


async def _start_detached(command: Sequence[str], **how: Any) -> Process:
    process = DirectProcess(command, **how)
    _detached[:] = [each for each in _detached if each[1].is_running]
    _detached.append((" ".join(command), process))
    return process


def left_running() -> list[str]:
    """The detached programs that still run, each with its process id."""
    return [f"{command} (pid {each.pid})" for command, each in _detached if each.is_running]


async def _start_supervised(command: Sequence[str], **how: Any) -> Process:
    if sys.platform == "win32":
        return DirectProcess(command, **how)
    from pi.base.processes import supervised  # Windows cannot load it

    for _ in range(2):
        try:
            return await supervised.start_supervised(command, **how)
        except supervised.SupervisorLost as problem:
            supervised.SUPERVISOR.drop()
            reason = problem
    log.warning("programs run without a supervisor, which cannot be started: %s", reason)
    return DirectProcess(command, **how)


async def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    max_output: int,
    input: bytes | None = None,
    detached: bool = False,
) -> Finished:
    """Run a short program to its end and keep the first ``max_output`` bytes of each stream.

    After ``timeout`` seconds its tree is killed; what it had written by then is in the result.
    What it leaves in the background ends with pi, unless it is ``detached``.
    """
    stdin: Literal["null", "pipe"] = "null" if input is None else "pipe"
    timed_out = False
    async with (
        await spawn(
            command, cwd=cwd, env=env, stdin=stdin, errors="separate", detached=detached
        ) as child,
        asyncio.TaskGroup() as tasks,
    ):
        if input is not None:
            tasks.create_task(_feed(child, input))
        output = tasks.create_task(_collect(child.output, max_output))
        errors = tasks.create_task(_collect(child.errors, max_output))
        try:
            async with asyncio.timeout(timeout):
                end = await child.wait()
        except TimeoutError:
            timed_out = True
            await child.terminate()
            end = await child.wait()
    return Finished(
        exit_code=end.exit_code,
        signal=end.signal,
        output=output.result()[:max_output],
        errors=errors.result()[:max_output],
        timed_out=timed_out,
        truncated=max(len(output.result()), len(errors.result())) > max_output,
    )


async def _feed(child: Child, data: bytes) -> None:
    with suppress(ConnectionError):  # a program need not read all its input
        await child.write(data)
    child.close_stdin()


async def _collect(output: asyncio.StreamReader, limit: int) -> bytes:
    """What a program writes; one byte more than ``limit`` says that there was more."""
    kept = bytearray()
    while chunk := await output.read(MOST_WAITING):
        kept += chunk[: limit + 1 - len(kept)]
    return bytes(kept)


class Child:
    """A running program. Read its output while you wait for it: a full pipe stops it.

    ``output`` and ``errors`` (empty if merged) end when nobody can write to them any more. Once
    the program itself has ended, a background process that holds the pipe is listened to only
    until it is quiet. Leaving ``async with`` by an exception, or before the program has ended,
    terminates its tree; background processes of a program that has ended live on, unheard.
    """

    def __init__(self, process: Process) -> None:
        self.pid = process.pid
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._listeners = _Listener(process.stdout), _Listener(process.stderr)
        self.output, self.errors = (listener.reader for listener in self._listeners)

    @property
    def is_gone(self) -> bool:
        """Whether the program and everything that it has started have ended."""
        return self._process.is_gone

    async def wait(self) -> Exit:
        """Wait until the program itself has ended; its background processes may go on."""
        await self._ended.wait()
        code = self._process.returncode
        assert code is not None
        return Exit(exit_code=code) if code >= 0 else Exit(signal=-code)

    async def write(self, data: bytes) -> None:
        """Give bytes to its standard input; ConnectionError once it no longer reads."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(data)
            await self._writer.drain()
        if self._writer is None or self._writer.is_closing():  # also while we waited
            raise BrokenPipeError("the program has ended or its input was closed")

    def close_stdin(self) -> None:
        """Tell the program that no more input comes."""
        if self._writer is not None:
            self._writer.close()

    async def terminate(self, *, grace: float = GRACE) -> None:
        """End the program and its descendants, or those that an ended program has left behind.

        They get SIGTERM and, after ``grace`` seconds or when we are cancelled, SIGKILL.
        """
        try:
            await self._process.ask_to_end(grace)
        finally:
            self._process.kill()

    async def __aenter__(self) -> Child:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None or not self._ended.is_set():
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
        if self._ended.is_set():
            return
        self._abandon_input()
        for listener in self._listeners:
            listener.expect_the_end()
        self._ended.set()

    def _abandon_input(self) -> None:
        if self._writer is None:
            return
        if self._writer.transport.get_write_buffer_size() > 0:
            self._writer.transport.abort()  # closing would wait until somebody reads it
        else:
            self._writer.close()


class _Listener(asyncio.StreamReaderProtocol):
    """Hands what comes through a pipe to its reader, as long as more is expected."""

    def __init__(self, pipe: IO[bytes] | None = None) -> None:
        self.reader = asyncio.StreamReader(limit=MOST_WAITING // 2)
        super().__init__(self.reader)
        self._pipe = pipe
        self._transport: asyncio.BaseTransport | None = None
        self._fresh = False

    async def connect(self) -> None:
        """Begin to listen."""
        if self._pipe is None:
            self.reader.feed_eof()
        else:
            await asyncio.get_running_loop().connect_read_pipe(lambda: self, self._pipe)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._fresh = True
        super().data_received(data)

    def close(self) -> None:
        """Stop listening; what has come can still be read."""
        if self._transport is not None:
            self._transport.close()
        elif self._pipe is not None:
            self._pipe.close()

    def expect_the_end(self) -> None:
        """Stop listening soon, although somebody may hold the pipe."""
        self._fresh = True
        self._settle(time.monotonic() + LONGEST_DRAIN)

    def _settle(self, deadline: float) -> None:
        if self._pipe is None or self._transport is None or self._transport.is_closing():
            return
        if self._fresh and time.monotonic() < deadline:
            self._fresh = False
            loop = asyncio.get_running_loop()
            loop.call_later(QUIET_AFTER_EXIT, self._settle, deadline)
            return
        if sys.platform != "win32":
            with suppress(BlockingIOError):  # a slow reader of ours may have left something
                if data := os.read(self._pipe.fileno(), MOST_WAITING):
                    self.data_received(data)
        self._transport.close()


def _spawn_failed(program: str, cwd: Path, error: OSError | ValueError) -> SpawnFailed:
    if not cwd.is_dir():
        what = "is not a directory" if cwd.exists() else "does not exist"
        return SpawnFailed(f"Cannot start {program}: the working directory {cwd} {what}.")
    if isinstance(error, FileNotFoundError):
        hint = "Install it, or check its name and PATH."
        return SpawnFailed(f"Cannot start {program}: there is no such program.", hint=hint)
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return SpawnFailed(f"Cannot start {program}: {reason}.")
