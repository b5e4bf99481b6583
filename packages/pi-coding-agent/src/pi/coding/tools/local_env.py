"""``pi.agent.env.ExecutionEnv`` for this machine."""

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
from pi.coding.files.local import LocalFiles
from pi.coding.files.references import System
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.locating import NoShell
from pi.coding.shell.output import Output


class LocalEnv(LocalFiles):
    """Files and shell of a session. The owner closes it."""

    def __init__(
        self, cwd: Callable[[], Path], *, home: str, shell: LocalShell, system: System = "posix"
    ) -> None:
        super().__init__(cwd, home=home, system=system)
        self._shell = shell

    async def close(self) -> None:
        """Terminate all processes that commands have started."""
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
        tail = _OutputTail(on_output)
        folder = Path(self.cwd, cwd or "")
        try:
            end = await self._shell.run(
                command,
                output=Output(lambda: None, fallback=None),
                cwd=folder,
                env=env,
                timeout=timeout,
                on_text=tail.add,
            )
        except (NoShell, SpawnFailed) as error:
            raise _cannot_start(error, folder) from error
        failure = _why_no_code(end, timeout)
        return ExecResult(
            exit_code=None if failure else end.exit_code,
            output=tail.text,
            truncated=tail.truncated,
            error=failure,
        )


class _OutputTail:
    """Forwards the output of a command and keeps the end of it."""

    def __init__(self, on_output: OnOutput | None) -> None:
        self._on_output = on_output
        self.text = ""
        self.truncated = False

    def add(self, text: str) -> Awaitable[None] | None:
        """Keep ``text``. Returns the callback's awaitable, which delays further reading."""
        self.truncated = self.truncated or len(self.text) + len(text) > MAX_OUTPUT
        self.text = (self.text + text)[-MAX_OUTPUT:]
        return None if self._on_output is None else self._on_output(text)


def _why_no_code(end: Ended, timeout: float | None) -> ExecutionError | None:
    if end.timed_out:
        message = f"The command was killed after {timeout:g} seconds."
        return ExecutionError(code="timed_out", message=message)
    if end.signal is not None:
        message = f"The command was ended by signal {end.signal}."
        return ExecutionError(code="killed", message=message)
    return None


def _cannot_start(error: PiError, folder: Path) -> ExecutionFailed:
    code: ExecutionErrorCode = "spawn_failed"
    if isinstance(error, NoShell):
        code = "shell_unavailable"
    elif not folder.is_dir():
        code = "invalid_directory"
    return ExecutionFailed(ExecutionError(code=code, message=error.message), hint=error.hint)
