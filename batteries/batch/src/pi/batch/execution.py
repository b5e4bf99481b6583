"""One attempt at a task: a folder, a session, a check, a result."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias

from msgspec import field

from pi.ai.errors import ProviderError
from pi.ai.events import Done, Failed, StreamEvent
from pi.ai.messages import RequestFailure, Usage
from pi.base.clock import Clock, SystemClock
from pi.base.errors import PiError
from pi.base.files import expand_home, private_directory, replace_file
from pi.base.processes import run
from pi.base.records import Record, replace
from pi.batch.budget import Gate
from pi.batch.results import BatchResult, BatchUsage, Status
from pi.batch.tasks import BatchProblem, BatchTask, is_url
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.model_wraps import ModelRequest, SendRequest
from pi.coding.files.clones import clone_working_copy
from pi.coding.files.copy_steps import WorkingCopyFailed
from pi.coding.files.working_copies import WorkingCopy, make_working_copy
from pi.coding.runtime.embedding import AgentSessionOptions, create_agent_session
from pi.coding.runtime.machine import Machine, stored_trust
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.runtime.session_manager import SessionManager

Isolation: TypeAlias = Literal["auto", "worktree", "copy", "none"]

COMMAND_SECONDS = 1800.0
"""Timeout of ``setup`` and ``check``; the timeout of the task may end them earlier."""
MAX_OUTPUT = 64 * 1024
MAX_REASON = 2000
MAX_PATCH_IN_ROW = 1024 * 1024


class TaskLimits(Record):
    """Limits of every task."""

    seconds: float | None = None
    budget: float | None = None
    """US dollars; a task may have its own."""
    turns: int | None = None


class WorkerSettings(Record):
    """Settings of a worker, for all tasks. Pickled, because the options may hold functions."""

    options: AgentSessionOptions = field(default_factory=AgentSessionOptions)
    """Options of ``create_agent_session``."""
    folder: Path | None = None
    """The folder of the batch; ``None``: sessions exist in memory only."""
    work: Path
    """The folder in which the folders of tasks are created."""
    isolation: Isolation = "auto"
    limits: TaskLimits = TaskLimits()
    names: Mapping[str, str] = field(default_factory=dict)
    """File names by task id."""


class TaskRefused(ProviderError):
    """A limit of the task or the batch forbids another model call."""


class _CallMeter:
    """Checks limits before each model call of an attempt, and counts calls, tokens and costs."""

    def __init__(self, gate: Gate, limits: TaskLimits, budget: float | None) -> None:
        self._gate = gate
        self._turns = limits.turns
        self._budget = limits.budget if budget is None else budget
        self._turn = 0
        self.usage = BatchUsage()
        self.cost = 0.0
        self.stopped: tuple[Status, str] | None = None

    def extension(self, pi: ExtensionAPI) -> None:
        """Wrap all model calls of the session and its sub-sessions."""
        pi.wrap_model(self._call, at="first")

    async def _call(self, request: ModelRequest, send: SendRequest) -> AsyncIterator[StreamEvent]:
        self._turn += request.purpose == "turn"
        if self._turns is not None and self._turn > self._turns:
            self._stop("turns", f"The limit of {self._turns} turns is reached.")
        if self._budget is not None and self.cost >= self._budget:
            self._stop("budget", f"The task's budget of ${self._budget:g} is spent.")
        if not await self._gate.ask():
            self._stop("stopped", "The budget of the batch is spent.")
        cost: float | None = None
        try:
            async with aclosing(send(request)) as answer:  # type: ignore[type-var]
                async for event in answer:
                    if isinstance(event, Done | Failed):
                        message = event.message if isinstance(event, Done) else event.error
                        # A failure without usage does not show the cost of a call.
                        if isinstance(event, Done) or message.usage.cost.total:
                            cost = message.usage.cost.total
                        self._count(message.usage)
                    yield event
        finally:
            self.cost += cost or 0.0
            self._gate.settle(cost)

    def _count(self, usage: Usage) -> None:
        self.usage = BatchUsage(
            input=self.usage.input + usage.input,
            output=self.usage.output + usage.output,
            cache_read=self.usage.cache_read + usage.cache_read,
            cache_write=self.usage.cache_write + usage.cache_write,
            calls=self.usage.calls + 1,
        )

    def _stop(self, status: Status, reason: str) -> NoReturn:
        self.stopped = status, reason
        raise TaskRefused(reason)


class _Failure(Exception):
    """The attempt has ended with a status other than ``done``."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


