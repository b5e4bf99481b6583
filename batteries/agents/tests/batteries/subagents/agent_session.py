"""Sessions with sub-agents, and a script with the responses for each agent."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import Reply, calls, says
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.batteries.subagents import adapter
from pi.coding.session.entries import CustomMessage
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session

TIMEOUT_SECONDS = 30.0
ON: dict[str, Any] = {"task": {"enabled": True}}
MAIN = ""
"""The name of the user's own session in scripts."""

Steps = Sequence[Reply | Callable[[Call], Reply]]


def asking(call: Call) -> str:
    """The id of the agent that sends a request; empty for the session of the user."""
    found = re.search(r"Your name is ([\w.-]+)\. Another agent", str(call.messages[0]))
    return found[1] if found else MAIN


class Script:
    """Answers of each agent, in order; an agent without answers left returns its id."""

    def __init__(self, **steps: Steps) -> None:
        self._steps = {name.replace("__", "."): list(given) for name, given in steps.items()}
        self.requests: dict[str, list[Call]] = defaultdict(list)

    def __call__(self, call: Call) -> Reply:
        name = asking(call)
        self.requests[name].append(call)
        steps = self._steps.get("main" if name == MAIN else name, [])
        if not steps:
            return says("done") if name == MAIN else calls("yield", data=f"by {name}")
        step = steps.pop(0)
        return step(call) if callable(step) else step


@asynccontextmanager
async def agent_session(
    tmp_path: Path, script: Callable[[Call], Reply], *others: Any, **options: Any
) -> AsyncIterator[tuple[ExtensionFixture, adapter.SubAgents]]:
    """A session with sub-agents."""
    made: list[adapter.SubAgents] = []
    task = {"enabled": True, **options.pop("task", {})}
    if (about := options.pop("session_task", None)) is not None:
        options["task"] = about
    settings = {**ON, **options.pop("settings", {}), "task": task}

    class Noted(adapter.SubAgents):
        def __init__(self, pi: Any) -> None:
            super().__init__(pi)
            made.append(self)

    def extension(pi: Any) -> None:
        original, adapter.SubAgents = adapter.SubAgents, Noted  # type: ignore[misc]
        try:
            adapter.extension(pi)
        finally:
            adapter.SubAgents = original  # type: ignore[misc]

    async with asyncio.timeout(TIMEOUT_SECONDS):
        async with extension_session(
            tmp_path, extension, *others, steps=(script,), settings=settings, **options
        ) as hosted:
            yield hosted, made[0]


def results(hosted: ExtensionFixture) -> list[ToolResultMessage]:
    return [each for each in hosted.session.messages if isinstance(each, ToolResultMessage)]


def text(message: ToolResultMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, Text))


def reports(hosted: ExtensionFixture) -> list[CustomMessage]:
    found = [each for each in hosted.session.messages if isinstance(each, CustomMessage)]
    return [each for each in found if each.custom_type == adapter.REPORT]


def declared(call: Call) -> list[str]:
    """The tools of a request."""
    system, _ = fold(call.messages, keep_later=True)
    return sorted(tool.name for tool in system.tools)


class Gate:
    """Holds answers back until it is opened, and counts how many wait."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.waiting = 0
        self.most = 0
        self.changed = asyncio.Event()

    async def wrap(self, request: Any, ask: Any) -> Any:
        """A model wrap for agents; the session of the user is not held."""
        held = "Another agent has given you" in str(request.messages[0])
        if held:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
            self.changed.set()
            try:
                await self.open.wait()
            finally:
                self.waiting -= 1
        async for event in ask(request):
            yield event

    def extension(self, pi: Any) -> None:
        """Installs the wrap."""
        pi.wrap_model(self.wrap)

    async def until(self, count: int) -> None:
        """Wait until so many requests are held."""
        while self.waiting < count:
            self.changed.clear()
            await self.changed.wait()
