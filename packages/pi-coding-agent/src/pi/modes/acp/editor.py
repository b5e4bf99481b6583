"""Files and commands of the agent through the editor, as an extension of the session.

Files: what the user sees in the editor is what tools read, saved or not; the editor writes, so its
undo works. Commands of the bash tool run in a terminal of the editor. Spawn wraps, such as a
sandbox, apply to them as to all others.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi.agent.tools.tool import ToolContext, ToolFailed
from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.coding.files.layers import FileChange, FileWrite, FileWritten
from pi.coding.shell.local import Ended, shell_line
from pi.coding.shell.output import Output
from pi.coding.tools.bash import (
    BashParams,
    command_result,
    output_with_reason,
    start_failure,
    validate_timeout,
)
from pi.modes.acp.connection import RequestFailed

if TYPE_CHECKING:
    from pi.coding.extension_host.api.api import ExtensionAPI
    from pi.coding.port.session import SessionPort
    from pi.modes.acp.connection import Connection
    from pi.modes.acp.params import Client

MOST_READ = 10_000_000
"""Bytes of a file above which the disk is read: the text would be sent as one line."""
SAMPLE = 4096
"""Bytes in which a zero byte shows that a file is not text."""
MOST_OUTPUT = 1_000_000
"""Bytes of the output of a command that the terminal keeps."""
RELEASE_SECONDS = 5.0


class EditorBridge:
    """The editor's side of one session."""

    def __init__(
        self,
        connection: Connection,
        client: Client,
        show_terminal: Callable[[str, str], None],
    ) -> None:
        self._connection = connection
        self._client = client
        self._show_terminal = show_terminal
        self._session: tuple[str, SessionPort] | None = None

    def bind(self, session_id: str, port: SessionPort) -> None:
        """Connect the session; before that, the disk is used."""
        self._session = (session_id, port)

    def extension(self, pi: ExtensionAPI) -> None:
        """Register what the client offers, nearest to the disk."""
        if self._client.reads_files or self._client.writes_files:
            read = self.read if self._client.reads_files else None
            pi.wrap_files(self.write, read=read, at="last")
        if self._client.terminals:

            async def run(params: Any, ctx: ToolContext, inner: Any) -> Any:
                # Another form of the tool has options that a terminal of the client has not.
                if self._session is None or type(params) is not BashParams:
                    return await inner(params, ctx)
                return await self._command(pi, params, ctx, inner)

            pi.wrap_tool("bash", run, at="last")

    # Files ----------------------------------------------------------------------------------------

    async def read(self, path: Path) -> str | None:
        """Return the text of a file as the editor has it; ``None`` if it has none."""
        if self._session is None or not await asyncio.to_thread(_may_be_text, path):
            return None
        try:
            answer = await self._ask("fs/read_text_file", {"path": str(path)})
        except RequestFailed:  # not in its project, or not there
            return None
        text = answer.get("content")
        return text if isinstance(text, str) else None

    async def write(self, change: FileChange, write: FileWrite) -> FileWritten:
        """Let the editor write a text file; removals and other files change the disk."""
        text = _text(change.after)
        if self._session is None or not self._client.writes_files or text is None:
            return await write(change)
        try:
            await self._ask("fs/write_text_file", {"path": str(change.path), "content": text})
        except RequestFailed as error:
            if change.path.is_relative_to(self._session[1].workspace.cwd):
                raise ToolFailed(
                    f"The editor did not write {change.path}: {error.message}"
                ) from error
            return await write(change)  # editors write files of their projects only
        if change.mode is not None:
            return await write(change)  # the protocol has no permission bits
        return FileWritten()

    # Commands -------------------------------------------------------------------------------------

    async def _command(
        self, pi: ExtensionAPI, params: BashParams, ctx: ToolContext, inner: Any
    ) -> Any:
        timeout = validate_timeout(params.timeout)
        try:
            request = await self._terminal_request(pi, params.command)
        except PiError as error:  # no shell, or refused by a spawn wrap
            raise start_failure(error) from error
        try:
            terminal = (await self._ask("terminal/create", request)).get("terminalId")
        except RequestFailed:
            return await inner(params, ctx)
        if not isinstance(terminal, str):
            return await inner(params, ctx)
        self._show_terminal(ctx.call_id, terminal)
        output = Output(lambda: None)
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            ended = await self._wait(terminal, timeout, output)
        except asyncio.CancelledError:
            await _finish(self._stop(terminal, output))
            raise ToolFailed(output_with_reason(output.written(), "Command aborted")) from None
        finally:
            await _finish(self._ask("terminal/release", {"terminalId": terminal}))
        return command_result(ended, output.written(), timeout=timeout, seconds=clock() - started)

    async def _terminal_request(self, pi: ExtensionAPI, command: str) -> Json:
        assert self._session is not None
        workspace = self._session[1].workspace
        setup = workspace.shell_setup()
        line = shell_line(command, setup.options, setup.path)
        argv = [setup.path, *(["-l"] if setup.options.login else []), "-c", line]
        request = await pi.prepare_spawn(
            argv, environment=None, env=setup.env, kind="bash", command=command
        )
        # The editor adds its own variables, with credentials that commands must not see.
        withheld = [name for name in workspace.environ if name not in request.env]
        unset = [word for name in withheld for word in ("-u", name)]
        program, *arguments = ["env", *unset, *request.limited] if unset else request.limited
        return {
            "command": program,
            "args": arguments,
            "env": [{"name": name, "value": value} for name, value in request.env.items()],
            "cwd": str(request.cwd),
            "outputByteLimit": MOST_OUTPUT,
        }

    async def _wait(self, terminal: str, timeout: float | None, output: Output) -> Ended:
        about, timed_out = {"terminalId": terminal}, False
        try:
            async with asyncio.timeout(timeout):
                status = await self._ask("terminal/wait_for_exit", about)
        except TimeoutError:
            timed_out, status = True, {}
            await self._stop(terminal, output)
        else:
            await self._collect(terminal, output)
        return Ended(exit_code=_exit_code(status), timed_out=timed_out)

    async def _stop(self, terminal: str, output: Output) -> None:
        await self._ask("terminal/kill", {"terminalId": terminal})
        await self._collect(terminal, output)

    async def _collect(self, terminal: str, output: Output) -> None:
        answer = await self._ask("terminal/output", {"terminalId": terminal})
        output.add(str(answer.get("output") or "").encode("utf-8", "replace"))
        output.finish()

    async def _ask(self, method: str, params: Json) -> Json:
        assert self._session is not None
        return await self._connection.request(method, {"sessionId": self._session[0], **params})


async def _finish(work: Any) -> None:
    """Wait for a last request even if the caller is cancelled; a client that has gone is fine."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=RELEASE_SECONDS)
    finally:
        if not task.done():
            task.cancel()
        elif not task.cancelled():
            task.exception()


def _may_be_text(path: Path) -> bool:
    """Whether the editor is asked: for small texts, and for files that are not on the disk."""
    try:
        if not path.is_file():
            return not path.exists()
        if path.stat().st_size > MOST_READ:
            return False
        with path.open("rb") as file:
            return 0 not in file.read(SAMPLE)
    except OSError:
        return False


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def _exit_code(status: Json) -> int:
    match status:
        case {"exitCode": int(code)}:
            return code
        case {"signal": str(name)} if name in signal.Signals.__members__:
            return 128 + signal.Signals[name].value
        case _:
            return 1
