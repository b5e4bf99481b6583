"""Runs commands of the model and of the user in the shell of this machine.

Every command has its own session and process tree. Timeout, abort and ``close`` terminate the
whole tree; a background process that a command leaves behind lives until ``close``, or until pi
is killed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from pi.base.records import Record
from pi.coding.shell.spill import SpillFolder, not_kept_note

if TYPE_CHECKING:
    from pi.agent.env import OnOutput
    from pi.base.processes import Child, Exit
    from pi.base.processes.terminal import ChildTerminal
    from pi.coding.shell.output import Output
    from pi.coding.shell.spawns import SpawnWrap


READ_SIZE = 65536
GRACE_SECONDS = 1.0
"""Time between SIGTERM and SIGKILL; short, because the user waits for an abort."""


POSIX_SHELLS = frozenset({"bash", "zsh", "sh", "dash", "ksh", "mksh", "ash"})
"""Shells that support ``unset -v`` and ``. FILE``."""
MAX_LINE_BYTES = 100_000
"""A longer command is read from a file: Linux allows 128 KiB for an argument."""
MAX_LINE_BYTES_ON_WINDOWS = 20_000
"""Windows allows 32,767 characters for a whole command line."""


class ShellOptions(Record):
    """Settings for running commands."""

    path: str = ""
    """The shell; empty means bash."""
    prefix: str = ""
    """Lines that run before every command."""
    wrapper: str = ""
    """Command line that runs the shell, such as a sandbox program."""
    login: bool = False
    """Use a login shell, which reads the user's profile and takes 0.1 s longer each time."""
    unset: tuple[str, ...] = ()
    """Variables that are unset after profile and prefix, which may set them again."""


class ShellSetup(Record):
    """Program, variables and options of the bash tool, to run commands in the same way."""

    path: str
    """The shell program."""
    env: dict[str, str]
    """All variables, including those that describe the session."""
    options: ShellOptions


class Ended(Record):
    """The exit status of a command."""

    exit_code: int
    """128 + n for signal n, as in shells."""
    signal: int | None = None
    timed_out: bool = False


