"""This machine as a place where an agent's tools can work: ``pi.agent.env.ExecutionEnv``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pi.agent.env import ExecResult, OnOutput
from pi.coding.files.local import LocalFiles
from pi.coding.files.references import System
from pi.coding.shell.executing import execute
from pi.coding.shell.local import LocalShell


class LocalEnv(LocalFiles):
    """The files and the shell of a session together."""

    def __init__(
        self, cwd: Callable[[], Path], *, home: str, shell: LocalShell, system: System = "posix"
    ) -> None:
        super().__init__(cwd, home=home, system=system)
        self._shell = shell

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
        return await execute(
            self._shell, command, cwd=cwd, env=env, timeout=timeout, on_output=on_output
        )
