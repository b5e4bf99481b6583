"""The provider's cache is refreshed during pauses, if that pays off."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.tool import ToolContext
from pi.ai.messages import Usage
from pi.ai.models.model import Model, ModelCost, PromptCache
from pi.ai.providers.faux import FAUX_MODEL, Reply, calls, says
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.runtime.session.cache_warming import decision, lifetime
from pi.testing import ScriptedProvider
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.coding.runtime.session_fixture import kinds

COST = ModelCost(input=10, output=10, cache_read=1, cache_write=10)
CACHED = replace(FAUX_MODEL, cost=COST, prompt_cache=PromptCache(short=100))


class Cached(ScriptedProvider):
    """Serves a model whose cache is known to live for 100 seconds."""

    def models(self) -> tuple[Model, ...]:
        return (CACHED,)


async def prompt(hosted: ExtensionFixture, *steps: Any) -> Cached:
    provider = Cached(*steps)
    hosted.fixture.registry.models.register(provider)
    await hosted.session.set_model(CACHED)
    await hosted.session.prompt("hello")
    return provider


def big(reply: Reply) -> Reply:
    return replace(reply, usage=Usage(input=100_000, output=10))


async def test_the_cache_is_refreshed_while_a_tool_runs_and_its_usage_is_recorded(
    tmp_path: Path,
) -> None:
    go_on, begun = asyncio.Event(), asyncio.Event()

    def slow(pi: ExtensionAPI) -> None:
        @pi.tool
        async def wait(ctx: ToolContext) -> str:
            """Wait."""
            begun.set()
            await go_on.wait()
            return "done"

    async with extension_session(tmp_path, slow) as hosted:
        run = asyncio.ensure_future(
            prompt(hosted, big(calls("wait")), says("w"), says("w"), says("done"))
        )
        async with asyncio.timeout(30):
            await begun.wait()
            await hosted.fixture.clock.advance(190)
            go_on.set()
            provider = await run

        first, *again, _ = provider.requests
        same = replace(first.options, on_response=None)
        assert [replace(refresh.options, on_response=None) for refresh in again] == [same] * 2
        assert [request.messages[:2] for request in again] == [first.messages[:2]] * 2
        assert kinds(hosted.session)[-3:] == ["assistant", "usage", "usage"]
        assert len(provider.requests) == 4
        assert hosted.fixture.clock.sleeping == 0  # the timer has stopped


async def test_an_idle_cache_is_refreshed_a_limited_number_of_times_if_enabled(
    tmp_path: Path,
) -> None:
    settings = {"cacheWarming": "idle"}
    async with extension_session(tmp_path, settings=settings) as hosted:
        provider = await prompt(hosted, big(says("hi")), *[says("w")] * 9)
        await hosted.fixture.clock.advance(1000)

        assert len(provider.requests) == 3  # each time a continuation is less likely
        assert kinds(hosted.session)[-2:] == ["usage"] * 2


async def test_an_idle_cache_is_not_refreshed_for_less_than_five_cents(tmp_path: Path) -> None:
    settings = {"cacheWarming": "idle"}
    async with extension_session(tmp_path, settings=settings) as hosted:
        small = replace(says("hi"), usage=Usage(input=12_000, output=10))
        provider = await prompt(hosted, small, says("w"))
        await hosted.fixture.clock.advance(1000)

        assert len(provider.requests) == 1


async def test_an_idle_cache_is_refreshed_for_half_an_hour_at_most(tmp_path: Path) -> None:
    def eager(pi: ExtensionAPI) -> None:
        @pi.on("cache_warming_decision")
        def warm(event: Any, ctx: Any) -> Any:
            return {"action": "warm"}

    settings = {"cacheWarming": "idle"}
    async with extension_session(tmp_path, eager, settings=settings) as hosted:
        provider = await prompt(hosted, big(says("hi")), *[says("w")] * 99)
        await hosted.fixture.clock.advance(7200)

        assert len(provider.requests) == 1 + 20  # every 90 seconds
        assert hosted.fixture.clock.sleeping == 0


@pytest.mark.parametrize("settings", [{}, {"cacheWarming": "off"}])
async def test_no_timer_runs_unless_idle_cache_warming_is_enabled(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    async with extension_session(tmp_path, settings=settings) as hosted:
        await prompt(hosted, big(says("hi")))

        assert hosted.fixture.clock.sleeping == 0


async def test_an_extension_can_stop_cache_warming(tmp_path: Path) -> None:
    seen: list[Any] = []

    def frugal(pi: ExtensionAPI) -> None:
        @pi.on("cache_warming_decision")
        def stop(event: Any, ctx: Any) -> Any:
            seen.append(event)
            return {"action": "stop"}

    async with extension_session(tmp_path, frugal, settings={"cacheWarming": "idle"}) as hosted:
        provider = await prompt(hosted, big(says("hi")))
        await hosted.fixture.clock.advance(1000)

        (event,) = seen
        assert (event.action, event.continuation_probability) == ("warm", 0.5)
        assert event.warm_cost < event.miss_cost
        assert len(provider.requests) == 1


async def test_the_cache_of_a_replaced_session_is_not_refreshed(tmp_path: Path) -> None:
    async with extension_session(tmp_path, settings={"cacheWarming": "idle"}) as hosted:
        provider = await prompt(hosted, big(says("hi")), says("w"))
        await hosted.session.new_session()
        await hosted.fixture.clock.advance(1000)

        assert len(provider.requests) == 1


def test_the_cache_is_refreshed_only_if_a_continuation_is_likely() -> None:
    likely, unlikely = decision(CACHED, 1000, 1.0), decision(CACHED, 1000, 0.05)

    assert (likely.action, unlikely.action) == ("warm", "stop")
    assert (likely.warm_cost, likely.miss_cost) == (0.001, 0.01)


def test_the_cache_lifetime_is_none_unless_the_model_declares_it() -> None:
    lifetimes = [
        lifetime(model, long=long) for model in (FAUX_MODEL, CACHED) for long in (False, True)
    ]

    assert lifetimes == [None, None, 100, None]
