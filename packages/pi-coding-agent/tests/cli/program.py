"""The real program in a process of its own, with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pi.version import __version__
from tests.ai.loopback import NOWHERE
from tests.cli.forked import TIMEOUT_SECONDS, fork_server

ODD = "org/odd:id[1]:high"
"""A model id with special characters; the server does not know it."""


class Ended(NamedTuple):
    """The exit code and the output of a process."""

    code: int
    out: str
    err: str


@dataclass
class Program:
    """``pi`` as a user with this home runs it in this folder."""

    home: Path
    cwd: Path
    environ: dict[str, str] = field(default_factory=dict)

    @classmethod
    def below(cls, folder: Path, **environ: str) -> Program:
        """A home and a working directory in ``folder``."""
        home, cwd = folder / "home", folder / "work"
        home.mkdir()
        cwd.mkdir()
        return cls(home, cwd, environ)

    @property
    def agent_dir(self) -> Path:
        return self.home / ".pi" / "agent"

    @property
    def is_forked(self) -> bool:
        """Whether ``run`` forks a process that has imported pi, which saves half of the time.

        Python reads its own variables when it starts, and those for timing measure the imports.
        """
        at_start = ("PYTHON", "PI_TIMING", "PI_DEBUG_STARTUP")
        return sys.platform == "linux" and not any(n.startswith(at_start) for n in self.environ)

    @property
    def variables(self) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        ours = {"HOME": str(self.home), "PI_NO_LOCAL": "1", **NOWHERE}
        return {**inherited, **ours, **self.environ}

    def write(self, name: str, content: str | bytes) -> Path:
        """A file of the agent directory."""
        path = self.agent_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def use_server(self, port: int) -> None:
        """Have models of a mock server: the id says what it answers."""
        ids = ("echo-3", "echo-400@100", "echo-150", "tools-1", "broken", ODD)
        models = [{"id": id, "input": ["text", "image"]} for id in ids]
        provider = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [*models, {"id": "echo-1"}],
        }
        self.write("models.json", json.dumps({"providers": {"mock": provider}}))
        self.write("settings.json", '{"retry": {"enabled": false}}')

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """The process, with pipes as its standard streams unless given otherwise."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        usual: dict[str, Any] = {"cwd": self.cwd, "env": self.variables, **pipes}
        return subprocess.Popen([sys.executable, "-m", "pi", *arguments], **(usual | options))

    def run(self, *arguments: str, piped: str | bytes = b"") -> Ended:
        """Run it to its end."""
        data = piped if isinstance(piped, bytes) else piped.encode()
        if self.is_forked:
            return self._run_forked(arguments, data)
        with self.start(*arguments) as child:
            try:
                out, err = child.communicate(data, timeout=TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                raise
        return Ended(child.returncode, out.decode(), err.decode())

    def _run_forked(self, arguments: Sequence[str], data: bytes) -> Ended:
        pairs = [os.pipe() for _ in range(3)]
        (stdin, write_end), (out_end, stdout), (err_end, stderr) = pairs
        streams = (stdin, stdout, stderr)
        child = fork_server().start(arguments, self.cwd, self.variables, streams)
        for fd in streams:
            os.close(fd)
        with ThreadPoolExecutor(3) as pool:
            pool.submit(_write_all, write_end, data)
            out, err = pool.map(_read_all, (out_end, err_end))
        return Ended(child.wait(), out.decode(), err.decode())

    def sessions(self) -> list[list[Any]]:
        """The lines of every stored session."""
        files = sorted(self.agent_dir.glob("sessions/*/*.jsonl"))
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def _write_all(fd: int, content: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(fd, "wb") as pipe:
        pipe.write(content)


def _read_all(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as pipe:
        return pipe.read()


def known(folder: Path) -> Program:
    """The program of a user who was welcomed before, and has no model."""
    cli = Program.below(folder)
    cli.write("settings.json", json.dumps({"lastChangelogVersion": __version__}))
    return cli