class LocalShell:
    """Runs commands with the current working directory and settings of the session."""

    def __init__(
        self,
        *,
        cwd: Callable[[], Path],
        environ: Callable[[], Mapping[str, str]],
        options: Callable[[], ShellOptions],
        spills: SpillFolder,
        platform: str = sys.platform,
        spawn_wraps: Callable[[str], Sequence[SpawnWrap]] = lambda kind: (),
    ) -> None:
        self._spawn_wraps = spawn_wraps
        """Returns the wraps of extensions around processes of a kind."""
        self._cwd = cwd
        self._environ = environ
        self._options = options
        self._spills = spills
        self._platform = platform
        self._started: list[Child] = []

    def new_output(self, *, harmless: bool = False, shows_style: bool = False) -> Output:
        """Return a collector for the output of ``run``.

        ``harmless`` removes terminal control sequences, for output that is shown on the screen;
        ``shows_style`` keeps colours in the text that ``add`` and ``finish`` return.
        """
        from pi.coding.shell.output import Output  # lazy: needed with the first command

        fallback = "oem" if self._platform == "win32" else None
        return Output(
            self._spills.open, fallback=fallback, harmless=harmless, shows_style=shows_style
        )

    def setup(self, more: Mapping[str, str]) -> ShellSetup:
        """Return program, variables and options of a shell; ``more`` are further variables.

        Raises ``NoShell``.
        """
        from pi.coding.shell.locating import find_shell  # lazy: needed with the first command

        env, options = {**self._environ(), **more}, self._options()
        path = find_shell(options.path, environ=env, platform=self._platform)
        return ShellSetup(path=path, env=env, options=options)

    async def run(
        self,
        command: str,
        *,
        output: Output,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        terminal: ChildTerminal | None = None,
        on_text: OnOutput = lambda text: None,
        kind: str = "bash",
    ) -> Ended:
        """Run a command line to its end; ``output`` collects its output, however it ends.

        ``kind`` is ``bash`` or ``user``; see ``SpawnRequest``.

        The process tree is terminated after ``timeout`` seconds, on cancellation, and when
        ``on_text`` raises. Raises ``NoShell`` or ``SpawnFailed`` if it cannot be started.
        """
        with ExitStack() as scripts:
            starting = asyncio.create_task(self._start(command, cwd, env, terminal, scripts, kind))
            on_data = terminal.received if terminal else None
            return await self._finish(starting, output, timeout, on_text, on_data)

    async def _finish(
        self,
        starting: asyncio.Task[Child],
        output: Output,
        timeout: float | None,
        on_text: OnOutput,
        on_data: Callable[[bytes], None] | None,
    ) -> Ended:
        timed_out = False
        abort = await _await_start(starting)
        child = starting.result()
        try:
            async with child:
                try:
                    if abort is not None:
                        raise abort
                    async with asyncio.timeout(timeout):
                        end = await _listen(child, output, on_text, on_data)
                except TimeoutError:
                    timed_out = True
                    await child.terminate(grace=GRACE_SECONDS)
                    end = await _listen(child, output, on_text, on_data)
                except asyncio.CancelledError:
                    await child.terminate(grace=GRACE_SECONDS)
                    await _listen(child, output, on_text, on_data)
                    raise
        finally:
            if (rest := output.finish()) and (listening := on_text(rest)) is not None:
                await listening
        return _make_end(end, timed_out=timed_out)

    async def _start(
        self,
        command: str,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        terminal: ChildTerminal | None,
        scripts: ExitStack,
        kind: str,
    ) -> Child:
        from pi.base.processes import spawn  # lazy, both: needed with the first command
        from pi.coding.shell.locating import find_shell

        variables = {**self._environ(), **(env or {})}
        options = self._options()
        shell = find_shell(options.path, environ=variables, platform=self._platform)
        line = shell_line(command, options, shell)
        limit = MAX_LINE_BYTES_ON_WINDOWS if self._platform == "win32" else MAX_LINE_BYTES
        if len(line.encode("utf-8", "surrogateescape")) > limit:
            line = self._line_in_file(line, options, shell, scripts)
        arguments = [shell, *(["-l"] if options.login else []), "-c", line]
        folder, start = cwd or self._cwd(), terminal.spawn if terminal else spawn
        if wraps := self._spawn_wraps(kind):
            # lazy: few sessions have any
            from pi.coding.shell.spawns import SpawnRequest, wrapped_request

            request = SpawnRequest(
                kind=kind, arguments=tuple(arguments), command=command, cwd=folder, env=variables
            )
            request = await wrapped_request(request, wraps)
            arguments, folder, variables = request.limited, request.cwd, dict(request.env)
        child = await start(arguments, cwd=folder, env=variables)
        self._started = [process for process in self._started if not process.is_gone]
        self._started.append(child)
        return child

    def _line_in_file(
        self, line: str, options: ShellOptions, shell: str, scripts: ExitStack
    ) -> str:
        """Return a short line that runs ``line`` from a file, which ``scripts`` removes.

        Raises ``SpawnFailed``.
        """
        from pi.base.processes import SpawnFailed  # lazy: needed with the first long command

        size = f"The command has {len(line):,} characters"
        if options.wrapper or Path(shell).stem not in POSIX_SHELLS:
            # A wrapper may run the shell where our file is not visible.
            what = "a shell wrapper" if options.wrapper else Path(shell).name
            raise SpawnFailed(
                f"{size}, too many for a command line of {what}.",
                hint="Write it to a file and run that file.",
            )
        import shlex  # lazy: needed with the first long command

        try:
            path = self._spills.write_script(line)
        except OSError as error:
            reason = error.strerror or str(error)
            raise SpawnFailed(f"{size}, and its temporary file failed: {reason}.") from error
        scripts.callback(path.unlink, missing_ok=True)
        return f". {shlex.quote(str(path))}"

    async def close(self) -> None:
        """Terminate all processes that commands have started."""
        running = [child for child in self._started if not child.is_gone]
        self._started.clear()
        async with asyncio.TaskGroup() as tasks:
            for child in running:
                tasks.create_task(child.terminate(grace=GRACE_SECONDS))


