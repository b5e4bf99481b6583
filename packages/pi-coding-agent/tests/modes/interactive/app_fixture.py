"""The real application on a terminal in memory, with a script in place of a model."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.providers.faux import Step
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.trust import TrustChoice
from pi.modes.interactive.app import App
from pi.modes.interactive.startup import AppOptions, OpenContext, OpenedSession
from pi.modes.interactive.ui import Ui
from pi.testing import FakeClock
from pi.tui.completion.sources import Command
from pi.tui.testing import VirtualTerminal
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture

SECONDS = 30.0
"""Seconds after which a wait has failed."""


class FewCommands:
    """Enough commands for tests: the table of the application is tested beside it."""

    def __init__(self, ui: Ui) -> None:
        self.ui = ui
        self.ran: list[tuple[str, str]] = []

    def listed(self) -> Sequence[Command]:
        """Two."""
        return [
            Command(name="model", description="Select model", hint="[provider/model]"),
            Command(name="quit", description="Quit pi"),
        ]

    def find(self, name: str, arguments: str) -> Coroutine[Any, Any, None] | None:
        """Find one of the few known commands."""
        if name not in ("model", "quit", "tree", "copy"):
            return None
        return self._run(name, arguments)

    def prompt(self, name: str, arguments: str) -> str | None:
        """None of the commands has a prompt."""
        return None

    async def _run(self, name: str, arguments: str) -> None:
        self.ran.append((name, arguments))
        if name == "quit":
            self.ui.quit()


class Gate:
    """A pipe in the project; a reader waits until it is opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        os.mkfifo(path)

    async def open(self, text: str = "") -> None:
        """Wait for the reader and write something, so that it continues."""
        async with asyncio.timeout(SECONDS):
            fd = await self._reached()
        with os.fdopen(fd, "w") as pipe:
            pipe.write(f"{text}\n")

    async def _reached(self) -> int:
        while True:
            try:
                return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                await asyncio.sleep(0.001)  # a pipe shows no one that it is read


