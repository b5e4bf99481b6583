from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pi.batteries.status_engine.engine import StatusEngine
from pi.extension import ExtensionAPI
from pi.testing import says
from pi.version import __version__
from tests.batteries.status_engine.status_session import PATIENT, status_session

LINE_2 = "faux | medium | project"


def asking(command: str, **more: Any) -> dict[str, Any]:
    """The setting that uses a command for line 3."""
    return {"provider": "command", "command": command, "commandTimeoutMs": PATIENT, **more}


async def test_line_3_is_the_output_of_the_command(tmp_path: Path) -> None:
    async with status_session(tmp_path, asking("echo hello; echo more")) as show:
        await show.sees(LINE_2, "hello")


async def test_the_command_receives_the_session_as_json(tmp_path: Path) -> None:
    payload_file = tmp_path / "payload_file"
    async with status_session(tmp_path, asking(f"cat > {payload_file}; echo done")) as show:
        await show.sees(LINE_2, "done")

        payload = json.loads(payload_file.read_text())
        assert payload["session_id"] == show.session.session_id
        assert payload["transcript_path"] == str(show.session.session_file)
        assert payload["cwd"] == payload["workspace"]["current_dir"] == str(show.fixture.cwd)
        assert payload["version"] == __version__
        assert payload["model"] == {"id": "faux", "display_name": "Faux"}


async def test_the_command_is_run_again_after_an_event(tmp_path: Path) -> None:
    count = tmp_path / "count"
    command = f"echo x >> {count}; wc -l < {count}"
    async with status_session(tmp_path, asking(command), says("Hello.")) as show:
        await show.until(lambda: len(show.panel.screen()) == 2)
        before = int(show.panel.screen()[1])

        await show.session.prompt("hi")

        await show.until(lambda: int(show.panel.screen()[1]) > before)


async def test_the_file_is_shown_until_the_command_has_succeeded(tmp_path: Path) -> None:
    file, gate = tmp_path / "line", tmp_path / "gate"
    file.write_text("from the file\n")
    command = f"test -e {gate} && echo from the command || exit 1"
    setting = asking(command, file=str(file), refreshMs=300)
    async with status_session(tmp_path, setting) as show:
        await show.sees(LINE_2, "from the file")
        gate.touch()
        await show.sees(LINE_2, "from the command")
        file.write_text("changed\n")
        gate.unlink()
        await show.until(lambda: bool(show.panel.notices))

        assert show.panel.screen() == [LINE_2, "from the command"]


async def test_line_3_follows_the_creation_and_removal_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "line"
    async with status_session(tmp_path, {"file": str(file)}) as show:
        await show.sees(LINE_2)
        file.write_text("one\ntwo\n")
        await show.sees(LINE_2, "one")
        file.unlink()
        await show.sees(LINE_2)


async def test_a_command_that_fails_is_reported_once(tmp_path: Path) -> None:
    command = "echo no network >&2; exit 2"
    async with status_session(tmp_path, asking(command, refreshMs=300)) as show:
        show.panel.screen()
        await show.until(lambda: bool(show.panel.notices))
        for _ in range(10):
            await show.fixture.clock.advance(0.3)

        assert show.panel.notices == [
            (f"The status command {command!r} failed with exit code 2: no network", "warning")
        ]
        assert show.panel.screen() == [LINE_2]


async def test_rows_are_painted_only_when_they_change(tmp_path: Path) -> None:
    async with status_session(tmp_path, True) as show:
        await show.sees(LINE_2)
        await show.fixture.clock.advance(30)
        before = show.panel.painted

        await show.session.set_thinking_level("high")

        assert (before, show.panel.painted) == (0, 1)
        assert show.panel.screen() == ["faux | high | project"]


async def test_other_extensions_can_choose_the_items(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with status_session(tmp_path, True, beside=(apis.append,)) as show:
        engine = apis[0].service("status_engine")
        assert isinstance(engine, StatusEngine)

        engine.set_line2_selection(["workspace_name", "model"])

        assert show.panel.screen() == ["project | faux"]


async def test_facts_of_other_extensions_are_shown(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with status_session(tmp_path, True, beside=(apis.append,)) as show:
        await show.sees(LINE_2)

        apis[0].context.ui.set_fact("sandbox", "read-only")
        apis[0].context.ui.set_fact("approval", "never")

        await show.until(lambda: show.panel.painted > 0)
        assert show.panel.screen() == [f"{LINE_2} | read-only | never"]


async def test_the_duration_is_updated(tmp_path: Path) -> None:
    async with status_session(tmp_path, {"items": ["duration"]}) as show:
        seen = show.panel.screen()
        await show.fixture.clock.advance(61)
        seen += show.panel.screen()

        assert seen == ["0s", "1m 01s"]
        assert show.panel.painted >= 1
