"""Programs that extensions run, with a reduced environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict, get_args

from pi.base.processes import Child, run, spawn
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.scope import Scope, SessionLink
from pi.coding.shell.environment import service_environment

MOST_OUTPUT = 10_000_000
"""Bytes kept of each stream."""


class ExecResult(Record):
    """The result of a program."""

    stdout: str
    stderr: str
    code: int | None
    """``None`` if it was ended by a signal."""
    killed: bool = False
    """Whether it timed out."""


EnvironmentKind: TypeAlias = Literal["service", "command"]
"""``service``: the few variables that every program needs, for servers and helpers.

``command``: those that commands of the user get, such as ``VIRTUAL_ENV``, ``GOPATH``, ``JAVA_HOME``
and ``CARGO_HOME``; credentials are withheld.
"""


class ExecOptions(TypedDict, total=False):
    """Options of ``exec``."""

    stdin: str | bytes | None
    env: Mapping[str, str] | None
    """Added to the variables of ``environment``."""
    environment: EnvironmentKind
    cwd: Path | str | None
    timeout: float | None


class SpawnOptions(TypedDict, total=False):
    """Options of ``spawn``."""

    env: Mapping[str, str] | None
    environment: EnvironmentKind
    cwd: Path | str | None
    detached: bool
    """Whether the program outlives pi. Its streams are null then."""
    scope: Scope | None


class Processes:
    """Programs of one extension; they are stopped with its scope."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        environment: EnvironmentKind = "service",
        cwd: Path | str | None = None,
        timeout: float | None = None,
    ) -> ExecResult:
        """Run a program and wait for it; after ``timeout`` it is killed with its children."""
        ended = await run(
            argv,
            cwd=self._cwd(cwd),
            env=self._environment(env, environment),
            timeout=timeout,
            max_output=MOST_OUTPUT,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
        )
        return ExecResult(
            stdout=ended.output.decode("utf-8", "replace"),
            stderr=ended.errors.decode("utf-8", "replace"),
            code=ended.exit_code,
            killed=ended.timed_out,
        )

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        environment: EnvironmentKind = "service",
        cwd: Path | str | None = None,
        detached: bool = False,
        scope: Scope | None = None,
    ) -> Child:
        """Start a program with pipes that is stopped with ``scope``, or a ``detached`` one."""
        place, variables = self._cwd(cwd), self._environment(env, environment)
        if detached:
            return await spawn(argv, cwd=place, env=variables, output="null", detached=True)
        child = await spawn(argv, cwd=place, env=variables, stdin="pipe", errors="separate")
        (scope or self._link.scope).on_close(lambda: child.__aexit__(None))
        return child

    def _cwd(self, cwd: Path | str | None) -> Path:
        here = self._link.session.workspace.cwd
        return here if cwd is None else here / cwd

    def _environment(self, more: Mapping[str, str] | None, kind: EnvironmentKind) -> dict[str, str]:
        workspace = self._link.session.workspace
        if kind not in get_args(EnvironmentKind):
            raise ExtensionError(
                f"Unknown environment {kind!r}.", hint='Use "service" or "command".'
            )
        if kind == "command":
            return workspace.command_environment() | dict(more or {})
        return service_environment(workspace.environ) | dict(more or {})
