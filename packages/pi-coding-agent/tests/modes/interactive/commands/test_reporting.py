"""Bug reports and debug files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.extension import ExtensionAPI
from pi.modes.interactive.commands.diagnostics import HangingText
from pi.testing import says
from pi.version import __version__
from tests.modes.interactive.commands.command_fixture import command_fixture

SECRET = "sk-" + "a1" * 20


@pytest.mark.behaviour("dumps-carry-no-keys")
async def test_a_bug_report_contains_the_description_and_the_session_without_secrets(
    tmp_path: Path,
) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt(f"my key is {SECRET}")
        on.session.settings.override({"x": SECRET})
        await on.run("/bug It broke.", "enter")
        [path] = (on.fixture.agent_dir / "bug-reports").iterdir()
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name).decode() for name in archive.namelist()}
        assert set(content) == {"report.md", "session.jsonl"}
        assert "It broke." in content["report.md"]
        assert "faux/faux" in content["report.md"]
        assert "my key is" in content["session.jsonl"]
        assert SECRET not in str(content)
        assert str(path) in on.screen.printed(500)


@pytest.mark.behaviour("dumps-carry-no-keys")
async def test_reports_apply_the_redaction_of_extensions(tmp_path: Path) -> None:
    def hiding(pi: ExtensionAPI) -> None:
        pi.add_redactor(lambda text, sink: text.replace("customer-42", "[hidden]"))

    chosen = ExtensionOptions(discover=False, inline=(hiding,))
    async with command_fixture(tmp_path, says("a"), extensions=chosen) as on:
        await on.session.prompts.prompt("it is customer-42")
        await on.run("/bug It broke for customer-42.", "enter")
        await on.run("/debug")
        [path] = (on.fixture.agent_dir / "bug-reports").iterdir()
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name).decode() for name in archive.namelist()}
        assert "customer-42" not in str(content)
        assert "It broke for [hidden]." in content["report.md"]
        debug = (on.fixture.agent_dir / "pi-debug.log").read_text()
        assert "it is [hidden]" in debug
        assert "customer-42" not in debug


async def test_a_bug_report_asks_for_a_description_and_can_omit_the_session(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/bug", *"Odd.", "enter", "down", "enter")
        [path] = (on.fixture.agent_dir / "bug-reports").iterdir()
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist() == ["report.md"]


async def test_cancelling_either_dialog_writes_no_bug_report(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/bug", "escape")
        await on.run("/bug It broke.", "escape")
        assert not (on.fixture.agent_dir / "bug-reports").exists()


async def test_doctor_shows_the_output_of_pi_doctor(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        on.fixture.write("work/pi.py", "raise SystemExit('not this one')")
        await on.run("/doctor")
        reported = on.screen.printed(200)
        assert f"pi            {__version__}" in reported.replace("✓ ", "")
        assert str(on.fixture.agent_dir) in reported
        assert " Doctor\n" in reported
        assert "terminal      terminal at stdin and stdout" in reported
        assert "no terminal" not in reported


def test_long_lines_of_doctor_continue_below_their_column() -> None:
    hanging = HangingText(
        ["✓ pi            0.1.0", "✓ agent folder  /home/ada/.pi/agent/of/this/user"]
    )

    assert hanging.render(40) == [
        "",
        " ✓ pi            0.1.0",
        " ✓ agent folder  /home/ada/.pi/agent/of",
        "                 /this/user",
    ]


@pytest.mark.behaviour("dumps-carry-no-keys")
async def test_debug_writes_the_messages_for_the_model_without_keys(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        credentials = json.dumps({"groq": {"type": "api_key", "key": 'a "plain" key'}})
        on.fixture.write(".pi/agent/auth.json", credentials).chmod(0o600)
        await on.session.prompts.prompt(f'hello there, {SECRET} and a "plain" key')
        await on.run("/debug")
        text = (on.fixture.agent_dir / "pi-debug.log").read_text()
        assert "=== Messages ===" in text
        assert "hello there, [redacted] and [redacted]" in text


async def test_debug_replaces_lone_surrogates(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("half of a \ud83d sign")
        await on.run("/debug")
        assert "half of a \ufffd sign" in (on.fixture.agent_dir / "pi-debug.log").read_text()
