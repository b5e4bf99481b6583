"""One connection to a server: requests of the client, and requests of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, Protocol, TypeAlias, TypeVar

from pi.batteries.mcp import client_messages, protocol, server_messages
from pi.batteries.mcp.protocol import (
    BadMessage,
    Era,
    HttpRefused,
    LoginNeeded,
    McpError,
    RpcError,
    ServerClosed,
    ServerInfo,
    ServerTimeout,
)
from pi.batteries.mcp.transport import Transport
from pi.extension import Json

PROBE_SECONDS = 3.0
"""Time after which ``initialize`` is sent as well, if ``server/discover`` is not answered.

Some servers of the handshake era ignore messages before ``initialize``.
"""
MAX_LOGGED_STRAYS = 5
BACKOFF_SECONDS = (0.05, 0.1, 0.2, 0.25)
"""Pauses before a request is repeated whose server needs time but no input."""

Progress: TypeAlias = Callable[[float, float | None, str], None]
"""Called with the progress, the total if it is known, and a message."""
T = TypeVar("T")


class ClientHost(Protocol):
    """Answers requests of a server, and starts tasks."""

    name: str
    version: str

    def capabilities(self) -> Json:
        """The capabilities of the client."""

    async def answer(self, method: str, params: Json) -> Json:
        """The result of a request of the server. Raises ``RpcError``."""

    def notified(self, method: str, params: Json) -> None:
        """Handle a notification."""

    def lost(self, error: McpError) -> None:
        """Handle the loss of the connection."""

    def log(self, text: str) -> None:
        """Add a line to the log of the server."""

    @property
    def is_closed(self) -> bool:
        """Whether no task can be started any more."""

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run a task that ends with the server."""


