"""Creates kernels: Python or JavaScript, as a child process or through a Jupyter gateway."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pi.batteries.python_kernel.config import KernelConfig
from pi.batteries.python_kernel.kernel import (
    Connect,
    Frame,
    Kernel,
    KernelDied,
    KernelPool,
    KernelUnavailable,
    OnFrame,
    SetupCode,
)
from pi.batteries.python_kernel.process import (
    FOLDER,
    JAVASCRIPT_RUNNER,
    PYTHON_RUNNER,
    Interpreter,
    ProcessConnection,
    find_javascript,
    find_python,
    kernel_environment,
)
from pi.extension import (
    Child,
    ConsentRequest,
    ExtensionAPI,
    HttpError,
    PiError,
    ResourceItem,
    Scope,
    Where,
    install_hint,
)

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

log = logging.getLogger(__name__)

MODULES = "kernel modules"
"""Kind of the resources that run in every Python kernel before the first cell."""
NO_LOCAL_GATEWAY = "Shared Python gateway required; local gateways are disabled"


class Backend(Protocol):
    """Kernels of one language."""

    tool: str
    """The name of the tool, which is that of the language."""
    label: str

    def check(self) -> None:
        """Raise ``NoInterpreter`` if no kernel can be started."""

    async def prepare(self, cwd: Path) -> None:
        """Choose the interpreter for a folder. May ask the user for consent to project code."""

    def is_prepared(self, cwd: Path) -> bool:
        """Whether ``prepare`` would not ask the user."""

    def make(self, cwd: Path, scope: Scope, pool: KernelPool) -> Kernel:
        """Return a kernel that is not started yet. ``prepare`` must have been called."""

    def describe(self, cwd: Path) -> str:
        """Return the path of the interpreter, or the URL of the gateway. For the user."""


class PythonBackend:
    """Python: an interpreter of the user or the project, or a Jupyter gateway."""

    tool, label = "python", "Python"

    def __init__(self, pi: ExtensionAPI, config: KernelConfig) -> None:
        self._pi = pi
        self._config = config
        self._interpreters: dict[Path, Interpreter] = {}
        self._setup: Sequence[SetupCode] = ()
        pi.context.resources.add_kind(MODULES, _parse_module, lambda module: module.name)
        pi.context.resources.add_source(MODULES, _project_modules, priority=1)
        pi.context.resources.add_source(MODULES, _user_modules)

    def check(self) -> None:
        """Raise ``NoInterpreter`` if there is no interpreter."""
        if not self._config.gateway_url:
            self._find(self._pi.context.cwd, allows_project=True)

    def is_prepared(self, cwd: Path) -> bool:
        """Whether no code of the project is involved, or the user has decided about it."""
        if cwd in self._interpreters:
            return True
        modules = self._pi.context.resources.load(MODULES)
        projects = [module for module in modules if module.scope == "project"]
        interpreter = None if self._config.gateway_url else self._find(cwd, allows_project=True)
        return not projects and (interpreter is None or not interpreter.is_project)

    async def prepare(self, cwd: Path) -> None:
        """Choose the interpreter and the modules; asks the user about those of the project."""
        if not self._config.shared_gateway:
            raise KernelUnavailable(NO_LOCAL_GATEWAY, hint="Remove python.sharedGateway.")
        if cwd in self._interpreters:
            return
        self._setup = await self._allowed_setup()
        if self._config.gateway_url:
            self._interpreters[cwd] = Interpreter(path=self._config.gateway_url)
            return
        ctx = self._pi.context
        interpreter = self._find(cwd, allows_project=ctx.is_project_trusted())
        if interpreter.is_project and not await ctx.consent.allowed(
            [interpreter.consent_request()]
        ):
            interpreter = self._find(cwd, allows_project=False)
        self._interpreters[cwd] = interpreter

    def make(self, cwd: Path, scope: Scope, pool: KernelPool) -> Kernel:
        """Return a kernel of the interpreter or the gateway."""
        if self._config.gateway_url:
            gateway = _Gateway(pool, self._config.gateway_url, self._config.gateway_token)
            begin = SetupCode(name="start", code=_start_code(str(cwd), self._gateway_variables()))
            return Kernel(
                lambda inner: _GatewayConnection(gateway, inner, traced=self._config.traced),
                scope,
                label=self.label,
                setup=(begin, *self._setup),
            )
        interpreter = self._interpreters[cwd]
        environ = kernel_environment(self._pi.context.command_environ, interpreter)
        command = (interpreter.path, str(PYTHON_RUNNER))
        connect = _process(self._pi, self._config, pool, self.label, command, cwd, environ)
        return Kernel(connect, scope, label=self.label, setup=self._setup)

    def describe(self, cwd: Path) -> str:
        """The interpreter or gateway that was chosen, or would be chosen now."""
        if cwd in self._interpreters:
            return self._interpreters[cwd].path
        if self._config.gateway_url:
            return self._config.gateway_url
        return self._find(cwd, allows_project=self._pi.context.is_project_trusted()).path

    def _find(self, cwd: Path, *, allows_project: bool) -> Interpreter:
        environ, chosen = self._pi.context.environ, self._config.interpreter
        return find_python(cwd, environ, chosen=chosen, allows_project=allows_project)

    def _gateway_variables(self) -> dict[str, str]:
        """The ``PI_`` variables: paths of this machine are invalid on the gateway's machine."""
        environ = kernel_environment(self._pi.context.command_environ)
        return {name: environ[name] for name in environ if name.startswith("PI_")}

    async def _allowed_setup(self) -> tuple[SetupCode, ...]:
        """The helpers of pi, then the modules in the order of their names.

        A module of the project replaces one of the user if it is allowed.
        """
        modules = self._pi.context.resources.load(MODULES)
        requests = [_module_request(item) for item in modules if item.scope == "project"]
        allowed = {request.source for request in await self._pi.context.consent.allowed(requests)}
        chosen: dict[str, SetupCode] = {}
        for item in modules:
            if item.scope != "project" or str(item.path) in allowed:
                chosen.setdefault(item.key, item.value)
        prelude = (FOLDER / "prelude.py").read_text("utf-8")
        return (
            SetupCode(name="prelude.py", code=prelude),
            *(chosen[name] for name in sorted(chosen)),
        )


