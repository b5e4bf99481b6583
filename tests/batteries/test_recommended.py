"""One setting switches the recommended batteries on; each can still be switched by itself."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pi.base.errors import PiError
from pi.base.installation import install_command
from pi.base.records import replace
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.extension_host.discovery.manifest import read_manifest
from pi.coding.runtime.extensions.sources import ExtensionSources
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.settings.layers import nested, value_at
from pi.coding.settings.settings import Settings
from pi.coding.settings.table import SETTINGS
from pi.modes.interactive.dialogs.setup import set_up
from tests.ai.loopback import NOWHERE
from tests.batteries.test_bundled import MANIFESTS as FILES
from tests.batteries.test_bundled import SOURCES, install
from tests.coding.runtime.session_fixture import SessionFixture
from tests.modes.interactive.commands.command_fixture import CommandFixture
from tests.modes.interactive.fake_screen import FakeScreen

MANIFESTS = {path.parent.name: read_manifest(path.parent) for path in FILES}


@pytest.fixture
def fixture(tmp_path: Path) -> SessionFixture:
    return with_path(SessionFixture(tmp_path), install(tmp_path / "installed"), *SOURCES)


def with_path(fixture: SessionFixture, *folders: Path) -> SessionFixture:
    fixture.host = replace(fixture.host, import_path=tuple(map(str, folders)))
    return fixture


def active(session: AgentSession) -> list[str]:
    return [tool.name for tool in session.tools.active()]


def recommended(fixture: SessionFixture) -> dict[str, Any]:
    return ExtensionSources(fixture.host, ExtensionOptions()).recommended()


def test_every_recommended_setting_is_known_and_switches_its_battery_on() -> None:
    known = {setting.name for setting in SETTINGS}

    for name, manifest in MANIFESTS.items():
        assert manifest.recommended.keys() <= known, name
        if manifest.recommended:
            assert not manifest.recommended.keys().isdisjoint(manifest.triggers("setting")), name


def test_the_recommended_set_is_collected_from_manifests_and_core(fixture: SessionFixture) -> None:
    found = recommended(fixture)

    assert value_at(found, ["todo", "enabled"]) is True
    assert value_at(found, ["richFiles", "enabled"]) is True
    assert value_at(found, ["editor", "attachFiles"]) is True
    assert value_at(found, ["tui"]) is None


@pytest.mark.parametrize("value", [None, "none"])
def test_without_it_no_battery_is_switched_on(value: object) -> None:
    settings = Settings.in_memory({} if value is None else {"batteries": value})
    settings.recommend(lambda: nested({"todo.enabled": True}))

    assert "todo" not in settings.raw


def test_recommended_values_are_defaults(tmp_path: Path) -> None:
    settings = Settings.in_memory({"batteries": "recommended", "todo.enabled": False})
    settings.recommend(lambda: nested({"todo.enabled": True, "a.b": 1}))

    assert (settings.raw["todo"], settings.raw["a"]) == ({"enabled": False}, {"b": 1})
    settings.override({"batteries": "none"})
    assert "a" not in settings.raw


async def test_one_setting_activates_the_tools_of_the_recommended_set(
    fixture: SessionFixture,
) -> None:
    session = await fixture.open(settings={"batteries": "recommended"})
    await session.start()

    assert "todo" in active(session)
    assert session.settings.values.editor.attach_files
    await session.close()


async def test_a_battery_of_the_set_can_be_switched_off(fixture: SessionFixture) -> None:
    (fixture.agent_dir / "settings.json").write_text(
        '{"batteries": "recommended", "todo": {"enabled": false}}'
    )
    session = await fixture.open()
    await session.start()

    assert "todo" not in active(session)
    await session.close()


async def test_a_battery_without_its_extra_is_left_out_and_named(tmp_path: Path) -> None:
    fixture = with_path(
        SessionFixture(tmp_path), charts(tmp_path, "no-such-library>=1; extra == 'charts'")
    )

    session = await fixture.open(settings={"batteries": "recommended"})

    assert "charts" not in session.settings.raw
    command = install_command(["no-such-library>=1"])
    assert fixture.reports == [f"Left out: charts needs `{command}`"]
    (info,) = session.extensions.infos()
    assert (info.needs, info.install) == (("no-such-library>=1",), command)
    assert info.is_recommended
    await session.close()


@pytest.mark.parametrize(
    "requirement",
    [
        "Batteries.of_pi>=1; extra == 'charts'",
        "absent; extra == 'other'",
        "absent; python_version < '3' and extra == 'charts'",
    ],
)
def test_a_battery_with_its_extra_belongs_to_the_set(tmp_path: Path, requirement: str) -> None:
    fixture = with_path(SessionFixture(tmp_path), charts(tmp_path, requirement))

    assert recommended(fixture)["charts"] == {"enabled": True}


def charts(tmp_path: Path, requirement: str) -> Path:
    """A folder with one battery, which needs the extra ``charts``."""
    package = tmp_path / "installed" / "pi" / "batteries" / "charts"
    package.mkdir(parents=True)
    (package / "pi.toml").write_text(
        'name = "charts"\nactivate = ["setting:charts.enabled"]\nextras = ["charts"]\n'
        'recommended = { "charts.enabled" = true }\n'
    )
    metadata = tmp_path / "installed" / "batteries_of_pi-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(
        "[pi.extensions]\ncharts = pi.batteries.charts.adapter:extension\n"
    )
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: batteries-of-pi\nRequires-Dist: {requirement}\n"
    )
    return tmp_path / "installed"


async def test_the_command_switches_a_battery_and_its_tool_immediately(
    tmp_path: Path, fixture: SessionFixture
) -> None:
    session = await fixture.open(mode="tui")
    await session.start()
    on = CommandFixture(fixture, session, tmp_path)

    await on.run("/extensions on todo")
    assert "todo" in active(session)
    assert session.settings.layer("user", ("todo", "enabled")) is True
    assert on.last_notice == "todo is on (todo.enabled: true)."
    task = on.start("/extensions")
    await on.screen.wait_until_shown()
    assert "● todo" in on.screen.text(100)
    await on.screen.press("escape")
    await task

    await on.run("/extensions off todo")
    assert "todo" not in active(session)
    await session.close()


async def test_settings_of_a_battery_are_kept_when_it_is_switched(
    tmp_path: Path, fixture: SessionFixture
) -> None:
    (fixture.agent_dir / "settings.json").write_text('{"tui": {"statusEngine": {"file": "a"}}}')
    session = await fixture.open(mode="tui")
    on = CommandFixture(fixture, session, tmp_path)

    await on.run("/extensions off status-engine")

    assert session.settings.raw["tui"]["statusEngine"] == {"file": "a", "enabled": False}
    await session.close()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/extensions on tdo", "Unknown extension tdo."),
        (
            "/extensions todo",
            "Use /extensions, /extensions on NAME [VALUE] or /extensions off NAME.",
        ),
        ("/extensions off timebox", "No setting switches timebox on or off."),
    ],
)
async def test_switching_an_unsupported_extension_is_rejected_with_a_reason(
    tmp_path: Path, fixture: SessionFixture, line: str, reason: str
) -> None:
    session = await fixture.open(mode="tui")

    with pytest.raises(PiError, match=re.escape(reason)):
        await CommandFixture(fixture, session, tmp_path).run(line)
    await session.close()


def newcomer(tmp_path: Path) -> SessionFixture:
    fixture = SessionFixture(tmp_path, environ={**NOWHERE, "PI_OFFLINE": "1"})
    return with_path(fixture, install(tmp_path / "installed"), *SOURCES)


@pytest.mark.parametrize(
    ("keys", "batteries", "approvals", "theme"),
    [
        (("enter",), "recommended", "auto-edit", "system"),
        (("right", "right", "down", "right", "down", "right", "enter"), "none", "ask", "dark"),
        (("left", "tab", "left", "enter"), "recommended", None, "paper"),
        (("right", "down", "right", "escape"), "none", None, None),
    ],
)
async def test_one_screen_asks_for_theme_approvals_and_batteries(
    tmp_path: Path, keys: tuple[str, ...], batteries: str, approvals: str | None, theme: Any
) -> None:
    fixture = newcomer(tmp_path)
    session = await fixture.open(mode="tui")
    await session.start()
    screen = FakeScreen(tmp_path, session, fixture.host)

    task = asyncio.create_task(set_up(screen, is_new=True))
    await screen.until(lambda text: "Welcome to pi" in text)
    text = " ".join(screen.text().split())
    assert "○ never ● before commands that change something" in text
    assert "● recommended questions, language servers, MCP servers," in text
    await screen.press(*keys)
    await task

    assert session.settings.values.batteries == batteries
    assert ("todo" in active(session)) == (batteries == "recommended")
    assert value_at(session.settings.raw, ["permissions", "mode"]) == approvals
    assert session.settings.values.theme == theme
    await session.close()


async def test_the_theme_is_previewed_and_restored_by_escape(tmp_path: Path) -> None:
    fixture = newcomer(tmp_path)
    session = await fixture.open(mode="tui")
    screen = FakeScreen(tmp_path, session, fixture.host)
    screen.themes.use(None)
    before = screen.themes.current

    task = asyncio.create_task(set_up(screen, is_new=True))
    await screen.until(lambda text: "Welcome to pi" in text)
    await screen.press("left")
    assert screen.themes.current != before
    await screen.press("escape")
    await task

    assert screen.themes.current == before
    assert not (fixture.agent_dir / "settings.json").exists()
    await session.close()


async def test_batteries_can_be_chosen_one_by_one(tmp_path: Path) -> None:
    fixture = newcomer(tmp_path)
    session = await fixture.open(mode="tui")
    await session.start()
    screen = FakeScreen(tmp_path, session, fixture.host)

    task = asyncio.create_task(set_up(screen, is_new=True))
    await screen.until(lambda text: "Welcome to pi" in text)
    await screen.press("down", "down", "left", "enter")
    await screen.until(lambda text: "Which batteries?" in text)
    await screen.press("space", "enter")  # the first of the list is ask
    await task

    assert value_at(session.settings.raw, ["ask"]) is None
    assert value_at(session.settings.raw, ["todo", "enabled"]) is True
    assert session.settings.values.batteries == "none"
    assert "todo" in active(session)
    await session.close()


async def test_a_second_setup_shows_what_is_set_now(tmp_path: Path) -> None:
    fixture = newcomer(tmp_path)
    (fixture.agent_dir / "settings.json").write_text('{"permissions": {"mode": "read-only"}}')
    session = await fixture.open(mode="tui")
    screen = FakeScreen(tmp_path, session, fixture.host)

    task = asyncio.create_task(set_up(screen, is_new=False))
    await screen.until(lambda text: "● as now: read-only" in text)
    assert "● none" in screen.text()
    await screen.press("enter")
    await task

    stored = json.loads((fixture.agent_dir / "settings.json").read_text())
    assert stored == {"permissions": {"mode": "read-only"}}
    await session.close()
