"""A session with the lsp battery and a scripted server for ``.demo`` files."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls
from pi.base.clock import SystemClock
from pi.base.records import replace
from pi.batteries.lsp.adapter import extension
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.entries import CustomMessage
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture

SERVER = Path(__file__).with_name("scripted_server.py")


def demo(how: str = "pull", **more: Any) -> dict[str, Any]:
    """The configuration of the scripted server."""
    row = {"command": sys.executable, "args": ["-S", str(SERVER), how], "fileTypes": [".demo"]}
    return {"demo": {**row, **more}}


class LspFixture:
    """A started session, its folders, and what its tools returned."""

    def __init__(self, fixture: SessionFixture, session: AgentSession) -> None:
        self.fixture = fixture
        self.session = session
        self.cwd = fixture.cwd

    async def run(self, text: str = "go") -> list[str]:
        """Play the script; the texts of all results so far."""
        await self.session.prompt(text)
        return self.results

    async def run_past_the_limit(self, calls: int = 1) -> tuple[list[str], list[float]]:
        """Play the script while time passes; returns the results and the seconds of each call."""
        times: list[float] = []
        names = ("ToolExecutionStart", "ToolExecutionEnd")
        clock = self.fixture.clock
        self.session.subscribe(
            lambda event: times.append(clock.monotonic()) if type(event).__name__ in names else None
        )
        task = asyncio.create_task(self.run())
        async with asyncio.timeout(60):
            while len(times) < 2 * calls:
                await clock.advance(0.25)
                await asyncio.sleep(0.01)
            return await task, [end - start for start, end in zip(*[iter(times)] * 2, strict=False)]

    @property
    def results(self) -> list[str]:
        """The texts of tool results; errors start with ``! ``."""
        return [
            ("! " if m.is_error else "")
            + "\n".join(part.text for part in m.content if isinstance(part, Text))
            for m in self.session.messages
            if isinstance(m, ToolResultMessage)
        ]

    @property
    def late(self) -> list[str]:
        """The late notes that the model received."""
        return [str(m.content) for m in self.session.messages if isinstance(m, CustomMessage)]

    @property
    def failures(self) -> list[str]:
        """The failures of the extension."""
        events = [e for e in self.fixture.events if type(e).__name__ == "ExtensionFailed"]
        return [f"{event.event}: {event.error}" for event in events]


@asynccontextmanager
async def lsp_session(
    tmp_path: Path,
    *steps: Step,
    servers: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = ENVIRON,
    real_time: bool = False,
    files: Sequence[tuple[str, str]] = (),
    beside: Sequence[Callable[[ExtensionAPI], Any]] = (),
    **options: Any,
) -> AsyncIterator[LspFixture]:
    """A session with the battery on; ``servers`` are in the file of the user."""
    fixture = SessionFixture(tmp_path, *steps, environ=environ)
    if real_time:
        fixture.host = replace(fixture.host, clock=SystemClock())
    rows = demo() if servers is None else servers
    (fixture.agent_dir / "lsp.json").write_text(json.dumps(rows))
    (fixture.cwd / ".git").mkdir(exist_ok=True)
    for name, text in files:
        (fixture.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        (fixture.cwd / name).write_text(text)
    session = await fixture.open(
        extensions=ExtensionOptions(discover=False, inline=(extension, *beside)),
        # Not shared: what is shared outlives the event loop of a test.
        settings={"lsp": {"enabled": True, "shared": False, **(settings or {})}},
        **options,
    )
    try:
        await session.start()
        yield LspFixture(fixture, session)
    finally:
        await session.close()


def write(name: str, content: str) -> Step:
    """A call of ``write``."""
    return calls("write", path=name, content=content)


def edit(name: str, old: str, new: str) -> Step:
    """A call of ``edit``."""
    return calls("edit", path=name, edits=[{"oldText": old, "newText": new}])


def lsp(action: str, **more: Any) -> Step:
    """A call of ``lsp``."""
    return calls("lsp", action=action, **more)
