"""One server that all sessions of the process share: its connection, its lists, its log."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from pi.batteries.mcp import client_messages, server_messages
from pi.batteries.mcp.client import Client, Progress
from pi.batteries.mcp.definitions import Configured, Definition
from pi.batteries.mcp.interaction import Interaction, roots
from pi.batteries.mcp.lists import Lists, ServerLists
from pi.batteries.mcp.protocol import (
    Era,
    HttpRefused,
    LoginNeeded,
    McpError,
    RpcError,
    ServerClosed,
    ServerInfo,
    SessionExpired,
    ToolInfo,
)
from pi.batteries.mcp.transport import (
    EXIT_SECONDS,
    EXIT_SECONDS_UNATTENDED,
    StdioTransport,
    Transport,
)
from pi.extension import ExtensionAPI, Json, Scope, neutralise

State: TypeAlias = Literal["idle", "starting", "ready", "failed", "login"]
MAX_LOG = 200
"""Lines of the log that are kept."""
START_SECONDS = 60.0
"""Default start timeout: ``npx`` and ``uvx`` may download the server first."""
REQUEST_SECONDS = 300.0


class ServerUser(Protocol):
    """A session that uses servers."""

    pi: ExtensionAPI
    interaction: Interaction
    """Answers the requests of servers."""

    @property
    def logins(self) -> Any:
        """The access tokens of the session."""

    async def expand(self, configured: Configured) -> Definition:
        """The definition with all values expanded. Raises ``McpError``."""

    def changed(self, server: McpServer) -> None:
        """Called when the state or the lists of a server changed."""

    def updated(self, server: McpServer, uri: str) -> None:
        """Called when a subscribed resource changed."""

    async def store(self, server: McpServer) -> None:
        """Store the lists of a server."""


class McpServer:
    """A configured server. The first use starts it, also after a failure."""

    def __init__(self, configured: Configured, scope: Scope, version: str) -> None:
        self.configured = configured
        self.name = configured.name
        self.version = version
        self.state: State = "idle"
        self.error: McpError | None = None
        self.info: ServerInfo | None = None
        self.lines: deque[str] = deque(maxlen=MAX_LOG)
        self._scope = scope
        self._client: Client | None = None
        self._lock = asyncio.Lock()
        self._announced: tuple[Path, ...] = ()
        """The roots that were current when the server connected or was last notified."""
        self.users = ServerUsers(self)
        self.link = ServerLink(self)
        self.offer = ServerLists(self, self.users)
        scope.on_close(self.disconnect)

    @property
    def is_remote(self) -> bool:
        """Whether the server is reached over HTTP."""
        return self.configured.definition.transport != "stdio"

    # The connection -------------------------------------------------------------------------------

    async def ready(self) -> Client:
        """The connection; starts the server if necessary. Raises ``McpError``."""
        async with self._lock:
            return self._client or await self._connect()

    async def complete_lists(self) -> Lists:
        """All lists; prompts and resources arrive after the tools. Raises ``McpError``."""
        await self.ready()
        return await self.offer.complete()

    async def disconnect(self) -> None:
        """End the connection and the program."""
        client, self._client = self._client, None
        self.offer.disconnect()
        if client is not None:
            await client.close()
        if self.state in ("ready", "starting"):
            self._enter("idle")

    async def reconnect(self) -> None:
        """End the connection and connect again. Raises ``McpError``."""
        await self.disconnect()
        await self.ready()

    async def _connect(self) -> Client:
        self._enter("starting")
        client: Client | None = None
        try:
            self.link.values = values = await self.users.acting.expand(self.configured)
            client = await self._negotiate(values)
            assert client.info is not None
            self.info = client.info
            self._announced = self.users.folders
            self._client = client
            await self.offer.connect(client)
        except BaseException as error:
            self._client = None
            if client is not None:
                await client.close()
            if isinstance(error, McpError):
                self._fail(error)
            else:
                self._enter("idle")
            raise
        self._enter("ready")
        return client

    async def _negotiate(self, values: Definition) -> Client:
        """A connected client, over the first transport and era that work."""
        wait = start_timeout(values, self.users.acting.pi.context.environ)
        known_era = self._known_era()
        attempts: list[tuple[Callable[[], Transport], Era | None]] = []
        if values.transport == "stdio":
            attempts.append((self._stdio, known_era))
            # A program of the handshake era may exit on an unknown request.
            attempts.append((self._stdio, "handshake"))
        else:
            from pi.batteries.mcp.http import SseTransport, StreamableTransport  # HTTP only

            def streamable() -> Transport:
                return StreamableTransport(self.link, self._scope)

            def two_streams() -> Transport:
                return SseTransport(self.link, self._scope)

            if values.transport == "http":
                attempts.append((streamable, known_era))
            if values.transport == "sse" or values.fallback_to_sse:
                attempts.append((two_streams, "handshake"))
        for number, (make, era) in enumerate(attempts, start=1):
            client = Client(self, make())
            try:
                await client.connect(era, wait)
                return client
            except BaseException as error:
                await client.close()
                if number == len(attempts) or not _worth_another(error, era):
                    raise
        raise AssertionError("there is always an attempt")

    def _known_era(self) -> Era | None:
        """The era of the last connection, from this process or the cache; ``None`` if unknown."""
        if self.info is not None:
            return self.info.era
        return self.offer.current.era if self.offer.is_known else None

    def _stdio(self) -> Transport:
        values, user = self.link.values, self.users.acting
        assert values is not None

        async def start(scope: Scope) -> Any:
            return await user.pi.spawn(
                values.command, env=values.env, cwd=values.cwd or None, scope=scope, kind="mcp"
            )

        seconds = EXIT_SECONDS if user.pi.context.has_ui else EXIT_SECONDS_UNATTENDED
        scope = self._scope.inner("program")
        return StdioTransport(self.name, start, scope, exit_seconds=seconds)

    # Requests -------------------------------------------------------------------------------------

    async def call(
        self, tool: ToolInfo, arguments: Json, user: ServerUser, progress: Progress | None
    ) -> Json:
        """The result of a tool. Raises ``McpError``."""
        params = {"name": tool.name, "arguments": arguments}
        options: Json = {"progress": progress, "schema": tool.input_schema}
        return await self.ask("tools/call", params, user, **options)

    async def ask(self, method: str, params: Json, user: ServerUser, **options: Any) -> Json:
        """The result of a request; ``user`` answers requests of the server meanwhile.

        Raises ``McpError``.
        """
        with self.users.calling(user):
            return await self._call_reconnecting(
                lambda client: client.interactive(
                    method,
                    params,
                    ask=partial(user.interaction.answer, self.name),
                    timeout=request_timeout(self.configured.definition, user.pi.context.environ),
                    **options,
                )
            )

    async def _call_reconnecting(self, act: Callable[[Client], Awaitable[Json]]) -> Json:
        """Call ``act``; once more with a new connection if the HTTP session has expired."""
        for attempt in range(2):
            client = await self.ready()
            try:
                return await act(client)
            except SessionExpired as error:
                self.log(error.message)
                if self._client is client:
                    await self.disconnect()
                if attempt:
                    raise
            except LoginNeeded as error:
                self._fail(error)
                raise
        raise AssertionError("the second attempt returns or raises")

    async def subscribe(self, uri: str) -> bool:
        """Subscribe to changes of a resource. Returns False if the server does not support it."""
        return await self.offer.subscribe(await self.ready(), uri)

    def roots_changed(self) -> None:
        """Notify the server if the folders of its sessions have changed."""
        folders, client = self.users.folders, self._client
        if client is None or not folders or folders == self._announced:
            return  # without a session there are no roots; the next session compares again
        self._announced = folders
        assert client.info is not None
        if client.info.era == "handshake":  # 2026-07-28 has no such notification
            self.spawn(client.notify_roots(), "roots")

    # ClientHost -----------------------------------------------------------------------------------

    def capabilities(self) -> Json:
        """The capabilities of the client."""
        return client_messages.client_capabilities(has_ui=self.users.acting.pi.context.has_ui)

    async def answer(self, method: str, params: Json) -> Json:
        """The answer to a request of the server. Raises ``RpcError``."""
        user = self.users.acting
        if method == "roots/list":
            # Sessions share the connection: its roots are those of all its sessions.
            return {"roots": [root for folder in self.users.folders for root in roots(folder)]}
        return await user.interaction.answer(self.name, method, params)

    def notified(self, method: str, params: Json) -> None:
        """Handle a notification of the server."""
        match method.split("/"):
            case ["notifications", ("tools" | "prompts" | "resources") as kind, "list_changed"]:
                self.offer.changed(kind)
            case ["notifications", "resources", "updated"]:
                self.users.updated(str(params.get("uri", "")))
            case ["notifications", "message"]:
                data = params.get("data")
                text = data if isinstance(data, str) else server_messages.compact(data)
                self.log(f"{params.get('level', 'info')}: {text}")
            case _:
                pass  # acknowledgements, and unknown notifications

    def lost(self, error: McpError) -> None:
        """Handle the loss of the connection."""
        client, self._client = self._client, None
        self.offer.disconnect()
        if self.is_remote and not self.users.are_calling:
            # Servers and proxies drop idle streams; the next call connects again.
            self.log(error.message)
            self._enter("idle")
        else:
            self._fail(error)
        if client is not None:
            self.spawn(client.close(), "close")

    def log(self, text: str) -> None:
        """Add a line to the log."""
        self.lines.append(neutralise(text)[:2000])

    @property
    def is_closed(self) -> bool:
        """Whether the scope of the server is closed, so that no task can be started."""
        return self._scope.closed

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run a task that ends with the server."""
        return self._scope.spawn(work, name=f"{self.name}: {name}")

    # State ----------------------------------------------------------------------------------------

    def _fail(self, error: McpError) -> None:
        self.error = error
        self.log(error.message)
        self._enter("login" if isinstance(error, LoginNeeded) else "failed")

    def _enter(self, state: State) -> None:
        self.state = state
        if state == "ready":
            self.error = None
        self.users.publish()


