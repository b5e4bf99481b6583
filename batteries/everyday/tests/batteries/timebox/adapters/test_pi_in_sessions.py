"""The timebox in real sessions, with a script in place of a model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.errors import ProviderUnavailable
from pi.ai.messages import Text, UserMessage
from pi.ai.models.model import ModelCost
from pi.ai.provider import Provider
from pi.ai.providers.faux import FAUX_MODEL
from pi.batteries.timebox.adapters.pi import extension
from pi.coding.retry import AutoRetryStart
from pi.extension import AssistantMessage, ExtensionAPI, SubSession, Usage, replace
from pi.testing import Reply, ScriptedProvider, calls, says
from tests.base.processes.children import exists
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)

CONTINUES = "The agent stops for this turn. The chat continues."


@asynccontextmanager
async def boxed(
    tmp_path: Path, *steps: Any, more: tuple[Any, ...] = (), **options: Any
) -> AsyncIterator[tuple[ExtensionFixture, FakeUI]]:
    """A session with the timebox, and a fake user."""
    small = {"compaction": {"keepRecentTokens": 1}}
    extensions = (extension, *more)
    async with extension_session(
        tmp_path, *extensions, steps=steps, settings=small, **options
    ) as hosted:
        ui = FakeUI()
        hosted.host.attach(ui, "tui")
        yield hosted, ui


def notices(ui: FakeUI) -> list[str]:
    return [seen[1] for seen in ui.seen if seen[0] == "notify"]


def long(text: str) -> Reply:
    """An answer of a thousand tokens."""
    return Reply(blocks=(Text(text=text),), usage=Usage(input=600, output=400))


async def test_the_fifth_prompt_is_nudged_and_the_sixth_is_never_sent(tmp_path: Path) -> None:
    async with boxed(tmp_path, *[says(f"answer {n}") for n in range(6)]) as (hosted, ui):
        await hosted.session.prompt("/timebox turns:5")
        for number in range(7):
            await hosted.session.prompt(f"question {number}")
        requests = hosted.fixture.provider.requests
        last = hosted.session.messages[-3]

    assert hosted.failures == []
    assert notices(ui) == [
        "Timebox set: 5 turns.",
        "Timebox nearly spent: this turn is the last.",
        f"Timebox budget spent. Used 5 turns, 0s. {CONTINUES}",
    ]
    assert len(requests) == 6  # the seventh prompt is sent
    warned = requests[4].messages[-1]
    assert isinstance(warned, UserMessage)
    assert "CRITICAL TIMEBOX WARNING" in str(warned.content)  # it is the last one
    assert isinstance(last, AssistantMessage)
    assert (last.stop_reason, last.error_message) == (
        "aborted",
        "Timebox budget spent. Used 5 turns, 0s.",
    )


async def test_later_prompts_of_a_nudged_session_have_the_warning_in_the_system_prompt(
    tmp_path: Path,
) -> None:
    async with boxed(tmp_path, says("one"), says("two")) as (hosted, _):
        await hosted.session.prompt("/timebox 10m")
        await hosted.fixture.clock.advance(8 * 60)
        await hosted.session.prompt("first")
        await hosted.session.prompt("second")
        first, second = hosted.fixture.provider.requests

    assert "IMPORTANT TIMEBOX WARNING" not in str(first.messages[0])
    assert "IMPORTANT TIMEBOX WARNING" in str(second.messages[0])
    assert str(second.messages).count("TIMEBOX WARNING") == 1


async def test_a_session_is_reloaded_and_resumed_with_its_budget(tmp_path: Path) -> None:
    async with boxed(tmp_path, says("one"), says("two")) as (hosted, ui):
        session = hosted.session
        await session.prompt("/timebox turns:2")
        await session.prompt("first")
        await session.sessions.reload()
        file = session.session_file
        assert file is not None
        await session.new_session()
        await session.prompt("/timebox status")
        await session.switch_session(file)
        await session.prompt("second")
        await session.prompt("third")

    assert hosted.failures == []
    restored = "Restored. Timebox: no time limit | 1 turn left (1/2)"
    assert [text.partition(" Usage")[0] for text in notices(ui)] == [
        "Timebox set: 2 turns.",
        restored,
        "No active timebox.",
        restored,
        "Timebox nearly spent: this turn is the last.",
        f"Timebox budget spent. Used 2 turns, 0s. {CONTINUES}",
    ]
    assert len(hosted.fixture.provider.requests) == 2


async def test_the_status_is_updated_every_second_and_removed_at_the_end(
    tmp_path: Path,
) -> None:
    async with boxed(tmp_path) as (hosted, ui):
        await hosted.session.prompt("/timebox 5s")
        await hosted.fixture.clock.advance(2)
    statuses = [seen[2].partition(" |")[0] for seen in ui.seen if seen[0] == "status"]

    assert statuses == [
        "Timebox: 5s left (5s budget)",
        "Timebox: 4s left (5s budget)",
        "Timebox: 3s left (5s budget)",
        "None",
    ]


async def test_a_retry_is_not_counted_as_a_turn(tmp_path: Path) -> None:
    busy = ProviderUnavailable("503: overloaded", status=503)
    async with boxed(tmp_path, busy, says("after all")) as (hosted, ui):
        await hosted.session.prompt("/timebox turns:1")
        waiting = hosted.fixture.seen(hosted.session, AutoRetryStart)
        asking = asyncio.create_task(hosted.session.prompt("first"))
        await waiting.wait()
        await hosted.fixture.clock.advance(60)
        await asking

    assert hosted.session.messages[-1].content == (Text(text="after all"),)  # type: ignore[union-attr]
    assert notices(ui) == ["Timebox set: 1 turn."]


async def test_the_on_stop_command_outlives_the_session(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with boxed(tmp_path) as (hosted, _):
        await hosted.session.prompt(f"/timebox turns:0 -- echo $$ > '{pipe}'")
        await hosted.session.prompt("first")
        async with asyncio.timeout(30):
            pid = int(await asyncio.to_thread(pipe.read_text))
            while exists(pid):  # noqa: ASYNC110 - the process that started it must reap it
                await asyncio.sleep(0.01)

    assert hosted.failures == []


async def test_a_run_is_stopped_before_a_request_that_exceeds_the_token_limit(
    tmp_path: Path,
) -> None:
    work = replace(calls("bash", command="true"), usage=Usage(input=900, output=100))
    async with boxed(tmp_path, work, work, says("never"), says("later")) as (hosted, ui):
        await hosted.session.prompt("/timebox tokens:2k")
        await hosted.session.prompt("first")
        requests = len(hosted.fixture.provider.requests)
        await hosted.session.prompt("second")

    assert (requests, len(hosted.fixture.provider.requests)) == (2, 3)
    assert notices(ui)[1:] == [f"Timebox budget spent. Used 1 turn, 0s, 2k tokens. {CONTINUES}"]
    assert hosted.failures == []


async def test_the_cost_is_computed_from_the_price_of_the_model(tmp_path: Path) -> None:
    price = ModelCost(input=1_000_000 / 600)  # per million: a dollar for each long answer
    paid = ScriptedProvider(
        long("one"),
        long("two"),
        says("never"),
        row=Provider(id="paid", name="Paid", needs_key=False, default_model="paid"),
        models=(replace(FAUX_MODEL, id="paid", provider="paid", cost=price),),
    )
    more = (lambda pi: pi.register_provider(paid),)
    async with boxed(tmp_path, more=more, model="paid/paid") as (hosted, ui):
        await hosted.session.prompt("/timebox cost:2.00")
        for text in ("first", "second", "third"):
            await hosted.session.prompt(text)

    assert len(paid.requests) == 2
    assert notices(ui)[1:] == [f"Timebox budget spent. Used 2 turns, 0s, $2.00. {CONTINUES}"]


async def test_a_compaction_uses_tokens_and_is_refused_when_none_are_left(
    tmp_path: Path,
) -> None:
    async with boxed(tmp_path, says("one"), says("two")) as (hosted, ui):
        session = hosted.session
        await session.prompt("first")
        await session.prompt("second")
        await session.prompt("/timebox tokens:1k")
        hosted.fixture.provider.add(long("a summary"), says("never"))

        with pytest.raises(CompactionFailed, match="Timebox budget spent"):
            await session.compact()  # needs two requests

    assert len(hosted.fixture.provider.requests) == 3
    assert notices(ui)[1:] == [f"Timebox budget spent. Used 0 turns, 0s, 1k tokens. {CONTINUES}"]


async def test_a_sub_agent_uses_the_budget_of_its_parent(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    more = (apis.append,)
    async with boxed(tmp_path, long("found it"), says("never"), more=more) as (hosted, ui):
        await hosted.session.prompt("/timebox tokens:1k")
        answers = []
        for _ in range(2):
            handle = await apis[0].sub_session(SubSession(prompt="look"))
            answers.append(await handle.result())

    assert [answer and answer.stop_reason for answer in answers] == ["stop", "error"]
    assert len(hosted.fixture.provider.requests) == 1
    assert notices(ui)[1:] == [f"Timebox budget spent. Used 0 turns, 0s, 1k tokens. {CONTINUES}"]
