"""Choosing, renaming and deleting sessions on the screen."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pi.coding.session.catalog import ListedSession, SessionCatalog
from pi.modes.interactive.dialogs.sessions import PAUSE, SessionScope, pick_session
from pi.testing import FakeClock, says
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.interactive.dialogs.sessions.test_listing import session
from tests.modes.interactive.fake_screen import FakeScreen, settle


@asynccontextmanager
async def three(tmp_path: Path) -> AsyncIterator[tuple[FakeScreen, asyncio.Task[Path | None]]]:
    """Three sessions, of which the last one is open, and the list of them."""
    fixture = SessionFixture(tmp_path, *(says(f"answer {n}") for n in (1, 2, 3)))
    session = await fixture.open()
    for text in ("alpha question", "beta question", "gamma question"):
        await session.prompts.prompt(text)
        await fixture.clock.advance(120)
        if not text.startswith("gamma"):
            await session.sessions.new()
    screen = FakeScreen(tmp_path, session, fixture.host)
    scope = SessionScope(
        host=fixture.host,
        catalog=SessionCatalog(fixture.agent_dir),
        cwd=str(fixture.cwd),
        current=session.session_file,
        rename_current=session.info.rename,
    )
    task = asyncio.create_task(pick_session(screen, scope))
    await _until(screen, "gamma question")
    try:
        yield screen, task
    finally:
        if not task.done():
            await screen.press("escape")
        await task
        await session.close()


async def _until(screen: FakeScreen, text: str) -> None:
    await screen.until(lambda seen: text in seen)


async def test_sessions_are_listed_with_the_open_one_marked(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, _):
        assert screen.lines()[:7] == [
            " Resume Session",
            "",
            " > Type to search names and messages",
            " This folder · recent",
            "",
            " → gamma question                            ●   2 msgs   2m",
            "   beta question                                 2 msgs   4m",
        ]


async def test_the_path_of_the_chosen_session_is_returned(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, task):
        await screen.type("alp")
        await screen.press("enter")
        path = await task
        assert path is not None
        assert "alpha question" in path.read_text()


async def test_a_search_finds_message_text_too(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, _):
        await screen.type("answer 2")
        clock = screen.host.clock
        assert isinstance(clock, FakeClock)
        await clock.advance(PAUSE)
        await _until(screen, "… answer 2")
        assert screen.lines()[5] == " → beta question  … answer 2                     2 msgs   4m"


async def test_a_session_is_renamed_in_place(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, _):
        await screen.press("down", "ctrl+r", *"Better", "enter")
        await _until(screen, "→ Better")
        await screen.press("ctrl+n")
        assert "named only" in screen.text()
        assert "gamma" not in screen.text()


async def test_the_open_session_is_renamed_through_its_port(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, _):
        await screen.press("ctrl+r", *"Mine", "enter")
        await _until(screen, "Mine ")
        assert screen.port.info.state().session_name == "Mine"


async def test_deleting_asks_for_confirmation_and_moves_the_session_to_the_trash(
    tmp_path: Path,
) -> None:
    async with three(tmp_path) as (screen, _):
        await screen.press("down", "ctrl+d")
        assert "Move this session to the trash?" in screen.text()
        await screen.press("n")
        assert "beta" in screen.text()
        await screen.press("ctrl+d", "enter")
        await screen.until(lambda seen: "beta" not in seen)
        assert screen.notices == [("info", "Moved the session to the trash.")]


async def test_the_open_session_cannot_be_deleted(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, _):
        await screen.press("ctrl+d")
        assert "\n The open session cannot be deleted.\n" in screen.text()
        await screen.press("down")
        assert "cannot be deleted" not in screen.text()


async def test_ctrl_backspace_deletes_only_while_nothing_is_typed(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, _):
        await screen.type("beta")
        await screen.press("ctrl+backspace")
        assert "trash" not in screen.text()


async def test_scope_order_and_paths_are_switched(tmp_path: Path) -> None:
    async with three(tmp_path) as (screen, _):
        await screen.press("tab")
        await _until(screen, "All folders")
        await screen.press("ctrl+s", "ctrl+p")
        assert "threaded" in screen.text()
        assert "~/project" in screen.text()


async def test_messages_of_other_folders_are_searched_when_their_sessions_are_listed(
    tmp_path: Path,
) -> None:
    async with three(tmp_path) as (screen, _):
        in_another_place = screen.host.agent_dir / "sessions" / "--elsewhere--" / "x.jsonl"
        in_another_place.parent.mkdir()
        file = next(screen.host.agent_dir.glob("sessions/*/*.jsonl"))
        header, *rest = file.read_text().splitlines(keepends=True)
        moved = header.replace(str(tmp_path / "home/project"), "/elsewhere")
        in_another_place.write_text(moved + "".join(rest).replace("answer", "solution"))
        await screen.type("solution")
        await screen.press("tab")
        await _until(screen, "All folders")
        clock = screen.host.clock
        assert isinstance(clock, FakeClock)
        await clock.advance(PAUSE)
        await _until(screen, "… solution")


class SlowCatalog(SessionCatalog):
    """A catalog that lists the sessions of all folders only when ``gate`` is open."""

    def __init__(self, agent_dir: Path) -> None:
        super().__init__(agent_dir)
        self.gate, self.ended = threading.Event(), threading.Event()

    def in_directory(self, cwd: str) -> list[ListedSession]:
        return [session("a", first="here")]

    def in_all_directories(self) -> list[ListedSession]:
        self.gate.wait(30)
        self.ended.set()
        return [session("b", first="elsewhere")]


async def test_an_outdated_list_is_not_shown(
    tmp_path: Path,
) -> None:
    screen = FakeScreen(tmp_path)
    catalog = SlowCatalog(screen.host.agent_dir)
    scope = SessionScope(host=screen.host, catalog=catalog, cwd="/somewhere")
    task = asyncio.create_task(pick_session(screen, scope))
    await _until(screen, "→ here")
    await screen.press("tab", "tab")
    catalog.gate.set()
    await asyncio.to_thread(catalog.ended.wait)
    await settle()
    assert "→ here" in screen.text()
    await screen.press("escape")
    await task
