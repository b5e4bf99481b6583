"""Programs that extensions run, with a reduced environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, get_args

from pi.base.processes import Child, run, spawn
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.scope import Scope, SessionLink
from pi.coding.shell.environment import service_environment
from pi.coding.shell.spawns import SpawnRequest, SpawnWrap, wrapped_request

if TYPE_CHECKING:
    from pi.base.processes.terminal import ChildTerminal
    from pi.coding.shell.jobs import Job, ShellJobs

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
    kind: str
    """What spawn wraps see, such as ``hook``; by default ``extension``."""


class SpawnOptions(TypedDict, total=False):
    """Options of ``spawn``."""

    env: Mapping[str, str] | None
    environment: EnvironmentKind
    cwd: Path | str | None
    detached: bool
    """Whether the program outlives pi. Its streams are null then."""
    scope: Scope | None
    terminal: ChildTerminal | None
    """Run in this terminal: its ``send`` is the keyboard, ``output`` is what the program writes."""
    kind: str
    """What spawn wraps see, such as ``mcp``; by default ``extension``."""


class Processes:
    """Programs of one extension; they are stopped with its scope."""

    def __init__(self, link: SessionLink, wraps: Callable[[str], Sequence[SpawnWrap]]) -> None:
        self._link = link
        self._wraps = wraps

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        environment: EnvironmentKind = "service",
        cwd: Path | str | None = None,
        timeout: float | None = None,
        kind: str = "extension",
    ) -> ExecResult:
        """Run a program and wait for it; after ``timeout`` it is killed with its children."""
        request = await self._request(argv, cwd, self._environment(env, environment), kind)
        ended = await run(
            request.limited,
            cwd=request.cwd,
            env=request.env,
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
        terminal: ChildTerminal | None = None,
        kind: str = "extension",
    ) -> Child:
        """Start a program with pipes that is stopped with ``scope``, or a ``detached`` one."""
        if detached and terminal is not None:
            raise ExtensionError("A detached program cannot have a terminal.")
        request = await self._request(argv, cwd, self._environment(env, environment), kind)
        words, place, variables = request.limited, request.cwd, request.env
        if detached:
            return await spawn(words, cwd=place, env=variables, output="null", detached=True)
        if terminal is not None:
            child = await terminal.spawn(words, cwd=place, env=variables)
        else:
            child = await spawn(words, cwd=place, env=variables, stdin="pipe", errors="separate")
        (scope or self._link.scope).on_close(lambda: child.__aexit__(None))
        return child

    async def _request(
        self,
        argv: Sequence[str],
        cwd: Path | str | None,
        env: Mapping[str, str],
        kind: str,
    ) -> SpawnRequest:
        """What is started, after the spawn wraps."""
        request = SpawnRequest(kind=kind, arguments=tuple(argv), cwd=self._cwd(cwd), env=env)
        return await wrapped_request(request, self._wraps(kind))

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


class JobInfo(Record):
    """A background job of ``bash``."""

    id: str
    command: str
    state: Literal["running", "completed", "failed", "cancelled"]


class JobOutput(Record):
    """What a job has written so far."""

    text: str
    """The end of the output."""
    truncated: bool = False
    full_output_path: str | None = None
    """The file with the whole output, if it was too long."""


class ExtensionJobs:
    """The background jobs of ``bash``; there are none unless ``async.enabled`` is set."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link

    def list(self) -> tuple[JobInfo, ...]:
        """All jobs, running or ended, in the order of their start."""
        jobs = self._jobs
        found = [] if jobs is None else jobs.all
        return tuple(JobInfo(id=job.id, command=job.command, state=job.state) for job in found)

    def read(self, id: str) -> JobOutput:
        """What a job has written so far. Raises ``ExtensionError`` if there is no such job."""
        written = self._job(id).output.written()
        return JobOutput(
            text=written.tail.content,
            truncated=written.tail.truncated,
            full_output_path=written.full_output_path or None,
        )

    def cancel(self, id: str) -> bool:
        """End a job and its child processes. Returns False if it had ended."""
        job = self._job(id)
        is_running = job.state == "running"
        job.cancel()
        return is_running

    @property
    def _jobs(self) -> ShellJobs | None:
        return self._link.session.workspace.shell_jobs

    def _job(self, id: str) -> Job:
        jobs = self._jobs
        job = None if jobs is None else jobs.get(id)
        if job is None:
            known = ", ".join(info.id for info in self.list()) or "none"
            raise ExtensionError(f"Unknown job {id!r}.", hint=f"Jobs of this session: {known}.")
        return job
