"""A real host and real guests in one process, over a real relay on the loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.events import StreamEvent
from pi.base.clock import SystemClock
from pi.batteries.collab.adapter import extension
from pi.batteries.collab.sharing import Sharing
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.model_wraps import ModelRequest, SendRequest
from pi.coding.port.ui import ExtensionUI
from pi.coding.runtime.session.agent_session import AgentSession
from pi.relay.bind import Bind
from pi.relay.limits import Limits
from pi.relay.server import Relay, RelayOptions
from pi.testing import make_session

SECONDS = 20.0
LONG = " ".join(f"word{number}" for number in range(200))


async def until(condition: Callable[[], Any], what: str = "") -> Any:
    """Wait until a condition is true; fails the test after a timeout."""
    async with asyncio.timeout(SECONDS):
        while not (found := condition()):  # noqa: ASYNC110 (sockets and timers: no single event)
            await asyncio.sleep(0.005)
    return found


class ScreenUI(ExtensionUI):
    """A user interface that records everything and answers dialogs as configured."""

    has_ui = True

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.notices: list[str] = []
        self.status: dict[str, str | None] = {}
        self.choice: Any = None
        self.questions: list[str] = []
        self.editor_text = ""
        self.waits: asyncio.Future[Any] | None = None

    def write(self, text: str) -> None:
        self.texts.append(text)

    def notify(self, message: str, kind: Any = None) -> None:
        self.notices.append(message)

    def set_status(self, key: str, text: str | None) -> None:
        self.status[key] = text

    def set_editor_text(self, text: str) -> None:
        self.editor_text = text

    async def select(self, title: str, options: Any, **more: Any) -> Any:
        self.questions.append(title)
        if self.waits is not None:
            return await self.waits
        return self.choice


class Gate:
    """Holds the response of the model until ``open`` is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.after = 0
        self.reached = asyncio.Event()

    def close(self, after: int) -> None:
        self.open.clear()
        self.after = after
        self.reached.clear()

    def extension(self, pi: ExtensionAPI) -> None:
        async def slow(request: ModelRequest, ask: SendRequest) -> AsyncIterator[StreamEvent]:
            count = 0
            async for event in ask(request):
                yield event
                count += 1
                if count >= self.after and not self.open.is_set():
                    self.reached.set()
                    await self.open.wait()

        pi.wrap_model(slow)


class Person:
    """A user with a session."""

    def __init__(self, session: AgentSession, ui: ScreenUI, state: dict[str, Any]) -> None:
        self.session = session
        self.ui = ui
        self._state = state

    @property
    def pi(self) -> ExtensionAPI:
        found: ExtensionAPI = self._state["pi"]
        return found

    @property
    def sharing(self) -> Sharing:
        found: Sharing = self._state["collab"]._found
        return found

    async def run(self, command: str) -> None:
        """Type a command."""
        await self.session.prompts.prompt(command)

    @property
    def lines(self) -> list[bytes]:
        log = self.session.entries.log
        return [log.line(place) for place in range(len(log.tree))]

    @property
    def file(self) -> bytes:
        path = self.session.entries.log.file
        assert path is not None
        return path.read_bytes() if path.exists() else b""

    def link(self, *, view: bool = False) -> str:
        assert self.sharing.host is not None
        link = self.sharing.host.link
        return (link.view_only() if view else link).text()

    async def join(self, link: str) -> None:
        await self.run(f"/join {link}")
        await until(lambda: self.sharing.guest and self.sharing.guest._count)


@asynccontextmanager
async def person(
    folder: Path,
    name: str,
    *steps: Any,
    more: tuple[Callable[[ExtensionAPI], Any], ...] = (),
    user: str | None = None,
) -> AsyncIterator[Person]:
    """A session with the extension, and its user."""
    state: dict[str, Any] = {}

    def collab(pi: ExtensionAPI) -> None:
        state["pi"] = pi
        registered = pi.register_command

        def register(command: str, handler: Any, **how: Any) -> Any:
            state["collab"] = handler.__self__
            return registered(command, handler, **how)

        pi.register_command = register  # type: ignore[method-assign, assignment]
        extension(pi, key=f"collab of {folder / name}")

    environ = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "USER": name if user is None else user}
    session = await make_session(
        folder / name,
        *steps,
        clock=SystemClock(),
        environ=environ,
        persistent=True,
        extensions=[collab, *more],
    )
    ui = ScreenUI()
    session.extensions.attach(ui, "rpc")
    await session.start()
    try:
        yield Person(session, ui, state)
    finally:
        await session.close()


class RestartingRelay:
    """A relay that can be killed and started again on the same port."""

    def __init__(self, **limits: Any) -> None:
        self._limits = Limits(**limits)
        self._port = 0
        self.relay: Relay | None = None

    @property
    def address(self) -> str:
        return f"ws://127.0.0.1:{self._port}"

    async def start(self) -> None:
        bind = Bind(host="127.0.0.1", port=self._port)
        self.relay = Relay(RelayOptions(bind=bind, limits=self._limits), report=lambda line: None)
        await self.relay.start()
        self._port = int(self.relay.address.rpartition(":")[2])

    async def stop(self) -> None:
        if self.relay is not None:
            relay, self.relay = self.relay, None
            await relay.close()


@asynccontextmanager
async def relay_running(**limits: Any) -> AsyncIterator[RestartingRelay]:
    relay = RestartingRelay(**limits)
    await relay.start()
    try:
        yield relay
    finally:
        await relay.stop()


def texts(who: Person) -> list[str]:
    """The texts of all messages, with their authors."""
    found = []
    for line in who.lines:
        entry = json.loads(line)
        message = entry.get("message") or {}
        author = (message.get("meta") or entry.get("meta") or {}).get("author", "")
        content = message.get("content")
        if message.get("role") in ("user", "assistant") and isinstance(content, list):
            shown = "".join(block.get("text", "") for block in content)
            found.append(f"{author}:{shown}" if author else shown)
    return found
