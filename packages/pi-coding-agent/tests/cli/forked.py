"""Runs ``pi`` many times and imports it once: ``python -m tests.cli.forked``.

A server takes a run as a message with its descriptors and forks. The child has descriptors,
environment, folder and arguments of its own and runs ``pi.__main__`` as ``python -m pi`` does. What
start-up itself does (imports, ``sys.path``, signals) is shown by tests that start a real process.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock, Timer
from typing import Any, NoReturn

from scripts.workspace import ROOT, import_path

MAX_MESSAGE = 1 << 20
TIMEOUT_SECONDS = 60.0
PRELOADED = ("pi.cli.headless", "pi.cli.subcommands.sessions", "pi.ai.http.client")


class ForkedProgram:
    """One run, which is killed when it takes longer than ``TIMEOUT_SECONDS``."""

    def __init__(self, status: int) -> None:
        self._status = os.fdopen(status)
        pid = int(self._status.readline())
        self._killer = Timer(TIMEOUT_SECONDS, os.kill, (pid, signal.SIGKILL))
        self._killer.start()

    def wait(self) -> int:
        """The exit code; that of a signal is negative, as with ``subprocess``."""
        with self._status:
            code = int(self._status.readline())
        self._killer.cancel()
        return code


class ForkServer:
    """The process that forks; it ends with this one."""

    def __init__(self) -> None:
        self._lock = Lock()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.PIPE,  # pipes, as the streams of the runs: Python keeps
                stdout=subprocess.PIPE,  # what it has found out about its streams
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env={
                    "PYTHONPATH": import_path(ROOT),
                    **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
                },
            )
        self._socket = ours
        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.communicate()

    def start(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environ: Mapping[str, str],
        streams: Sequence[int],
    ) -> ForkedProgram:
        """Run ``pi``; ``streams`` are its standard input, output and error."""
        requested = {"arguments": list(arguments), "cwd": str(cwd), "environ": dict(environ)}
        status, theirs = os.pipe()
        sent = [*streams, theirs]
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(requested).encode()], sent)
        os.close(theirs)
        return ForkedProgram(status)


@cache
def fork_server() -> ForkServer:
    """The server of this test process."""
    return ForkServer()


def _serve(control: socket.socket) -> None:
    for module in PRELOADED:
        import_module(module)
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, 4)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            _run(json.loads(message), descriptors)
        for fd in descriptors:
            os.close(fd)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def _run(requested: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """Fork again: the child is the program, the parent waits for it and reports its exit code."""
    *streams, status = descriptors
    if (child := os.fork()) == 0:
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        for fd in descriptors:
            os.close(fd)
        _become_pi(**requested)
    for fd in streams:
        os.close(fd)
    os.write(status, f"{child}\n".encode())
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(status, f"{ended}\n".encode())
    os._exit(0)


def _become_pi(arguments: list[str], cwd: str, environ: dict[str, str]) -> NoReturn:
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[0] = cwd  # as Python has it with -m
    sys.argv = ["pi", *arguments]
    runpy.run_module("pi", run_name="__main__", alter_sys=True)
    raise SystemExit(0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
