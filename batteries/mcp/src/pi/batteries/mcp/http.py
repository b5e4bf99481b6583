"""The HTTP transports: the streamable one of both eras, and the older one with two addresses.

A request is a POST, and its answer is JSON or a stream of events. Servers of the handshake era send
their own requests on a GET stream, and can resume a broken stream after ``Last-Event-ID``.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

from pi.ai.wire_support.sse import SseReader
from pi.batteries.mcp import client_messages, protocol, server_messages
from pi.batteries.mcp.protocol import (
    AnswerDropped,
    BadMessage,
    Era,
    HttpRefused,
    LoginNeeded,
    McpError,
    ServerClosed,
    ServerInfo,
    SessionExpired,
)
from pi.batteries.mcp.transport import MAX_LINE, Peer, too_large
from pi.extension import (
    HttpError,
    Json,
    PiError,
    ProviderError,
    Scope,
    Timeouts,
    neutralise,
    one_line,
)

MAX_RESUMES = 5
"""Maximum attempts to resume a broken stream without a new message."""
DEFAULT_RETRY_MS = 500
CLOSE_SECONDS = 2.0
_SESSION = "mcp-session-id"


class HttpLink(Protocol):
    """HTTP access to a server through an open session, with the credentials of the server."""

    @property
    def name(self) -> str:
        """The name of the server."""

    @property
    def url(self) -> str:
        """The address of the server."""

    @property
    def http(self) -> Any:
        """``pi.http`` of an open session."""

    async def headers(self) -> dict[str, str]:
        """Configured headers, and the access token if there is one."""

    async def renew(self) -> bool:
        """Renew the access token after status 401. Returns whether there is another one."""


class _Http:
    """The common part of both transports: streams, delivery, and errors of a response."""

    def __init__(self, link: HttpLink, scope: Scope) -> None:
        self._link = link
        self._scope = scope
        self._peer: Peer
        self._running: dict[int, asyncio.Task[None]] = {}
        self._streams: list[asyncio.Task[None]] = []
        self._timeouts = Timeouts(connect=30.0, first_byte=None, idle=None)

    def stream(self, url: str, method: str, headers: dict[str, str], body: bytes = b"") -> Any:
        """A response as it arrives."""
        return self._link.http.stream(
            url, method=method, headers=headers, body=body, timeouts=self._timeouts
        )

    def lost(self, error: PiError) -> ServerClosed:
        """The error for a failed connection."""
        return ServerClosed(
            f"The connection to MCP server {self._link.name} failed: {error.message}",
            hint=error.hint,
        )

    async def check(self, response: Any, *, has_session: bool = False) -> None:
        """Raise the error of a response that is not a success."""
        status, name = response.status, self._link.name
        if 200 <= status < 300:
            return
        body = await response.read_prefix(64 * 1024)
        message = one_line(neutralise(body[:300].decode("utf-8", "replace")))
        challenge = response.headers.get("www-authenticate")
        if status == 401 or (status == 403 and "insufficient_scope" in challenge):
            raise LoginNeeded(
                f"MCP server {name} needs a login (status {status}).",
                status=status,
                challenge=challenge,
                hint=f"Use /mcp reauth {name}.",
            )
        # Some servers answer 400 to a session that they do not know, e.g. after a restart.
        is_unknown = status == 404 or (status == 400 and b"session" in body.lower())
        if has_session and is_unknown:
            raise SessionExpired(f"The session at MCP server {name} has expired.")
        if (error := _rpc_error(body)) is not None:
            raise server_messages.response_error(name, error)
        hint = {
            403: "The server refuses these credentials; check its headers, or log in again.",
            404: "Check the address of the server.",
            429: "The server limits requests; wait, then retry.",
        }.get(status, "")
        if 300 <= status < 400:
            hint = f"It redirects to {one_line(response.headers.get('location'))[:200]}."
        text = f": {message}" if message else ""
        raise HttpRefused(
            f"MCP server {name} answered with status {status}{text}", status=status, hint=hint
        )

    def deliver(self, data: bytes) -> Any:
        """Pass a message on. Returns it; ``None`` if it is not JSON."""
        if not data.strip():
            return None  # an event with only an id, from which a stream can be resumed
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            self._peer.log(f"Not a message: {one_line(data[:200].decode('utf-8', 'replace'))}")
            return None
        self._peer.receive(message)
        return message

    async def stop(self) -> None:
        """Cancel all exchanges."""
        tasks = [*self._running.values(), *self._streams]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


class StreamableTransport(_Http):
    """The streamable HTTP transport."""

    era: Era | None = None

    def __init__(self, link: HttpLink, scope: Scope) -> None:
        super().__init__(link, scope)
        self._version = ""
        self._session = ""
        self._retry_ms = DEFAULT_RETRY_MS

    async def open(self, peer: Peer) -> None:
        """Set the receiver; nothing is sent before the first message."""
        self._peer = peer

    def connected(self, info: ServerInfo) -> None:
        """Store the version, which is sent from now on."""
        self._version = info.version

    async def send(self, message: Json, *, schema: Json | None = None) -> None:
        """Send a message. The answer to a request is passed to the peer later."""
        if "method" in message and "id" in message:
            id = message["id"]
            task = self._scope.spawn(self._exchange(id, message, schema), name=message["method"])
            self._running[id] = task
            task.add_done_callback(lambda _: self._running.pop(id, None))
            return
        try:
            await self._post(None, message, None)
        except HttpError as error:
            raise self.lost(error) from error
        if message.get("method") == "notifications/initialized":
            self._streams.append(self._scope.spawn(self._listen(), name="GET stream"))

    def abandon(self, id: int) -> bool:
        """Close the stream of a request, which cancels it at modern servers."""
        task = self._running.get(id)
        if task is not None:
            task.cancel()
        return self._version == protocol.MODERN

    async def close(self) -> None:
        """End all streams, and the session."""
        await self.stop()
        if not self._session:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                headers = await self._headers(None, None)
                async with self.stream(self._link.url, "DELETE", headers):
                    pass
        except (PiError, TimeoutError):
            pass  # the server ends the session by itself

    async def _headers(self, message: Json | None, schema: Json | None) -> dict[str, str]:
        headers = await self._link.headers()
        headers["Accept"] = "application/json, text/event-stream"
        params = (message or {}).get("params") or {}
        if f"{protocol.META}protocolVersion" in params.get("_meta", {}):
            assert message is not None
            headers["MCP-Protocol-Version"] = protocol.MODERN
            headers |= client_messages.routing_headers(message, schema)
        elif self._version:
            headers["MCP-Protocol-Version"] = self._version
        if self._version == protocol.MODERN and message is not None and "method" in message:
            headers.setdefault("Mcp-Method", message["method"])
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        return headers

    async def _exchange(self, id: int, message: Json, schema: Json | None) -> None:
        try:
            await self._post(id, message, schema)
        except McpError as error:
            self._peer.fail(id, error)
        except ProviderError as error:  # one event of a stream is too large
            dropped = AnswerDropped(f"MCP server {self._link.name}: {error.message}")
            self._peer.too_large(id, dropped)
        except PiError as error:
            self._peer.fail(id, self.lost(error))

    async def _post(self, id: int | None, message: Json, schema: Json | None) -> None:
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        for attempt in range(2):
            headers = await self._headers(message, schema)
            headers["Content-Type"] = "application/json"
            async with self.stream(self._link.url, "POST", headers, body) as response:
                if response.status == 401 and attempt == 0 and await self._link.renew():
                    continue
                await self.check(response, has_session=bool(self._session))
                if message.get("method") == "initialize":
                    self._session = response.headers.get(_SESSION)
                await self._read(id, response)
                return

    async def _read(self, id: int | None, response: Any) -> None:
        kind = response.headers.get("content-type").partition(";")[0].strip().lower()
        if kind != "text/event-stream":
            data = await self._body(response)
            if id is None:
                return
            if kind != "application/json" or self.deliver(data) is None:
                raise BadMessage(
                    f"MCP server {self._link.name} answered with {kind or 'no content type'}"
                    " instead of JSON.",
                    hint="Check the address of the server.",
                )
            return
        last, answered = await self._events(response, id)
        if id is not None and not answered:
            await self._resume(id, last)

    async def _body(self, response: Any) -> bytes:
        """The whole body. Raises ``AnswerDropped`` with its size if it is too large."""
        length = response.headers.get("content-length")
        if length.isdecimal() and int(length[:18]) > MAX_LINE:
            raise too_large(self._link.name, f"{int(length[:18]):,}")
        body: bytes = await response.read_prefix(MAX_LINE + 1)
        if len(body) > MAX_LINE:
            raise too_large(self._link.name, f"more than {MAX_LINE:,}")
        return body

    async def _events(self, response: Any, id: int | None) -> tuple[str, bool]:
        """Deliver the events of a stream. Returns the last id, and whether ``id`` was answered."""
        reader = SseReader()
        try:
            async for chunk in response.chunks():
                for _, data in reader.feed(chunk):
                    message = self.deliver(data)
                    if id is not None and _is_answer(message, id):
                        return reader.last_event_id, True
        except HttpError as error:
            if not reader.last_event_id:
                raise
            self._peer.log(f"A stream broke: {error.message}")
        if reader.retry is not None:
            self._retry_ms = reader.retry
        return reader.last_event_id, False

    async def _resume(self, id: int, last: str) -> None:
        """Resume a broken stream until the request is answered. Raises ``ServerClosed``."""
        attempts = MAX_RESUMES
        while last and self._version != protocol.MODERN and attempts > 0:
            attempts -= 1
            await asyncio.sleep(self._retry_ms / 1000)
            try:
                async with self._get(last, await self._headers(None, None)) as response:
                    await self.check(response, has_session=bool(self._session))
                    newest, answered = await self._events(response, id)
            except HttpError as error:
                self._peer.log(f"A stream could not be continued: {error.message}")
                continue
            if answered:
                return
            if newest and newest != last:
                last, attempts = newest, MAX_RESUMES
        raise ServerClosed(
            f"MCP server {self._link.name} closed the connection before it answered.",
            hint="Retry; what the call has changed is unknown.",
        )

    def _get(self, last: str, headers: dict[str, str]) -> Any:
        headers["Accept"] = "text/event-stream"
        if last:
            headers["Last-Event-ID"] = last
        return self.stream(self._link.url, "GET", headers)

    async def _listen(self) -> None:
        """Receive requests and notifications of the server; many servers have no such stream."""
        last, failures = "", 0
        while failures < MAX_RESUMES:
            try:
                async with self._get(last, await self._headers(None, None)) as response:
                    kind = response.headers.get("content-type")
                    if response.status != 200 or "text/event-stream" not in kind:
                        return
                    newest, _ = await self._events(response, None)
                failures = 0 if newest != last else failures + 1
                last = newest or last
            except PiError as error:
                failures += 1
                self._peer.log(f"The GET stream broke: {error.message}")
            await asyncio.sleep(self._retry_ms / 1000 * (failures + 1))


class SseTransport(_Http):
    """The HTTP transport of 2024-11-05: a GET stream, and the address that it names for POST."""

    era: Era | None = "handshake"

    def __init__(self, link: HttpLink, scope: Scope) -> None:
        super().__init__(link, scope)
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self, peer: Peer) -> None:
        """Open the stream and wait for the address."""
        self._peer = peer
        self._streams.append(self._scope.spawn(self._listen(), name="SSE stream"))
        await self._endpoint

    def connected(self, info: ServerInfo) -> None:
        """Do nothing: the version is not sent."""

    def abandon(self, id: int) -> bool:
        """Return False: the server has to be notified."""
        return False

    async def send(self, message: Json, *, schema: Json | None = None) -> None:
        """Send a message; answers arrive on the stream. Raises ``McpError``."""
        headers = await self._link.headers()
        headers["Content-Type"] = "application/json"
        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        try:
            async with self.stream(await self._endpoint, "POST", headers, body) as response:
                await self.check(response)
        except HttpError as error:
            raise self.lost(error) from error

    async def close(self) -> None:
        """End the stream."""
        self._endpoint.cancel()
        await self.stop()

    async def _listen(self) -> None:
        error: McpError
        try:
            for attempt in range(2):
                headers = await self._link.headers()
                headers["Accept"] = "text/event-stream"
                async with self.stream(self._link.url, "GET", headers) as response:
                    if response.status == 401 and attempt == 0 and await self._link.renew():
                        continue
                    await self.check(response)
                    await self._events(response)
                break
            error = ServerClosed(f"MCP server {self._link.name} closed its stream.")
        except McpError as failed:
            error = failed
        except PiError as failed:
            error = self.lost(failed)
        if self._endpoint.done():
            self._peer.fail(None, error)
        else:
            self._endpoint.set_exception(error)

    async def _body(self, response: Any) -> bytes:
        """The whole body. Raises ``AnswerDropped`` with its size if it is too large."""
        length = response.headers.get("content-length")
        if length.isdecimal() and int(length[:18]) > MAX_LINE:
            raise too_large(self._link.name, f"{int(length[:18]):,}")
        body: bytes = await response.read_prefix(MAX_LINE + 1)
        if len(body) > MAX_LINE:
            raise too_large(self._link.name, f"more than {MAX_LINE:,}")
        return body

    async def _events(self, response: Any) -> None:
        reader = SseReader()
        async for chunk in response.chunks():
            for name, data in reader.feed(chunk):
                if name == "endpoint":
                    self._set_endpoint(data.decode("utf-8", "replace"))
                else:
                    self.deliver(data)

    def _set_endpoint(self, path: str) -> None:
        """Use the address for POST. Raises ``BadMessage`` if it is on another server."""
        url = urljoin(self._link.url, path)
        if urlsplit(url)[:2] != urlsplit(self._link.url)[:2]:
            raise BadMessage(
                f"MCP server {self._link.name} names an address on another server: {one_line(url)}"
            )
        if not self._endpoint.done():
            self._endpoint.set_result(url)


def _is_answer(message: Any, id: int) -> bool:
    """Whether a message, or one of a batch, answers the request."""
    messages = message if isinstance(message, list) else [message]
    return any(
        isinstance(message, dict) and "method" not in message and str(message.get("id")) == str(id)
        for message in messages
    )


def _rpc_error(body: bytes) -> Any:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message.get("error") if isinstance(message, dict) and "jsonrpc" in message else None
