"""A bash process that runs one command after the other, so that its state survives.

The shell reads its commands from a pipe (``shell_code``):

- Every command is one ``eval`` in a group with redirections. ``cd``, variables and functions take
  effect in the shell itself; its input and output are restored afterwards. A syntax error ends the
  ``eval`` only, and ``exit`` the command.
- A marker with a random name on the output pipe, after the output of the command, marks its end.
  Background processes may write after it: that output is kept for the next call.

The aliases, functions and options of the user's rc file are read once instead of per command.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress

from pi.batteries.shell_session.shell_code import (
    command_code,
    folder_code,
    marker_code,
    start_code,
)
from pi.extension import Child, ExtensionAPI, PiError, Record, Scope, ShellSetup

READ_SIZE = 65536
GRACE_SECONDS = 1.0
"""Time between SIGTERM and SIGKILL; short, because the user waits for an abort."""
MAX_LATE_BYTES = 8192
"""Output of background processes that is kept between two commands."""
LATE_TITLE = b"[output of background processes since the last command]\n"

INTERRUPTS, INTERRUPT_SECONDS = 4, 0.5
"""Number of interrupts before the shell is ended, and the seconds after each."""
INTERRUPTED = 130
"""Exit code after SIGINT."""


SNAPSHOT_SECONDS = 10.0
"""An rc file that takes longer is ignored."""
MAX_SNAPSHOT = 500_000
_SNAPSHOT_MARK = "pi-shell-snapshot"
_SNAPSHOT_SCRIPT = rf"""
printf '%s\n' {_SNAPSHOT_MARK}
alias -p
for name in $(compgen -A function); do
  case $name in _*) ;; *) declare -f -- "$name" ;; esac
done
shopt -p | grep -v -e login_shell -e restricted_shell
set +o | grep -v -e history -e monitor -e histexpand -e emacs -e ' vi$' -e noexec -e onecmd
exit 0
"""
"""Without functions that begin with ``_``: they are for completion, many and large."""
AUTOMATED = {
    "CI": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "SSH_ASKPASS": "/usr/bin/false",
    "NPM_CONFIG_YES": "true",
    "NPM_CONFIG_UPDATE_NOTIFIER": "false",
    "YARN_ENABLE_INTERACTIVE": "false",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
}
"""Variables that make programs behave as on a build server."""


class ShellEnd(Record):
    """The end of a command in the shell."""

    exit_code: int
    timed_out: bool = False
    ended_shell: bool = False
    """Whether the shell ended with the command, as after ``exec``."""


class ShellGone(PiError):
    """The shell has ended before a command could be sent to it."""


class _Call:
    """The running command: passes on its output, and recognises its end."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.write = write
        self.name = secrets.token_hex(8)
        self.ended: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._buffer = b""

    def consume(self, data: bytes) -> bytes:
        """Handle output; returns the output after the marker, which is not of this command."""
        data = self._buffer + data
        name = self.name.encode()
        match = re.search(_marker(name), data)
        if match is None:
            # The marker may be incomplete: hold back a possible beginning of it.
            start = data.rfind(b"\x1e")
            maybe = start >= 0 and _may_begin(data[start:], name)
            self._buffer = data[start:] if maybe else b""
            data = data[:start] if maybe else data
            if data:
                self.write(data)
            return b""
        self._buffer = b""
        if match.start():
            self.write(data[: match.start()])
        if not self.ended.done():
            self.ended.set_result((int(match[1]), match[2].decode("utf-8", "surrogateescape")))
        return data[match.end() :]

    def flush(self) -> None:
        """Pass on held-back output: no marker will follow."""
        if self._buffer:
            self.write(self._buffer)
            self._buffer = b""


def _marker(name: bytes) -> bytes:
    """The pattern of a marker: exit code and working directory."""
    return rb"(?s)\x1e" + name + rb" (\d+) (.*?) " + name + rb"\x1e"


def _may_begin(text: bytes, name: bytes) -> bool:
    head = b"\x1e" + name + b" "
    return text.startswith(head) or head.startswith(text)


