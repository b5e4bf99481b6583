"""JSON-RPC 2.0 over lines of JSON: requests and notifications in both directions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any, Final

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, LineSplitter, decode_line, encode_line
from pi.base.tasks import TaskScope
from pi.modes.stdio import Output

log = logging.getLogger(__name__)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002

LONGEST_LINE = 200_000_000
"""Maximum bytes of a line; a longer one is an error of the client."""
MAX_UNREAD = 64_000_000
"""Unsent bytes above which no further lines are read."""
CANCEL = "$/cancel_request"


class RequestFailed(PiError):
    """An error response: one that is sent to the client, or one that it sent."""

    def __init__(
        self, code: int, message: str, *, hint: str = "", data: Json | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.data = data


class Connection:
    """The client at the other end of the pipes.

    ``handle`` returns the result of a request, ``on_notification`` handles a notification. Requests
    run concurrently, and start in the order in which they arrive.
    """

    def __init__(
        self,
        output: Output,
        handle: Callable[[str, Json], Awaitable[Any]],
        on_notification: Callable[[str, Json], None],
    ) -> None:
        self._output = output
        self._handle = handle
        self._on_notification = on_notification
        self._ids = count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        """Requests to the client that it has not answered."""
        self._running: dict[str | int, tuple[str, asyncio.Task[None]]] = {}
        """Requests of the client that are not answered: method and task, by id."""
        self._closed = False

    async def run(self, chunks: AsyncIterator[bytes]) -> None:
        """Read and answer until the input ends.

        Then prompts are cancelled, because their answers would not be read. Other requests are
        still answered; their own requests to the client fail at once.
        """
        splitter = LineSplitter(limit=LONGEST_LINE)
        async with TaskScope(report=_report) as scope:
            try:
                async for chunk in chunks:
                    for line in splitter.feed(chunk):
                        self._read(line, scope)
                    while self._output.waiting > MAX_UNREAD:
                        await self._output.drained()
                if rest := splitter.finish():
                    self._read(rest, scope)
            finally:
                self.close()
            tasks = [task for method, task in self._running.values() if method != "session/prompt"]
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """The client has disconnected: pending requests to it fail now."""
        self._closed = True
        self._output.stop_waiting()
        for future in self._pending.values():
            if not future.done():
                future.set_exception(_disconnected_error())

    # To the client --------------------------------------------------------------------------------

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of a request to the client. Raises ``RequestFailed``.

        If the caller is cancelled, so is the request.
        """
        if self._closed:
            raise _disconnected_error()
        id = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[id] = future
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        try:
            result = await future
        except asyncio.CancelledError:
            self.notify(CANCEL, {"requestId": id})
            raise
        finally:
            del self._pending[id]
        return result if isinstance(result, dict) else {}

    def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def write_line(self, line: bytes) -> Awaitable[None] | None:
        """Write an encoded message; the returned awaitable waits for a slow reader."""
        self._output.write_json(line)
        return self._output.drained() if self._output.is_behind else None

    def _send(self, message: Json) -> None:
        self._output.write_json(encode_line(message))

    # From the client ------------------------------------------------------------------------------

    def _read(self, line: bytes | BadLine, scope: TaskScope) -> None:
        try:
            if isinstance(line, BadLine):
                raise line
            message: Any = decode_line(line.removesuffix(b"\r"))
        except BadLine as error:
            self._fail(None, PARSE_ERROR, f"Invalid line: {error.reason}")
            return
        match message:
            case {"method": str(method), "id": (str() | int()) as id} if not isinstance(id, bool):
                work = self._answer(id, method, _params(message))
                task = scope.start(work, name=f"acp {method}")
                self._running[id] = (method, task)
                task.add_done_callback(lambda _: self._running.pop(id, None))
            case {"method": str(method)} if "id" not in message:
                self._notify(method, _params(message))
            case {"id": int(id)} if "result" in message or "error" in message:
                self._settle(id, message)
            case {"id": (str() | int()) as id}:
                self._fail(id, INVALID_REQUEST, "The message has no method")
            case _:
                self._fail(None, INVALID_REQUEST, "The message is not a JSON-RPC request")

    def _settle(self, id: int, message: Json) -> None:
        future = self._pending.get(id)
        if future is None or future.done():
            return  # cancelled meanwhile
        match message.get("error"):
            case None:
                future.set_result(message.get("result"))
            case {"code": int(code), "message": str(text)}:
                future.set_exception(RequestFailed(code, text))
            case _:
                future.set_exception(RequestFailed(INTERNAL_ERROR, "The client reports an error."))

    def _notify(self, method: str, params: Json) -> None:
        if method == CANCEL:
            id = params.get("requestId")
            if isinstance(id, str | int) and (running := self._running.get(id)) is not None:
                running[1].cancel()
            return
        try:
            self._on_notification(method, params)
        except PiError as error:
            log.warning("the notification %s failed: %s", method, error)

    async def _answer(self, id: str | int, method: str, params: Json) -> None:
        """Answers a request exactly once, whatever happens."""
        try:
            result = await self._handle(method, params)
        except RequestFailed as error:
            self._fail(id, error.code, error.explain(), error.data)
        except PiError as error:
            self._fail(id, INTERNAL_ERROR, error.explain())
        except asyncio.CancelledError:
            self._fail(id, REQUEST_CANCELLED, "The request was cancelled")
            if self._closed:
                raise
        except Exception as bug:
            log.exception("the request %s failed", method)
            self._fail(id, INTERNAL_ERROR, f"{type(bug).__name__}: {bug}")
        else:
            self._send({"jsonrpc": "2.0", "id": id, "result": result})

    def _fail(
        self, id: str | int | None, code: int, message: str, data: Json | None = None
    ) -> None:
        error: Json = {"code": code, "message": message} | ({"data": data} if data else {})
        self._send({"jsonrpc": "2.0", "id": id, "error": error})


def _params(message: Json) -> Json:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _disconnected_error() -> RequestFailed:
    return RequestFailed(INTERNAL_ERROR, "The client has disconnected.")


def _report(name: str, error: BaseException) -> None:
    log.error("%s failed", name, exc_info=error)