class AppFixture:
    """A session fixture and the application on it."""

    def __init__(
        self,
        tmp_path: Path,
        *steps: Step,
        columns: int = 80,
        rows: int = 24,
        environ: dict[str, str] | None = None,
        replies: bool = True,
        **options: Any,
    ) -> None:
        # Offline: a key that is typed must not be checked with a server of its provider.
        self.fixture = SessionFixture(tmp_path, *steps, environ={**ENVIRON, "PI_OFFLINE": "1"})
        self.clock: FakeClock = self.fixture.clock
        self.terminal = VirtualTerminal(columns, rows, replies=replies)
        self.environ = {**self.fixture.host.environ, "COLORTERM": "truecolor", **(environ or {})}
        self.options = options
        self.commands: FewCommands | None = None
        self.session: AgentSession | None = None
        self.messages: tuple[tuple[str, tuple[Any, ...]], ...] = ()
        self.before_open: Callable[[OpenContext], Awaitable[None]] | None = None
        self.lines: tuple[str, ...] = ()
        self.begin: Callable[[], Awaitable[None]] | None = None
        self.welcome: Callable[[Ui], Awaitable[None]] | None = None
        self.news: Callable[[], Awaitable[str]] | None = None
        self.themes: Callable[[], Sequence[Path]] | None = None
        self.theme: str | None = None
        self.model_options: tuple[str, ...] | None = None
        self.ask_trust: Callable[[Ui, Path, Sequence[Path]], Awaitable[TrustChoice | None]] = _never
        self.command = ""
        self.hint = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[AppFixture]:
        """The application, with its session open."""
        async with self.starting():
            await self.until(lambda: self.commands is not None)
            await self.quiet()
            yield self

    @asynccontextmanager
    async def starting(self) -> AsyncIterator[AppFixture]:
        """The application from its first frame on."""
        self.app = App(self.start, self.terminal, strict=True)
        work = asyncio.ensure_future(self.app.run())
        try:
            await self.until(lambda: bool(self.terminal.output))
            yield self
        finally:
            self.app.quit()
            async with asyncio.timeout(SECONDS):
                self.hint = await work

    @property
    def start(self) -> AppOptions:
        """How the application is started."""
        fixture = self.fixture
        return AppOptions(
            load=lambda: None,
            load_rest=lambda: None,
            open=self._open,
            commands=self._commands,
            ask_trust=self.ask_trust,
            environ=self.environ,
            cwd=fixture.cwd,
            home=fixture.home,
            agent_dir=fixture.agent_dir,
            clock=fixture.clock,
            theme=self.theme,
            model_options=self.model_options,
        )

    @property
    def screen(self) -> str:
        """The visible screen."""
        return "\n".join(self.terminal.screen).rstrip()

    @property
    def tape(self) -> str:
        """The scrollback and the screen."""
        return "\n".join(self.terminal.tape).rstrip()

    @property
    def written(self) -> str:
        """Everything that the terminal was sent."""
        return "".join(self.terminal.output)

    def type(self, data: str) -> None:
        """Press keys."""
        self.terminal.type(data)

    def send(self, text: str) -> None:
        """Type something and press Enter."""
        self.type(text)
        self.type("\r")

    async def until(self, happened: Callable[[], bool]) -> None:
        """Let the application run until something has happened."""
        try:
            async with asyncio.timeout(SECONDS):
                while not happened():  # noqa: ASYNC110 - the screen shows no one
                    await asyncio.sleep(0.001)
        except TimeoutError:
            raise AssertionError(f"it never happened; the screen shows:\n{self.screen}") from None

    async def sees(self, text: str) -> None:
        """Until a text is on the screen."""
        await self.until(lambda: text in self.screen)

    async def loses(self, text: str) -> None:
        """Until a text is no longer on the screen."""
        await self.until(lambda: text not in self.screen)

    async def asks(self, text: str, answer: str) -> None:
        """Send a prompt, wait for the answer, and wait until everything is painted."""
        self.send(text)
        await self.sees(answer)
        await self.rests()

    async def rests(self) -> None:
        """Until the agent is idle and everything is painted."""
        assert self.session is not None
        await self.session.wait_for_idle()
        await self.quiet()

    async def quiet(self) -> None:
        """Wait until everything is painted and no more output follows."""
        tui, written = self.app._frame.tui, -1
        while written != len(self.terminal.output) or not tui.is_painted:
            written = len(self.terminal.output)
            await asyncio.sleep(0.04)  # more than suggestions wait for another key

    def held_back(self) -> asyncio.Event:
        """Lets the session open only when it is set."""
        opened = asyncio.Event()

        async def wait(opening: OpenContext) -> None:
            await opened.wait()

        self.before_open = wait
        return opened

    def gate(self) -> Gate:
        """Make a pipe on which a command can wait: ``cat gate`` ends when it is opened."""
        return Gate(self.fixture.cwd / "gate")

    async def _open(self, opening: OpenContext) -> OpenedSession:
        if self.before_open is not None:
            await self.before_open(opening)
        self.session = await self.fixture.open(**self.options)
        return FixtureSession(self, self.session)

    def _commands(self, ui: Ui) -> FewCommands:
        self.commands = FewCommands(ui)
        return self.commands


class FixtureSession(OpenedSession):
    """The session of an application fixture, with what a test sets."""

    def __init__(self, app_fixture: AppFixture, session: AgentSession) -> None:
        super().__init__(
            session,
            app_fixture.fixture.host,
            lines=app_fixture.lines,
            messages=app_fixture.messages,
            command=app_fixture.command,
        )
        self._app_fixture = app_fixture

    def themes(self) -> Sequence[Path]:
        return super().themes() if self._app_fixture.themes is None else self._app_fixture.themes()

    async def begin(self) -> None:
        if self._app_fixture.begin is not None:
            await self._app_fixture.begin()

    async def welcome(self, ui: Ui) -> None:
        if self._app_fixture.welcome is not None:
            await self._app_fixture.welcome(ui)

    async def news(self) -> str:
        return "" if self._app_fixture.news is None else await self._app_fixture.news()

    def leave(self) -> str:
        return "To resume this session: pi --session x"


async def _never(ui: Ui, folder: Path, gated: Sequence[Path]) -> TrustChoice | None:
    return None