class Client:
    """Exchanges messages with one server. Requests may run at the same time."""

    def __init__(self, host: ClientHost, transport: Transport) -> None:
        self._host = host
        self.log = host.log
        """Writes a line to the log of the server."""
        self._transport = transport
        self._ids = count(1)
        self._pending: dict[int, asyncio.Future[Json]] = {}
        self._progress: dict[int, Progress] = {}
        self._limits: dict[int, tuple[asyncio.Timeout, float | None]] = {}
        self._answering: dict[Any, asyncio.Task[Any]] = {}
        """Requests of the server that are being answered, by their id."""
        self._strays = 0
        self._meta: Json = {}
        self._closed: McpError | None = None
        self.info: ServerInfo | None = None

    # Connecting -----------------------------------------------------------------------------------

    async def connect(self, era: Era | None, timeout: float) -> ServerInfo:
        """Open the transport and do the handshake; ``era`` is that of the server, if known.

        Raises ``McpError``.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._transport.open(self)
                info = await self._handshake(self._transport.era or era)
        except TimeoutError as error:
            raise ServerTimeout(
                f"MCP server {self._host.name} did not answer within {timeout:g} s of its start.",
                hint="Check its command, or set MCP_TIMEOUT (milliseconds) to wait longer.",
            ) from error
        self.info = info
        return info

    async def _handshake(self, era: Era | None) -> ServerInfo:
        if era == "handshake":
            return await self._initialize()
        probe = asyncio.ensure_future(self._discover())
        shake: asyncio.Future[ServerInfo] | None = None
        try:
            done: set[Any]
            done, _ = await asyncio.wait({probe}, timeout=PROBE_SECONDS)
            if done and (server_info := probe.result()) is not None:
                return server_info
            shake = asyncio.ensure_future(self._initialize())
            waiting: set[asyncio.Future[Any]] = {shake} if done else {probe, shake}
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if probe in done and (server_info := probe.result()) is not None:
                    return server_info
                if shake in done and (shake.exception() is None or not waiting):
                    return shake.result()
            return await shake
        finally:
            for task in (probe, shake):
                if task is not None:
                    task.cancel()
                    await asyncio.wait({task})
                    task.cancelled() or task.exception()

    async def _discover(self) -> ServerInfo | None:
        """The server, if it is a modern one; else ``None``. Raises ``McpError`` if no era works."""
        host = self._host
        self._meta = meta = client_messages.modern_meta(host.version, host.capabilities())
        try:
            result = await self.request("server/discover", meta=meta)
        except RpcError as error:
            self._meta = {}
            self._check_versions(error)
            return None
        except LoginNeeded:
            raise
        except HttpRefused as error:
            self._meta = {}
            if error.status >= 500:
                raise
            return None
        info = server_messages.parse_discovery(result)
        if info is not None:
            self._meta = meta
            self._transport.connected(info)
        return info

    def _check_versions(self, error: RpcError) -> None:
        """Raise ``BadMessage`` if the server lists its versions and pi supports none of them."""
        listed = error.data.get("supported") if isinstance(error.data, dict) else None
        supported = [str(version) for version in listed] if isinstance(listed, list) else []
        own_versions = (protocol.MODERN, *protocol.HANDSHAKE)
        refused = error.code == protocol.UNSUPPORTED_VERSION and supported
        if refused and not any(version in own_versions for version in supported):
            raise BadMessage(
                f"MCP server {self._host.name} speaks only {', '.join(supported)}.",
                hint="Update pi.",
            ) from error

    async def _initialize(self) -> ServerInfo:
        host = self._host
        params = client_messages.initialize_params(host.version, host.capabilities())
        info = server_messages.parse_initialisation(
            host.name, await self.request("initialize", params, meta={})
        )
        self._meta = {}
        self._transport.connected(info)
        await self.notify("notifications/initialized")
        if "logging" in info.capabilities:
            level = {"level": protocol.LOG_LEVEL}
            host.spawn(self._optional("logging/setLevel", level), "log level")
        return info

    async def _optional(self, method: str, params: Json) -> None:
        try:
            await self.request(method, params, timeout=30)
        except McpError as error:
            self._host.log(f"{method}: {error.message}")

    # Requests -------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Json | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        schema: Json | None = None,
        meta: Json | None = None,
    ) -> Json:
        """The result of a request. Each progress notification restarts the timeout.

        Raises ``McpError``.
        """
        if self._closed is not None:
            raise self._closed
        id = next(self._ids)
        extra = dict(self._meta if meta is None else meta)
        if progress is not None:
            extra["progressToken"] = id
            self._progress[id] = progress
        message = client_messages.request(id, method, params, meta=extra)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._pending[id] = answer
        try:
            async with asyncio.timeout(timeout) as limit:
                self._limits[id] = (limit, timeout)
                await self._transport.send(message, schema=schema)
                return await answer
        except TimeoutError as error:
            self._cancel(id, "timed out")
            raise ServerTimeout(
                f"MCP server {self._host.name} did not answer {method} within {timeout:g} s.",
                hint="Retry, or set PI_MCP_TIMEOUT_MS to wait longer.",
            ) from error
        except asyncio.CancelledError:
            self._cancel(id, "cancelled by the user")
            raise
        finally:
            for table in (self._pending, self._progress, self._limits):
                table.pop(id, None)

    async def interactive(
        self,
        method: str,
        params: Json,
        *,
        ask: Callable[[str, Json], Awaitable[Json]],
        **options: Any,
    ) -> Json:
        """The result of a request. ``ask`` provides input that the server requires first."""
        request_params, pause = dict(params), 0
        for _ in range(protocol.MAX_ROUNDS + 1):
            result = await self.request(method, request_params, **options)
            needed = server_messages.input_requests(result)
            if needed is None:
                return result
            requests, state = needed
            answers = {
                key: await ask(str(request.get("method")), request.get("params") or {})
                for key, request in requests.items()
            }
            request_params = dict(params)
            if answers:
                request_params["inputResponses"] = answers
                pause = 0
            else:
                await asyncio.sleep(BACKOFF_SECONDS[min(pause, len(BACKOFF_SECONDS) - 1)])
                pause += 1
            if state is not None:
                request_params["requestState"] = state
        raise BadMessage(
            f"MCP server {self._host.name} asked for input more than {protocol.MAX_ROUNDS} times"
            f" in one {method}."
        )

    async def pages(
        self, method: str, read: Callable[[Json], list[T]], *, timeout: float | None = None
    ) -> tuple[T, ...]:
        """All pages of a list."""
        entries: list[T] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(protocol.MAX_PAGES):
            params = {} if cursor is None else {"cursor": cursor}
            result = await self.request(method, params, timeout=timeout)
            entries += read(result)
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or cursor in seen:
                break
            seen.add(cursor)
        return tuple(entries)

    async def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        await self._transport.send(client_messages.notification(method, params))

    async def notify_roots(self) -> None:
        """Notify the server that the roots changed; a failure is logged."""
        try:
            await self.notify("notifications/roots/list_changed")
        except McpError as error:
            self._host.log(f"notifications/roots/list_changed: {error.message}")

    async def close(self) -> None:
        """End the connection."""
        error = ServerClosed(f"The connection to MCP server {self._host.name} was closed.")
        self._end(error)
        await self._transport.close()

    def _cancel(self, id: int, reason: str) -> None:
        """Notify the server that the answer is not needed, without waiting for it."""
        if self._transport.abandon(id) or self._closed is not None or self._host.is_closed:
            return
        params = {"requestId": id, "reason": reason}
        self._host.spawn(self._notify_cancelled(params), "cancel")

    async def _notify_cancelled(self, params: Json) -> None:
        try:
            await self.notify("notifications/cancelled", params)
        except McpError as error:
            self._host.log(f"notifications/cancelled: {error.message}")

    # Messages of the server -----------------------------------------------------------------------

    def receive(self, message: Any) -> None:
        """Handle a message of the server."""
        if isinstance(message, list):  # a batch, which 2025-03-26 allows
            for member in message:
                self.receive(member)
            return
        if not isinstance(message, dict):
            self._stray("a message that is not an object")
        elif isinstance(message.get("method"), str):
            params = message.get("params")
            params = params if isinstance(params, dict) else {}
            if "id" in message:
                self._answer(message["id"], message["method"], params)
            else:
                self._handle_notification(message["method"], params)
        else:
            self._take_answer(message)

    def _take_answer(self, message: Json) -> None:
        id = message.get("id")
        if isinstance(id, str) and id.isdecimal():
            id = int(id)  # some servers turn ids into text
        answer = self._pending.get(id) if isinstance(id, int) else None
        if answer is None or answer.done():
            self._stray(f"an answer to the unknown or answered request {id!r}")
        elif "error" in message:
            answer.set_exception(server_messages.response_error(self._host.name, message["error"]))
        elif isinstance(message.get("result"), dict):
            answer.set_result(message["result"])
        else:
            answer.set_exception(
                BadMessage(f"MCP server {self._host.name} sent an answer without a result.")
            )

    def _handle_notification(self, method: str, params: Json) -> None:
        if method == "notifications/progress":
            self._report_progress(params)
        elif method == "notifications/cancelled":
            task = self._answering.get(params.get("requestId"))
            if task is not None:
                task.cancel()
        else:
            self._host.notified(method, params)

    def _report_progress(self, params: Json) -> None:
        token = params.get("progressToken")
        if not isinstance(token, int) or token not in self._pending:
            return
        limit, seconds = self._limits.get(token, (None, None))
        if limit is not None and seconds is not None and not limit.expired():
            limit.reschedule(asyncio.get_running_loop().time() + seconds)
        report, done, total = self._progress.get(token), params.get("progress"), params.get("total")
        if report is not None and isinstance(done, int | float):
            known_total = float(total) if isinstance(total, int | float) else None
            report(float(done), known_total, str(params.get("message") or ""))

    def _answer(self, id: Any, method: str, params: Json) -> None:
        if id in self._answering:
            self._stray(f"a second request with the id {id!r}")
            return
        task = self._host.spawn(self._respond(id, method, params), method)
        self._answering[id] = task
        task.add_done_callback(lambda _: self._answering.pop(id, None))

    async def _respond(self, id: Any, method: str, params: Json) -> None:
        reply: Json = {"jsonrpc": "2.0", "id": id}
        try:
            result = {} if method == "ping" else await self._host.answer(method, params)
            reply["result"] = result
        except RpcError as error:
            reply["error"] = {"code": error.code, "message": error.message}
        try:
            await self._transport.send(reply)
        except McpError as error:
            self._host.log(f"The answer to {method} was not sent: {error.message}")

    def _stray(self, description: str) -> None:
        self._strays += 1
        if self._strays <= MAX_LOGGED_STRAYS:
            self._host.log(f"Ignored {description}.")

    def fail(self, id: int | None, error: McpError) -> None:
        """Fail the request ``id``; with ``None``, all requests, because the connection is lost."""
        if id is None:
            self._end(error)
            self._host.lost(error)
            return
        answer = self._pending.get(id)
        if answer is not None and not answer.done():
            answer.set_exception(error)

    def too_large(self, id: int | None, error: McpError) -> None:
        """Fail the request whose answer was dropped; if that is unknown, all that wait."""
        self.log(error.message)
        for pending in self._pending if id is None else (id,):
            self.fail(pending, error)

    def _end(self, error: McpError) -> None:
        if self._closed is None:
            self._closed = error
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(error)
        for task in tuple(self._answering.values()):
            task.cancel()
