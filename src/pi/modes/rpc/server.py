"""The RPC server: reads commands, writes responses and events, until the input ends."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pi.agent.events import MessageStart
from pi.ai.messages import AssistantMessage
from pi.base.clock import SystemClock, uuid7
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, LineSplitter
from pi.base.tasks import TaskScope
from pi.modes.headless import event_line
from pi.modes.rpc.commands import COMMANDS, LONG, PROMPTING, REPLACING
from pi.modes.rpc.extension_ui import RpcUI
from pi.modes.rpc.protocol import BadRequest, Request, answer_line, parse_request
from pi.modes.stdio import Output

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort

log = logging.getLogger(__name__)

LONGEST_LINE = 200_000_000
"""Maximum bytes of a line; a longer one is an error of the client."""
MAX_UNREAD = 64_000_000
"""Unsent response bytes above which no further commands are read."""


class RpcServer:
    """Runs the commands of one client on one session."""

    def __init__(self, port: SessionPort, output: Output) -> None:
        self._port = port
        self._output = output
        self._ui = RpcUI(self._send, _new_id)
        self._replacing = asyncio.Lock()
        self._started = asyncio.Event()
        """Set once the session is started."""
        self._unanswered: dict[asyncio.Task[None], bool] = {}
        """Prompts whose answer has not started to stream; the value is whether one was accepted."""
        self._is_input_at_end = False
        port.extensions.attach(self._ui, "rpc")

    async def run(
        self, chunks: AsyncIterator[bytes], start: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Runs until the end of the input, or until an extension ends the program.

        Commands wait for ``start``; answers to its dialogs do not, since it waits for them.
        Commands run concurrently, and start in the order they arrive. Commands before the end of
        the input are still answered. A prompt whose answer has not started then is completed, so
        that ``echo '{"type":"prompt",…}' | pi --mode rpc`` works; a streaming answer, a shell
        command and a compaction are aborted.
        """
        end = self._port.subscribe(self._on_event)
        starting = asyncio.ensure_future(self._start(start))
        try:
            async with TaskScope(report=_report) as long, asyncio.TaskGroup() as short:
                leaving = short.create_task(self._port.extensions.shutdown_requested.wait())
                reading = short.create_task(self._read(chunks, long, short))
                await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
                self._ui.close()  # commands that wait for the client would never end
                await asyncio.wait({starting, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not leaving.done():
                    await self._complete_unanswered(leaving)
                reading.cancel()
                leaving.cancel()
        finally:
            starting.cancel()
            self._output.stop_waiting()
            end()
        if not starting.cancelled() and starting.done():
            starting.result()

    async def _start(self, start: Callable[[], Awaitable[None]] | None) -> None:
        try:
            if start is not None:
                await start()
        finally:
            self._started.set()

    async def _read(
        self, chunks: AsyncIterator[bytes], long: TaskScope, short: asyncio.TaskGroup
    ) -> None:
        async for line in _lines(chunks):
            self._begin(line, long, short)
            while self._output.waiting > MAX_UNREAD:
                await self._output.drained()
        self._is_input_at_end = True
        await asyncio.sleep(0)  # the last command has also started or was rejected

    async def _complete_unanswered(self, leaving: asyncio.Task[Any]) -> None:
        """Waits for the prompts whose answer has not started, unless the program is to end."""
        prompts = asyncio.gather(*self._unanswered, return_exceptions=True)
        # A shell command is not waited for: it is aborted when the prompts are done.
        waiting: set[asyncio.Future[Any]] = {prompts, leaving}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)

    def _begin(self, line: bytes | BadLine, long: TaskScope, short: asyncio.TaskGroup) -> None:
        request = parse_request(line)
        if isinstance(request, bytes):
            self._output.write_json(request)
        elif request.command == "extension_ui_response":
            self._ui.handle_response(request.fields)
        elif request.command in LONG:
            task = long.start(self._carry_out(request), name=f"rpc {request.command}")
            if request.command in PROMPTING:
                self._unanswered[task] = False
                task.add_done_callback(lambda done: self._unanswered.pop(done, None))
        else:
            short.create_task(self._carry_out(request), name=f"rpc {request.command}")

    async def _carry_out(self, request: Request) -> None:
        """Answers a command exactly once, whatever happens."""
        await self._started.wait()
        try:
            await self._dispatch(request)
        except PiError as error:
            self._answer(request, error=error.message)
        except Exception as bug:
            log.exception("the command %s failed", request.command)
            self._answer(request, error=f"{type(bug).__name__}: {bug}")

    async def _dispatch(self, request: Request) -> None:
        match request.command:
            case "prompt":
                await self._prompt(request)
            case "abort_and_prompt":
                await self._port.abort()
                await self._prompt(request)
            case "bash":
                await self._bash(request)
            case name if name in REPLACING:
                async with self._replacing:
                    self._answer(request, data=await COMMANDS[name](self._port, request))
            case name if name in COMMANDS:
                self._answer(request, data=await COMMANDS[name](self._port, request))
            case name:
                self._answer(request, error=f"Unknown command: {name}")

    async def _prompt(self, request: Request) -> None:
        """Answers when the prompt is accepted, before the run starts."""
        answered = False

        def accepted() -> None:
            nonlocal answered
            answered = True
            if (task := asyncio.current_task()) in self._unanswered:
                self._unanswered[task] = True
            self._answer(request)

        streaming = request.optional_text("streamingBehavior")
        if streaming not in (None, "steer", "followUp"):
            raise BadRequest(f'Invalid streamingBehavior "{streaming}": use steer or followUp')
        try:
            await self._port.prompts.prompt(
                request.text("message"),
                request.images(),
                streaming=streaming,  # type: ignore[arg-type]
                source="rpc",
                accepted=accepted,
            )
        except PiError:
            if not answered:
                raise
            log.exception("a prompt that was accepted failed")

    async def _bash(self, request: Request) -> None:
        about: dict[str, Any] = {"type": "bash_execution_update"}
        if request.id is not UNSET:
            about["id"] = request.id
        result = await self._port.shell.run(
            request.text("command"),
            exclude_from_context=request.optional_flag("excludeFromContext"),
            on_text=lambda text: self._send(about | {"delta": text}),
        )
        self._answer(request, data=result)

    def _answer(self, request: Request, *, data: Any = UNSET, error: str | None = None) -> None:
        self._output.write_json(answer_line(request.id, request.command, data=data, error=error))

    def _on_event(self, event: Any) -> Awaitable[None] | None:
        starts = isinstance(event, MessageStart) and _is_streaming(event.message)
        if starts and not self._is_input_at_end:
            self._unanswered = {
                task: False for task, accepted in self._unanswered.items() if not accepted
            }
        return self._send(event)

    def _send(self, event: Any) -> Awaitable[None] | None:
        """Writes an event; the returned awaitable waits until a slow reader has caught up."""
        self._output.write_json(event_line(event, self._port.since_session_ms()))
        return self._output.drained() if self._output.is_behind else None


def _is_streaming(message: Any) -> bool:
    """Whether an answer starts, and has not failed before its first token."""
    return isinstance(message, AssistantMessage) and message.stop_reason == "pending"


def _new_id() -> str:
    return uuid7(SystemClock().now_ms(), os.urandom)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes | BadLine]:
    """Yields the lines of the input; the last one may lack its newline."""
    splitter = LineSplitter(limit=LONGEST_LINE)
    async for chunk in chunks:
        for line in splitter.feed(chunk):
            yield line
    if rest := splitter.finish():
        yield rest


def _report(name: str, problem: BaseException) -> None:
    log.error("%s failed", name, exc_info=problem)
