"""The choice of a model at the first start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pi.coding.runtime.session.agent_session import AgentSession
from pi.modes.interactive.dialogs.first_run import FIRST_WORDS, choose_start
from pi.modes.interactive.dialogs.waiting import ShowMessage
from pi.modes.interactive.ui import Ui
from tests.ai.loopback import NOWHERE, site
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.interactive.fake_screen import FakeScreen


@asynccontextmanager
async def newcomer(
    tmp_path: Path, **environ: str
) -> AsyncIterator[tuple[FakeScreen, AgentSession]]:
    """A session without a model."""
    fixture = SessionFixture(tmp_path, environ={**NOWHERE, "PI_OFFLINE": "1", **environ})
    fixture.registry.models.unregister("faux")
    session = await fixture.open(model=None)
    try:
        yield FakeScreen(tmp_path, session, fixture.host), session
    finally:
        await session.close()
        await fixture.registry.models.close()


async def choose_login_way(screen: FakeScreen) -> None:
    """Wait for the question."""
    await screen.until(lambda text: "How do you want to start?" in text)


async def test_the_tour_is_chosen_and_can_begin(tmp_path: Path) -> None:
    async with newcomer(tmp_path) as (screen, session):
        task = asyncio.create_task(choose_start(screen))
        await choose_login_way(screen)
        await screen.press("down", "enter")
        await task
        assert session.model is not None
        assert (session.model.provider, screen.editor_text) == ("demo", FIRST_WORDS)


async def test_a_key_is_stored_and_a_model_of_it_becomes_the_default(tmp_path: Path) -> None:
    async with newcomer(tmp_path) as (screen, session):
        task = asyncio.create_task(choose_start(screen))
        await choose_login_way(screen)
        await screen.press("enter", *"deepseek", "enter", *"sk-test", "enter")
        await screen.until(lambda text: "[All]" in text)
        await screen.press(*"deepseek", "enter")
        await task
        assert session.settings.values.default_provider == "deepseek"
        assert session.model is not None


async def test_the_embedded_model_is_fetched_used_and_kept(tmp_path: Path) -> None:
    ready = asyncio.Event()

    async def fetch(ui: Ui, show: ShowMessage) -> Path:
        show("Fetching the weights: 10 of 93 MB")
        await ready.wait()
        return tmp_path

    async with newcomer(tmp_path) as (screen, session):
        task = asyncio.create_task(choose_start(screen, fetch=fetch))
        await choose_login_way(screen)
        await screen.press("down", "down", "enter")
        await screen.until(lambda text: "10 of 93 MB" in text)
        ready.set()
        await task
        assert session.model is not None
        assert session.model.provider == "local"
        assert session.settings.values.default_provider == "local"
        assert session.settings.values.default_model == session.model.id


async def test_cancelling_a_setup_step_returns_to_the_choice_and_setup_can_be_skipped(
    tmp_path: Path,
) -> None:
    async def fetch(ui: Ui, show: ShowMessage) -> Path:
        await asyncio.Event().wait()
        return tmp_path

    async with newcomer(tmp_path) as (screen, session):
        task = asyncio.create_task(choose_start(screen, fetch=fetch))
        await choose_login_way(screen)
        await screen.press("down", "down", "enter")
        await screen.until(lambda text: "Downloading" in text)
        await screen.press("escape")
        await screen.until(lambda text: "How do you want to start?" in text)
        await screen.press("enter")
        await screen.until(lambda text: "Log in to" in text)
        await screen.press("escape")
        await screen.until(lambda text: "How do you want to start?" in text)
        await screen.press("escape")
        await task
        assert session.model is None
        assert screen.notices[-1][0] == "info"


async def test_a_model_server_on_this_machine_is_offered_with_its_owner_and_kept(
    tmp_path: Path,
) -> None:
    pages = {
        "/api/tags": {"models": [{"name": "llama"}, {"name": "qwen3:8b"}]},
        "/api/show": {},
    }
    async with (
        site(pages) as server,
        newcomer(tmp_path, OLLAMA_HOST=server.url) as (screen, session),
    ):
        task = asyncio.create_task(choose_start(screen))
        await choose_login_way(screen)
        assert session.models.current is None
        assert f"ollama on {server.url.removeprefix('http://')}" in screen.text()
        assert "found on this machine; owner: " in screen.text(70)
        await screen.press("down", "enter")
        await screen.until(lambda text: "Which model?" in text)
        await screen.press("down", "enter")
        await task
        assert session.model is not None
        assert (session.model.provider, session.model.id) == ("ollama", "qwen3:8b")
        assert session.settings.values.default_provider == "ollama"
        assert session.settings.values.default_model == "qwen3:8b"
        assert session.models.registry.not_chosen() == ()
