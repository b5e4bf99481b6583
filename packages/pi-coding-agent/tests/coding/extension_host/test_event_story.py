"""One session in which every event happens, with handlers that behave in every way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.tool import ToolContext, ToolResult
from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Usage
from pi.ai.models.model import ModelCost, PromptCache
from pi.ai.providers.faux import FAUX_MODEL, Reply, call, says
from pi.ai.request import Call
from pi.ai.wire_support.exchange import Services
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.bus import Query
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.extension_host.events.handlers import EVENTS
from pi.coding.port.extensions import InputMode
from pi.testing import FakeClock, ScriptedProvider
from tests.coding.extension_host.extension_session import ExtensionFixture, FakeUI
from tests.coding.runtime.session_fixture import SessionFixture

CACHED = replace(
    FAUX_MODEL,
    id="cached",
    cost=ModelCost(input=10, output=10, cache_read=1, cache_write=10),
    prompt_cache=PromptCache(short=100),
)
PLAIN = replace(FAUX_MODEL, id="plain")
SETTINGS = {"compaction": {"keepRecentTokens": 10}, "cacheWarming": "idle"}
QUIET = {"tool_call", "user_bash"}
"""Events at which a failure is not reported: it refuses the call or command."""
QUESTIONS = {name for name, kind in EVENTS.items() if issubclass(kind, Query)}
FAILURES = {
    "observes": set[str](),
    "answers nonsense": QUESTIONS - QUIET,
    "raises": set(EVENTS) - QUIET,
    "hangs": set(EVENTS) - QUIET,
}
"""The events with a reported failure, by the behaviour of the handlers."""


class Wire(ScriptedProvider):
    """A scripted provider with requests and responses as over a network."""

    async def answer(
        self, asked: Call, builder: MessageBuilder, flush: Flush, services: Services
    ) -> None:
        options = asked.options
        if options.on_payload is not None:
            await options.on_payload({"model": asked.model.id}, asked.model)
        if options.on_response is not None:
            await options.on_response(200, {}, asked.model)
        await super().answer(asked, builder, flush, services)


def big(reply: Reply) -> Reply:
    return replace(reply, usage=Usage(input=1000, output=10))


class Handlers:
    """Handlers of every event that all behave in the same way."""

    def __init__(self, how: str) -> None:
        self._how = how
        self.received: set[str] = set()
        self.hangs = asyncio.Event()

    def extension(self, pi: ExtensionAPI) -> None:
        for name in EVENTS:
            pi.on(name, self._handler(name))

        @pi.tool
        async def peek(ctx: ToolContext, guarded: bool = False) -> str:
            """Look."""
            ctx.update(ToolResult.of("looking"))
            return "seen"

        pi.add_input_mode("$", InputMode(label="cells", run=lambda text, ctx: None))

        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            await ctx.ui.confirm("Sure?", "")

    def _handler(self, name: str) -> Any:
        async def handle(event: Any, ctx: Any) -> Any:
            self.received.add(name)
            if name == "tool_call" and not event.input.get("guarded"):
                return None
            if self._how == "hangs":
                self.hangs.set()
                await asyncio.Event().wait()
            if self._how == "raises":
                raise ValueError(f"no {name}")
            return 7 if self._how == "answers nonsense" else None

        return handle

    async def time_passes(self, clock: FakeClock) -> None:
        """Let the time limit of a hanging handler expire."""
        while True:
            await self.hangs.wait()
            self.hangs.clear()
            await clock.advance(31)


async def act(hosted: ExtensionFixture) -> None:
    """Cause every event that a session can emit."""
    session, clock = hosted.session, hosted.fixture.clock
    provider = Wire(
        big(Reply(blocks=(call("peek", guarded=True), call("peek")))),
        *(big(says("word " * 30)) for _ in range(3)),
        *(says("summary") for _ in range(20)),
        models=(CACHED, PLAIN),
    )
    hosted.fixture.registry.models.register(provider)
    await session.set_model(PLAIN)
    await session.set_thinking_level("low")
    await session.set_model(CACHED)
    await session.prompt("first " * 30)
    await clock.advance(95)  # the cache is about to expire
    await session.prompt("second " * 30)
    await session.prompt("/ask")
    await session.prompt("$ 1")
    with suppress(PiError):  # a failing guard refuses it
        await session.shell.run("true")
    await session.info.rename("a story")
    await session.abort()
    first, *_ = session.info.fork_points()
    await session.compact()
    with pytest.raises(PiError, match="compact"):
        await session.compact()
    await session.tree.go_to(first.entry_id)
    session.workspace.settings.override({"compaction.thresholdTokens": 1})
    await session.prompt("third")
    session.workspace.settings.override({"compaction.thresholdTokens": -1})
    await session.fork(session.info.fork_points()[-1].entry_id)


@pytest.mark.parametrize("how", ["observes", "answers nonsense", "raises", "hangs"])
async def test_a_session_with_all_events_survives_any_handler_behaviour(
    tmp_path: Path, how: str
) -> None:
    handlers, fixture = Handlers(how), SessionFixture(tmp_path)
    chosen = ExtensionOptions(discover=False, inline=(handlers.extension,))
    passing = asyncio.ensure_future(handlers.time_passes(fixture.clock))
    async with asyncio.timeout(60):
        session = await fixture.open(extensions=chosen, settings=SETTINGS)
        session.extensions.attach(FakeUI(), "rpc")
        await session.start()
        hosted = ExtensionFixture(fixture, session)
        await act(hosted)
        await session.close()
    passing.cancel()
    await asyncio.wait({passing})

    failed = {event.event for event in hosted.emitted("ExtensionFailed")}
    # a command in a terminal is run by the tests of the bash tool
    assert set(EVENTS) - handlers.received == {"terminal_opened"}
    assert failed == FAILURES[how] - {"terminal_opened"}