class ServerUsers:
    """The sessions of one server."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self._attached: list[ServerUser] = []
        self._folders: list[Path] = []
        """Working directories of the sessions; stored, because an ending session has no context."""
        self._callers: list[ServerUser] = []
        """Sessions with a request in progress; the last one answers requests of the server."""

    def attach(self, user: ServerUser) -> Callable[[], None]:
        """Add a session. Returns a function that removes it."""
        folder = user.pi.context.cwd
        self._attached.append(user)
        self._folders.append(folder)
        self._server.roots_changed()

        def detach() -> None:
            if user in self._attached:
                self._attached.remove(user)
                self._folders.remove(folder)
                self._server.roots_changed()

        return detach

    @property
    def acting(self) -> ServerUser:
        """The session that acts for the server: the last one with a request, else the newest.

        Raises ``ServerClosed`` if there is none.
        """
        if not self._callers and not self._attached:
            raise ServerClosed(f"No session uses MCP server {self._server.name} any more.")
        return self._callers[-1] if self._callers else self._attached[-1]

    @property
    def are_calling(self) -> bool:
        """Whether a request is in progress."""
        return bool(self._callers)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The working directories of the sessions: the roots of the server."""
        return tuple(dict.fromkeys(self._folders))

    def has_only(self, user: ServerUser) -> bool:
        """Whether no other session uses the server."""
        return all(attached is user for attached in self._attached)

    @contextmanager
    def calling(self, user: ServerUser) -> Iterator[None]:
        """Let a session act for the server during its request."""
        self._callers.append(user)
        try:
            yield
        finally:
            self._callers.remove(user)

    def debounce(self) -> float:
        """Seconds in which notifications of the server are collected."""
        if not self._attached:
            return 0.0
        return float(self.acting.pi.settings.get("mcp.notificationDebounceMs")) / 1000

    def publish(self) -> None:
        """Notify all sessions that the state or the lists of the server changed."""
        for user in tuple(self._attached):
            user.changed(self._server)

    async def listed(self) -> None:
        """Notify all sessions of changed lists, and store the lists."""
        self.publish()
        if self._attached:
            await self.acting.store(self._server)

    def updated(self, uri: str) -> None:
        """Notify all sessions that a subscribed resource changed."""
        for user in tuple(self._attached):
            user.updated(self._server, uri)