async def _await_start(starting: asyncio.Task[Child]) -> asyncio.CancelledError | None:
    """Wait for a start even if cancelled: a started command may already have written output.

    Returns the cancellation, or raises it if nothing has started after ``GRACE_SECONDS``.
    """
    try:
        await asyncio.wait({starting})
        return None
    except asyncio.CancelledError as abort:
        await asyncio.wait({starting}, timeout=GRACE_SECONDS)
        if not starting.done() or starting.exception() is not None:
            raise
        return abort
    finally:
        starting.cancel()  # no effect on one that is done


async def _listen(
    child: Child,
    output: Output,
    on_text: OnOutput,
    on_data: Callable[[bytes], None] | None = None,
) -> Exit:
    """Read the output until the command has ended and its output is closed."""
    while data := await child.output.read(READ_SIZE):
        if on_data is not None:
            on_data(data)
        if (text := output.add(data)) and (listening := on_text(text)) is not None:
            await listening
    return await child.wait()


def shell_line(command: str, options: ShellOptions, shell: str) -> str:
    """Return the command line with prefix and wrapper; the wrapper runs the whole line."""
    line = command
    if options.unset and Path(shell).stem in POSIX_SHELLS:
        line = f"unset -v {' '.join(options.unset)} 2>/dev/null\n{line}"
    line = f"{options.prefix}\n{line}" if options.prefix else line
    if not options.wrapper:
        return line
    import shlex  # lazy: few users set a wrapper

    return f"{options.wrapper} {shlex.quote(shell)} -c {shlex.quote(line)}"


def _make_end(end: Exit, *, timed_out: bool) -> Ended:
    if end.exit_code is not None:
        return Ended(exit_code=end.exit_code, timed_out=timed_out)
    return Ended(exit_code=128 + (end.signal or 0), signal=end.signal, timed_out=timed_out)


class BashResult(Record):
    """The result of a user command; its text has no terminal control sequences."""

    output: str
    """The end of the output, truncated like that of the bash tool."""
    exit_code: int | UnsetType = UNSET
    """Absent when the command was stopped."""
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | UnsetType = UNSET


class UserCommands:
    """Runs the commands that users enter with ``!`` and ``!!`` or send over RPC, concurrently."""

    def __init__(self, shell: LocalShell) -> None:
        self._shell = shell
        self._running: set[asyncio.Task[Ended]] = set()

    @property
    def running(self) -> int:
        """Number of running commands."""
        return len(self._running)

    async def run(
        self,
        command: str,
        *,
        cwd: Path | None = None,
        on_text: OnOutput = lambda text: None,
        shows_style: bool = False,
    ) -> BashResult:
        """Run a command to its end, or until ``stop``; ``on_text`` receives new output.

        ``shows_style`` keeps colours in what ``on_text`` receives; the result never has any.
        Raises ``NoShell`` or ``SpawnFailed`` if it cannot be started.
        """
        output = self._shell.new_output(harmless=True, shows_style=shows_style)
        work = asyncio.ensure_future(
            self._shell.run(command, output=output, cwd=cwd, on_text=on_text, kind="user")
        )
        self._running.add(work)
        try:
            await asyncio.wait({work})
        finally:
            self._running.discard(work)
            work.cancel()  # if this call is cancelled, the command is terminated too
            with suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        written = output.written()
        text = written.tail.content
        if written.full_output_path and written.kept_bytes:
            text += f"\n\n{not_kept_note(written.kept_bytes)}"
        return BashResult(
            output=text,
            exit_code=UNSET if work.cancelled() else work.result().exit_code,
            cancelled=work.cancelled(),
            truncated=written.tail.truncated,
            full_output_path=written.full_output_path or UNSET,
        )

    def stop(self) -> None:
        """Terminate all running commands; each returns its output so far."""
        for work in self._running:
            work.cancel()
