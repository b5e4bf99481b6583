"""After an overflow the request is sent once more, to a larger model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.errors import ContextOverflow
from pi.ai.messages import Usage
from pi.ai.providers.faux import FAUX_MODEL, Reply, Step, says
from pi.base.records import replace
from pi.batteries.context_promotion.adapter import extension, target_of
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.runtime.session.agent_session import AgentSession
from pi.testing import ScriptedProvider
from tests.coding.runtime.session_fixture import SessionFixture

SMALL = replace(FAUX_MODEL, context_window=20_000, max_tokens=4_000)
BIG = replace(FAUX_MODEL, id="big", name="Big", context_window=200_000, max_tokens=4_000)
ON: dict[str, Any] = {
    "contextPromotion": {"enabled": True},
    "contextPromotionTarget": "faux/big",
    "compaction": {"reserveTokens": 4000},
}
OVERFLOW = ContextOverflow("400: prompt is too long", status=400)


@asynccontextmanager
async def session(
    tmp_path: Path, *steps: Step, settings: dict[str, Any] = ON
) -> AsyncIterator[tuple[SessionFixture, AgentSession]]:
    fixture = SessionFixture(tmp_path)
    fixture.provider = ScriptedProvider(*steps, models=(SMALL, BIG))
    fixture.registry.models.register(fixture.provider)
    chosen = ExtensionOptions(discover=False, inline=(extension,))
    opened = await fixture.open(extensions=chosen, settings=settings)
    try:
        await opened.start()
        yield fixture, opened
    finally:
        await opened.close()


def models(fixture: SessionFixture) -> list[str]:
    return [each.model.id for each in fixture.provider.requests]


def full(text: str, *, stop: Any = None) -> Reply:
    counted = Usage(input=19_500, output=10, total_tokens=19_510)
    return replace(says(text), usage=counted, stop_reason=stop)


@pytest.mark.parametrize("first", [OVERFLOW, full("cut", stop="length")])
async def test_an_overflow_or_truncated_response_is_retried_with_the_larger_model(
    tmp_path: Path, first: Step
) -> None:
    async with session(tmp_path, first, says("the answer")) as (fixture, opened):
        answer = await opened.prompt("hello")

        assert answer is not None
        assert answer.text == "the answer"
        assert models(fixture) == ["faux", "big"]
        assert "compaction_start" not in fixture.order
        if first is not OVERFLOW:
            assert "cut" not in str(fixture.provider.requests[-1].messages)


async def test_at_the_threshold_the_next_prompt_is_sent_to_the_larger_model(tmp_path: Path) -> None:
    async with session(tmp_path, full("one"), says("two")) as (fixture, opened):
        await opened.prompt("hello")
        await opened.prompt("again")

        assert models(fixture) == ["faux", "big"]
        assert "compaction_start" not in fixture.order


async def test_after_one_promotion_an_overflow_compacts_the_conversation(tmp_path: Path) -> None:
    long = "w" * 15_000
    steps = (says(long), says(long), OVERFLOW, OVERFLOW, says("a summary"), says("the answer"))
    async with session(tmp_path, *steps) as (fixture, opened):
        opened.workspace.settings.override({"compaction.keepRecentTokens": 500})
        await opened.prompt("one")
        await opened.prompt("two")
        answer = await opened.prompt("three")

        assert answer is not None
        assert answer.text == "the answer"
        assert models(fixture) == ["faux", "faux", "faux", "big", "big", "big"]
        assert fixture.order.count("compaction_start") == 1


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"contextPromotion": {"enabled": False}}, ""),
        ({"contextPromotionTarget": "nope"}, "no known model matches"),
        ({"contextPromotionTarget": "faux/faux"}, ""),
    ],
)
async def test_without_a_usable_target_the_conversation_is_compacted(
    tmp_path: Path, change: dict[str, Any], warning: str
) -> None:
    steps = (full("w" * 15_000), says("a summary"), says("two"))
    async with session(tmp_path, *steps, settings={**ON, **change}) as (fixture, opened):
        await opened.prompt("h" * 12_000)
        await opened.prompt("again")

        assert set(models(fixture)) == {"faux"}
        assert "compaction_start" in fixture.order
        assert any(warning in each for each in (*fixture.reports, "" if not warning else "-"))


def test_the_target_is_selected_by_model_pattern() -> None:
    targets = {"faux/other*": "a", "faux/*": "b"}
    assert target_of(targets, SMALL) == "b"
    assert target_of({"x/*": "c"}, SMALL) == ""
    assert target_of("d", SMALL) == "d"
    assert target_of(None, SMALL) == ""
