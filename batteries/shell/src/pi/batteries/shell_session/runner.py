"""Keeps the shell of a session and runs commands in it, or in a terminal."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from pi.batteries.shell_session.command_lines import BashCall
from pi.batteries.shell_session.session import (
    ShellEnd,
    ShellGone,
    ShellSession,
    automation_environment,
    take_snapshot,
)
from pi.batteries.shell_session.shell_code import ARGUMENTS, LOGIN_ARGUMENTS
from pi.extension import (
    ExtensionAPI,
    Json,
    OutputSink,
    PiError,
    Scope,
    ShellSetup,
    SpawnRequest,
    ToolContext,
    ToolFailed,
    ToolResult,
)

NO_OUTPUT = "(no output)"
MAX_SEEN_BYTES = 2 * 1024 * 1024
"""Longer output is not condensed, only truncated."""
MAX_LINE_CHARACTERS = 100_000
"""A longer command line is run without the snapshot: Linux limits an argument to 128 KiB."""
SNAPSHOT_LINGER_SECONDS = 3600.0
VOLATILE = "PI_"
"""Prefix of variables that describe the session and change while the shell runs."""

Minimise: TypeAlias = Callable[[BashCall, ToolResult, str], ToolResult]
"""Condenses the result of a command that succeeded, given its whole output."""


class SessionRunner:
    """The shell of a session: started at the first command, and again after it has ended."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._running: RunningShell | None = None
        self._starting = asyncio.Lock()
        self._lost = ""
        """Why the last shell ended, until the model was notified."""
        pi.scope.on_close(self._close)

    async def _close(self) -> None:
        if self._running is not None:
            await self._running.close()

    @property
    def cwd(self) -> Path | None:
        """The working directory of the shell; ``None`` without one."""
        return Path(self._running.session.cwd) if self._running else None

    @property
    def has_terminals(self) -> bool:
        """Whether this system supports pseudo-terminals; Windows does not."""
        return hasattr(os, "openpty")

    async def open(self, call: BashCall) -> RunningShell | None:
        """Return the shell for a command; ``None`` if it is busy, or not a bash.

        The spawn wraps are called for every command, as if it had a process of its own. If their
        result differs from how the shell was started, the shell is started again.
        """
        setup = self._setup()
        if Path(setup.path).stem != "bash":
            return None
        async with self._starting:
            request = await self._request(setup, call.command)
            running = self._running
            if running is not None and running.session.is_open:
                if running.session.is_busy:
                    return None
                if running.is_for(request):
                    running.update(setup.env)
                    return running
                self._lost = "how commands are started has changed"
                await running.close()
            elif running is not None:
                self._lost = "it was killed"
            self._running = await self._start(setup, request)
            return self._running

    def ended(self, why: str) -> str:
        """Return the notice for the model that the shell has ended."""
        return f"[The shell session ended ({why}). {self._fresh}]"

    def take_notice(self) -> str:
        """Return the notice that the shell was started again, once; empty if it was not."""
        why, self._lost = self._lost, ""
        return f"[The shell session was started again ({why}). {self._fresh}]\n" if why else ""

    @property
    def _fresh(self) -> str:
        return f"Commands start in {self._pi.context.cwd} again; variables and functions are gone."

    def forget(self) -> None:
        """Drop a shell that has ended and was reported to the model."""
        self._running = None

    async def run_in_terminal(self, call: BashCall, ctx: ToolContext) -> ToolResult:
        """Run a command in a terminal, in the folder of the shell. Raises ``ToolFailed``."""
        from pi.batteries.shell_session.views import TerminalRun  # deferred: draws, for few calls

        setup = self._setup()
        line = _join(setup.options.prefix, call.command)
        snapshot = await self._snapshot(setup)
        if snapshot and len(snapshot) + len(line) < MAX_LINE_CHARACTERS:
            line = f"{snapshot}\nshopt -s expand_aliases\n{line}"
        request = await self._prepare(
            [setup.path, "-c", line],
            env={**setup.env, **automation_environment(self._pi.context.environ), **call.env},
            cwd=call.cwd or self.cwd,
            command=call.command,
        )
        with self._pi.context.artifacts.sink("bash", update=ctx.update, harmless=True) as sink:
            try:
                end = await TerminalRun(self._pi, request, sink).run(
                    call.command, ctx, call.timeout
                )
            except asyncio.CancelledError:
                sink.close()
                raise failed_with_output(sink, "Command aborted") from None
        if end.stopped:
            raise failed_with_output(sink, "The user ended the program")
        text = sink.text if end.screen is None else end.screen
        return result_of(end.exit_code, text, sink, call, timed_out=end.timed_out)

    # Starting -------------------------------------------------------------------------------------

    def _setup(self) -> ShellSetup:
        try:
            return self._pi.context.shell_setup()
        except PiError as error:
            raise ToolFailed(error.explain()) from error

    async def _request(self, setup: ShellSetup, command: str) -> SpawnRequest:
        arguments = LOGIN_ARGUMENTS if setup.options.login else ARGUMENTS
        argv = [setup.path, *arguments, setup.path]  # the last word is $0
        if setup.options.wrapper:
            argv = [setup.path, "-c", f"exec {setup.options.wrapper} {shlex.join(argv)}"]
        env = {**setup.env, **automation_environment(self._pi.context.environ), "HISTFILE": ""}
        return await self._prepare(argv, env=env, cwd=None, command=command)

    async def _prepare(
        self, argv: list[str], *, env: dict[str, str], cwd: Path | None, command: str
    ) -> SpawnRequest:
        try:
            return await self._pi.prepare_spawn(
                argv, env=env, environment=None, cwd=cwd, kind="bash", command=command
            )
        except PiError as error:
            raise ToolFailed(error.explain()) from error

    async def _start(self, setup: ShellSetup, request: SpawnRequest) -> RunningShell:
        scope = self._pi.scope.inner("shell session")
        code = await self._snapshot(setup)
        if setup.options.unset:
            code = _join(code, f"unset -v {' '.join(setup.options.unset)}")
        try:
            child = await self._pi.spawn(request, scope=scope)
        except PiError as error:
            await scope.close()
            raise ToolFailed(error.explain()) from error
        session = ShellSession(child, scope, cwd=str(request.cwd))
        try:
            await session.start(code)
        except ShellGone as error:
            await scope.close()
            raise ToolFailed(f"Cannot start {setup.path}: it ended at once.") from error
        return RunningShell(self._pi, self, session, scope, setup, request)

    async def _snapshot(self, setup: ShellSetup) -> str:
        if not self._pi.settings.get("bash.rcSnapshot") or Path(setup.path).stem != "bash":
            return ""

        async def make(scope: Scope) -> str:
            return await take_snapshot(self._pi, setup)

        key = f"shell-snapshot {setup.path} {setup.env.get('HOME', '')}"
        return await self._pi.shared(key, make, linger=SNAPSHOT_LINGER_SECONDS)


