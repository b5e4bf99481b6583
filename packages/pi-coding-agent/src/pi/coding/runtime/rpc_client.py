"""``RpcClient``: a session in a child process, ``pi --mode rpc``."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from asyncio import CancelledError, Future
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from pi.agent.events import AgentSettled, AgentStart, MessageEnd, MessageStart
from pi.ai.messages import Image, Json
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, LineSplitter, decode_deep_line, encode_line
from pi.base.processes import Child, spawn
from pi.base.records import replace
from pi.base.tasks import TaskScope
from pi.coding.port.results import SessionState, Streaming
from pi.coding.runtime.session.events import EventFeed, events_during
from pi.coding.runtime.session.public_events import AgentSessionEvent
from pi.coding.session.entries import SessionMessage
from pi.coding.session.statistics import SessionStats
from pi.coding.shell.local import BashResult

log = logging.getLogger(__name__)


OnRecord: TypeAlias = Callable[[Json], None]
"""Called with every record that is not a response."""

MAX_ERROR_BYTES = 64 * 1024
"""Bytes of standard error that are kept: its end usually shows why a program died."""
GRACE_SECONDS = 10.0
"""Seconds to save and exit after standard input was closed."""
MAX_LINE_BYTES = 1 << 30
"""Maximum bytes of a line; a longer line is not of the protocol."""
THREADED_LINE_BYTES = 1 << 16
"""Lines of at least this many bytes are decoded in a thread."""
_CHUNK = 1 << 16
_ID = re.compile(rb'"id"\s*:\s*"(req_\d+)"')


class RpcServerDied(PiError):
    """The server has exited; ``hint`` is the end of its standard error."""


class RpcRefused(PiError):
    """The server refused a command."""


class RpcUnreadable(PiError):
    """The server sent a response that cannot be decoded."""


class RpcProcess:
    """One server process. Requests are concurrent; all pending ones fail when the server dies."""

    def __init__(self, child: Child, on_record: OnRecord) -> None:
        self.pid = child.pid
        self._child = child
        self._on_record = on_record
        self._numbers = 0
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._promises: set[asyncio.Future[Any]] = set()
        self._errors = bytearray()
        self._failure: RpcServerDied | None = None

    @property
    def errors(self) -> str:
        """The end of its standard error."""
        return self._errors.decode("utf-8", "replace")

    async def request(self, command: str, /, **fields: Any) -> Any:
        """Send a command and return the ``data`` of the response.

        Raises ``RpcRefused`` on an error.
        """
        self._numbers += 1
        id = f"req_{self._numbers}"
        answer: asyncio.Future[Json] = self.promise()
        self._answers[id] = answer
        try:
            await self.send({"type": command, **fields, "id": id})
            response = await answer
        finally:
            del self._answers[id]
        if not response.get("success"):
            raise RpcRefused(str(response.get("error") or f"{command} failed without a reason."))
        return response.get("data")

    async def send(self, record: Json) -> None:
        """Send a record that has no response, e.g. the user's answer to a dialog."""
        # Suppressed: when the process has ended, pending requests fail with the reason.
        with suppress(ConnectionError):
            await self._child.write(encode_line(record))

    def promise(self) -> asyncio.Future[Any]:
        """Return a future that fails when the server dies; raises if it is already dead."""
        if self._failure is not None:
            raise self._failure
        promise: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._promises.add(promise)
        promise.add_done_callback(self._promises.discard)
        return promise

    async def listen(self) -> None:
        """Read until the server has exited and all its output is handled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read_records())
                tasks.create_task(self._read_errors())
            end = await self._child.wait()
            status = f"by signal {end.signal}" if end.signal else f"with exit code {end.exit_code}"
        except BaseException:  # nothing reads responses from now on
            self._fail_pending("The RPC client has stopped listening.")
            raise
        self._fail_pending(f"The RPC server has ended {status}.")

    def _fail_pending(self, message: str) -> None:
        self._failure = RpcServerDied(message, hint=self.errors.strip())
        for promise in tuple(self._promises):
            if not promise.done():
                promise.set_exception(self._failure)

    async def end(self, listening: asyncio.Task[None]) -> None:
        """Close the server's input and wait until it exits, at most ``GRACE_SECONDS``.

        The caller kills it afterwards if necessary.
        """
        self._child.close_stdin()
        await asyncio.wait({listening}, timeout=GRACE_SECONDS)

    async def _read_records(self) -> None:
        splitter = LineSplitter(limit=MAX_LINE_BYTES)
        while chunk := await self._child.output.read(_CHUNK):
            for line in splitter.feed(chunk):
                await self._handle_line(line)

    async def _read_errors(self) -> None:
        while chunk := await self._child.errors.read(_CHUNK):
            self._errors += chunk
            del self._errors[:-MAX_ERROR_BYTES]

    async def _handle_line(self, line: bytes | BadLine) -> None:
        try:
            if isinstance(line, BadLine):
                raise line
            if len(line) < THREADED_LINE_BYTES:
                record = decode_deep_line(line)
            else:
                record = await asyncio.to_thread(decode_deep_line, line)
        except BadLine as error:
            self._report_unreadable(error)
            return
        if not isinstance(record, dict):
            return
        answer = self._answers.get(str(record.get("id")))
        if record.get("type") != "response" or answer is None:
            self._on_record(record)
        elif not answer.done():
            answer.set_result(record)

    def _report_unreadable(self, bad_line: BadLine) -> None:
        """Fail the request that an unreadable line responds to, which would wait for ever."""
        log.warning("the RPC server wrote an unreadable line: %s", bad_line)
        if not bad_line.excerpt.startswith("{"):
            return  # not JSON: output of a wrapper of the server, such as a login shell
        match = _ID.search(bad_line.excerpt.encode())
        id = match[1].decode() if match else None
        # Without an id it may be the response to any pending request.
        for name, answer in self._answers.items():
            if id in (None, name) and not answer.done():
                answer.set_exception(
                    RpcUnreadable(f"The RPC server sent an unreadable response. {bad_line.reason}.")
                )


@asynccontextmanager
async def rpc_process(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], on_record: OnRecord
) -> AsyncIterator[RpcProcess]:
    """Start a server; it ends with the block, and is killed if necessary."""
    async with (
        await spawn(command, cwd=cwd, env=env, stdin="pipe", errors="separate") as child,
        TaskScope() as tasks,
    ):
        process = RpcProcess(child, on_record)
        listening = tasks.start(process.listen(), name="rpc client")
        try:
            yield process
        finally:
            await process.end(listening)


R = TypeVar("R")

RpcEvent: TypeAlias = AgentSessionEvent | Json
"""An event of a session; a record of an unknown type is a dict."""

PI = (sys.executable, "-P", "-m", "pi")
"""``-P`` keeps Python from importing modules of the working directory, which may be untrusted."""


class RpcClient:
    """Controls one session. Every wait raises ``RpcServerDied`` when its process dies.

    >>> async with RpcClient.started("--model", "anthropic/opus") as client:
    ...     async for event in client.ask("What is here?"):
    ...         print(event)
    """

    def __init__(self) -> None:
        self._process: RpcProcess
        self._listeners: list[Callable[[RpcEvent], object]] = []
        self._expecting = False
        """Whether a prompt was sent whose run has not ended yet."""
        self._running = False
        self._waiting: list[Future[None]] = []

    @classmethod
    @asynccontextmanager
    async def started(
        cls,
        *arguments: str,
        command: Sequence[str] = PI,
        cwd: Path | str = ".",
        env: Mapping[str, str] | None = None,
    ) -> AsyncIterator[RpcClient]:
        """Start ``pi --mode rpc`` with further arguments ``arguments``; it ends with the block.

        ``env`` replaces the inherited environment. Raises ``RpcServerDied`` if the server cannot
        start.
        """
        client = cls()
        environ = dict(os.environ if env is None else env)
        line = [*command, "--mode", "rpc", *arguments]
        async with rpc_process(
            line, cwd=Path(cwd), env=environ, on_record=client._on_record
        ) as process:
            client._process = process
            await client.state()  # fails now if the server cannot start
            yield client

    @property
    def errors(self) -> str:
        """The end of the process's standard error."""
        return self._process.errors

    async def request(self, command: str, /, **fields: Any) -> Any:
        """Send any command of the protocol. Raises ``RpcRefused`` on an error."""
        return await self._process.request(command, **fields)

    async def send(self, record: Json) -> None:
        """Send a record that has no response, e.g. the answer to an ``extension_ui_request``."""
        await self._process.send(record)

    def subscribe(self, listener: Callable[[RpcEvent], object]) -> Callable[[], None]:
        """Subscribe to every event, in order. Returns an unsubscribe function."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    # Prompts --------------------------------------------------------------------------------------

    async def prompt(
        self, message: str, images: Sequence[Image] = (), *, streaming: Streaming | None = None
    ) -> None:
        """Send a prompt; returns when it is accepted.

        During a run ``streaming`` selects the queue.
        """
        self._expecting = True  # before sending: the run may end before the response arrives
        extra = {} if streaming is None else {"streamingBehavior": streaming}
        try:
            answer = await self.request("prompt", message=message, images=images, **extra)
        except BaseException:
            self._expecting = False
            raise
        if isinstance(answer, dict) and answer.get("disposition") == "handled":
            self._expecting = False

    async def wait_for_idle(self) -> None:
        """Wait until the run of the last prompt has ended.

        Returns at once if the prompt was handled by a command of an extension.
        """
        if self._expecting or self._running:
            settled = self._process.promise()
            self._waiting.append(settled)
            await settled

    async def prompt_and_wait(self, message: str, images: Sequence[Image] = ()) -> str | None:
        """Send a prompt and wait for the end of the run; returns the last answer, or ``None``.

        Cancelling aborts the run.
        """
        try:
            await self.prompt(message, images)
            await self.wait_for_idle()
        except CancelledError:
            await self.send({"type": "abort"})
            raise
        return await self.last_answer()

    def ask(self, message: str, images: Sequence[Image] = ()) -> AsyncGenerator[RpcEvent, None]:
        """Send a prompt and yield every event until the run has ended.

        Closing the iterator aborts it.
        """
        return events_during(
            lambda: self.prompt_and_wait(message, images),
            lambda: EventFeed(self.subscribe),  # type: ignore[arg-type] # works for any event type
        )

    async def abort(self) -> None:
        """Abort all running work, and wait until it has ended."""
        await self.request("abort")

    # Queries --------------------------------------------------------------------------------------

    async def state(self) -> SessionState:
        """Return the current state."""
        return await self._request_record(SessionState, "get_state")

    async def stats(self) -> SessionStats:
        """Return token counts and cost."""
        return await self._request_record(SessionStats, "get_session_stats")

    async def last_answer(self) -> str | None:
        """Return the text of the last answer, or ``None``."""
        data: Json = await self.request("get_last_assistant_text")
        return data.get("text")

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Select a model."""
        return await self._request_record(Model, "set_model", provider=provider, modelId=model_id)

    async def bash(self, command: str) -> BashResult:
        """Run a shell command of the user."""
        return await self._request_record(BashResult, "bash", command=command)

    async def _request_record(self, kind: type[R], command: str, /, **fields: Any) -> R:
        return msgspec.convert(await self.request(command, **fields), kind)

    # Events ---------------------------------------------------------------------------------------

    def _on_record(self, record: Json) -> None:
        event = read_event(record)
        if isinstance(event, AgentStart):
            self._running, self._expecting = True, False
        elif isinstance(event, AgentSettled):
            self._running, self._expecting = False, False
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener of an RPC client failed")


def read_event(record: Json) -> RpcEvent:
    """Convert a record to an event; a record of an unknown type is returned unchanged."""
    try:
        event: AgentSessionEvent = msgspec.convert(record, AgentSessionEvent)
        if isinstance(event, MessageStart | MessageEnd):
            return replace(event, message=msgspec.convert(event.message, SessionMessage))
        return event
    except (msgspec.ValidationError, RecursionError):  # from a newer version, or from an extension
        return record
