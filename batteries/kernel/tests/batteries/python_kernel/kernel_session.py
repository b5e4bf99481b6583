"""A session with kernels, a script in place of a model, and what came of its calls."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls
from pi.batteries.python_kernel.adapter import extension
from pi.batteries.python_kernel.kernel import IDLE_SECONDS
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.runtime.session.agent_session import AgentSession
from tests.coding.extension_host.extension_session import FakeUI
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture

TIMEOUT_SECONDS = 20.0
BOTH = {"eval": {"py": True, "js": True}}


class DecidingUI(FakeUI):
    """A user who chooses the same option in every dialog."""

    def __init__(self, answer: str) -> None:
        super().__init__()
        self.answer_given = answer
        self.asked: list[str] = []

    async def select(self, title: str, options: Any, **how: Any) -> Any:
        """Record the question."""
        self.asked.append(title)
        return self.answer_given


@asynccontextmanager
async def fixture_of(
    tmp_path: Path, *steps: Step, **options: Any
) -> AsyncIterator[tuple[SessionFixture, AgentSession]]:
    """A session with the Python kernel, and its fixture with the clock."""
    fixtures: list[SessionFixture] = []
    async with session_of(tmp_path, *steps, fixtures=fixtures, **options) as session:
        yield fixtures[0], session


@asynccontextmanager
async def session_of(
    tmp_path: Path,
    *steps: Step,
    settings: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    ui: FakeUI | None = None,
    fixtures: list[SessionFixture] | None = None,
    seconds: float = TIMEOUT_SECONDS,
    more: tuple[Any, ...] = (),
    **options: Any,
) -> AsyncIterator[AgentSession]:
    """A session with the Python kernel enabled, or with these settings."""
    fixture = SessionFixture(tmp_path, *steps, environ={**ENVIRON, **(environ or {})})
    if fixtures is not None:
        fixtures.append(fixture)
    python = {"interpreter": sys.executable}
    chosen = {"eval": {"py": True}, "python": python} if settings is None else settings
    fixture.write(".pi/agent/settings.json", json.dumps(chosen))
    extension_options = ExtensionOptions(discover=False, inline=(extension, *more))
    session = await fixture.open(extensions=extension_options, **options)
    if ui is not None:
        session.extensions.attach(ui, "rpc")
    try:
        async with asyncio.timeout(seconds):
            await session.start()
            yield session
    finally:
        await session.close()
        await fixture.clock.advance(IDLE_SECONDS + 1)  # kernels outlive their session for a while


def cells(*codes: str, **more: Any) -> Step:
    """A call of ``python``."""
    return calls("python", cells=[{"code": code} for code in codes], **more)


def javascript(*codes: str, **more: Any) -> Step:
    """A call of ``javascript``."""
    return calls("javascript", cells=[{"code": code} for code in codes], **more)


def results(session: AgentSession) -> list[ToolResultMessage]:
    """The results of all calls."""
    return [message for message in session.messages if isinstance(message, ToolResultMessage)]


def details(session: AgentSession, number: int) -> dict[str, Any]:
    """The details of a result."""
    result_details = results(session)[number].details
    assert isinstance(result_details, dict)
    return result_details


def texts(session: AgentSession) -> list[str]:
    """The texts of all results."""
    return [
        "".join(part.text for part in result.content if isinstance(part, Text))
        for result in results(session)
    ]
