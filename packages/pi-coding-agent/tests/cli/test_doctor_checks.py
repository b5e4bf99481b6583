from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi.cli.subcommands.doctor import run_checks
from pi.coding.port.extensions import CheckResult
from pi.coding.runtime.machine import Machine
from pi.testing import FakeClock
from tests.ai.loopback import site
from tests.sampling import sampled


class ExaminedHome:
    """A home and a project to be examined."""

    def __init__(self, tmp_path: Path, **environ: str) -> None:
        self.home, self.cwd = tmp_path, tmp_path / "work"
        self.cwd.mkdir()
        self.environ = {"HOME": str(tmp_path), "PATH": os.defpath, "PI_OFFLINE": "1", **environ}

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    async def examine(self) -> dict[str, CheckResult]:
        host = Machine.from_environ(self.environ, clock=FakeClock())
        return {finding.topic: finding for finding in await run_checks(host, self.cwd)}


async def test_nothing_is_reported_as_broken_on_a_new_machine(tmp_path: Path) -> None:
    findings = await ExaminedHome(tmp_path).examine()

    assert [topic for topic, finding in findings.items() if finding.level == "broken"] == []
    assert findings["agent folder"].text.endswith("is created when needed")
    assert findings["trust"].level == "good"


async def test_an_unusable_agent_folder_ends_the_checks(tmp_path: Path) -> None:
    machine = ExaminedHome(tmp_path)
    machine.write(".pi/agent", "a file")

    findings = await machine.examine()

    assert list(findings) == ["pi", "agent folder"]
    assert findings["agent folder"].level == "broken"


async def test_providers_with_credentials_are_named_and_no_value_is_shown(tmp_path: Path) -> None:
    machine = ExaminedHome(tmp_path, GROQ_API_KEY="very-secret")
    machine.write(".pi/agent/auth.json", '{"openai": {"type": "api_key", "key": "also-secret"}}')

    findings = await machine.examine()

    text = repr(findings)
    assert "groq (" in findings["credentials"].text and "openai (" in findings["credentials"].text
    assert findings["stored"].text.startswith("openai in ")
    assert "secret" not in text


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
async def test_credentials_that_others_can_read_are_reported(tmp_path: Path) -> None:
    machine = ExaminedHome(tmp_path)
    path = machine.write(".pi/agent/auth.json", "{}")
    path.chmod(0o644)

    findings = await machine.examine()

    assert findings["permissions"] == CheckResult(
        level="broken",
        topic="permissions",
        text=f"{path} is readable by other users",
        advice=f"chmod 600 {path}",
    )


@pytest.mark.parametrize(
    ("file", "text", "topic"),
    sampled(
        [
            ("settings.json", "{nope", "settings"),
            ("settings.json", '{"theme": 5}', "settings"),
            ("settings.json", '{"retry": {"maxRetries": "many"}}', "settings"),
            ("settings.json", '{"compaction": {"reserveTokens": -1}}', "settings"),
            ("auth.json", "{nope", "credentials"),
            ("models.json", "{nope", "models.json"),
            ("trust.json", "{nope", "trust"),
            ("settings.json", '{"shellPath": "/no/such/shell"}', "shell"),
        ],
        keep=3,
    ),
)
async def test_a_broken_file_is_reported_with_advice(
    tmp_path: Path, file: str, text: str, topic: str
) -> None:
    machine = ExaminedHome(tmp_path)
    path = machine.write(f".pi/agent/{file}", text)
    path.chmod(0o600)

    results = [
        f
        for f in await run_checks(Machine.from_environ(machine.environ), machine.cwd)
        if f.topic == topic
    ]

    assert results[0].level == "broken" and results[0].advice
    assert path.read_text() == text


async def test_variables_that_commands_do_not_see_are_named(tmp_path: Path) -> None:
    machine = ExaminedHome(tmp_path, OPENAI_API_KEY="x", GIT_DIR="/x")
    machine.write(".env", "MINE=1\n")
    machine.write(".pi/agent/settings.json", '{"shell": {"env": {"deny": ["SECRET"]}}}')
    machine.environ["SECRET"] = "x"

    findings = await machine.examine()

    assert findings["variables"].text == (
        "commands do not see GIT_DIR (places of git), MINE (from a .env file),"
        " OPENAI_API_KEY (credentials), SECRET (denied)"
    )


async def test_a_project_that_is_not_trusted_is_reported(tmp_path: Path) -> None:
    machine = ExaminedHome(tmp_path)
    file = machine.write("work/.env", "THEIRS=1\n")

    before = await machine.examine()
    machine.write(".pi/agent/trust.json", json.dumps({str(machine.cwd): True}))
    after = await machine.examine()

    assert before["trust"].text == f"not trusted, so not loaded by pi itself: {file}"
    assert before["variables"].text == "commands see all of them"
    assert after["trust"].text == f"{machine.cwd} is trusted"
    assert after["variables"].text == "commands do not see THEIRS (from a .env file)"


async def test_a_newer_version_is_reported(tmp_path: Path) -> None:
    async with site({"/": b"99.0"}) as index:
        machine = ExaminedHome(tmp_path, PI_OFFLINE="0", PI_UPDATE_URL=f"{index.url}/")
        findings = await machine.examine()

    assert (findings["update"].level, findings["update"].text) == (
        "missing",
        "pi 99.0 is available",
    )


async def test_without_an_index_no_request_is_sent(tmp_path: Path) -> None:
    findings = await ExaminedHome(tmp_path, PI_OFFLINE="", PIP_NO_INDEX="1").examine()

    assert findings["update"].text == "not checked: pip is configured without an index"
