"""The RPC server: reads commands, writes responses and events, until the input ends.

``RpcUI`` is the UI of extensions: dialogs are sent to the client.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from pi.agent.events import MessageStart
from pi.ai.messages import AssistantMessage, Json
from pi.base.clock import SystemClock, uuid7
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, LineSplitter
from pi.base.tasks import TaskScope
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.extension_host.open_dialogs import as_options
from pi.coding.port.drawing import Lines
from pi.coding.port.results import Disposition, NoModel
from pi.coding.port.ui import (
    PLACEMENTS,
    EditorStyle,
    ExtensionUI,
    NotifyKind,
    Option,
    Placement,
    ThemeChange,
)
from pi.modes.headless import event_line
from pi.modes.rpc.commands import COMMANDS, LONG, PROMPTING, REPLACING
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
        self._start_error: PiError | None = None
        """Why the session was not started; every command is answered with it."""
        self._unanswered: dict[asyncio.Task[None], bool] = {}
        """Prompts whose answer has not started to stream; the value is whether one was accepted."""
        self._is_input_at_end = False
        port.extensions.attach(self._ui, "rpc")

    async def run(
        self, chunks: AsyncIterator[bytes], start: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Run until the end of the input, or until an extension ends the program.

        Commands wait for ``start``; answers to its dialogs do not, since it waits for them. A
        failure of ``start`` ends the server.

        Commands run concurrently, and start in the order they arrive. Commands before the end of
        the input are still answered. A prompt whose answer has not started then is completed, so
        that ``echo '{"type":"prompt",…}' | pi --mode rpc`` works; a streaming answer, a shell
        command and a compaction are aborted.
        """
        end = self._port.subscribe(self._on_event)
        starting = asyncio.ensure_future(self._start(start))
        try:
            async with TaskScope(report=_report) as long, asyncio.TaskGroup() as short:
                shutdown = short.create_task(self._port.extensions.shutdown_requested.wait())
                reading = short.create_task(self._read(chunks, long, short))
                ending = {reading, shutdown}
                await asyncio.wait({*ending, starting}, return_when=asyncio.FIRST_COMPLETED)
                if self._start_error is None:
                    await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
                self._ui.close()  # commands that wait for the client would never end
                await asyncio.wait({starting, shutdown}, return_when=asyncio.FIRST_COMPLETED)
                if not shutdown.done():
                    await self._complete_unanswered(shutdown)
                reading.cancel()
                shutdown.cancel()
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
        except PiError as error:
            self._start_error = error
            raise
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

    async def _complete_unanswered(self, shutdown: asyncio.Task[Any]) -> None:
        """Wait for the prompts whose answer has not started, unless the program is to end."""
        prompts = asyncio.gather(*self._unanswered, return_exceptions=True)
        # A shell command is not waited for: it is aborted when the prompts are done.
        waiting: set[asyncio.Future[Any]] = {prompts, shutdown}
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
            if self._start_error is not None:
                raise self._start_error
            await self._dispatch(request)
        except NoModel as error:
            # As in the original, the help lines belong to the error: a client shows nothing else.
            self._answer(request, error=f"{error.message}\n{error.hint}".rstrip())
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

        def accepted(disposition: Disposition) -> None:
            nonlocal answered
            answered = True
            if (task := asyncio.current_task()) in self._unanswered:
                self._unanswered[task] = True
            self._answer(request, data={"disposition": disposition})

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
        """Write an event; the returned awaitable waits until a slow reader has caught up."""
        self._output.write_json(event_line(event, self._port.since_session_ms()))
        return self._output.drained() if self._output.is_behind else None


def _is_streaming(message: Any) -> bool:
    """Whether an answer starts, and has not failed before its first token."""
    return isinstance(message, AssistantMessage) and message.stop_reason == "pending"


def _new_id() -> str:
    return uuid7(SystemClock().now_ms(), os.urandom)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes | BadLine]:
    """Yield the lines of the input; the last one may lack its newline."""
    splitter = LineSplitter(limit=LONGEST_LINE)
    async for chunk in chunks:
        for line in splitter.feed(chunk):
            yield line
    if rest := splitter.finish():
        yield rest


def _report(name: str, error: BaseException) -> None:
    log.error("%s failed", name, exc_info=error)


