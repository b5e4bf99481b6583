"""``/rewind`` on the screen."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Step, calls, says
from pi.batteries.rewind import restoring
from pi.batteries.rewind.adapter import extension
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.base.processes.children import needs_posix_shell
from tests.modes.interactive.app_fixture import AppFixture

pytestmark = needs_posix_shell
DOWN, ENTER, ESCAPE = "\x1b[B", "\r", "\x1b"


class RewindAppFixture(AppFixture):
    """The application with the battery."""

    def __init__(self, tmp_path: Path, *steps: Step) -> None:
        requested = ExtensionOptions(discover=False, inline=(extension,))
        settings = {"rewind": {"enabled": True}, "doubleEscapeAction": "rewind"}
        super().__init__(tmp_path, *steps, extensions=requested, settings=settings)
        self.begin = self._begin

    async def _begin(self) -> None:
        assert self.session is not None
        await self.session.start()


STEPS = (
    calls("write", path="a.py", content="one = 1\n"),
    says("Made it."),
    calls("bash", command="printf 'two = 2\\n' > a.py; printf x > b"),
    says("Changed it."),
)


async def test_a_rewind_shows_points_preview_and_question_and_restores_the_prompt(
    tmp_path: Path,
) -> None:
    async with RewindAppFixture(tmp_path, *STEPS).running() as app:
        await app.asks("make a file", "Made it.")
        await app.asks("change the file", "Changed it.")
        app.type(ESCAPE)
        await app.rests()
        app.type(ESCAPE)
        await app.sees("Rewind to before")
        page = app.screen.partition("Rewind to before")[2]
        rows = [row for row in page.splitlines() if row.endswith(" B") or "no changes" in row]
        app.type(ENTER)
        await app.sees("Enter choose what to restore")
        preview = app.screen
        app.type(ENTER)
        await app.sees("Do nothing")
        app.type(DOWN)
        app.type(ENTER)
        await app.sees("/redo takes it back")
        await app.loses("Changed it.")
        screen = app.screen

        assert "change the file" in rows[0]
        assert "2 files" in rows[0]
        assert "make a file" in rows[1]
        assert "-two = 2" in preview
        assert "+one = 1" in preview
        assert "remove   b" in preview
        assert (app.fixture.cwd / "a.py").read_text() == "one = 1\n"
        assert not (app.fixture.cwd / "b").exists()
        assert "Made it." in screen
        assert "change the file" in screen  # in the editor


@pytest.mark.parametrize("keys", [(ESCAPE,), (ENTER, ESCAPE), (ENTER, ENTER, ENTER)])
async def test_nothing_is_restored_by_default(tmp_path: Path, keys: tuple[str, ...]) -> None:
    titles = ("Rewind to before", "Enter choose what to restore", "Do nothing")
    async with RewindAppFixture(tmp_path, *STEPS).running() as app:
        await app.asks("make a file", "Made it.")
        await app.asks("change the file", "Changed it.")
        app.send("/rewind")
        for title, key in zip(titles, keys, strict=False):
            await app.sees(title)
            app.type(key)
        await app.loses(titles[len(keys) - 1])
        await app.rests()

        assert (app.fixture.cwd / "b").exists()
        assert "Changed it." in app.screen


async def test_while_files_are_restored_no_prompt_can_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    restore = restoring.restore

    def restore_slowly(*arguments: Any, **named: Any) -> Any:
        assert may_go_on.wait(30)
        return restore(*arguments, **named)

    monkeypatch.setattr(restoring, "restore", restore_slowly)
    async with RewindAppFixture(tmp_path, *STEPS[:2]).running() as app:
        await app.asks("make a file", "Made it.")
        app.send("/rewind 1")
        await app.sees("Enter choose what to restore")
        app.type(ENTER)
        await app.sees("Do nothing")
        app.type(DOWN)
        app.type(ENTER)
        await app.sees("Restoring 1 file …")
        app.send("too early")
        app.type(ESCAPE)
        await app.rests()
        is_waiting = "Restoring 1 file …" in app.screen
        may_go_on.set()
        await app.sees("/redo takes it back")

        assert is_waiting
        assert "too early" not in app.screen
        assert not (app.fixture.cwd / "a.py").exists()