class TaskRunner:
    """Runs attempts with the settings of the batch; any number at a time."""

    def __init__(
        self, settings: WorkerSettings, environ: Mapping[str, str], *, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        environ = settings.options.get("environ") or environ
        self._machine = Machine.from_environ(
            environ, agent_dir=agent_dir_of(settings.options), clock=self._clock
        )
        secrets = KnownSecrets.of(self._machine).names()
        # A check runs code that the model wrote: it must not see the API keys of pi.
        self._environ = {name: value for name, value in environ.items() if name not in secrets}
        self._trusted: dict[Path, bool] = {}

    async def run(self, task: BatchTask, attempt: int, gate: Gate) -> BatchResult:
        """Run one attempt. Raises nothing but cancellation: a failure is a result."""
        began = self._clock.monotonic()
        meter = _CallMeter(gate, self._settings.limits, task.budget)
        result = BatchResult(id=task.id, status="done", attempt=attempt)
        try:
            async with self._open_folder(task) as (cwd, copy):
                result = await self._run_steps(task, result, cwd, meter)
                if copy is not None:
                    result = await self._add_patch(result, copy)
        except Exception as error:  # a bug in an extension must not end the other tasks
            result = _add_error(result, error)
        folder = self._settings.folder
        if folder is not None and result.session and not (folder / result.session).exists():
            result = replace(result, session=None)  # ended before the first answer: no file
        return replace(
            result,
            usage=meter.usage,
            cost=meter.cost,
            seconds=round(self._clock.monotonic() - began, 3),
        )

    @asynccontextmanager
    async def _open_folder(self, task: BatchTask) -> AsyncIterator[tuple[Path, WorkingCopy | None]]:
        """Yield the folder to work in, and its working copy; ``None`` if it is not a copy."""
        settings, name = self._settings, self._settings.names.get(task.id, "task")
        private_directory(settings.work)
        if task.repo is None and task.cwd is None:
            folder = settings.work / f"{name}-{os.urandom(4).hex()}"
            folder.mkdir(mode=0o700)
            try:
                yield folder, None
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        elif task.cwd is not None and settings.isolation == "none":
            yield _check_folder(task.cwd, "folder"), None
        else:
            copy = await self._make_copy(task, name)
            try:
                yield copy.cwd, copy
            finally:
                await copy.close(discard=True)  # its changes are in the patch

    async def _make_copy(self, task: BatchTask, name: str) -> WorkingCopy:
        work, isolation = self._settings.work, self._settings.isolation
        if task.repo is not None:
            if not is_url(task.repo):
                _check_folder(task.repo, "repository")
            return await clone_working_copy(
                task.repo, task.base_commit, root=work, name=name, environ=self._environ
            )
        assert task.cwd is not None
        assert isolation != "none"
        source = _check_folder(task.cwd, "folder")
        return await make_working_copy(
            source, root=work, name=name, environ=self._environ, backend=isolation
        )

    async def _run_steps(
        self, task: BatchTask, result: BatchResult, cwd: Path, meter: _CallMeter
    ) -> BatchResult:
        """Set up, prompt and check within the task's timeout; returns what was reached by then."""
        seconds, folder = self._settings.limits.seconds, self._settings.folder
        try:
            async with asyncio.timeout(seconds) as deadline:
                if task.setup is not None:
                    await self._run_command(task.setup, cwd, "error", "Setup")
                options = self._options_of(task, cwd, meter)
                if folder is not None and (log := options["session_manager"]) is not None:
                    file = log.get_session_file()
                    assert file is not None
                    result = replace(result, session=str(file.relative_to(folder)))
                result = await self._prompt(task, result, options, meter)
                if result.status == "done" and task.check is not None:
                    await self._run_command(task.check, cwd, "failed", "Check")
        except TimeoutError as error:
            if not deadline.expired():  # raised by an extension or a server
                return _add_error(result, error)
            return replace(result, status="timeout", error=f"Timed out after {seconds:g} s.")
        except _Failure as failure:
            return replace(result, status=failure.status, error=failure.reason)
        except Exception as error:  # caught here, so that the session and the patch are kept
            return _add_error(result, error)
        return result

    async def _run_command(self, command: str, cwd: Path, status: Status, what: str) -> None:
        result = await run(
            ["bash", "-c", command],
            cwd=cwd,
            env=self._environ,
            timeout=COMMAND_SECONDS,
            max_output=MAX_OUTPUT,
        )
        if result.ok:
            return
        output = (result.errors or result.output).decode("utf-8", "replace").strip()
        failure = f"failed with exit code {result.exit_code}"
        if result.timed_out:
            failure = "timed out"
        elif result.signal is not None:
            failure = f"was ended by signal {result.signal}"
        raise _Failure(status, f"{what} {failure}. {output[-MAX_REASON:]}".rstrip())

    async def _prompt(
        self,
        task: BatchTask,
        result: BatchResult,
        options: AgentSessionOptions,
        meter: _CallMeter,
    ) -> BatchResult:
        """Prompt a new session and return the result with its answer."""
        created = await create_agent_session(**options)
        async with created.session as session:
            answer = await session.prompt(task.prompt)
            model = session.model
        unsaved = session.entries.log.unsaved_reason
        result = replace(
            result,
            answer="" if answer is None else answer.text,
            model=None if model is None else f"{model.provider}/{model.id}",
        )
        if meter.stopped is not None:
            status, reason = meter.stopped
            return replace(result, status=status, error=reason)
        if answer is None:
            return replace(result, status="error", error="The run ended without an answer.")
        if answer.stop_reason in ("error", "aborted"):
            failure = answer.failure
            reason = answer.error_message or f"The request was {answer.stop_reason}."
            if isinstance(failure, RequestFailure):
                reason = failure.text
            return replace(result, status="error", error=reason)
        if unsaved is not None:  # final: a retry costs money, and the disk would still be full
            reason = f"The session could not be saved: {unsaved}."
            return replace(result, status="error", error=reason, is_final=True)
        return result

    def _is_trusted(self, task: BatchTask) -> bool:
        """Whether the task's project is trusted; its working copy is trusted alike.

        The source is checked, not the copy: a clone of an untrusted repository may be below a
        trusted folder.
        """
        source = Path(task.cwd or "/")
        if task.repo is not None and not is_url(task.repo):
            source = Path(task.repo)
        if source not in self._trusted:
            self._trusted[source] = stored_trust(self._machine, source).trusted
        return self._trusted[source]

    def _options_of(self, task: BatchTask, cwd: Path, meter: _CallMeter) -> AgentSessionOptions:
        options = AgentSessionOptions(**self._settings.options)
        options["cwd"] = cwd
        options.setdefault("headless", True)
        options["extensions"] = (*(options.get("extensions") or ()), meter.extension)
        if options.get("trust") is None:
            options["trust"] = self._is_trusted(task)
        if task.model is not None:
            options["model"] = task.model
        if task.tools is not None:
            options["tools"] = task.tools
        if self._settings.folder is None:
            options["session_manager"] = SessionManager.in_memory(cwd)
        else:
            sessions = private_directory(self._settings.folder / "sessions")
            options["session_manager"] = SessionManager.create(
                cwd, sessions, agent_dir=options.get("agent_dir")
            )
        return options

    async def _add_patch(self, result: BatchResult, copy: WorkingCopy) -> BatchResult:
        try:
            patch = await copy.patch()
        except WorkingCopyFailed as error:
            return replace(result, status="error", error=error.explain())
        if not patch.size:
            return result
        file = None
        if self._settings.folder is not None and patch.is_complete:
            folder = private_directory(self._settings.folder / "patches")
            name = self._settings.names.get(result.id, "task")
            # One file per attempt; names have no "~", so that no two tasks share a file.
            again = "" if result.attempt == 1 else f"~{result.attempt}"
            path = folder / f"{name}{again}.patch"
            await asyncio.to_thread(replace_file, path, patch.text)
            file = str(path.relative_to(self._settings.folder))
        text = ""
        if len(patch.text) <= MAX_PATCH_IN_ROW:
            with suppress(UnicodeDecodeError):  # a binary patch is in the file only
                text = patch.text.decode("utf-8")
        if not patch.is_complete:
            reason = f"The patch is too large to keep ({patch.size >> 20} MiB)."
            return replace(result, status="error", error=reason)
        return replace(result, patch=text, patch_file=file)


def agent_dir_of(options: AgentSessionOptions) -> Path | None:
    """Return the agent directory that the options of a batch name."""
    folder = options.get("agent_dir")
    return None if folder is None else expand_home(folder).absolute()


def _check_folder(path: str, what: str) -> Path:
    if not Path(path).is_dir():
        raise BatchProblem(f"The {what} {path} does not exist.")
    return Path(path)


def _add_error(result: BatchResult, error: Exception) -> BatchResult:
    """Return the result of an attempt that raised; final after a ``BatchProblem``."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, PiError):
        reason = error.explain()
    elif isinstance(error, OSError) and error.strerror:
        reason = f"{error.strerror}: {error.filename2 or error.filename or 'no file'}"
    return replace(result, status="error", error=reason, is_final=isinstance(error, BatchProblem))
