"""A session in a process of its own, for programs that want to keep it apart."""

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
from pi.coding.runtime.session.events import AgentSessionEvent, EventFeed, events_during
from pi.coding.session.entries import SessionMessage
from pi.coding.session.views import SessionStats
from pi.coding.shell.local import BashResult

log = logging.getLogger(__name__)


# A ``pi --mode rpc`` that we have started: records to it, answers and events from it.


Hear: TypeAlias = Callable[[Json], None]
"""Told every record that answers no request."""

MOST_ERRORS = 64 * 1024
"""Bytes of standard error that are kept: its end says why a program died."""
SECONDS_TO_END = 10.0
"""How long it may take to save and end after its input was closed."""
LONGEST_LINE = 1 << 30
"""Bytes; a server that writes more without a line end does not speak the protocol."""
SLOW_LINE = 1 << 16
"""Bytes from which on a line is decoded in a thread."""
_CHUNK = 1 << 16
_ID = re.compile(rb'"id"\s*:\s*"(req_\d+)"')


class RpcServerDied(PiError):
    """The server has ended; ``hint`` is what it said last on standard error."""


class RpcRefused(PiError):
    """The server answers that it does not do what it was asked for."""


class RpcUnreadable(PiError):
    """The server has answered with something that cannot be decoded."""