class RpcUI(ExtensionUI):
    """Sends requests to the client; members for which the protocol has no method do nothing.

    If the handler of a dialog is cancelled, a later response is ignored.
    """

    has_ui = True

    def __init__(self, send: Callable[[Json], object], new_id: Callable[[], str]) -> None:
        self._send = send
        self._new_id = new_id
        self._pending: dict[str, asyncio.Future[Json]] = {}
        self._closed = False

    def handle_response(self, response: Json) -> None:
        """Handle a response of the client; ignored if the dialog was cancelled."""
        future = self._pending.get(str(response.get("id")))
        if future is not None and not future.done():
            future.set_result(response)

    def close(self) -> None:
        """The client disconnected: open and later dialogs are cancelled."""
        self._closed = True
        for future in self._pending.values():
            if not future.done():
                future.set_result({"cancelled": True})

    # Dialogs --------------------------------------------------------------------------------------

    async def select(
        self,
        title: str,
        options: Sequence[str | Option],
        *,
        multi: bool = False,
        initial: str | Sequence[str] | None = None,
        timeout: float | None = None,
        on_timeout: Any = None,
        call_id: str | None = None,
        cancel: str = "",
    ) -> Any:
        """Ask for one of ``options``; ``descriptions`` and ``previews`` are in the same order.

        With ``multi`` the response has ``values``; a client with only ``value`` selects one.
        """
        listed = as_options(options)
        fields: Json = {"title": title, "options": [option.label for option in listed]}
        if any(option.description for option in listed):
            fields["descriptions"] = [option.description for option in listed]
        if any(option.preview for option in listed):
            fields["previews"] = [option.preview for option in listed]
        if multi:
            fields["multi"] = True
        if initial is not None:
            fields["initial"] = initial if isinstance(initial, str) else [*initial]
        answer = await self._ask("select", fields, timeout)
        if answer is None:
            return on_timeout
        return _values(answer) if multi else _value(answer)

    async def confirm(
        self,
        title: str,
        message: str,
        *,
        default: bool = True,
        timeout: float | None = None,
        on_timeout: Any = False,
    ) -> Any:
        """Ask a yes-or-no question; the request has ``default`` if that is No."""
        fields: Json = {"title": title, "message": message}
        if not default:
            fields["default"] = False
        answer = await self._ask("confirm", fields, timeout)
        return on_timeout if answer is None else answer.get("confirmed") is True

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Ask for a line of text; raises for a secret, which clients show and log."""
        if secret:
            raise ExtensionError(
                f"“{title}” asks for a secret, which is not sent over RPC.",
                hint="Log in with the terminal, or set it in the environment.",
            )
        fields = {"title": title} | ({"placeholder": placeholder} if placeholder else {})
        answer = await self._ask("input", fields, timeout)
        return on_timeout if answer is None else _value(answer)

    async def editor(
        self,
        title: str,
        prefill: str = "",
        *,
        style: EditorStyle = "prompt",
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Ask for a longer text; ``style`` is sent if it is not the usual one."""
        fields = {"title": title} | ({"prefill": prefill} if prefill else {})
        if style != "prompt":
            fields["style"] = style
        answer = await self._ask("editor", fields, timeout)
        return on_timeout if answer is None else _value(answer)

    # Requests without a response ------------------------------------------------------------------

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Show a transient notice."""
        self._request("notify", {"message": message} | ({"notifyType": kind} if kind else {}))

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line."""
        fields = {"statusKey": key} | ({} if text is None else {"statusText": text})
        self._request("setStatus", fields)

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines beside the editor; components cannot be sent."""
        if callable(lines):
            return
        fields: Json = {"widgetKey": key}
        if lines is not None:
            fields["widgetLines"] = list(lines)
        if placement is not None:
            fields["widgetPlacement"] = PLACEMENTS[placement]
        self._request("setWidget", fields)

    def set_title(self, title: str) -> None:
        """Set the window title; the default is up to the client."""
        if title:
            self._request("setTitle", {"title": title})

    def set_editor_text(self, text: str) -> None:
        """Put text into the client's editor."""
        self._request("set_editor_text", {"text": text})

    def set_theme(self, theme: str) -> ThemeChange:
        """Not supported: the client has its own theme."""
        return ThemeChange(success=False, error="Theme switching not supported in RPC mode")

    # ----------------------------------------------------------------------------------------------

    def _request(self, method: str, fields: Json) -> str:
        id = self._new_id()
        self._send({"type": "extension_ui_request", "id": id, "method": method, **fields})
        return id

    async def _ask(self, method: str, fields: Json, timeout: float | None) -> Json | None:
        """Return the response of the client, ``None`` if the time is over."""
        if self._closed:
            return {"cancelled": True}
        if timeout is not None:
            fields = fields | {"timeout": round(timeout * 1000)}
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        id = self._request(method, fields)
        self._pending[id] = future
        try:
            async with asyncio.timeout(timeout):
                return await future
        except TimeoutError:
            return None
        finally:
            del self._pending[id]


def _value(answer: Json) -> str | None:
    value = answer.get("value")
    return value if isinstance(value, str) else None


def _values(answer: Json) -> list[str] | None:
    values = answer.get("values")
    if isinstance(values, list):
        return [value for value in values if isinstance(value, str)]
    value = _value(answer)
    return None if value is None else [value]
