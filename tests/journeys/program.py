"""The installed ``pi`` command, and everything that one journey starts and sees."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.journeys.complaints import find_complaints, find_logged
from tests.journeys.home import Home
from tests.journeys.json_clients import AcpClient, RpcClient
from tests.journeys.model_server import ModelServer
from tests.journeys.processes import SECONDS, find_running, kill, wait_for_end
from tests.journeys.terminal import Terminal

COMMAND = os.environ.get("JOURNEY_PI") or str(Path(sys.executable).parent / "pi")
"""The program: that of this environment, or the one that ``JOURNEY_PI`` names, e.g. of a wheel."""
NOWHERE = "127.0.0.1:9"
ENVIRONMENT = {
    # Nothing but loopback: an update check or a download fails at once.
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), f"http://{NOWHERE}"),
    "NO_PROXY": "127.0.0.1,localhost",
    "PIP_INDEX_URL": f"http://{NOWHERE}/",
    "PIP_RETRIES": "0",
    # Model servers on the developer's machine are not part of a journey.
    **dict.fromkeys(
        ("OLLAMA_HOST", "LLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"), NOWHERE
    ),
    "PI_NO_LOCAL": "1",
}


class Ended(NamedTuple):
    """The exit code and the output of a program that ran through a pipe."""

    code: int
    out: str
    err: str


class Journey:
    """A user with a home, a model server and ``pi``; collects everything that pi writes."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.folder = folder
        self.home = Home(folder)
        self.model = model
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            **ENVIRONMENT,
            "HOME": str(self.home.path),
        }
        self.program = COMMAND
        """The program that runs; another one if the journey has an installation of its own."""
        self.seconds = SECONDS
        """How long ``pi`` may run through a pipe."""
        self.seen: list[str] = []
        """Everything that programs of the journey have written."""
        self.expected: set[str] = set()
        """Names of ``complaints.FORBIDDEN`` that this journey provokes."""
        self._sessions: set[int] = set()

    def pi(self, *arguments: str, piped: str = "", **environ: str) -> Ended:
        """Run ``pi`` through a pipe, to its end."""
        with self._start(arguments, environ) as process:
            try:
                out, err = process.communicate(piped.encode(), self.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        ended = Ended(process.returncode, out.decode(), err.decode())
        self.seen.extend((ended.out, ended.err))
        return ended

    @contextmanager
    def terminal(
        self, *arguments: str, columns: int = 100, rows: int = 40, **environ: str
    ) -> Iterator[Terminal]:
        """Run ``pi`` on a terminal during the block; the window closes at its end."""
        term = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        user = Terminal(
            [self.program, *arguments],
            self.home.cwd,
            {**self.environ, **term, **environ},
            columns,
            rows,
        )
        self._sessions.add(user.process.pid)
        try:
            yield user
        finally:
            user.close()
            self.seen.append(user.written)

    @contextmanager
    def rpc(self, *arguments: str, **environ: str) -> Iterator[RpcClient]:
        """Run ``pi --mode rpc`` during the block, and a client of it."""
        with self._start(("--mode", "rpc", *arguments), environ) as process:
            client = RpcClient(process)
            try:
                yield client
            finally:
                client.close()
                self.seen.extend((*client.lines, client.err))

    @contextmanager
    def acp(self, *arguments: str, **environ: str) -> Iterator[AcpClient]:
        """Run ``pi acp`` during the block, and an editor that speaks with it."""
        with self._start(("acp", *arguments), environ) as process:
            client = AcpClient(process, self.home.cwd)
            try:
                yield client
            finally:
                client.close()
                self.seen.extend((*client.lines, client.err))

    def expects(self, *names: str) -> None:
        """Allow what this journey provokes, e.g. ``"an unknown command"``."""
        self.expected.update(names)

    def check(self) -> None:
        """Fail on what a user must never see, and on processes that have not ended."""
        complaints = find_complaints("\n".join(self.seen), self.expected)
        if "a traceback" not in self.expected:
            complaints.extend(find_logged(self.home.log))
        for process in find_running(self.folder, self._sessions):
            if not wait_for_end(process):
                kill(process)
                complaints.append(f"a leftover process: {process.command}")
        assert not complaints, "\n\n".join(complaints)

    def _start(
        self, arguments: tuple[str, ...], environ: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [self.program, *arguments],
            cwd=self.home.cwd,
            env={**self.environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._sessions.add(process.pid)
        return process
