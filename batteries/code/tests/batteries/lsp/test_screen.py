"""Language servers on the screen: progress in the status line, results beside write and edit."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from pi.ai.providers.faux import Step, says
from pi.batteries.lsp.adapter import extension
from pi.batteries.lsp.views import LanguageServersScreen
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.drawing import PlainTheme
from tests.base.processes.children import needs_posix_shell
from tests.batteries.lsp.lsp_session import demo, edit, write
from tests.modes.interactive.app_fixture import AppFixture

pytestmark = needs_posix_shell


class LspAppFixture(AppFixture):
    """The application with the battery and the scripted server."""

    def __init__(self, tmp_path: Path, *steps: Step) -> None:
        requested = ExtensionOptions(discover=False, inline=(extension,))
        settings = {"lsp": {"enabled": True, "shared": False}}
        super().__init__(tmp_path, *steps, extensions=requested, settings=settings)
        (self.fixture.agent_dir / "lsp.json").write_text(json.dumps(demo("pull")))
        (self.fixture.cwd / ".git").mkdir()
        self.begin = self._begin

    def row(self, *texts: str) -> str:
        """The first row of the screen that has all these texts; empty without one."""
        rows = self.screen.splitlines()
        return next((row for row in rows if all(text in row for text in texts)), "")

    async def _begin(self) -> None:
        assert self.session is not None
        await self.session.start()


async def test_write_and_edit_show_the_number_of_problems(tmp_path: Path) -> None:
    steps = (
        write("a.demo", "BAD BAD\n"),
        edit("a.demo", "BAD BAD", "BAD word"),
        edit("a.demo", "BAD word", "good"),
        says("All done."),
    )
    async with LspAppFixture(tmp_path, *steps).running() as app:
        await app.asks("go", "All done.")
        written, first, second = (row for row in app.screen.splitlines() if "a.demo" in row)

    assert written.rstrip().endswith("1 line · 2 errors")
    assert first.rstrip().endswith("+1 -1 · 1 error")
    assert second.rstrip().endswith("+1 -1")


async def test_a_warning_without_an_error_is_shown_too(tmp_path: Path) -> None:
    app = LspAppFixture(tmp_path, write("a.demo", "good\n"), says("All done."))
    (app.fixture.cwd / "b.part").write_text("BAD\n")
    async with app.running():
        await app.asks("go", "All done.")

        assert app.row("a.demo").rstrip().endswith("1 line · 1 warning")


@pytest.mark.parametrize("word", ["", "LOST"])
async def test_the_status_line_shows_the_progress_of_a_server(tmp_path: Path, word: str) -> None:
    go = tmp_path / "go"
    steps = (write("a.demo", f"BAD INDEX={go} {word}\n"), says("All done."))
    async with LspAppFixture(tmp_path, *steps).running() as app:
        app.send("go")
        await app.sees("demo: Indexing 40 %")
        go.touch()
        await app.loses("demo: Indexing")
        await app.sees("All done.")


def test_a_narrow_screen_shows_the_whole_install_command() -> None:
    known = [("pyright", "", "pip install pyright-and-a-very-long-name"), ("zls", "/bin/zls", "")]
    known += [(f"server{number}", "", "install " + "x" * 30) for number in range(9)]
    tui = SimpleNamespace(terminal=SimpleNamespace(size=SimpleNamespace(rows=24)))
    screen = LanguageServersScreen(lambda: {"servers": []}, known, tui, PlainTheme(), print)

    first = [row.strip() for row in screen.render(40)]

    assert "zls                  /bin/zls" in first
    at = first.index("pyright")
    assert " ".join(first[at + 1 : at + 3]) == (
        "not found: pip install pyright-and-a-very-long-name"
    )
    for _ in range(20):
        screen.handle_input("\x1b[B")
    assert "server8" in "".join(screen.render(40))
    assert len(screen.render(40)) <= 24
