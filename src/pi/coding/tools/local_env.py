"""This machine as a place where an agent's tools can work: ``pi.agent.env.ExecutionEnv``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Self

from pi.agent.env import (
    MAX_OUTPUT,
    ExecResult,
    ExecutionError,
    ExecutionErrorCode,
    ExecutionFailed,
    OnOutput,
)
from pi.base.errors import PiError
from pi.base.processes import SpawnFailed
from pi.coding.files.local import LocalFiles, System
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.locating import NoShell
from pi.coding.shell.output import Output


class LocalEnv(LocalFiles):
    """The files and the shell of a session together. Its owner closes it."""

    def __init__(
        self, cwd: Callable[[], Path], *, home: str, shell: LocalShell, system: System = "posix"
    ) -> None:
        super().__init__(cwd, home=home, system=system)
        self._shell = shell

    async def close(self) -> None:
        """End everything that commands have started and that still runs."""
        await self._shell.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def exec(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
    ) -> ExecResult:
        """Run a command line to its end; see ``pi.agent.env.Shell``."""
        kept = _Kept(on_output)
        folder = Path(self.cwd, cwd or "")
        try:
            end = await self._shell.run(
                command,
                output=Output(lambda: None, fallback=None),
                cwd=folder,
                env=env,
                timeout=timeout,
                on_text=kept.add,
            )
        except (NoShell, SpawnFailed) as problem:
            raise _cannot_start(problem, folder) from problem
        error = _why_no_code(end, timeout)
        return ExecResult(
            exit_code=None if error else end.exit_code,
            output=kept.text,
            truncated=kept.truncated,
            error=error,
        )


class _Kept:
    """The last of what a command writes, told as it comes."""

    def __init__(self, tell: OnOutput | None) -> None:
        self._tell = tell
        self.text = ""
        self.truncated = False

    def add(self, text: str) -> Awaitable[None] | None:
        """Keep ``text``; returns what the listener returns, which holds the command up."""
        self.truncated = self.truncated or len(self.text) + len(text) > MAX_OUTPUT
        self.text = (self.text + text)[-MAX_OUTPUT:]
        return None if self._tell is None else self._tell(text)


def _why_no_code(end: Ended, timeout: float | None) -> ExecutionError | None:
    if end.timed_out:
        message = f"The command was killed after {timeout:g} seconds."
        return ExecutionError(code="timed_out", message=message)
    if end.signal is not None:
        message = f"The command was ended by signal {end.signal}."
        return ExecutionError(code="killed", message=message)
    return None


def _cannot_start(problem: PiError, folder: Path) -> ExecutionFailed:
    code: ExecutionErrorCode = "spawn_failed"
    if isinstance(problem, NoShell):
        code = "shell_unavailable"
    elif not folder.is_dir():
        code = "invalid_directory"
    return ExecutionFailed(ExecutionError(code=code, message=problem.message), hint=problem.hint)
