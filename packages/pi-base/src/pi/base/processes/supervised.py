"""pi's side of the supervisor: a program that ends with pi, with all its descendants."""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from pi.base.processes.supervisor import (
    ASK_TO_END,
    ENDED,
    FAILED,
    FRAME,
    INTERRUPT,
    KILL,
    KILLING,
    LENGTH,
    READY,
    STARTED,
)

_BOOT = (
    "import sys; sys.path.append(sys.argv[1]); import supervisor, tree;"
    " sys.exit(supervisor.main(tree, adopts=sys.argv[2] == '1'))"
)
"""The code of the supervisor. Our folder is appended to the path, so that our files never shadow
modules of the standard library."""
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""The only variables that the supervisor gets: commands can read the environment of parents."""
_GRACE_SECONDS = 2.0
"""Seconds for a reaper to acknowledge a kill request, and then to finish it."""


_KILL_ROUNDS = 3
"""How often all processes below an unresponsive reaper are killed."""
_RESUME_SECONDS = 1.0
"""Seconds without an answer after which the supervisor may be stopped."""


class SupervisorLost(Exception):
    """There is no supervisor, or it ended before it could start a program."""


class SupervisorClient:
    """Starts the supervisor with the first command, and again after it has died."""

    def __init__(self, *, adopts: bool = True) -> None:
        self._adopts = adopts
        # programs may be started from the event loops of several threads
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; ``None`` until the first command."""
        return self._process.pid if self._process and self._requests else None

    def connect(self) -> socket.socket:
        """Request a reaper and return the socket to it."""
        with self._lock:
            requests = self._requests or self._start()
            ours, theirs = socket.socketpair()
            try:
                socket.send_fds(requests, [b"+"], [theirs.fileno()])
            except OSError as error:
                ours.close()
                self._drop()
                raise SupervisorLost(str(error)) from error
            finally:
                theirs.close()
            ours.settimeout(0)
            return ours

    def resume(self) -> None:
        """Continue the supervisor and the reapers that wait, in case a command has stopped them.

        Running ones ignore it. Commands are not reached: each has a process group of its own.
        """
        if self._process is not None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGCONT)

    def drop(self) -> None:
        """Use a new supervisor from now on; this one ends with the last of its commands."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None

    def _start(self) -> socket.socket:
        if self._process is not None:
            self._process.poll()  # the lost one
        ours, theirs = socket.socketpair()
        ours.settimeout(_GRACE_SECONDS)  # a stopped supervisor must not block us
        folder = str(Path(__file__).parent)
        command = [sys.executable, "-I", "-S", "-c", _BOOT, folder, "1" if self._adopts else "0"]
        try:
            self._process = _Unwatched(
                command,
                cwd="/",
                env={name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ},
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # as in a program that embeds Python
            ours.close()
            raise SupervisorLost(str(error)) from error
        finally:
            theirs.close()
        self._requests = ours
        return ours

    def forget(self) -> None:
        """In a fork of this process: leave the supervisor to the parent."""
        self._lock = threading.Lock()
        self._process = None
        self._drop()


class _Unwatched(subprocess.Popen[bytes]):
    def __del__(self, *_: object) -> None:
        """Suppress the warning: it ends by itself after us."""


SUPERVISOR = SupervisorClient()
_living: set[SupervisedProcess] = set()
"""Processes that have not ended: their sockets stay open until we end."""


class SupervisedProcess:
    """A program below a reaper."""

    def __init__(
        self,
        control: socket.socket,
        stdin: IO[bytes] | None,
        stdout: IO[bytes] | None,
        stderr: IO[bytes] | None,
    ) -> None:
        self.pid = 0
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.returncode: int | None = None
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._received = b""
        self._reaper = 0
        self._is_killing = False
        self._failure: OSError | None = None
        self._responded = asyncio.Event()
        self._gone = asyncio.Event()
        self._on_exit: Callable[[], None] = lambda: None
        self._loop.add_reader(control.fileno(), self._receive)
        _living.add(self)

    @property
    def is_gone(self) -> bool:
        """Whether the program and everything it started have ended."""
        return self._gone.is_set()

    async def start(self, request: bytes, streams: Sequence[int]) -> None:
        """Send the request; raises ``OSError`` with the reason if it could not be started."""
        try:
            data = LENGTH.pack(len(request)) + request
            try:
                sent = socket.send_fds(self._control, [data], streams)
                if sent < len(data):
                    await self._loop.sock_sendall(self._control, data[sent:])
            except OSError as error:
                raise SupervisorLost(str(error)) from error
            while not self._responded.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_RESUME_SECONDS):
                        await self._responded.wait()
                if not self._responded.is_set():
                    SUPERVISOR.resume()
        except BaseException:
            self.kill()
            raise
        if self._failure is not None:
            raise self._failure
        if not self.pid:
            raise SupervisorLost("the supervisor has ended")

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call ``on_exit`` when the program itself has ended."""
        self._on_exit = on_exit
        if self.returncode is not None:
            self._loop.call_soon(on_exit)

    async def terminate(self, grace: float) -> None:
        """Send SIGTERM to all and wait up to ``grace`` seconds until none is left."""
        self._order(ASK_TO_END)
        self._resume()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._gone.wait()

    def interrupt(self) -> None:
        """Send SIGINT to the program's process group."""
        self._order(INTERRUPT)

    def kill(self) -> None:
        """Kill all, including new children; not async, so that it cannot be interrupted."""
        if self.is_gone:
            return
        self._order(KILL)
        self._resume()
        if not self.pid:  # the request may be incomplete: then this ends the reaper
            with suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
        self._wait(lambda: self._is_killing)
        if self._is_killing:
            self._wait(lambda: False)
        if self._reaper and not self.is_gone:
            # The command keeps stopping the reaper, and also the supervisor, which would end the
            # processes of a killed reaper. The socket is open, so the id was not reused.
            from pi.base.processes import tree  # deferred: rarely needed

            for _ in range(_KILL_ROUNDS):  # what is killed may have started more
                below = tree.descendants(tree.processes(), (self._reaper,))
                tree.signal_all(below, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(self._reaper, signal.SIGKILL)
            SUPERVISOR.resume()
            self._wait(lambda: False)

    def _resume(self) -> None:
        """Continue the reaper and the supervisor: the command may have stopped them."""
        SUPERVISOR.resume()
        if self._reaper:  # of an earlier supervisor, maybe
            with suppress(ProcessLookupError):
                os.kill(self._reaper, signal.SIGCONT)

    def _wait(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _GRACE_SECONDS
        while not (self.is_gone or is_done()) and (remaining := deadline - time.monotonic()) > 0:
            self._control.settimeout(remaining)
            self._receive()
        if not self.is_gone:
            self._control.settimeout(0)

    def _order(self, order: bytes) -> None:
        if not self.is_gone:
            with suppress(OSError):  # it has just ended
                self._control.send(order)

    def _receive(self) -> None:
        """Read the reaper's reports; the end of the stream means that nothing is left."""
        try:
            data = self._control.recv(4096)
        except (BlockingIOError, TimeoutError):
            return
        except OSError:
            data = b""
        self._received += data
        while len(self._received) >= FRAME.size:
            kind, number = FRAME.unpack_from(self._received)
            self._received = self._received[FRAME.size :]
            if kind == READY:
                self._reaper = number
            elif kind == STARTED:
                self.pid = number
                self._responded.set()
            elif kind == FAILED:
                self._failure = OSError(number, os.strerror(number))
            elif kind == KILLING:
                self._is_killing = True
            elif kind == ENDED:
                self._end(number)
        if not data:
            self._close()

    def _end(self, code: int) -> None:
        if self.returncode is None:
            self.returncode = code
            self._on_exit()

    def _close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._control.fileno())
        self._control.close()
        self._reaper = 0
        _living.discard(self)
        self._gone.set()
        self._responded.set()
        if self.pid:
            self._end(-signal.SIGKILL)  # unless it has reported its end: the reaper was killed

    def forget(self) -> None:
        """In a fork of this process: leave the program to the parent."""
        self._control.close()


async def start_supervised(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    marker: str,
    stdin: bool,
    output: bool,
    errors: bool,
) -> SupervisedProcess:
    """Start a program with pipes for the requested streams.

    Without ``errors`` its standard error is merged into its output. Raises ``OSError`` or
    ``ValueError`` if it cannot be started, ``SupervisorLost`` if that is unknown.
    """
    request = marshal.dumps(
        (
            [_encoded(word) for word in command],
            {_encoded(name): _encoded(value) for name, value in env.items()},
            _encoded(str(cwd)),
            marker,
        )
    )
    # Audit event for programs that watch what this process starts: the exec is in another one.
    sys.audit("subprocess.Popen", command[0], list(command), str(cwd), dict(env))
    with _Pipes() as pipes:
        child_in, our_in = pipes.new("wb") if stdin else (pipes.null(), None)
        child_out, our_out = pipes.new("rb") if output else (pipes.null(), None)
        child_errors, our_errors = pipes.new("rb") if errors else (child_out, None)
        process = SupervisedProcess(SUPERVISOR.connect(), our_in, our_out, our_errors)
        await process.start(request, (child_in, child_out, child_errors))
        pipes.keep()
    return process


def _encoded(text: str) -> bytes:
    if "\0" in text:
        raise ValueError("embedded null byte")
    return os.fsencode(text)


class _Pipes:
    """The pipes of one program; closed again if it cannot be started."""

    def __init__(self) -> None:
        self._theirs: list[int] = []
        self._ours: list[IO[bytes]] = []

    def __enter__(self) -> _Pipes:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._theirs:
            os.close(descriptor)
        for pipe in self._ours:
            pipe.close()

    def new(self, mode: str) -> tuple[int, IO[bytes]]:
        """Return the program's end and ours."""
        reader, writer = os.pipe()
        theirs, ours = (reader, writer) if mode == "wb" else (writer, reader)
        self._theirs.append(theirs)
        self._ours.append(pipe := open(ours, mode, buffering=0))  # noqa: PTH123, SIM115
        return theirs, pipe

    def null(self) -> int:
        """Return a descriptor of the null device."""
        self._theirs.append(descriptor := os.open(os.devnull, os.O_RDWR))
        return descriptor

    def keep(self) -> None:
        """The program has started: keep our ends open."""
        self._ours.clear()


def _forget_all() -> None:
    """A fork of this process must neither keep our commands alive nor end them."""
    SUPERVISOR.forget()
    for process in _living:
        process.forget()
    _living.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
