"""Moving within a session."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.base.errors import PiError
from pi.coding.extension_host.events.queries import Notes, SessionBeforeTreeEvent, TreeDecision
from pi.coding.extension_host.events.session import SessionTreeEvent
from pi.coding.port.results import Navigated
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture, give_way, kinds


async def test_moving_to_a_user_message_returns_its_text_for_editing(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"), says("c"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    await session.prompts.prompt("two")
    second = session.info.fork_points()[1].entry_id
    before = kinds(session)
    moved: list[SessionTreeEvent] = []
    fixture.bus.subscribe(SessionTreeEvent, moved.append)

    assert await session.tree.go_to(second) == Navigated(text="two")
    assert kinds(session) == before
    assert len(moved) == 1
    await session.prompts.prompt("two, differently")
    texts = [point.text for point in session.info.fork_points()]
    assert texts == ["one", "two", "two, differently"]
    await session.close()


async def test_a_prompt_sent_during_a_move_goes_to_the_new_branch(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"), says("c"))
    session = await fixture.open()
    await session.prompts.prompt("sunflower")
    await session.prompts.prompt("dandelion")
    second = session.info.fork_points()[1].entry_id
    prompts: list[asyncio.Task[object]] = []

    async def send(_: object) -> None:
        prompts.append(asyncio.create_task(session.prompts.prompt("three")))
        await give_way()

    fixture.bus.subscribe(SessionBeforeTreeEvent, send)
    await session.tree.go_to(second)
    await prompts[0]

    request = str(fixture.provider.requests[2].messages)
    assert "sunflower" in request
    assert "dandelion" not in request
    await session.close()


async def test_a_summary_of_the_abandoned_branch_is_added_to_the_new_one(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"), says("We tried B."), says("c"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    answer = session.entries.log.leaf_id
    assert answer is not None
    await session.prompts.prompt("two")
    moved = await session.tree.go_to(answer, summarize=True, label="tried")

    assert moved.summary_id is not None
    assert kinds(session)[-2:] == ["branch_summary", "label"]
    await session.prompts.prompt("three")
    assert "We tried B." in str(fixture.provider.requests[-1].messages)
    await session.close()


async def test_handlers_can_provide_the_summary_or_cancel_the_move(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    answer = session.entries.log.leaf_id
    assert answer is not None
    await session.prompts.prompt("two")
    leaf = session.entries.log.leaf_id
    end = fixture.bus.subscribe(SessionBeforeTreeEvent, lambda question: TreeDecision(cancel=True))
    assert await session.tree.go_to(answer) == Navigated(cancelled=True)
    assert session.entries.log.leaf_id == leaf
    end()
    fixture.bus.subscribe(
        SessionBeforeTreeEvent, lambda question: TreeDecision(summary=Notes(summary="theirs"))
    )
    await session.tree.go_to(answer, summarize=True)

    assert kinds(session)[-1] == "branch_summary"
    await session.close()


async def test_the_summary_of_a_handler_is_ignored_unless_a_summary_is_requested(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    answer = session.entries.log.leaf_id
    assert answer is not None
    await session.prompts.prompt("two")
    notes = TreeDecision(summary=Notes(summary="theirs"), label="left")
    fixture.bus.subscribe(SessionBeforeTreeEvent, lambda question: notes)
    moved: list[SessionTreeEvent] = []
    fixture.bus.subscribe(SessionTreeEvent, moved.append)

    assert (await session.tree.go_to(answer)).summary_id is None

    assert kinds(session)[-1] == "label"
    assert [(event.summary_entry, event.from_extension) for event in moved] == [(None, False)]
    await session.close()


@pytest.mark.behaviour("escape-stops-compaction")
async def test_aborting_a_summary_cancels_the_move(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"), says("b"))
    session = await fixture.open()
    await session.prompts.prompt("one")
    answer = session.entries.log.leaf_id
    assert answer is not None
    await session.prompts.prompt("two")
    leaf = session.entries.log.leaf_id
    fixture.provider.add(ProviderUnavailable("503: busy", status=503))
    move = asyncio.create_task(session.tree.go_to(answer, summarize=True))
    await fixture.clock.advance(1)
    session.tree.abort()

    assert await move == Navigated(cancelled=True, aborted=True)
    assert session.entries.log.leaf_id == leaf
    await session.close()


async def test_moving_to_an_unknown_entry_raises_an_error(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    session = await fixture.open()
    with pytest.raises(PiError, match="Entry not found: nope"):
        await session.tree.go_to("nope")
    await session.close()