class RunningShell:
    """A shell, and the setup and request it was started with."""

    def __init__(
        self,
        pi: ExtensionAPI,
        runner: SessionRunner,
        session: ShellSession,
        scope: Scope,
        setup: ShellSetup,
        request: SpawnRequest,
    ) -> None:
        self.session = session
        self._pi = pi
        self._runner = runner
        self._scope = scope
        self._setup = setup
        self._key = _key(request)
        self._changed: dict[str, str] = {}
        """Variables of pi that were not passed to the shell yet."""

    def is_for(self, request: SpawnRequest) -> bool:
        """Whether the shell was started with an equal request."""
        return self._key == _key(request)

    def update(self, env: Mapping[str, str]) -> None:
        """Collect changed variables of pi, such as the model, for the next command."""
        known_env = self._setup.env
        for name, value in env.items():
            if name.startswith(VOLATILE) and known_env.get(name) != value:
                self._changed[name] = value
                known_env[name] = value

    async def close(self) -> None:
        """End the shell."""
        await self._scope.close()

    async def run(self, call: BashCall, ctx: ToolContext, minimise: Minimise) -> ToolResult:
        """Run a command; the result mentions if the shell has ended. Raises ``ToolFailed``."""
        seen = bytearray()
        with self._pi.context.artifacts.sink("bash", update=ctx.update) as sink:

            def write(data: bytes) -> None:
                sink.write(data)
                if len(seen) <= MAX_SEEN_BYTES:
                    seen.extend(data)

            started_again = self._runner.take_notice()
            sink.write(started_again)
            try:
                end = await self._run(call, write)
            except asyncio.CancelledError:
                # Not re-raised, as in the plain tool: the output so far would be lost.
                sink.close()
                raise failed_with_output(sink, "Command aborted", self._notice()) from None
        notice = self._notice(end)
        result = result_of(
            end.exit_code, sink.text, sink, call, timed_out=end.timed_out, notice=notice
        )
        if not started_again and not notice and len(seen) <= MAX_SEEN_BYTES:
            result = minimise(call, result, seen.decode("utf-8", "replace"))
        return self._with_folder(result)

    async def _run(self, call: BashCall, write: Callable[[bytes], None]) -> ShellEnd:
        setup = self._setup.options
        exports = "".join(f"export {n}={shlex.quote(v)}; " for n, v in self._changed.items())
        self._changed.clear()
        try:
            return await self.session.run(
                exports + _join(setup.prefix, call.command),
                write=write,
                env=call.env,
                cwd=None if call.cwd is None else str(call.cwd),
                timeout=call.timeout,
            )
        except ShellGone as error:
            self._runner.forget()
            raise ToolFailed(
                f"The shell ended before the command could start. {self._runner.ended('killed')}"
            ) from error

    def _notice(self, end: ShellEnd | None = None) -> str:
        if self.session.is_open:
            return ""
        self._runner.forget()
        if end is None or end.timed_out:
            why = "the command ignored the interrupt"
        else:
            why = f"exit code {end.exit_code}"
        return self._runner.ended(why)

    def _with_folder(self, result: ToolResult) -> ToolResult:
        """The result with ``cwd`` in its details, if the shell is not in the session's folder."""
        if self.session.cwd == str(self._pi.context.cwd):
            return result
        details = result.details if isinstance(result.details, dict) else {}
        return ToolResult(content=result.content, details={**details, "cwd": self.session.cwd})


