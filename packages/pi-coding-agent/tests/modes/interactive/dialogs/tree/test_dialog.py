"""Going to another point of a session, on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.coding.runtime.session.agent_session import AgentSession
from pi.modes.interactive.dialogs.tree.dialog import ALREADY_THERE, walk_tree
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture, kinds
from tests.modes.interactive.fake_screen import FakeScreen


@asynccontextmanager
async def talk(tmp_path: Path, *answers: str) -> AsyncIterator[tuple[AgentSession, FakeScreen]]:
    """A session with two prompts and their answers."""
    fixture = SessionFixture(tmp_path, *(says(text) for text in ("One", "Two", *answers)))
    session = await fixture.open()
    await session.prompts.prompt("first question")
    await session.prompts.prompt("second question")
    try:
        yield session, FakeScreen(tmp_path, session, fixture.host)
    finally:
        await session.close()


async def test_the_tree_shows_the_conversation_and_the_active_branch(tmp_path: Path) -> None:
    async with talk(tmp_path) as (_, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.wait_until_shown()
        assert screen.text() == (
            " Session Tree\n"
            "\n"
            " > Type to search\n"
            "\n"
            "   • user: first question\n"
            "   • assistant: One\n"
            "   • user: second question\n"
            " → • assistant: Two\n"
            "   (4/4) [default]\n"
            "\n"
            " Enter go · Shift+L label · Ctrl+Left fold · Ctrl+O filter\n"
            " Escape cancel"
        )
        await screen.press("escape")
        await walk


async def test_picking_a_prompt_puts_it_into_the_editor_and_moves_the_leaf_before_it(
    tmp_path: Path,
) -> None:
    async with talk(tmp_path) as (session, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("up", "enter", "enter")
        await walk
        assert screen.editor_text == "second question"
        assert _texts(session) == ["One"]


def _texts(session: AgentSession) -> list[str]:
    return [text for message in session.messages if (text := getattr(message, "text", ""))]


@pytest.mark.behaviour("drafts-are-kept")
async def test_picking_a_prompt_does_not_replace_a_draft(tmp_path: Path) -> None:
    async with talk(tmp_path) as (_, screen):
        screen.editor_text = "my draft"
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("up", "enter", "enter")
        await walk
        assert screen.editor_text == "my draft"
        assert screen.notices[-1][0] == "warning"


async def test_picking_the_current_leaf_changes_nothing(tmp_path: Path) -> None:
    async with talk(tmp_path) as (session, screen):
        before = kinds(session)
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("enter")
        await walk
        assert screen.notices == [("info", ALREADY_THERE)]
        assert kinds(session) == before


async def test_escape_in_the_question_about_a_summary_shows_the_tree_again(tmp_path: Path) -> None:
    async with talk(tmp_path) as (_, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("up", "up", "enter")
        assert "Summarize with custom prompt" in screen.text()
        await screen.press("escape")
        assert "→ • assistant: One" in screen.text()
        await screen.press("enter", "down", "down", "enter", "escape")
        assert "Summarize with custom prompt" in screen.text()
        await screen.press("escape", "escape")
        await walk


async def test_a_summary_is_kept_at_the_new_place(tmp_path: Path) -> None:
    async with talk(tmp_path, "## Notes") as (session, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("up", "up", "enter", "down", "enter")
        await screen.wait_until_closed()
        await walk
        assert kinds(session)[-1] == "branch_summary"


async def test_a_summary_follows_the_instructions_of_the_user(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, *(says(text) for text in ("One", "Two", "## Notes")))
    session = await fixture.open()
    await session.prompts.prompt("first question")
    await session.prompts.prompt("second question")
    screen = FakeScreen(tmp_path, session, fixture.host)
    walk = asyncio.create_task(walk_tree(screen))
    await screen.press("up", "up", "enter", "down", "down", "enter", *"only names", "enter")
    await walk
    assert "only names" in str(fixture.provider.requests[-1].messages)
    await session.close()


async def test_a_cancelled_summary_keeps_the_leaf_and_shows_the_tree_again(
    tmp_path: Path,
) -> None:
    busy = ProviderUnavailable("503: busy", status=503)  # which is waited for before a retry
    fixture = SessionFixture(tmp_path, says("One"), says("Two"), busy)
    session = await fixture.open()
    await session.prompts.prompt("first question")
    await session.prompts.prompt("second question")
    before = session.entries.log.leaf_id
    screen = FakeScreen(tmp_path, session, fixture.host)
    walk = asyncio.create_task(walk_tree(screen))
    await screen.press("up", "up", "enter", "down", "enter")
    await screen.until(lambda text: "Summarizing the branch" in text)
    await screen.press("escape")
    await screen.until(lambda text: "Session Tree" in text)
    assert session.entries.log.leaf_id == before
    assert screen.notices == [("info", "Summary cancelled.")]
    await screen.press("escape")
    await walk
    await session.close()


@pytest.mark.parametrize(
    "setting", [{"branchSummary.skipPrompt": True}, {"branchSummary.enabled": False}]
)
async def test_the_question_about_a_summary_can_be_disabled_in_the_settings(
    tmp_path: Path, setting: dict[str, bool]
) -> None:
    async with talk(tmp_path) as (session, screen):
        session.settings.set(setting)
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("up", "up", "enter")
        await walk


async def test_labels_are_set_shown_and_removed(tmp_path: Path) -> None:
    async with talk(tmp_path) as (session, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("up", "up", "L", *"mark", "enter")
        assert "→ • [mark] assistant: One" in screen.text()
        await screen.press("ctrl+l")
        assert "user:" not in screen.text()
        await screen.press("T")
        assert "[mark 2" in screen.text()
        await screen.press("L", *["backspace"] * 4, "enter", "alt+d")
        assert "[mark" not in screen.text()
        await screen.press("escape")
        await walk
        assert kinds(session)[-2:] == ["label", "label"]


async def test_a_search_may_have_a_capital_l(tmp_path: Path) -> None:
    async with talk(tmp_path) as (session, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.type("oL")
        assert "> oL" in screen.text() and "Label:" not in screen.text()
        await screen.press("escape", "escape")
        await walk
        assert "label" not in kinds(session)


async def test_typing_searches_and_escape_first_clears_the_search(tmp_path: Path) -> None:
    async with talk(tmp_path) as (_, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.type("second q")
        assert " > second q" in screen.text()
        assert "first" not in screen.text()
        await screen.press("escape")
        assert "first" in screen.text()
        assert " > Type to search" in screen.text()
        await screen.type("x")
        await screen.press("ctrl+c")
        await walk


async def test_while_a_label_is_written_the_keys_of_a_field_are_named(tmp_path: Path) -> None:
    async with talk(tmp_path) as (_, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("L")
        assert screen.text().endswith("\n Enter accept · Escape cancel")
        await screen.press("escape", "escape")
        await walk


async def test_the_tree_is_shown_again_with_its_filter_and_selection(tmp_path: Path) -> None:
    async with talk(tmp_path) as (_, screen):
        walk = asyncio.create_task(walk_tree(screen))
        await screen.press("ctrl+u", *"quest", "up")
        before = screen.text()
        assert "[user-only]" in before
        await screen.press("enter", "escape")
        assert screen.text() == before
        await screen.press("ctrl+c")
        await walk
