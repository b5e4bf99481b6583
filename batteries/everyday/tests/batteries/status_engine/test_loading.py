"""When the battery is loaded, found through its entry point as any extension is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.ui import Mode
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.options import SessionOptions, SessionOverrides
from pi.extension import replace
from scripts.workspace import sources
from tests.batteries.status_engine.status_session import Panel
from tests.coding.runtime.session_fixture import SessionFixture

ENTRY = "[pi.extensions]\nstatus-engine = pi.batteries.status_engine.adapter:extension\n"


def installed(folder: Path) -> str:
    """A folder of packages in which one brings the battery."""
    about = folder / "bundle-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Name: bundle\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY)
    return str(folder)


@pytest.mark.parametrize(
    ("mode", "setting", "shown"),
    [
        ("tui", {"items": ["model"]}, ["faux"]),
        ("tui", False, []),
        ("tui", None, []),
        ("print", True, []),
        ("json", {"items": ["model"]}, ["faux"]),
        ("rpc", {"items": ["model"]}, ["faux"]),
    ],
)
async def test_the_engine_is_loaded_in_modes_with_lines_if_the_setting_is_set(
    tmp_path: Path, root: Path, mode: Mode, setting: object, shown: list[str]
) -> None:
    fixture, panel = SessionFixture(tmp_path), Panel()
    fixture.write(".pi/agent/settings.json", json.dumps({"tui": {"statusEngine": setting}}))
    machine = replace(
        fixture.host, import_path=(installed(tmp_path / "site"), *map(str, sources(root)))
    )
    options = SessionOptions(model="faux/faux", extensions=ExtensionOptions())
    parts = SessionOverrides(
        registry=fixture.registry, mode=mode, bus=fixture.bus, persistent=False
    )

    async with (await assemble(fixture.cwd, machine, options, parts)).session as session:
        # Every mode gets a screen here; lines are shown only if the battery was loaded.
        session.extensions.attach(panel, "tui")
        await session.start()

        assert panel.screen() == shown
