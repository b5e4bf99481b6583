from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from pi.cli.main import main
from pi.cli.subcommands.session_export import write_export
from pi.coding.runtime.machine import Machine
from tests.cli.program import Program


def test_a_session_file_becomes_a_page_in_this_folder(cli: Program) -> None:
    cli.run("-p", "--model", "mock/echo-3", "hello")
    (session,) = cli.agent_dir.glob("sessions/*/*.jsonl")

    ended = cli.run("--export", str(session))

    page = cli.cwd / f"pi-session-{session.stem}.html"
    assert ended == (0, f"Exported to: {page}\n", "")
    assert "The quick brown" in page.read_text()


@pytest.mark.full
def test_the_file_name_selects_the_format_and_keys_are_redacted(cli: Program) -> None:
    cli.environ["GROQ_API_KEY"] = "gsk-very-secret-key"
    cli.run("-p", "--model", "mock/echo-3", "my key is gsk-very-secret-key")
    (session,) = cli.agent_dir.glob("sessions/*/*.jsonl")

    ended = cli.run("--export", str(session), "talk.md")

    assert ended.out == f"Exported to: {cli.cwd / 'talk.md'}\n"
    text = (cli.cwd / "talk.md").read_text()
    assert "my key is" in text and "gsk-very-secret-key" not in text


def test_keys_of_the_credential_store_are_redacted_too(cli: Program) -> None:
    cli.write("auth.json", '{"groq": {"type": "api_key", "key": "hush-hush"}}')
    cli.run("-p", "--model", "mock/echo-3", "my key is hush-hush")
    (session,) = cli.agent_dir.glob("sessions/*/*.jsonl")

    cli.run("--export", str(session), "talk.md")

    text = (cli.cwd / "talk.md").read_text()
    assert "my key is [redacted]" in text and "hush-hush" not in text


def test_a_missing_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.jsonl"

    assert main(["--export", str(missing)], {"HOME": str(tmp_path)}) == 1

    assert capsys.readouterr().err.startswith(f"Error: File not found: {missing}\n")


def test_keys_of_a_trusted_project_are_redacted_in_exports_from_another_folder(
    cli: Program,
) -> None:
    cli.write("auth.json", '{"groq": {"type": "api_key", "key": "$TEAM"}}')
    (cli.cwd / ".env").write_text("TEAM=hush-hush\n")
    cli.run("-p", "--approve", "--model", "mock/echo-3", "my key is hush-hush")
    (session,) = cli.agent_dir.glob("sessions/*/*.jsonl")
    cli.write("trust.json", json.dumps({str(cli.cwd): True}))
    target = cli.cwd.parent / "talk.md"

    with contextlib.chdir(cli.cwd.parent):
        write_export(session, target, Machine.from_environ(cli.variables))

    assert "my key is [redacted]" in target.read_text()
