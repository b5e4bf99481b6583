"""Programs that extensions run, with a reduced environment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, Unpack, get_args

from pi.base.processes import Child, run, spawn
from pi.base.records import Record
from pi.coding.bus import EventBus
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.events.dialogs import TerminalOpenedEvent
from pi.coding.extension_host.scope import Scope, SessionLink
from pi.coding.shell.environment import service_environment
from pi.coding.shell.jobs import Job, JobOutput, JobState
from pi.coding.shell.spawns import SpawnRequest, SpawnWrap, wrapped_request

if TYPE_CHECKING:
    from pi.base.processes.terminal import ChildTerminal

MOST_OUTPUT = 10_000_000
"""Most bytes that are kept of each stream."""


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

``command``: the variables that commands of the user get, such as ``VIRTUAL_ENV``, ``GOPATH``,
``JAVA_HOME`` and ``CARGO_HOME``, without credentials.
"""


class ExecOptions(TypedDict, total=False):
    """Options of ``exec``."""

    stdin: str | bytes | None
    env: Mapping[str, str] | None
    """Added to the variables of ``environment``."""
    environment: EnvironmentKind | None
    cwd: Path | str | None
    timeout: float | None
    kind: str
    """The kind that spawn wraps get, such as ``hook``; by default ``extension``."""


class SpawnOptions(TypedDict, total=False):
    """Options of ``spawn``."""

    env: Mapping[str, str] | None
    environment: EnvironmentKind | None
    """``None``: only the variables in ``env``."""
    cwd: Path | str | None
    detached: bool
    """Whether the program outlives pi; its streams are null."""
    scope: Scope | None
    terminal: ChildTerminal | None
    """Run in this terminal: ``send`` is its keyboard, ``output`` the output of the program."""
    kind: str
    """The kind that spawn wraps get, such as ``mcp``; by default ``extension``."""
    command: str
    """The command line that a shell runs, for spawn wraps."""
    call_id: str | None
    """With ``terminal``: the tool call that it belongs to; ``terminal_opened`` is emitted."""


class PrepareOptions(TypedDict, total=False):
    """Options of ``prepare_spawn``, as in ``SpawnOptions``."""

    env: Mapping[str, str] | None
    environment: EnvironmentKind | None
    cwd: Path | str | None
    kind: str
    command: str


class Processes:
    """Programs of one extension; they are stopped with its scope."""

    def __init__(
        self, link: SessionLink, wraps: Callable[[str], Sequence[SpawnWrap]], bus: EventBus
    ) -> None:
        self._link = link
        self._wraps = wraps
        self._bus = bus

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        environment: EnvironmentKind | None = "service",
        cwd: Path | str | None = None,
        timeout: float | None = None,
        kind: str = "extension",
    ) -> ExecResult:
        """Run a program and wait for it; after ``timeout`` it is killed with its children."""
        request = await self.prepare(argv, env=env, environment=environment, cwd=cwd, kind=kind)
        result = await run(
            request.limited,
            cwd=request.cwd,
            env=request.env,
            timeout=timeout,
            max_output=MOST_OUTPUT,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
        )
        return ExecResult(
            stdout=result.output.decode("utf-8", "replace"),
            stderr=result.errors.decode("utf-8", "replace"),
            code=result.exit_code,
            killed=result.timed_out,
        )

    async def spawn(
        self,
        argv: Sequence[str] | SpawnRequest,
        *,
        detached: bool = False,
        scope: Scope | None = None,
        terminal: ChildTerminal | None = None,
        call_id: str | None = None,
        **options: Unpack[PrepareOptions],
    ) -> Child:
        """Start a program with pipes that is stopped with ``scope``, or a ``detached`` one."""
        if detached and terminal is not None:
            raise ExtensionError("A detached program cannot have a terminal.")
        request = argv if isinstance(argv, SpawnRequest) else await self.prepare(argv, **options)
        command, cwd, variables = request.limited, request.cwd, request.env
        if detached:
            return await spawn(command, cwd=cwd, env=variables, output="null", detached=True)
        if terminal is not None:
            if call_id is not None:
                event = TerminalOpenedEvent(call_id=call_id, terminal=terminal)
                await self._bus.emit(event)
            child = await terminal.spawn(command, cwd=cwd, env=variables)
        else:
            child = await spawn(command, cwd=cwd, env=variables, stdin="pipe", errors="separate")
        (scope or self._link.scope).on_close(lambda: child.__aexit__(None))
        return child

    async def prepare(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        environment: EnvironmentKind | None = "service",
        cwd: Path | str | None = None,
        kind: str = "extension",
        command: str = "",
    ) -> SpawnRequest:
        """The request to start a program, after the spawn wraps; raises ``SpawnRefused``."""
        request = SpawnRequest(
            kind=kind,
            arguments=tuple(argv),
            command=command,
            cwd=self._cwd(cwd),
            env=self._environment(env, environment),
        )
        return await wrapped_request(request, self._wraps(kind))

    def _cwd(self, cwd: Path | str | None) -> Path:
        workspace_cwd = self._link.session.workspace.cwd
        return workspace_cwd if cwd is None else workspace_cwd / cwd

    def _environment(
        self, more: Mapping[str, str] | None, kind: EnvironmentKind | None
    ) -> dict[str, str]:
        workspace = self._link.session.workspace
        if kind is None:
            return dict(more or {})
        if kind not in get_args(EnvironmentKind):
            raise ExtensionError(
                f"Unknown environment {kind!r}.", hint='Use "service" or "command".'
            )
        if kind == "command":
            return workspace.command_environment() | dict(more or {})
        return service_environment(workspace.environ) | dict(more or {})


class JobInfo(Record):
    """A background job."""

    id: str
    command: str
    state: JobState


class ExtensionJobs:
    """The background jobs of the session."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link

    def add(
        self,
        command: str,
        work: asyncio.Task[bool],
        output: Callable[[], JobOutput],
        *,
        prefix: str = "job",
    ) -> JobInfo:
        """Turn a running task into a job, which ends with the session.

        The task returns whether it succeeded; ``output`` returns the output so far. The id is
        ``prefix`` with a number.
        """
        return _info(
            self._link.session.workspace.shell_jobs.add(command, work, output, prefix=prefix)
        )

    def list(self) -> tuple[JobInfo, ...]:
        """All jobs, running or ended, in the order of their start."""
        return tuple(_info(job) for job in self._link.session.workspace.shell_jobs.all)

    def read(self, id: str) -> JobOutput:
        """The output of a job so far. Raises ``ExtensionError`` if there is no such job."""
        return self._job(id).output()

    async def wait(self, id: str, *, timeout: float | None = None) -> JobInfo:
        """Wait until a job has ended, or for ``timeout`` seconds. Never cancels the job."""
        job = self._job(id)
        await job.ended_within(timeout)
        return _info(job)

    def cancel(self, id: str) -> bool:
        """End a job and its child processes. Returns False if it had ended."""
        return self._job(id).cancel()

    def _job(self, id: str) -> Job:
        job = self._link.session.workspace.shell_jobs.get(id)
        if job is None:
            job_ids = ", ".join(info.id for info in self.list()) or "none"
            raise ExtensionError(f"Unknown job {id!r}.", hint=f"Jobs of this session: {job_ids}.")
        return job


def _info(job: Job) -> JobInfo:
    return JobInfo(id=job.id, command=job.command, state=job.state)
