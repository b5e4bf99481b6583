"""This machine's shell: the one place where commands of people and models run.

Every command has its own session and process tree. It ends with that tree on timeout, abort and
``close``; a background process that it leaves behind lives until ``close``, or until pi is killed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from pi.base.records import Record
from pi.coding.shell.spill import SpillFolder, beyond

if TYPE_CHECKING:
    from pi.agent.env import OnOutput
    from pi.base.processes import Child, Exit
    from pi.base.processes.terminal import ChildTerminal
    from pi.coding.shell.output import Output


READ_SIZE = 65536
GRACE = 1.0
"""Seconds between asking a tree to end and killing it: an abort must not keep anybody waiting."""


POSIX_SHELLS = frozenset({"bash", "zsh", "sh", "dash", "ksh", "mksh", "ash"})
"""Shells that understand ``unset -v``."""


class ShellOptions(Record):
    """How commands are run, as settings say it."""

    path: str = ""
    """The shell; empty means bash."""
    prefix: str = ""
    """Lines that run before every command."""
    wrapper: str = ""
    """Words before every command, such as a program that sandboxes it."""
    login: bool = False
    """Read the person's profile first, which takes a tenth of a second every time."""
    unset: tuple[str, ...] = ()
    """Variables that are removed after profile and prefix, both of which may set them again."""


class Ended(Record):
    """How a command ended."""

    exit_code: int
    """128 + n for signal n, as shells say it."""
    signal: int | None = None
    timed_out: bool = False


class LocalShell:
    """Runs commands where the session is now, with what the person's settings say now."""

    def __init__(
        self,
        *,
        cwd: Callable[[], Path],
        environ: Callable[[], Mapping[str, str]],
        options: Callable[[], ShellOptions],
        spills: SpillFolder,
        platform: str = sys.platform,
    ) -> None:
        self._cwd = cwd
        self._environ = environ
        self._options = options
        self._spills = spills
        self._platform = platform
        self._started: list[Child] = []

    def new_output(self, *, harmless: bool = False) -> Output:
        """What ``run`` is given to write into, and who is asked for it afterwards.

        ``harmless`` takes out what commands a terminal, for an output that people are shown.
        """
        from pi.coding.shell.output import Output

        fallback = "oem" if self._platform == "win32" else None
        return Output(self._spills.open, fallback=fallback, harmless=harmless)

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
    ) -> Ended:
        """Run a command line to its end; what it wrote is in ``output`` however it ends.

        It is ended with all that it started after ``timeout`` seconds, when we are cancelled, and
        when ``on_text`` raises. ``NoShell`` or ``SpawnFailed`` if it cannot be started.
        """
        timed_out = False
        starting = asyncio.create_task(self._start(command, cwd, env, terminal))
        abort = await _finished(starting)
        child = starting.result()
        try:
            async with child:
                try:
                    if abort is not None:
                        raise abort
                    async with asyncio.timeout(timeout):
                        end = await _listen(child, output, on_text)
                except TimeoutError:
                    timed_out = True
                    await child.terminate(grace=GRACE)
                    end = await _listen(child, output, on_text)
                except asyncio.CancelledError:
                    await child.terminate(grace=GRACE)
                    await _listen(child, output, on_text)
                    raise
        finally:
            if (rest := output.finish()) and (listening := on_text(rest)) is not None:
                await listening
        return _ended(end, timed_out=timed_out)

    async def _start(
        self,
        command: str,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        terminal: ChildTerminal | None,
    ) -> Child:
        from pi.base.processes import spawn
        from pi.coding.shell.locating import find_shell

        variables = {**self._environ(), **(env or {})}
        options = self._options()
        shell = find_shell(options.path, environ=variables, platform=self._platform)
        words = [shell, *(["-l"] if options.login else []), "-c", _line(command, options, shell)]
        start = terminal.spawn if terminal else spawn
        child = await start(words, cwd=cwd or self._cwd(), env=variables)
        self._started = [each for each in self._started if not each.is_gone]
        self._started.append(child)
        return child

    async def close(self) -> None:
        """End everything that commands have started and that still runs."""
        left = [child for child in self._started if not child.is_gone]
        self._started.clear()
        async with asyncio.TaskGroup() as tasks:
            for child in left:
                tasks.create_task(child.terminate(grace=GRACE))


