"""A Jupyter gateway: REST to create and delete kernels, a WebSocket to run cells."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import uuid
from typing import TYPE_CHECKING, Any

from pi.batteries.python_kernel.kernel import (
    Frame,
    KernelDied,
    KernelPool,
    KernelUnavailable,
    OnFrame,
)
from pi.extension import (
    HttpError,
    Scope,
    install_hint,
)

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


log = logging.getLogger(__name__)


GATEWAY_SECONDS = 20.0
MAX_GATEWAY_MESSAGE = 64 * 1024 * 1024
DEAD = ("restarting", "autorestarting", "dead")
GONE = "The Python kernel of the gateway died; its variables are lost."
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def start_code(cwd: str, variables: dict[str, str]) -> str:
    """Return code that sets the working directory, if it exists there, and variables."""
    return f"""\
import os as _os, sys as _sys
if _os.path.isdir({cwd!r}):
    _os.chdir({cwd!r})
_os.environ.update({variables!r})
if _os.getcwd() not in _sys.path:
    _sys.path.insert(0, _os.getcwd())
del _os, _sys
"""


class Gateway:
    """The REST interface of one gateway."""

    def __init__(self, pool: KernelPool, url: str, token: str) -> None:
        self._pool = pool
        self.url = url
        self.headers = {"Authorization": f"token {token}"} if token else {}

    async def create(self) -> str:
        """Start a kernel; returns its id. Raises ``KernelUnavailable``."""
        await self._request("GET", "/api/kernelspecs")  # checks reachability and the token
        created = json.loads(await self._request("POST", "/api/kernels", b"{}"))
        return str(created["id"])

    async def interrupt(self, id: str) -> None:
        """Interrupt a kernel."""
        await self._request("POST", f"/api/kernels/{id}/interrupt", b"{}")

    async def delete(self, id: str) -> None:
        """End a kernel."""
        await self._request("DELETE", f"/api/kernels/{id}")

    async def _request(self, method: str, path: str, body: bytes = b"") -> bytes:
        headers = {**self.headers, "Content-Type": "application/json"}
        try:
            async with asyncio.timeout(GATEWAY_SECONDS):
                response = await self._pool.http().request(
                    f"{self.url}{path}", method=method, headers=headers, body=body
                )
        except (HttpError, TimeoutError) as error:
            reason = "timed out" if isinstance(error, TimeoutError) else error.message
            raise KernelUnavailable(
                f"The Python gateway {self.url} cannot be reached: {reason}",
                hint="Check PI_PYTHON_GATEWAY_URL, and that the gateway runs.",
            ) from error
        if response.status in (401, 403):
            raise KernelUnavailable(
                f"The Python gateway {self.url} refused the request ({response.status}).",
                hint="Set PI_PYTHON_GATEWAY_TOKEN to the token of the gateway.",
            )
        if response.status >= 400:
            text = response.body.decode("utf-8", "replace")[:500].strip()
            raise KernelUnavailable(
                f"The Python gateway {self.url} failed ({response.status}): {text}"
            )
        received: bytes = response.body
        return received


class GatewayConnection:
    """One kernel of a gateway."""

    def __init__(self, gateway: Gateway, scope: Scope, *, traced: bool = False) -> None:
        self._gateway = gateway
        self._scope = scope
        self._traced = traced
        self._id = ""
        self._socket: ClientConnection | None = None
        self._session = uuid.uuid4().hex

    @property
    def is_alive(self) -> bool:
        """Whether the connection is open."""
        # The protocol's state 1 is OPEN. Its enum would need an import of websockets.
        return self._socket is not None and self._socket.protocol.state == 1

    async def open(self) -> None:
        """Create the kernel and connect to its channels."""
        try:
            from websockets.asyncio.client import connect
            from websockets.exceptions import WebSocketException
        except ImportError as error:
            raise KernelUnavailable(
                "A Python gateway needs the package websockets.", hint=install_hint("codex")
            ) from error
        self._id = await self._gateway.create()
        url = re.sub("^http", "ws", self._gateway.url)
        try:
            self._socket = await connect(
                f"{url}/api/kernels/{self._id}/channels?session_id={self._session}",
                additional_headers=self._gateway.headers,
                max_size=MAX_GATEWAY_MESSAGE,
                open_timeout=GATEWAY_SECONDS,
            )
        except (OSError, TimeoutError, WebSocketException) as error:
            raise KernelUnavailable(
                f"The channels of the Python gateway {url} cannot be opened: {error}."
            ) from error

    async def execute(self, code: str, name: str, on_frame: OnFrame) -> str:
        """Run code and return its status, when the kernel is idle again."""
        from websockets.exceptions import ConnectionClosed  # deferred: an optional dependency

        content = {"code": code, "silent": False, "store_history": not name, "allow_stdin": True}
        status, is_idle = "", False
        try:
            id = await self._send("execute_request", content)
            while True:
                message = self._trace("from", json.loads(await self._receive()))
                kind, content = message["msg_type"], message.get("content", {})
                if kind == "status" and content.get("execution_state") in DEAD:
                    raise KernelDied(GONE)  # a restarted kernel has lost its variables
                if message.get("parent_header", {}).get("msg_id") != id:
                    continue
                if kind == "input_request":
                    await self._send("input_reply", {"value": "", "status": "ok"}, "stdin")
                if kind == "execute_reply":
                    status = _status(content)
                elif kind == "status":
                    is_idle = content.get("execution_state") == "idle"
                elif (frame := frame_of(kind, content)) is not None:
                    on_frame(frame)
                # Two channels: output may arrive after the reply, or the reply after "idle".
                if status and is_idle:
                    return status
        except ConnectionClosed as error:
            raise KernelDied(GONE) from error

    async def interrupt(self) -> None:
        """Interrupt by REST and on the control channel: gateways differ in what they support."""
        from websockets.exceptions import ConnectionClosed  # deferred: an optional dependency

        try:
            await self._gateway.interrupt(self._id)
            await self._send("interrupt_request", {}, "control")
        except (KernelUnavailable, ConnectionClosed) as error:
            log.warning("the Python gateway did not interrupt: %s", error)

    async def close(self) -> None:
        """Close the channels and delete the kernel."""
        socket, self._socket = self._socket, None
        id, self._id = self._id, ""
        if socket is not None:
            await socket.close()
        if id:
            try:
                await self._gateway.delete(id)
            except KernelUnavailable as error:
                log.warning("the Python kernel was not deleted: %s", error)

    async def _receive(self) -> str | bytes:
        assert self._socket is not None
        return await self._socket.recv()

    async def _send(self, kind: str, content: dict[str, Any], channel: str = "shell") -> str:
        assert self._socket is not None
        id = uuid.uuid4().hex
        header = {
            "msg_id": id,
            "msg_type": kind,
            "session": self._session,
            "username": "pi",
            "version": "5.3",
        }
        message = {
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
            "channel": channel,
            "buffers": [],
        }
        await self._socket.send(json.dumps(self._trace("to", message)))
        return id

    def _trace(self, direction: str, message: dict[str, Any]) -> dict[str, Any]:
        if self._traced:
            log.warning("Python gateway %s: %s", direction, json.dumps(message)[:2000])
        return message


def _status(reply: dict[str, Any]) -> str:
    if reply.get("status") == "ok":
        return "ok"
    is_interrupt = reply.get("ename") == "KeyboardInterrupt" or reply.get("status") == "aborted"
    return "interrupted" if is_interrupt else "error"


def frame_of(kind: str, content: dict[str, Any]) -> Frame | None:
    """Return a message of a Jupyter kernel as a frame; ``None`` if it has no output or request."""
    match kind:
        case "stream":
            return {"type": "stream", "text": content.get("text", "")}
        case "display_data" | "execute_result":
            return {"type": "display", "data": content.get("data", {})}
        case "error":
            text = _COLOURS.sub("", "\n".join(content.get("traceback", [])))
            return {"type": "error", "traceback": f"{text}\n"}
        case "input_request":
            return {"type": "input", "prompt": content.get("prompt", "")}
        case _:
            return None
