"""JSON-RPC with a server over its standard streams."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from pi.batteries.lsp.protocol import BadLspMessage, MessageReader, encode_message
from pi.extension import Child, Clock, Json, PiError

T = TypeVar("T")

READ_BYTES = 65536
KEPT_ERRORS = 4000
"""Bytes kept of the end of standard error, for error messages."""
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603

Answer = Callable[[str, Any], Awaitable[Any]]
"""Answers a request of the server; raises ``UnknownMethod`` for one that is not supported."""
Notified = Callable[[str, Any], None]


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``. After ``seconds``, cancel it and raise ``TimeoutError``."""
    task = asyncio.ensure_future(work)
    limit = asyncio.ensure_future(clock.sleep(max(seconds, 0)))
    try:
        await asyncio.wait({task, limit}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise TimeoutError
    finally:
        limit.cancel()
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError, PiError):
                await task


class ServerGone(PiError):
    """The server has ended, or its output is invalid."""


class RequestFailed(PiError):
    """The server answered a request with an error."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method} failed: {message}")
        self.code = code


class UnknownMethod(Exception):
    """A request of the server that this client does not support."""


class LspConnection:
    """Requests and notifications in both directions. ``run`` reads until the server has ended."""

    def __init__(self, child: Child, *, answer: Answer, notified: Notified) -> None:
        self._child = child
        self._answer = answer
        self._notified = notified
        self._waiting: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._last_id = 0
        self._answers: set[asyncio.Task[None]] = set()
        self._errors = b""
        self.end_reason: str | None = None
        """Why the connection has ended; ``None`` while it is open."""

    async def run(self) -> None:
        """Read messages until the end; then all waiting requests raise ``ServerGone``."""
        errors = asyncio.create_task(self._read_errors())
        reader = MessageReader()
        reason = "it closed its output"
        try:
            while data := await self._child.output.read(READ_BYTES):
                for message in reader.feed(data):
                    self._dispatch(message)
        except BadLspMessage as error:
            reason = error.message
        finally:
            if self.end_reason is None:
                await asyncio.wait({errors}, timeout=0.2)  # the last output has the reason
            errors.cancel()
            self.close(reason + self._last_words())

    def close(self, reason: str) -> None:
        """End the connection: every waiting request raises ``ServerGone``."""
        if self.end_reason is None:
            self.end_reason = reason
        waiting, self._waiting = self._waiting, {}
        for method, future in waiting.values():
            if not future.done():
                future.set_exception(
                    ServerGone(f"{method}: the server has ended: {self.end_reason}")
                )
                future.exception()  # mark it as retrieved: its request may be cancelled
        for task in self._answers:
            task.cancel()

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its result. Cancelling the call cancels the request.

        Raises ``RequestFailed`` and ``ServerGone``.
        """
        if self.end_reason is not None:
            raise ServerGone(f"{method}: the server has ended: {self.end_reason}")
        self._last_id += 1
        id, future = self._last_id, asyncio.get_running_loop().create_future()
        self._waiting[id] = method, future
        try:
            await self._send({"id": id, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            if self._waiting.pop(id, None) is not None:
                await self.notify("$/cancelRequest", {"id": id})
            raise
        finally:
            self._waiting.pop(id, None)

    async def replied(self) -> None:
        """Wait until the requests of the server that were read so far have been answered."""
        if self._answers:
            await asyncio.wait(set(self._answers))

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification; nothing happens if the server has ended."""
        if self.end_reason is None:
            await self._send({"method": method, "params": params})

    async def _send(self, message: Json) -> None:
        if message.get("params", 0) is None:
            del message["params"]  # strict servers reject null
        try:
            await self._child.write(encode_message({"jsonrpc": "2.0", **message}))
        except ConnectionError:
            # The reader detects the end of the output and its reason; until then requests wait.
            await asyncio.sleep(0)

    def _dispatch(self, message: Json) -> None:
        method, id = message.get("method"), message.get("id")
        if method is not None and id is not None:
            task = asyncio.create_task(self._reply(method, id, message.get("params")))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
        elif method is not None:
            self._notified(method, message.get("params"))
        elif isinstance(id, int) and id in self._waiting:
            name, future = self._waiting.pop(id)
            if future.done():
                return
            if error := message.get("error"):
                text = str(error.get("message", ""))
                future.set_exception(RequestFailed(name, int(error.get("code", 0)), text))
            else:
                future.set_result(message.get("result"))

    async def _reply(self, method: str, id: Any, params: Any) -> None:
        try:
            answer: Json = {"id": id, "result": await self._answer(method, params)}
        except UnknownMethod:
            text = f"{method} is not supported"
            answer = {"id": id, "error": {"code": METHOD_NOT_FOUND, "message": text}}
        except (PiError, KeyError, TypeError, ValueError, OSError) as error:
            answer = {"id": id, "error": {"code": INTERNAL_ERROR, "message": str(error)}}
        await self._send(answer)

    async def _read_errors(self) -> None:
        while data := await self._child.errors.read(READ_BYTES):
            self._errors = (self._errors + data)[-KEPT_ERRORS:]

    def _last_words(self) -> str:
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        return f"; it wrote: {lines[-1].strip()}" if lines else ""
