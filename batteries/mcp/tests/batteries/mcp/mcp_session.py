"""A session with MCP servers, and a user who answers dialogs."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.agent.tools.tool import ToolResult
from pi.ai.messages import Image
from pi.ai.providers.faux import Step
from pi.batteries.mcp.adapter import extension
from pi.batteries.mcp.server import McpServer
from pi.batteries.mcp.session import SessionMcp
from pi.extension import ExtensionAPI
from pi.testing import says
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)

PROGRAM = Path(__file__).with_name("server_program.py")
HANDSHAKE = "2025-11-25"


class Answers(FakeUI):
    """A user who answers dialogs in order; an unexpected dialog is dismissed."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = [*answers]
        self.titles: list[str] = []
        self.opened: list[str] = []

    async def select(self, title: str, options: Any, **how: Any) -> Any:
        """The next answer."""
        self.titles.append(title)
        return self.answers.pop(0) if self.answers else None

    async def input(self, title: str, placeholder: str = "", **how: Any) -> Any:
        """The next answer."""
        self.titles.append(title)
        return self.answers.pop(0) if self.answers else None

    def open_url(self, url: str) -> None:
        """Recorded."""
        self.opened.append(url)

    @property
    def notices(self) -> list[str]:
        """What was shown."""
        return [call[1] for call in self.seen if call[0] == "notify"]


def program(*arguments: str) -> dict[str, Any]:
    """The definition of the test server."""
    return {"command": sys.executable, "args": ["-I", str(PROGRAM), *arguments]}


class McpFixture:
    """A running session with servers."""

    def __init__(
        self, hosted: ExtensionFixture, pi: ExtensionAPI, mcp: SessionMcp, ui: Answers | None
    ) -> None:
        self.hosted = hosted
        self.pi = pi
        self.mcp = mcp
        self.ui = ui

    def server(self, name: str) -> McpServer:
        """A server that may run."""
        server = self.mcp.server(name)
        assert server is not None
        return server

    @property
    def tools(self) -> tuple[str, ...]:
        """Active tools of servers."""
        return tuple(name for name in self.pi.get_active_tools() if name.startswith("mcp"))

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool as the model would."""
        return await self.pi.call_tool(name, arguments)

    async def text(self, name: str, **arguments: Any) -> str:
        """The text of a call."""
        return text(await self.call(name, **arguments))


def text(result: ToolResult) -> str:
    """The texts of a result; a picture is shown as ``[image]``."""
    parts = ("[image]" if isinstance(part, Image) else part.text for part in result.content)
    return "\n".join(parts)


@asynccontextmanager
async def mcp_session(
    tmp_path: Path,
    servers: dict[str, Any],
    *,
    ui: Answers | None = None,
    steps: int | tuple[Step, ...] = 1,
    prompt: bool = True,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[McpFixture]:
    """A session whose servers are configured by settings; the first prompt waits for them."""
    made: list[tuple[ExtensionAPI, SessionMcp]] = []

    def load(pi: ExtensionAPI) -> None:
        made.append((pi, extension(pi)))

    mcp = {"servers": servers, "notificationDebounceMs": 0, **(settings or {})}
    async with extension_session(
        tmp_path,
        load,
        steps=tuple(says("ok") for _ in range(steps)) if isinstance(steps, int) else steps,
        settings={"mcp": mcp},
        ui=ui,
        **options,
    ) as hosted:
        fixture = McpFixture(hosted, *made[0], ui)
        if prompt:
            await hosted.session.prompt("begin")
        yield fixture


async def until(is_true: Callable[[], bool]) -> None:
    """Wait until something is true, for at most ten seconds."""
    async with asyncio.timeout(10):
        while not is_true():  # noqa: ASYNC110 (nothing announces it)
            await asyncio.sleep(0.005)


def write_json(path: Path, value: Any) -> None:
    """Write a configuration file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