class RpcProcess:
    """One server. Requests go side by side; all that wait are refused when the server dies."""

    def __init__(self, child: Child, hear: Hear) -> None:
        self.pid = child.pid
        self._child = child
        self._hear = hear
        self._numbers = 0
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._promises: set[asyncio.Future[Any]] = set()
        self._errors = bytearray()
        self._death: RpcServerDied | None = None

    @property
    def errors(self) -> str:
        """The end of what it has written to standard error."""
        return self._errors.decode("utf-8", "replace")

    async def request(self, command: str, /, **fields: Any) -> Any:
        """The ``data`` of the answer to a command, or ``RpcRefused`` with the reason."""
        self._numbers += 1
        id = f"req_{self._numbers}"
        answer: asyncio.Future[Json] = self.promise()
        self._answers[id] = answer
        try:
            await self.send({"type": command, **fields, "id": id})
            answered = await answer
        finally:
            del self._answers[id]
        if not answered.get("success"):
            raise RpcRefused(str(answered.get("error") or f"{command} failed without a reason."))
        return answered.get("data")

    async def send(self, record: Json) -> None:
        """Send a record that is not answered, e.g. what the person said to a dialog."""
        with suppress(ConnectionError):  # whoever waits is told why when it has ended
            await self._child.write(encode_line(record))

    def promise(self) -> asyncio.Future[Any]:
        """Something to wait for that fails when the server dies; raises if it has died."""
        if self._death is not None:
            raise self._death
        promise: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._promises.add(promise)
        promise.add_done_callback(self._promises.discard)
        return promise

    async def listen(self) -> None:
        """Until the server has ended and everything that it said is heard."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read_records())
                tasks.create_task(self._read_errors())
            end = await self._child.wait()
            how = f"by signal {end.signal}" if end.signal else f"with exit code {end.exit_code}"
        except BaseException:  # nobody listens from now on
            self._die("The RPC client has stopped listening.")
            raise
        self._die(f"The RPC server has ended {how}.")

    def _die(self, message: str) -> None:
        self._death = RpcServerDied(message, hint=self.errors.strip())
        for promise in tuple(self._promises):
            if not promise.done():
                promise.set_exception(self._death)

    async def end(self, listening: asyncio.Task[None]) -> None:
        """Have it save and end by itself; who comes after us kills it if it does not."""
        self._child.close_stdin()
        await asyncio.wait({listening}, timeout=SECONDS_TO_END)

    async def _read_records(self) -> None:
        splitter = LineSplitter(limit=LONGEST_LINE)
        while chunk := await self._child.output.read(_CHUNK):
            for line in splitter.feed(chunk):
                await self._take(line)

    async def _read_errors(self) -> None:
        while chunk := await self._child.errors.read(_CHUNK):
            self._errors += chunk
            del self._errors[:-MOST_ERRORS]

    async def _take(self, line: bytes | BadLine) -> None:
        try:
            if isinstance(line, BadLine):
                raise line
            if len(line) < SLOW_LINE:
                record = decode_deep_line(line)
            else:
                record = await asyncio.to_thread(decode_deep_line, line)
        except BadLine as problem:
            self._report_unreadable(problem)
            return
        if not isinstance(record, dict):
            return
        answer = self._answers.get(str(record.get("id")))
        if record.get("type") != "response" or answer is None:
            self._hear(record)
        elif not answer.done():
            answer.set_result(record)

    def _report_unreadable(self, problem: BadLine) -> None:
        """Fail the request that a line answers: it would wait for ever."""
        log.warning("the RPC server wrote a line that cannot be read: %s", problem)
        if not problem.excerpt.startswith("{"):
            return  # a program around the server has written something, as a login shell does
        found = _ID.search(problem.excerpt.encode())
        id = found[1].decode() if found else None
        # Without an id it may be the answer to any of them.
        for name, answer in self._answers.items():
            if id in (None, name) and not answer.done():
                answer.set_exception(
                    RpcUnreadable(f"The answer of the RPC server cannot be read. {problem.reason}.")
                )


@asynccontextmanager
async def rpc_process(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], hear: Hear
) -> AsyncIterator[RpcProcess]:
    """Start a server; it ends with the block, at the latest by being killed."""
    async with (
        await spawn(command, cwd=cwd, env=env, stdin="pipe", errors="separate") as child,
        TaskScope() as tasks,
    ):
        process = RpcProcess(child, hear)
        listening = tasks.start(process.listen(), name="rpc client")
        try:
            yield process
        finally:
            await process.end(listening)


R = TypeVar("R")

RpcEvent: TypeAlias = AgentSessionEvent | Json
"""What a session tells; a record of a kind that this version does not know stays as it is."""

PI = (sys.executable, "-P", "-m", "pi")
"""``-P``: without it Python imports modules from the working directory, which may be untrusted."""


class RpcClient:
    """One session, driven from here. ``RpcServerDied`` ends every wait when its process dies.

    >>> async with RpcClient.started("--model", "anthropic/opus") as client:
    ...     async for event in client.ask("What is here?"):
    ...         print(event)
    """

    def __init__(self) -> None:
        self._process: RpcProcess
        self._listeners: list[Callable[[RpcEvent], object]] = []
        self._expecting = False
        """Whether something was said that no run has answered yet."""
        self._running = False
        self._waiting: list[Future[None]] = []

    @classmethod
    @asynccontextmanager
    async def started(
        cls,
        *words: str,
        command: Sequence[str] = PI,
        cwd: Path | str = ".",
        env: Mapping[str, str] | None = None,
    ) -> AsyncIterator[RpcClient]:
        """Start ``pi --mode rpc`` with further ``words``; the process ends with the block.

        It gets our own environment unless ``env`` is given. ``RpcServerDied`` if it cannot start.
        """
        client = cls()
        environ = dict(os.environ if env is None else env)
        line = [*command, "--mode", "rpc", *words]
        async with rpc_process(line, cwd=Path(cwd), env=environ, hear=client._hear) as process:
            client._process = process
            await client.state()  # what does not answer now never will
            yield client

    @property
    def errors(self) -> str:
        """The end of what the process has written to standard error."""
        return self._process.errors

    async def request(self, command: str, /, **fields: Any) -> Any:
        """The answer to any command of the protocol, or ``RpcRefused`` with the reason."""
        return await self._process.request(command, **fields)

    async def send(self, record: Json) -> None:
        """Send a record that is not answered, e.g. the answer to an ``extension_ui_request``."""
        await self._process.send(record)

    def subscribe(self, listener: Callable[[RpcEvent], object]) -> Callable[[], None]:
        """Have ``listener`` called with every event, in order; gives what ends that."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    # Saying something -----------------------------------------------------------------------------

    async def prompt(
        self, message: str, images: Sequence[Image] = (), *, streaming: Streaming | None = None
    ) -> None:
        """Say something; returns when it is accepted. ``streaming`` says how to queue it."""
        self._expecting = True  # before it is sent: the run may be over before we hear the answer
        extra = {} if streaming is None else {"streamingBehavior": streaming}
        try:
            await self.request("prompt", message=message, images=images, **extra)
        except BaseException:
            self._expecting = False
            raise

    async def wait_for_idle(self) -> None:
        """Until the run that something was said for has come to its end.

        A command of an extension begins no run by itself: do not wait after one.
        """
        if self._expecting or self._running:
            settled = self._process.promise()
            self._waiting.append(settled)
            await settled

    async def prompt_and_wait(self, message: str, images: Sequence[Image] = ()) -> str | None:
        """Say something, wait for the end of the run; the last answer, if there is one.

        Who is cancelled meanwhile ends the run.
        """
        try:
            await self.prompt(message, images)
            await self.wait_for_idle()
        except CancelledError:
            await self.send({"type": "abort"})
            raise
        return await self.last_answer()

    def ask(self, message: str, images: Sequence[Image] = ()) -> AsyncGenerator[RpcEvent, None]:
        """Say something; every event until the run has come to its end, or nobody reads them."""
        return events_during(
            lambda: self.prompt_and_wait(message, images),
            lambda: EventFeed(self.subscribe),  # type: ignore[arg-type] # hands on what it is given
        )

    async def abort(self) -> None:
        """End whatever is under way, and wait until it has ended."""
        await self.request("abort")

    # Answers as records ---------------------------------------------------------------------------

    async def state(self) -> SessionState:
        """What the session is at this moment."""
        return await self._typed(SessionState, "get_state")

    async def stats(self) -> SessionStats:
        """The session in numbers."""
        return await self._typed(SessionStats, "get_session_stats")

    async def last_answer(self) -> str | None:
        """The words of the last answer."""
        data: Json = await self.request("get_last_assistant_text")
        return data.get("text")

    async def set_model(self, provider: str, model_id: str) -> Model:
        """Have another model answer from now on."""
        return await self._typed(Model, "set_model", provider=provider, modelId=model_id)

    async def bash(self, command: str) -> BashResult:
        """Run a command of the person beside the conversation."""
        return await self._typed(BashResult, "bash", command=command)

    async def _typed(self, kind: type[R], command: str, /, **fields: Any) -> R:
        return msgspec.convert(await self.request(command, **fields), kind)

    # Events ---------------------------------------------------------------------------------------

    def _hear(self, record: Json) -> None:
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
    """The event that a record tells, with its messages."""
    try:
        event: AgentSessionEvent = msgspec.convert(record, AgentSessionEvent)
        if isinstance(event, MessageStart | MessageEnd):
            return replace(event, message=msgspec.convert(event.message, SessionMessage))
        return event
    except (msgspec.ValidationError, RecursionError):  # of a newer version, or of an extension
        return record
