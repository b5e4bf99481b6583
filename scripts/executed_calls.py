"""Counts the files and cross-file calls that ``pi`` needs for four everyday scenarios.

Each scenario runs the real program of a checkout in a child process (``scripts/call_counter.py``
says what counts) with an empty temporary home, the models of the mock server of ``bench/`` on
127.0.0.1, and a time limit.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from bench.measure import CannotMeasure, measure
from bench.mock_process import mock_server
from bench.terminal import terminal
from scripts.call_counter import COUNTED, COUNTING

DEADLINE = 60.0
"""Seconds that a scenario may take; counting makes the program several times slower."""
QUIET = 1.0
"""Seconds after the echo of a key in which the program may still work on it."""
_COUNTER = Path(__file__).with_name("call_counter.py")
_EXTENSION = '''\
"""Counts tool calls."""


def extension(pi):
    calls = []

    @pi.on("tool_call")
    async def count(event, ctx):
        calls.append(event)
'''


@dataclass(frozen=True)
class Executed:
    """The result of a scenario."""

    files: Mapping[str, int]
    """Calls of its functions by file, below ``pi``."""
    crossing: Mapping[str, int]
    """Cross-file calls by ``calling file -> called file``."""


@dataclass(frozen=True)
class TemporaryHome:
    """A temporary home with a project in it, for one run of a checkout."""

    checkout: Path
    folder: Path

    def command(self, mode: str, *arguments: str) -> list[str]:
        """The command that counts what ``pi`` calls.

        It runs in the checkout's own environment; a checkout without one borrows ours, which has
        the same dependencies and the entry points of our bundled extensions.
        """
        python = self.checkout / ".venv" / "bin" / "python"
        chosen = str(python) if python.exists() else sys.executable
        counter = [chosen, "-P", str(_COUNTER), mode, str(self.checkout), str(self.result)]
        return [*counter, *arguments]

    @property
    def result(self) -> Path:
        """The file that the counter writes."""
        return self.folder / "result.json"

    @property
    def project(self) -> Path:
        """The working directory."""
        return self.folder / "project"

    @property
    def environment(self) -> dict[str, str]:
        """All variables of the child."""
        return {
            "HOME": str(self.folder),
            "PATH": "/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PI_OFFLINE": "1",
        }

    def executed(self) -> Executed:
        """The result after the run."""
        if not self.result.is_file():
            raise CannotMeasure("the program ended without a count")
        found = json.loads(self.result.read_text(encoding="utf-8"))
        return Executed(files=found["files"], crossing=found["crossing"])

    def signal(self, number: signal.Signals) -> None:
        """Send a mark to the counter."""
        os.kill(int(Path(f"{self.result}.pid").read_text()), number)


def run_scenarios(checkout: Path, *, rounds: int = 3) -> dict[str, Executed]:
    """All of ``SCENARIOS`` by name, of each the run with the median of cross-file calls.

    Runs differ by up to 4 %: an answer arrives in one piece or in several. Raises
    ``CannotMeasure``.
    """
    found = {}
    with mock_server() as server:
        for name, scenario in SCENARIOS.items():
            runs = []
            for _ in range(rounds):
                with TemporaryDirectory(prefix="pi-calls-") as folder:
                    try:
                        runs.append(scenario(_prepare(checkout, Path(folder), server.port)))
                    except CannotMeasure as error:
                        raise CannotMeasure(f"{name}: {error}") from error
            runs.sort(key=lambda run: sum(run.crossing.values()))
            found[name] = runs[len(runs) // 2]
    return found


def hello(home: TemporaryHome) -> Executed:
    """``pi -p hello`` from start to end, in a home that has seen a start."""
    return _print_mode(home, "--model", "mock/echo-20", "-p", "hello")


def bash_call(home: TemporaryHome) -> Executed:
    """``pi -p`` with an extension, whose model calls bash once, as ``hello`` does."""
    extension = home.folder / "counting.py"
    extension.write_text(_EXTENSION, encoding="utf-8")
    return _print_mode(home, "-e", str(extension), "--model", "mock/tools-1", "-p", "go")


def key_press(home: TemporaryHome) -> Executed:
    """The second letter that is typed in the interactive mode, until it is drawn."""
    command = home.command("marked", "--model", "mock/echo-20")
    with terminal(command, cwd=home.project, env=home.environment) as screen:
        screen.wait_for(rb"\(mock\) ", within=DEADLINE)  # the footer: there is a session
        screen.send(b"Q")  # loads what is loaded with the first key
        screen.wait_for(b"Q")
        screen.watch(QUIET)
        home.signal(signal.SIGUSR1)
        screen.wait_for(_pattern(COUNTING))
        screen.send(b"Z")
        screen.wait_for(b"Z")
        screen.watch(QUIET)
        home.signal(signal.SIGUSR2)
        screen.wait_for(_pattern(COUNTED))
        return home.executed()


def compaction(home: TemporaryHome) -> Executed:
    """The RPC command ``compact`` after two prompts, from the command to its response."""
    with _rpc_server(home, "--mode", "rpc", "--model", "mock/echo-20") as rpc:
        for text in ("hello", "again"):
            # Longer than the summary: a compaction that saves nothing is declined.
            rpc.ask({"type": "prompt", "message": f"{text} " * 200}, "agent_settled")
        rpc.mark(signal.SIGUSR1, COUNTING)
        response = rpc.ask({"id": "compact", "type": "compact"}, "response")
        rpc.mark(signal.SIGUSR2, COUNTED)
    if not response.get("success"):
        raise CannotMeasure(f"the session was not compacted: {response.get('error')}")
    return home.executed()


SCENARIOS: Mapping[str, Callable[[TemporaryHome], Executed]] = {
    "-p hello": hello,
    "bash call with extension": bash_call,
    "key press": key_press,
    "/compact": compaction,
}


class _RpcClient:
    """Commands to an RPC server and its records."""

    def __init__(self, home: TemporaryHome, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._home = home
        self._commands: IO[bytes] = process.stdin
        self._records: IO[bytes] = process.stdout
        self._errors: IO[bytes] = process.stderr

    def ask(self, command: Mapping[str, str], end: str) -> dict[str, Any]:
        """Send a command and read until a record of type ``end``: that record.

        The response to a command with an id has the same id.
        """
        self._commands.write(json.dumps(command).encode() + b"\n")
        self._commands.flush()
        for line in self._records:
            record: dict[str, Any] = json.loads(line)
            if record["type"] == end and record.get("id") == command.get("id"):
                return record
        raise CannotMeasure(f"pi --mode rpc ended during {command}")

    def mark(self, number: signal.Signals, confirmation: str) -> None:
        """Send a signal to the counter and wait for its confirmation."""
        self._home.signal(number)
        seen = b""
        while confirmation.encode() not in seen:
            byte = self._errors.read(1)
            if not byte:
                raise CannotMeasure(f"pi --mode rpc ended: {seen.decode(errors='replace')}")
            seen += byte


@contextmanager
def _rpc_server(home: TemporaryHome, *arguments: str) -> Iterator[_RpcClient]:
    """An RPC server; killed at the deadline, which ends its output."""
    process = subprocess.Popen(
        home.command("marked", *arguments),
        cwd=home.project,
        env=home.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    limit = threading.Timer(DEADLINE, process.kill)
    limit.start()
    with process:
        try:
            yield _RpcClient(home, process)
        finally:
            limit.cancel()
            process.kill()  # the count is written, and the session is thrown away


def _print_mode(home: TemporaryHome, *arguments: str) -> Executed:
    """Run the command twice and return the calls of the second run.

    The first start in a home also reads the manifest of every bundled extension and writes an
    index of them: its calls grow with the number of batteries. Every later start reads the index.
    """
    command = home.command("whole", *arguments)
    for _ in range(2):
        run = measure(command, cwd=home.project, env=home.environment, deadline=DEADLINE)
        if run.exit_code or not run.output.strip():
            errors = run.error_output.decode(errors="replace").strip()
            raise CannotMeasure(f"pi ended with exit code {run.exit_code}: {errors}")
    return home.executed()


def _prepare(checkout: Path, folder: Path, port: int) -> TemporaryHome:
    home = TemporaryHome(checkout=checkout, folder=folder)
    home.project.mkdir()
    agent = folder / ".pi" / "agent"
    agent.mkdir(parents=True)
    provider = {
        "baseUrl": f"http://127.0.0.1:{port}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [{"id": "echo-20"}, {"id": "tools-1"}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"mock": provider}}))
    # The conversation is short: without this there would be nothing to compact.
    (agent / "settings.json").write_text(json.dumps({"compaction": {"keepRecentTokens": 1}}))
    return home


def _pattern(text: str) -> bytes:
    return text.replace("[", r"\[").encode()
