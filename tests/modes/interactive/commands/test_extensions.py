from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.port.extensions import ExtensionInfo, NameConflict
from pi.modes.interactive.commands.application import NONE, extension_sections
from pi.modes.interactive.dialogs.reports import Section
from tests.modes.interactive.commands.command_fixture import command_fixture


def test_all_information_about_extensions_is_shown() -> None:
    infos = [
        ExtensionInfo(
            name="timebox",
            path="pi.batteries.timebox:extension",
            rank="bundled",
            description="Limits a session.",
            adds=("/timebox", "--timebox"),
            activation=("/timebox", "--timebox"),
        ),
        ExtensionInfo(
            name="rules",
            path="pi.batteries.rules:extension",
            rank="bundled",
            description="Rules for the model.",
            activation=("setting rules.enabled",),
            switch="rules.enabled",
            is_recommended=True,
        ),
        ExtensionInfo(name="todo", path="todo:extension", rank="bundled", switch="todo.enabled"),
        ExtensionInfo(
            name="ast",
            path="ast:extension",
            rank="bundled",
            is_recommended=True,
            needs=("ast-grep-py>=0.40",),
            install="pip install ast-grep-py",
        ),
        ExtensionInfo(
            name="tips",
            path="/somewhere/tips.py",
            rank="package",
            source="npm:tips",
            state="loaded",
            milliseconds=1.26,
        ),
        ExtensionInfo(
            name="bad", path="/somewhere/bad.py", rank="user", state="failed", problem="no"
        ),
    ]
    lost = NameConflict(
        kind="tool", name="who", loser="/somewhere/tips.py", winner="/somewhere/b.py"
    )

    shown = extension_sections(
        infos, [lost], ["/somewhere/old.ts"], lambda info: info.name == "todo"
    )

    assert list(shown) == [
        Section(
            title="Batteries that are on",
            rows=(("todo", "off with /extensions off todo"),),
        ),
        Section(
            title="Recommended batteries, off · switch on with /extensions on NAME",
            rows=(
                ("rules", "Rules for the model."),
                ("ast", "needs ast-grep-py>=0.40"),
            ),
        ),
        Section(
            title="Batteries that start when they are used",
            rows=(("timebox", "Limits a session."), ("", "adds /timebox, --timebox")),
        ),
        Section(
            title="Extensions",
            rows=(
                ("tips", "loaded in 1.3 ms · package npm:tips · /somewhere/tips.py"),
                ("bad", "not loaded · user · /somewhere/bad.py · no"),
            ),
        ),
        Section(
            title="Name conflicts",
            rows=(("tool who", "registered by /somewhere/b.py, not /somewhere/tips.py"),),
        ),
        Section(
            title="For the original pi, cannot run here",
            rows=(("/somewhere/old.ts", ""),),
        ),
    ]


def test_without_extensions_there_is_nothing_to_show() -> None:
    assert list(extension_sections([], [], [])) == []


@pytest.mark.behaviour("slow-extension-does-not-delay")
async def test_the_command_shows_the_extensions_of_the_session(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    folder.mkdir(parents=True)
    (folder / "hello.py").write_text(
        '"""Says hello.\\n\\nAt once."""\n'
        "def extension(pi):\n"
        '    pi.register_command("hello", handler=lambda *given: None, description="greets")\n'
    )

    async with command_fixture(tmp_path) as on:
        await on.run("/extensions")
        shown = " ".join(on.screen.printed(500).split())
        assert "hello Says hello. adds /hello loaded in" in shown


async def test_without_extensions_the_command_shows_how_to_add_one(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/extensions")
        assert NONE in on.screen.printed(500)
