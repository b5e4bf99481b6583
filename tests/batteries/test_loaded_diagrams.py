"""The battery is on by default and imports nothing until a diagram is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.records import replace
from pi.batteries.diagrams.adapter import extension
from pi.coding.port.ui import Mode
from pi.modes.interactive.extensions.theme import ExtensionTheme
from pi.modes.interactive.extensions.views import ExtensionViews
from pi.tui.text.ansi import strip_sequences
from tests.batteries.test_bundled import SOURCES, install
from tests.coding.extension_host.extension_session import extension_session
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.interactive.fake_screen import plain_theme

SMALL = "graph LR\nA-->B\n"


@pytest.mark.parametrize(("mode", "draws"), [("tui", True), ("print", False), ("rpc", False)])
async def test_diagrams_are_drawn_on_screens_without_a_host(
    tmp_path: Path, mode: Mode, draws: bool
) -> None:
    pytest.importorskip("mermaid_term")
    fixture = SessionFixture(tmp_path)
    path = tuple(map(str, (install(tmp_path / "installed"), *SOURCES)))
    fixture.host = replace(fixture.host, import_path=path)
    session = await fixture.open(mode=mode)
    views = ExtensionViews(
        session.extensions, ExtensionTheme(plain_theme()), pad=lambda: 0, columns=lambda: 80
    )

    assert views.draws_code("mermaid") is draws
    if draws:
        rows = views.code("mermaid", SMALL, 40, is_open=False)
        assert list(map(strip_sequences, rows or [])) == [
            "",
            "┌───┐    ┌───┐",
            "│ A ├───▶│ B │",
            "└───┘    └───┘",
        ]
    assert session.extensions.hosting.contributions.host is None
    await session.close()


async def test_without_the_extra_mermaid_is_shown_as_code(tmp_path: Path) -> None:
    folder = install(tmp_path / "installed")
    (metadata,) = folder.glob("*.dist-info")
    with (metadata / "METADATA").open("a") as file:
        file.write("Requires-Dist: no-such-library; extra == 'diagrams'\n")
    fixture = SessionFixture(tmp_path)
    fixture.host = replace(fixture.host, import_path=tuple(map(str, (folder, *SOURCES))))
    session = await fixture.open(mode="tui")

    assert not session.extensions.views.has("code", "mermaid")
    (info,) = (info for info in session.extensions.infos() if info.name == "diagrams")
    assert info.needs == ("no-such-library",)
    assert not session.extensions.views.has("code", "mermaid")
    await session.close()


async def test_the_extension_itself_registers_the_same_view(tmp_path: Path) -> None:
    async with extension_session(tmp_path, extension) as hosted:
        assert hosted.session.extensions.views.has("code", "mermaid")
