"""Limits for tests: memory of a child process, and time that a callback may hold the event loop.

``LoopWatchdog`` measures CPU time of the thread, not wall time, so that a busy machine does not
fail a test. A callback that waits for the disk or for a pipe is not seen by it: that is what the
timeout of ``run_bounded`` is for.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, Self

CHILD = Path(__file__).with_name("bounded_child.py")
MEGABYTES = 300
"""Memory that pi may use whatever a project, a package or a server gives it."""
LONGEST_BLOCK = 0.1
"""Seconds of CPU time that one callback may hold the event loop."""
LONGEST_STEP_OF_A_START = 0.5
"""The same for a whole process: its first callbacks import what they need and open the session."""
TIMEOUT_SECONDS = 60.0
"""Seconds after which a child counts as hung."""


class LoopWatchdog:
    """The longest CPU time that one callback has held an event loop, and which one it was."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.where = ""
        self._run: Any = None
        self._compile: Any = None
        self._collected: Any = None
        self._excluded = 0.0
        """CPU time of compiling and of collecting garbage, which no callback causes."""

    def install(self) -> None:
        """Measure every callback of every loop from now on."""
        run = self._run = asyncio.events.Handle._run
        compile = self._compile = SourceFileLoader.source_to_code

        def measured(handle: asyncio.Handle) -> None:
            begin, excluded = time.thread_time(), self._excluded
            try:
                run(handle)
            finally:
                spent = time.thread_time() - begin - (self._excluded - excluded)
                if spent > self.longest:
                    self.longest, self.where = spent, _name(handle)

        def compiled(*arguments: Any, **named: Any) -> Any:
            begin = time.thread_time()
            try:
                return compile(*arguments, **named)
            finally:
                self._excluded += time.thread_time() - begin

        collecting = 0.0

        def collected(phase: str, _: object) -> None:
            nonlocal collecting
            if phase == "start":
                collecting = time.thread_time()
            else:
                self._excluded += time.thread_time() - collecting

        self._collected = collected
        gc.callbacks.append(collected)  # a full collection walks the objects of all tests before
        asyncio.events.Handle._run = measured  # type: ignore[method-assign, assignment]
        # The first import after an installation compiles the module: that happens only once.
        SourceFileLoader.source_to_code = compiled  # type: ignore[method-assign]

    def remove(self) -> None:
        """Measure no more."""
        gc.callbacks.remove(self._collected)
        asyncio.events.Handle._run = self._run  # type: ignore[method-assign]
        SourceFileLoader.source_to_code = self._compile  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def check(self) -> None:
        """Fail if a callback has held the loop for too long."""
        assert self.longest <= LONGEST_BLOCK, f"{self.longest:.3f} s in {self.where}"


def _name(handle: asyncio.Handle) -> str:
    """What ran: for the step of a task, the coroutine."""
    callback = getattr(handle, "_callback", None)
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{task.get_name()}: {getattr(task.get_coro(), '__qualname__', task.get_coro())}"
    return str(callback)


@dataclass(frozen=True)
class Report:
    """What a child did inside its limits."""

    code: int
    stdout: str
    stderr: str
    seconds: float = 0.0
    """CPU time of the longest callback."""
    where: str = ""
    peak_mb: float = 0.0

    def check(self) -> Self:
        """Fail if the loop was held, memory ran out, or a traceback was printed."""
        assert "MemoryError" not in self.stderr, self.stderr[-2000:]
        assert "Traceback" not in self.stderr, self.stderr[-2000:]
        assert self.seconds <= LONGEST_STEP_OF_A_START, f"{self.seconds:.3f} s in {self.where}"
        return self


def run_bounded(
    words: Sequence[str],
    folder: Path,
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: str = "",
    megabytes: int = MEGABYTES,
    within: float = TIMEOUT_SECONDS,
) -> Report:
    """Run ``pi WORDS`` with little memory; ``folder`` is for the report.

    A child that does not end is killed and fails the test with ``subprocess.TimeoutExpired``.
    """
    report = folder / "bounded.json"
    report.unlink(missing_ok=True)
    ended = subprocess.run(
        [sys.executable, str(CHILD), str(report), str(megabytes), *words],
        cwd=cwd,
        # One arena: the limit is for what is used, not for what threads reserve.
        env={**env, "MALLOC_ARENA_MAX": "1"},
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=within,
        check=False,
    )
    found = json.loads(report.read_text()) if report.exists() else {}
    return Report(code=ended.returncode, stdout=ended.stdout, stderr=ended.stderr, **found)


def limit_memory(megabytes: int) -> None:
    """Limit the memory of this process and its children, where the system can do that."""
    if sys.platform != "linux":
        return
    import resource

    size = megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def peak_memory() -> float:
    """The peak memory of this process in megabytes; 0 where it is not known."""
    status = Path("/proc/self/status")
    # Not getrusage: there a child begins with the peak of the process that started it.
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def plain_environment(home: Path) -> dict[str, str]:
    """An environment without keys, whose home is ``home``."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**keep, "HOME": str(home), "PI_SKIP_VERSION_CHECK": "1", "PI_NO_LOCAL": "1"}


def home_with_model(home: Path, url: str) -> Path:
    """Configure the model ``mine/m`` at ``url`` for this home; returns the agent directory."""
    agent_dir = home / ".pi/agent"
    agent_dir.mkdir(parents=True)
    provider = {
        "baseUrl": url,
        "apiKey": "k",
        "api": "openai-completions",
        "models": [{"id": "m"}],
    }
    (agent_dir / "models.json").write_text(json.dumps({"providers": {"mine": provider}}))
    (agent_dir / "settings.json").write_text("{}")  # a new home is asked for its setup
    return agent_dir
