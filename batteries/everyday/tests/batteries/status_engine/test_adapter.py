from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from pi.coding.extension_host.discovery.manifest import read_manifest, supports_mode
from pi.coding.extension_host.events.session import ExtensionEvent
from pi.coding.port.ui import Mode
from pi.testing import says
from scripts.workspace import find_source
from tests.batteries.status_engine.git.repository import git, make_repository
from tests.batteries.status_engine.status_session import PATIENT, StatusSession, status_session

LINE_2 = "faux | medium | project"


async def test_the_lines_are_there_when_the_session_begins(tmp_path: Path) -> None:
    async with status_session(tmp_path, True) as show:
        assert show.panel.screen() == [LINE_2]


async def test_in_print_mode_nothing_is_shown_or_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    setting = {"provider": "command", "command": f"touch {ran}"}
    async with status_session(tmp_path, setting, says("Hello."), mode="print") as show:
        published = publications(show)
        await show.session.prompt("hi")
        await show.fixture.clock.advance(10)

        assert (show.panel.rows, ran.exists(), published) == ({}, False, [])


@pytest.mark.parametrize("mode", ["json", "rpc"])
async def test_for_clients_the_lines_are_published_when_they_change(
    tmp_path: Path, mode: Mode
) -> None:
    setting = {
        "provider": "command",
        "command": "printf '\\033[31mred\\033[0m\\033[2J'",
        "commandTimeoutMs": PATIENT,
    }
    async with status_session(tmp_path, setting, mode=mode) as show:
        published = publications(show)
        await show.until(lambda: len(published) == 2)
        await show.fixture.clock.advance(5)
        await show.session.set_thinking_level("low")
        await show.until(lambda: len(published) == 3)

        red = "\x1b[31mred\x1b[0m"
        assert published == [
            {"line2": LINE_2, "line3": None},
            {"line2": LINE_2, "line3": red},
            {"line2": "faux | low | project", "line3": red},
        ]
        assert show.panel.rows == {}


async def test_the_lines_are_published_at_the_start_of_each_run_also_unchanged(
    tmp_path: Path,
) -> None:
    async with status_session(tmp_path, True, says("Hello."), says("Again."), mode="rpc") as show:
        published = publications(show)
        await show.until(lambda: len(published) == 1)
        await show.session.prompt("hi")
        await show.session.prompt("hi")
        await show.until(lambda: len(published) == 3)

        assert published == [{"line2": LINE_2, "line3": None}] * 3


async def test_disabled_lines_are_published_as_empty(tmp_path: Path) -> None:
    async with status_session(tmp_path, {"items": ["model"]}, mode="rpc") as show:
        published = publications(show)
        await show.until(lambda: len(published) == 1)
        show.session.settings.override({"tui.statusEngine": False})
        await show.until(lambda: len(published) == 2)
        await show.fixture.clock.advance(5)

        assert published == [{"line2": "faux", "line3": None}, {"line2": "", "line3": None}]


def publications(show: StatusSession) -> list[Any]:
    """The lines that are published from now on."""
    published: list[Any] = []

    def handle_event(event: object) -> None:
        if isinstance(event, ExtensionEvent) and event.name == "status_engine":
            published.append(event.data)

    show.session.subscribe(handle_event)
    return published


@pytest.mark.parametrize("setting", [False, None, {"enabled": False}])
async def test_nothing_is_shown_unless_enabled(tmp_path: Path, setting: object) -> None:
    async with status_session(tmp_path, setting) as show:
        assert show.panel.rows == {}


async def test_changed_settings_apply_immediately(tmp_path: Path) -> None:
    async with status_session(tmp_path, False) as show:
        seen = [show.panel.screen()]
        for changed in ({"items": ["model"]}, {"items": ["effort"]}, False):
            show.session.settings.override({"tui.statusEngine": changed})
            seen.append(show.panel.screen())
        await show.session.set_thinking_level("high")
        await show.fixture.clock.advance(1)

        assert seen == [[], ["faux"], ["medium"], []]
        assert show.panel.rows == {}


async def test_invalid_settings_are_reported(tmp_path: Path) -> None:
    async with status_session(tmp_path, {"provider": "oracle"}) as show:
        assert show.panel.notices == [
            (
                "tui.statusEngine.provider is 'oracle'; expected one of command, file, builtin.",
                "warning",
            )
        ]


async def test_a_changed_effort_is_shown_immediately(tmp_path: Path) -> None:
    async with status_session(tmp_path, True) as show:
        show.panel.screen()
        await show.session.set_thinking_level("low")

        assert show.panel.painted == 1
        assert show.panel.screen() == ["faux | low | project"]


async def test_the_branch_and_its_changes_are_shown(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "home" / "project")
    async with status_session(tmp_path, True) as show:
        await show.sees(f"{LINE_2} | main +0 -0")
        (project / "poem").write_text("one\n")
        await show.sees(f"{LINE_2} | main +0 -2")
        git(project, "checkout", "-b", "other")
        await show.sees(f"{LINE_2} | other +0 -2")


async def test_in_an_untrusted_directory_only_the_branch_is_shown(tmp_path: Path) -> None:
    make_repository(tmp_path / "home" / "project")
    async with status_session(tmp_path, True, approve=False) as show:
        await show.sees(f"{LINE_2} | main")
        await show.fixture.clock.advance(60)

        assert show.panel.screen() == [f"{LINE_2} | main"]


async def test_the_duration_restarts_with_a_new_session_but_not_with_a_reload(
    tmp_path: Path,
) -> None:
    async with status_session(tmp_path, {"items": ["duration"]}) as show:
        seen = []
        for act in (None, show.session.sessions.reload, show.session.sessions.new):
            if act is not None:
                await act()
            await show.fixture.clock.advance(5)
            seen += show.panel.screen()

        assert seen == ["5s", "10s", "5s"]


async def test_the_lines_are_removed_when_the_session_ends(tmp_path: Path) -> None:
    async with status_session(tmp_path, True) as show:
        panel = show.panel

    assert panel.rows == {}


def test_importing_the_adapter_imports_no_screen_modules() -> None:
    code = (
        "import sys, pi.batteries.status_engine.adapter;"
        "print([name for name in sys.modules if name.startswith('pi.tui')])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert ended.stdout.strip() == "[]"


def test_the_manifest_names_the_setting_and_the_modes(root: Path) -> None:
    manifest = read_manifest(find_source(root, "batteries/status_engine"))

    assert (manifest.name, manifest.activate) == ("status-engine", ("setting:tui.statusEngine",))
    assert [mode for mode in get_args(Mode) if supports_mode(manifest, mode)] == [
        "tui",
        "rpc",
        "json",
    ]