async def _finished(starting: asyncio.Task[Child]) -> asyncio.CancelledError | None:
    """Wait for a start, also if we are cancelled: a command that has begun may have said something.

    Returns the cancellation, or raises it if there is no command after ``GRACE`` seconds.
    """
    try:
        await asyncio.wait({starting})
        return None
    except asyncio.CancelledError as abort:
        await asyncio.wait({starting}, timeout=GRACE)
        if not starting.done() or starting.exception() is not None:
            raise
        return abort
    finally:
        starting.cancel()  # no effect on one that is done


async def _listen(child: Child, output: Output, on_text: OnOutput) -> Exit:
    """Hear a command out, until it has ended and is quiet."""
    while data := await child.output.read(READ_SIZE):
        if (text := output.add(data)) and (listening := on_text(text)) is not None:
            await listening
    return await child.wait()


def _line(command: str, options: ShellOptions, shell: str) -> str:
    """The command with what stands before it; a wrapper gets all of it, not its first part."""
    line = command
    if options.unset and Path(shell).stem in POSIX_SHELLS:
        line = f"unset -v {' '.join(options.unset)} 2>/dev/null\n{line}"
    line = f"{options.prefix}\n{line}" if options.prefix else line
    if not options.wrapper:
        return line
    import shlex  # few people have one

    return f"{options.wrapper} {shlex.quote(shell)} -c {shlex.quote(line)}"


def _ended(end: Exit, *, timed_out: bool) -> Ended:
    if end.exit_code is not None:
        return Ended(exit_code=end.exit_code, timed_out=timed_out)
    return Ended(exit_code=128 + (end.signal or 0), signal=end.signal, timed_out=timed_out)


# Commands that the person runs beside the conversation, with ``!`` and ``!!`` or over RPC.


class BashResult(Record):
    """What such a command came to; its text is harmless to a terminal."""

    output: str
    """The end of it, cut like that of the bash tool."""
    exit_code: int | UnsetType = UNSET
    """Absent when the command was stopped."""
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | UnsetType = UNSET


class UserCommands:
    """Runs any number of them at the same time; ``stop`` ends all that run."""

    def __init__(self, shell: LocalShell) -> None:
        self._shell = shell
        self._running: set[asyncio.Task[Ended]] = set()

    @property
    def running(self) -> int:
        """How many run now."""
        return len(self._running)

    async def run(
        self, command: str, *, cwd: Path | None = None, on_text: OnOutput = lambda text: None
    ) -> BashResult:
        """Run a command to its end, or until ``stop``; ``on_text`` is told what is new.

        ``NoShell`` or ``SpawnFailed`` if it cannot be started.
        """
        output = self._shell.new_output(harmless=True)
        work = asyncio.ensure_future(
            self._shell.run(command, output=output, cwd=cwd, on_text=on_text)
        )
        self._running.add(work)
        try:
            await asyncio.wait({work})
        finally:
            self._running.discard(work)
            work.cancel()  # if we are cancelled ourselves, the command is ended too
            with suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        written = output.written()
        text = written.tail.content
        if written.full_output_path and written.kept_bytes:
            text += f"\n\n{beyond(written.kept_bytes)}"
        return BashResult(
            output=text,
            exit_code=UNSET if work.cancelled() else work.result().exit_code,
            cancelled=work.cancelled(),
            truncated=written.tail.truncated,
            full_output_path=written.full_output_path or UNSET,
        )

    def stop(self) -> None:
        """End every command that runs; each gives back what it had written."""
        for work in self._running:
            work.cancel()
