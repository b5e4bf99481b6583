from __future__ import annotations

import stat
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pi.batteries.status_engine.engine import payload
from pi.batteries.status_engine.sources import (
    Run,
    SourceFailed,
    arguments,
    command_source,
    first_line,
)
from pi.extension import ExtensionAPI
from tests.batteries.status_engine.samples import FULL
from tests.coding.extension_host.extension_session import extension_session

PATIENCE_MS = 60_000
"""Longer than any script here takes on a busy machine."""
PAYLOAD = payload(FULL, total_duration_ms=754_000, version="0.1.0")

JQ_SCRIPT = """#!/bin/bash
# Shows model, folder, branch and cost.
input=$(cat)

model=$(echo "$input" | jq -r '.model.display_name')
dir=$(echo "$input" | jq -r '.workspace.current_dir')
cost=$(echo "$input" | jq -r '.cost.total_cost_usd // 0')
lines=$(echo "$input" | jq -r '.cost.total_lines_added // 0')
style=$(echo "$input" | jq -r '.output_style.name')

dir=${dir##*/}
printf '\\033[36m[%s]\\033[0m %s · $%.2f · %s · %s\\n' "$model" "$dir" "$cost" "$lines" "$style"
echo "a second line"
"""
PYTHON_SCRIPT = """#!/usr/bin/env -S '{python}'
import json, os, sys

data = json.load(sys.stdin)
minutes = data["cost"]["total_duration_ms"] // 60_000
name = os.path.basename(data["workspace"]["project_dir"])
left = data.get("context_window", {{}}).get("remaining_percentage", "?")
print(f"{{data['model']['display_name']}} in {{name}} for {{minutes}} min, {{left}}% left")
print(data["hook_event_name"], data["version"], file=sys.stderr)
"""
SED_SCRIPT = """#!/bin/sh
# No jq on this machine.
sed -n 's/.*"display_name": *"\\([^"]*\\)".*/\\1/p'
"""


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Run]:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        yield apis[0].exec


def script(folder: Path, text: str, name: str = "line.sh") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def ask(run: Run, command: str, timeout_ms: int = PATIENCE_MS) -> str:
    return await command_source(command, run, timeout_ms=timeout_ms)(PAYLOAD)


async def test_a_bash_script_for_claude_code_runs_unchanged(
    run: Run, tmp_path: Path, program: Callable[[str, str], str]
) -> None:
    program("jq", "status scripts that use jq")
    program("bash", "status scripts in bash")

    assert await ask(run, script(tmp_path, JQ_SCRIPT)) == (
        "\x1b[36m[GPT-5]\x1b[0m project · $0.25 · 0 · default"
    )


async def test_a_python_script_for_claude_code_runs_unchanged(run: Run, tmp_path: Path) -> None:
    text = PYTHON_SCRIPT.format(python=sys.executable)

    assert await ask(run, script(tmp_path, text)) == "GPT-5 in project for 12 min, 87.7% left"


async def test_a_plain_shell_script_for_claude_code_runs_unchanged(
    run: Run, tmp_path: Path
) -> None:
    assert await ask(run, script(tmp_path, SED_SCRIPT)) == "GPT-5"


async def test_a_script_that_ignores_its_input_is_supported(run: Run) -> None:
    assert await ask(run, "echo hello; echo more") == "hello"


async def test_a_script_without_output_returns_an_empty_line(run: Run) -> None:
    assert await ask(run, "cat > /dev/null") == ""


async def test_a_command_that_exceeds_its_timeout_fails(run: Run) -> None:
    with pytest.raises(SourceFailed, match="took longer than 50 ms") as caught:
        await ask(run, "echo early; exec sleep 600", timeout_ms=50)

    assert "commandTimeoutMs" in str(caught.value)


async def test_a_failing_command_raises_although_it_printed_a_line(run: Run) -> None:
    with pytest.raises(SourceFailed, match="failed with exit code 3: no network"):
        await ask(run, "echo half a line; echo no network >&2; exit 3")


async def test_a_failing_command_without_output_raises(run: Run) -> None:
    with pytest.raises(SourceFailed, match=r"failed with exit code 1\.$"):
        await ask(run, "exit 1")


async def test_a_program_that_cannot_be_started_raises(run: Run, tmp_path: Path) -> None:
    command = script(tmp_path, "#!/no/such/interpreter\n")

    with pytest.raises(SourceFailed, match="was not run"):
        await ask(run, command)


async def test_invalid_bytes_in_the_output_are_replaced(run: Run) -> None:
    assert await ask(run, r"printf 'a\377b\n'") == "a�b"


async def test_the_command_receives_no_credentials(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        environ = hosted.fixture.host.environ
        assert isinstance(environ, dict)
        environ["OPENAI_API_KEY"] = "secret"

        line = await ask(apis[0].exec, 'echo "${OPENAI_API_KEY:-none} ${HOME##*/}"')

    assert line == "none home"


def test_a_program_with_a_space_in_its_path_needs_no_quotes(tmp_path: Path) -> None:
    path = script(tmp_path, "#!/bin/sh\n", name="my line.sh")

    assert arguments(path, "posix") == (path,)


def test_a_file_of_the_project_does_not_shadow_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "#!/bin/sh\n", name="starship")
    monkeypatch.chdir(tmp_path)

    assert arguments("starship", "posix") == ("/bin/sh", "-c", "starship")


def test_a_line_for_the_shell_may_be_long() -> None:
    line = "/" + "x" * 5000

    assert arguments(line, "posix") == ("/bin/sh", "-c", line)


def test_windows_uses_cmd_as_shell() -> None:
    assert arguments("line.cmd --short", "nt") == ("cmd", "/d", "/c", "line.cmd --short")


def test_only_the_first_line_is_used() -> None:
    assert [first_line(text) for text in ("", "a\nb", "a  \r\nb", "\nb")] == ["", "a", "a", ""]