def result_of(
    exit_code: int,
    text: str,
    sink: OutputSink,
    call: BashCall,
    *,
    timed_out: bool = False,
    notice: str = "",
) -> ToolResult:
    """The result of an ended command. Raises ``ToolFailed`` if it failed or timed out."""
    if timed_out:
        remark = f"Command timed out after {call.timeout:g} seconds"
        raise ToolFailed(_paragraphs(text, notice, remark), details=sink.details)
    text = _paragraphs(text or NO_OUTPUT, notice)
    if exit_code != 0:
        details: Json = {**sink.details, "exitCode": exit_code}
        raise ToolFailed(f"{text}\n\nCommand exited with code {exit_code}", details=details)
    return ToolResult.of(text, details=sink.details)


def failed_with_output(sink: OutputSink, remark: str, notice: str = "") -> ToolFailed:
    """The failure of a command that was stopped, with its output so far."""
    return ToolFailed(_paragraphs(sink.text, notice, remark), details=sink.details)


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def _key(request: SpawnRequest) -> tuple[object, ...]:
    stable = {k: v for k, v in request.env.items() if not k.startswith(VOLATILE)}
    return request.arguments, request.cwd, request.limits, tuple(sorted(stable.items()))


def _join(*lines: str) -> str:
    return "\n".join(line for line in lines if line)