class ServerLink:
    """Implements ``HttpLink``: HTTP through an open session, with its access tokens."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        self.name = server.name
        self.values: Definition | None = None
        """The definition with expanded values; ``None`` before the first start."""

    @property
    def url(self) -> str:
        """The address."""
        return (self.values or self._server.configured.definition).url

    @property
    def http(self) -> Any:
        """``pi.http`` of an open session."""
        return self._server.users.acting.pi.http

    async def headers(self) -> dict[str, str]:
        """Configured headers, and the access token if there is one."""
        configured: Mapping[str, str] = self.values.headers if self.values is not None else {}
        if any(name.lower() == "authorization" for name in configured):
            return dict(configured)
        tokens: dict[str, str] = await self._server.users.acting.logins.headers(self._server)
        return {**configured, **tokens}

    async def renew(self) -> bool:
        """Renew the access token after status 401. Returns whether that succeeded."""
        renewed: bool = await self._server.users.acting.logins.renew(self._server)
        return renewed


def _worth_another(error: BaseException, era: Era | None) -> bool:
    """Whether another transport or era may work after this error."""
    if isinstance(error, LoginNeeded):
        return False
    if isinstance(error, HttpRefused):
        return error.status < 500
    return isinstance(error, ServerClosed | RpcError) and era != "handshake"


def start_timeout(definition: Definition, environ: Mapping[str, str]) -> float:
    """Seconds from the start of a server to its first answer."""
    if definition.start_timeout:
        return definition.start_timeout
    return _milliseconds(environ, ("MCP_TIMEOUT",)) or START_SECONDS


def request_timeout(definition: Definition, environ: Mapping[str, str]) -> float | None:
    """Time limit of one request without progress, in seconds; ``None`` without a limit."""
    seconds = _milliseconds(environ, ("PI_MCP_TIMEOUT_MS", "OMP_MCP_TIMEOUT_MS"))
    if seconds is None:
        seconds = definition.timeout
    if seconds is None:
        return REQUEST_SECONDS
    return seconds or None


def invalid_limits(environ: Mapping[str, str]) -> list[str]:
    """The variables of time limits whose value is no number of milliseconds, as ``NAME=value``."""
    names = ("MCP_TIMEOUT", "PI_MCP_TIMEOUT_MS", "OMP_MCP_TIMEOUT_MS")
    values = [(name, environ.get(name, "")) for name in names]
    return [f"{name}={value}" for name, value in values if value and not value.isdecimal()]


def _milliseconds(environ: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        text = environ.get(name, "")
        if text.isdecimal():
            return int(text) / 1000
    return None
