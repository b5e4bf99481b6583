"""The ACP server: the methods of the agent, and the sessions of one client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.ai.messages import Json
from pi.base.tasks import TaskScope
from pi.coding.session.errors import NoMatchingSession, SessionNotFound
from pi.modes.acp.connection import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Connection,
    RequestFailed,
)
from pi.modes.acp.dialogs import OpenCalls
from pi.modes.acp.params import Client, directory_param, mcp_settings, prompt_input, text_param
from pi.modes.acp.run_result import RunFailures
from pi.modes.acp.session import AcpSession, OpenRequest, SessionSource
from pi.modes.stdio import Output
from pi.version import __version__

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort
    from pi.coding.session.catalog import ListedSession

log = logging.getLogger(__name__)

PROTOCOL_VERSION = 1
PAGE = 100
"""Sessions in one answer of ``session/list``."""
LOGIN, TERMINAL_LOGIN = "pi-login", "pi-terminal-login"
LOGIN_HINT = "Run `pi auth login` in a terminal, or set the API key of a provider."

Method: TypeAlias = Callable[[Json], Awaitable[Any]]


class AcpServer:
    """Answers the requests of one client, until its input ends."""

    def __init__(self, source: SessionSource, output: Output) -> None:
        self._source = source
        self._connection = Connection(output, self._handle, self._handle_notification)
        self._client: Client | None = None
        self._sessions: dict[str, AcpSession] = {}
        self._scope = TaskScope(report=_report)
        self._methods: dict[str, Method] = {
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/delete": self._delete,
            "session/close": self._close,
            "session/fork": self._fork,
            "session/prompt": self._prompt,
            "session/steering": self._steering,
            "_session/steering": self._steering,  # the SDKs mark extensions so
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
        }

    async def run(self, chunks: AsyncIterator[bytes]) -> None:
        """Run until the input ends; then all sessions are aborted and closed."""
        try:
            async with self._scope:
                await self._connection.run(chunks)
        finally:
            self._connection.close()
            sessions = [self._sessions.pop(id) for id in tuple(self._sessions)]
            await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)

    async def _handle(self, method: str, params: Json) -> Any:
        if method == "initialize":
            return self._initialize(params)
        if (work := self._methods.get(method)) is None:
            raise RequestFailed(METHOD_NOT_FOUND, f"Unknown method: {method}")
        if self._client is None:
            raise RequestFailed(INVALID_REQUEST, "The first request must be initialize")
        return await work(params)

    def _handle_notification(self, method: str, params: Json) -> None:
        if method == "session/cancel":
            session = self._session(params)
            self._scope.start(session.cancel(), name="acp session/cancel")
        elif not method.startswith(("$/", "_")):
            log.warning("unknown notification %s", method)

    # Connection -----------------------------------------------------------------------------------

    def _initialize(self, params: Json) -> Json:
        if not isinstance(params.get("protocolVersion"), int):
            raise RequestFailed(INVALID_PARAMS, 'The field "protocolVersion" must be a number')
        self._client = Client.of(params)
        methods: list[Json] = [
            {"id": LOGIN, "name": "Log in with pi", "description": LOGIN_HINT},
        ]
        if self._client.terminal_login:
            methods.append(
                {
                    "id": TERMINAL_LOGIN,
                    "type": "terminal",
                    "name": "Log in in a terminal",
                    "description": "Choose a provider and log in, or store an API key.",
                    "args": ["auth", "login"],
                }
            )
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "pi", "title": "pi", "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "sessionCapabilities": {
                    "list": {},
                    "delete": {},
                    "resume": {},
                    "fork": {},
                    "close": {},
                },
            },
            "authMethods": methods,
            "_meta": {"steering": {"supported": True}},
        }

    async def _authenticate(self, params: Json) -> Json:
        """Succeeds once the user has logged in: the agent itself never asks for a secret."""
        if text_param(params, "methodId") not in (LOGIN, TERMINAL_LOGIN):
            raise RequestFailed(INVALID_PARAMS, f"Unknown method {params['methodId']}")
        if not await self._source.has_credentials():
            raise RequestFailed(AUTH_REQUIRED, "No provider is logged in.", hint=LOGIN_HINT)
        return {}

    # Sessions -------------------------------------------------------------------------------------

    async def _new(self, params: Json) -> Json:
        session, start = await self._open(params, None)
        if session.port.models.current is None:
            del self._sessions[session.id]
            await session.close()
            raise RequestFailed(AUTH_REQUIRED, "No model is available.", hint=LOGIN_HINT)
        return {"sessionId": session.id, **self._begin(session, start)}

    async def _load(self, params: Json) -> Json:
        session, start = await self._open(params, text_param(params, "sessionId"))
        session.replay()
        return self._begin(session, start)

    async def _resume(self, params: Json) -> Json:
        session, start = await self._open(params, text_param(params, "sessionId"))
        session.entries.skip()
        return self._begin(session, start)

    async def _fork(self, params: Json) -> Json:
        session, start = await self._open(params, text_param(params, "sessionId"), forks=True)
        return {"sessionId": session.id, **self._begin(session, start)}

    async def _open(
        self, params: Json, id: str | None, *, forks: bool = False
    ) -> tuple[AcpSession, Callable[[], Awaitable[None]]]:
        assert self._client is not None
        if (
            id is not None
            and not forks
            and (open_session := self._sessions.pop(id, None)) is not None
        ):
            await open_session.close()  # the client shows it anew, for example after a reload
        extensions, bridge, calls, failures = [], None, OpenCalls(), RunFailures()
        if self._client.edits:
            from pi.modes.acp.editor import EditorBridge  # lazy: few sessions start a terminal

            sessions: list[AcpSession] = []
            bridge = EditorBridge(
                self._connection,
                self._client,
                lambda call, terminal: sessions[0].show_terminal(call, terminal),
            )
            extensions.append(bridge.extension)
        request = OpenRequest(
            cwd=directory_param(params),
            session_id=id,
            forks=forks,
            settings=mcp_settings(params),
            extensions=tuple(extensions),
            policies=(calls, failures),
        )
        try:
            opened = await self._source.open(request)
        except (NoMatchingSession, SessionNotFound) as error:
            raise RequestFailed(RESOURCE_NOT_FOUND, error.message, hint=error.hint) from error
        port: SessionPort = opened.port
        session = AcpSession(opened.id, port, self._connection, self._client, calls, failures)
        if bridge is not None:
            sessions.append(session)
            bridge.bind(opened.id, port)
        port.extensions.attach(session.ui, "rpc")
        self._sessions[opened.id] = session
        return session, opened.start

    def _begin(self, session: AcpSession, start: Callable[[], Awaitable[None]]) -> Json:
        """Start a session after the answer: this task writes it before it yields again."""
        self._scope.start(session.begin(start), name="acp session start")
        return session.choices.state()

    async def _list(self, params: Json) -> Json:
        cwd, cursor = params.get("cwd"), params.get("cursor")
        folder = Path(cwd) if isinstance(cwd, str) else None
        first = int(cursor) if isinstance(cursor, str) and cursor.isdecimal() else 0
        listed = await self._source.listed(folder)
        answer: Json = {
            "sessions": [_session_json(session) for session in listed[first : first + PAGE]]
        }
        if len(listed) > first + PAGE:
            answer["nextCursor"] = str(first + PAGE)
        return answer

    async def _delete(self, params: Json) -> Json:
        id = text_param(params, "sessionId")
        if (session := self._sessions.pop(id, None)) is not None:
            await session.close()
        await self._source.delete(id)  # the protocol: deleting what is gone succeeds
        return {}

    async def _close(self, params: Json) -> Json:
        session = self._session(params)
        del self._sessions[session.id]
        await session.close()
        return {}

    # Within a session -----------------------------------------------------------------------------

    async def _prompt(self, params: Json) -> Json:
        return await self._session(params).prompt(prompt_input(params))

    async def _steering(self, params: Json) -> Json:
        id = params.get("messageId")
        message_id = id if isinstance(id, str) else None
        return await self._session(params).steer(prompt_input(params), message_id)

    async def _set_mode(self, params: Json) -> Json:
        await self._session(params).set_mode(text_param(params, "modeId"))
        return {}

    async def _set_config_option(self, params: Json) -> Json:
        id = text_param(params, "configId")
        options = await self._session(params).set_option(id, params.get("value"))
        return {"configOptions": options}

    def _session(self, params: Json) -> AcpSession:
        id = text_param(params, "sessionId")
        if (session := self._sessions.get(id)) is None:
            raise RequestFailed(RESOURCE_NOT_FOUND, f"No open session has the id {id}")
        return session


def _session_json(session: ListedSession) -> Json:
    summary = session.summary
    updated = datetime.fromtimestamp(summary.active_ms / 1000, UTC)
    return {
        "sessionId": summary.id,
        "cwd": summary.cwd or "/",
        "title": summary.name or summary.first_message or None,
        "updatedAt": updated.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def _report(name: str, error: BaseException) -> None:
    log.error("%s failed", name, exc_info=error)