class ShellSession:
    """One shell. Only one command runs at a time; see ``is_busy``."""

    def __init__(self, child: Child, scope: Scope, *, cwd: str) -> None:
        self._child = child
        self.cwd = cwd
        """The working directory after the last command."""
        self._status = 0
        self._call: _Call | None = None
        self._late = b""
        self._is_open = True
        scope.spawn(self._pump(), name="output of the shell session")
        scope.on_close(self.close)

    @property
    def is_busy(self) -> bool:
        """Whether a command is running."""
        return self._call is not None

    @property
    def is_open(self) -> bool:
        """Whether it can run commands."""
        return self._is_open

    async def start(self, setup: str) -> None:
        """Prepare the shell; ``setup`` is shell code without output. Raises ``ShellGone``."""
        await self._send(start_code(setup))

    async def run(
        self,
        command: str,
        *,
        write: Callable[[bytes], None],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
    ) -> ShellEnd:
        """Run a command; ``env`` and ``cwd`` are for this command alone.

        After ``timeout`` seconds and on cancellation it is interrupted; the state of the shell
        survives unless the command ignores the interrupts. Raises ``ShellGone``.
        """
        call = _Call(write)
        self._call = call
        try:
            if self._late:
                write(LATE_TITLE + self._late.removesuffix(b"\n") + b"\n")
                self._late = b""
            code = command_code(command, status=self._status, env=env or {}, cwd=cwd)
            back = () if cwd is None else (folder_code(self.cwd),)
            await self._send(code, marker_code(call.name, command=command), *back)
            return await self._wait(call, timeout, keeps_cwd=cwd is not None)
        finally:
            self._call = None

    async def close(self) -> None:
        """End the shell. A busy one is killed with all that it has started.

        Otherwise background processes go on until pi ends, as those of the plain tool do.
        """
        self._is_open, has_ended = False, False
        # Without input it ends by itself if it is idle, and runs a trap on EXIT.
        self._child.close_stdin()
        if self._call is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._child.wait()
                    has_ended = True
        if not has_ended:
            await self._child.terminate(grace=GRACE_SECONDS)
        await self._child.__aexit__(None)

    async def _wait(self, call: _Call, timeout: float | None, *, keeps_cwd: bool) -> ShellEnd:
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                code, cwd = await asyncio.shield(call.ended)
        except TimeoutError:
            timed_out = True
            code, cwd = await self._stop(call)
        except asyncio.CancelledError:
            code, cwd = await self._stop(call)
            self._remember(code, None if keeps_cwd else cwd)
            raise
        self._remember(code, None if keeps_cwd else cwd)
        return ShellEnd(exit_code=code, timed_out=timed_out, ended_shell=not self._is_open)

    def _remember(self, code: int, cwd: str | None) -> None:
        self._status = code
        if cwd and self._is_open:
            self.cwd = cwd

    async def _stop(self, call: _Call) -> tuple[int, str]:
        """Interrupt the command; if it does not end in time, end the shell."""
        for _ in range(INTERRUPTS):
            # Several: bash ignores an interrupt that arrives while a program exits by itself.
            self._child.interrupt()
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERRUPT_SECONDS):
                    return await asyncio.shield(call.ended)
        await self.close()
        call.flush()
        return INTERRUPTED, self.cwd

    async def _send(self, *inputs: str) -> None:
        text = "".join(f"{code}\0" for code in inputs)
        try:
            await self._child.write(text.encode("utf-8", "surrogateescape"))
        except ConnectionError as error:
            raise ShellGone("The shell has ended.") from error

    async def _pump(self) -> None:
        """Read the output until the shell has ended; an unread pipe would block its programs."""
        while data := await self._child.output.read(READ_SIZE):
            if (call := self._call) is not None:
                try:
                    data = call.consume(data)
                except Exception as error:
                    # Passed to the caller of ``run``: raised here, it would end this reader.
                    if not call.ended.done():
                        call.ended.set_exception(error)
            self._late = (self._late + data)[-MAX_LATE_BYTES:]
        end = await self._child.wait()
        self._is_open = False
        if (call := self._call) is not None and not call.ended.done():
            call.flush()
            code = 128 + (end.signal or 0) if end.exit_code is None else end.exit_code
            call.ended.set_result((code, self.cwd))


def automation_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of ``AUTOMATED``; without ``CI`` if ``PI_BASH_NO_CI`` is set."""
    no_ci = environ.get("PI_BASH_NO_CI") or environ.get("CLAUDE_BASH_NO_CI")
    return {name: value for name, value in AUTOMATED.items() if not (no_ci and name == "CI")}


async def take_snapshot(pi: ExtensionAPI, setup: ShellSetup) -> str:
    """Return shell code with the aliases, functions and options of the rc file; empty on failure.

    Variables are not part of it: an rc file may set credentials that commands must not see.
    """
    env = {**setup.env, "HISTFILE": ""}
    try:
        ran = await pi.exec(
            [setup.path, "-i", "-c", _SNAPSHOT_SCRIPT],
            env=env,
            environment=None,
            timeout=SNAPSHOT_SECONDS,
            kind="bash",
        )
    except PiError as error:
        pi.log.info("no snapshot of the shell: %s", error.message)
        return ""
    _, marker, text = ran.stdout.partition(f"{_SNAPSHOT_MARK}\n")
    if not marker or ran.killed or len(text) > MAX_SNAPSHOT:
        why = "timed out" if ran.killed else "too long" if marker else "the rc file ended the shell"
        pi.log.info("no snapshot of the shell: %s", why)
        return ""
    return text