class JavaScriptBackend:
    """JavaScript with Node, or with Bun."""

    tool, label = "javascript", "JavaScript"

    def __init__(self, pi: ExtensionAPI, config: KernelConfig) -> None:
        self._pi = pi
        self._config = config

    def check(self) -> None:
        """Raise ``NoInterpreter`` if there is neither Node nor Bun."""
        find_javascript(self._pi.context.cwd, self._pi.context.environ)

    def is_prepared(self, cwd: Path) -> bool:
        """Always true: programs of the project are never used."""
        return True

    async def prepare(self, cwd: Path) -> None:
        """Find Node or Bun."""
        self.check()

    def make(self, cwd: Path, scope: Scope, pool: KernelPool) -> Kernel:
        """Return a kernel of Node or Bun."""
        program = find_javascript(cwd, self._pi.context.environ)
        # Node cannot duplicate descriptors: the shell does, see runner.js.
        redirected = 'exec "$@" 3>&1 4<&0 1>&2 0</dev/null'
        command = ("/bin/sh", "-c", redirected, "sh", program, str(JAVASCRIPT_RUNNER))
        environ = kernel_environment(self._pi.context.command_environ)
        connect = _process(self._pi, self._config, pool, self.label, command, cwd, environ)
        return Kernel(connect, scope, label=self.label)

    def describe(self, cwd: Path) -> str:
        """The path of Node or Bun."""
        return find_javascript(cwd, self._pi.context.environ)


def _process(
    pi: ExtensionAPI,
    config: KernelConfig,
    pool: KernelPool,
    label: str,
    command: Sequence[str],
    cwd: Path,
    environ: dict[str, str],
) -> Connect:
    async def spawn(scope: Scope) -> Child:
        return await pi.spawn(command, cwd=cwd, env=environ, scope=scope, kind="kernel")

    async def start(scope: Scope) -> Child:
        try:
            return await spawn(scope)
        except PiError as error:
            full = (os.strerror(errno.EMFILE), os.strerror(errno.ENFILE))
            if not any(text in error.message for text in full):
                raise
            # Idle kernels hold descriptors; their variables are lost.
            await pool.close_idle()
            return await spawn(scope)

    return lambda scope: ProcessConnection(start, scope, label=label, traced=config.traced)


def _parse_module(text: str, path: Path) -> SetupCode:
    return SetupCode(name=path.name, code=text)


def _module_request(item: ResourceItem) -> ConsentRequest:
    return ConsentRequest(
        kind="kernel module",
        name=item.key,
        source=str(item.path),
        definition={"code": item.value.code},
    )


def _project_modules(locations: Where) -> Iterator[Path]:
    folder = locations.cwd / ".pi" / "modules"
    if locations.allows(folder):
        yield from sorted(folder.glob("*.py"))


def _user_modules(locations: Where) -> Iterator[Path]:
    yield from sorted((locations.agent_dir / "modules").glob("*.py"))


# Jupyter gateway: REST to create and delete kernels, a WebSocket to run cells --------------------

GATEWAY_SECONDS = 20.0
MAX_GATEWAY_MESSAGE = 64 * 1024 * 1024
DEAD = ("restarting", "autorestarting", "dead")
GONE = "The Python kernel of the gateway died; its variables are lost."
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _start_code(cwd: str, variables: dict[str, str]) -> str:
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


class _Gateway:
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


class _GatewayConnection:
    """One kernel of a gateway."""

    def __init__(self, gateway: _Gateway, scope: Scope, *, traced: bool = False) -> None:
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
