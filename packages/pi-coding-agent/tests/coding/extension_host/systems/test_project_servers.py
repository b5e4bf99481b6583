"""Programs that a project configures: gates, consent to content, variables, doctor checks.

The extension runs in the real program, in each mode, as language servers and hooks do.
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program

SERVERS = """\
# /// pi
# api = "1.1"
# name = "servers"
# activate = ["file:.servers.json"]
# gates = [".servers.json"]
# doctor = true
# ///
import json, sys

from pi.extension import CheckResult, ConsentRequest


def extension(pi):
    async def definitions():
        source = pi.context.cwd / ".servers.json"
        table = json.loads(source.read_text())
        return [
            ConsentRequest(kind="server", name=name, source=str(source), definition=definition)
            for name, definition in table.items()
        ]

    @pi.on("session_start")
    async def start(event, ctx):
        for each in await ctx.consent.allowed(await definitions()):
            code = "import os; print(os.environ.get('VIRTUAL_ENV'), os.environ.get('API_KEY'))"
            argv = [sys.executable, "-c", code]
            ended = await pi.exec(argv, environment=each.definition["environment"])
            sees = ctx.environ.get("API_KEY")
            line = f"{each.name}: {ended.stdout.strip()}; pi: {sees}"
            with (ctx.cwd / "started.txt").open("a") as file:
                print(line, file=file)

    async def check(ctx):
        count = len(await definitions())
        return [CheckResult(level="note", text=f"{count} servers", advice="Look at them.")]

    pi.add_doctor_check("servers", check)
"""
TOUR = ("--no-session", "--model", "demo/tour")


@pytest.fixture
def cli(tmp_path: Path) -> Program:
    """A user with the extension, in a project that configures a server."""
    program = Program.below(tmp_path, PI_OFFLINE="1", VIRTUAL_ENV="/venv")
    program.write("extensions/servers.py", SERVERS)
    configure(program, alpha={"environment": "service"})
    (program.cwd / ".env").write_text("API_KEY=abc\n")
    return program


def configure(cli: Program, **servers: dict[str, str]) -> None:
    (cli.cwd / ".servers.json").write_text(json.dumps(servers))


def started(cli: Program) -> list[str]:
    """What the servers have reported."""
    file = cli.cwd / "started.txt"
    return file.read_text().splitlines() if file.exists() else []


def ask(cli: Program, *answers: str) -> list[dict[str, Any]]:
    """Start pi as an RPC client with these answers to dialogs; returns the dialogs."""
    dialogs: list[dict[str, Any]] = []
    with cli.start("--mode", "rpc", "--approve", *TOUR) as child:
        limit = Timer(TIMEOUT_SECONDS, child.kill)
        limit.start()
        assert child.stdin is not None
        assert child.stdout is not None

        def send(record: dict[str, str]) -> None:
            assert child.stdin is not None
            child.stdin.write(json.dumps(record).encode() + b"\n")
            child.stdin.flush()

        if not answers:
            send({"type": "get_state", "id": "last"})
        for line in child.stdout:
            event = json.loads(line)
            if event["type"] == "extension_ui_request":
                dialogs.append(event)
                answer = answers[len(dialogs) - 1]
                send({"type": "extension_ui_response", "id": event["id"], "value": answer})
                if len(dialogs) == len(answers):
                    send({"type": "get_state", "id": "last"})
            elif event.get("id") == "last":
                break
        child.stdin.close()
        child.stdout.read()
        child.wait(TIMEOUT_SECONDS)
        limit.cancel()
    return dialogs


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(("-p",), id="print"),
        pytest.param(("--mode", "json"), id="json", marks=pytest.mark.full),
    ],
)
def test_without_a_user_undecided_programs_are_skipped_in_one_line(
    cli: Program, mode: tuple[str, ...]
) -> None:
    ended = cli.run(*mode, "--approve", *TOUR, "hello")

    skipped = (
        f"Skipped server alpha of {cli.cwd / '.servers.json'}: not allowed yet."
        " Start pi to decide.\n"
    )
    assert (ended.code, ended.err) == (0, skipped)
    assert started(cli) == []


def test_no_consent_is_requested_for_programs_of_an_untrusted_project(cli: Program) -> None:
    ended = cli.run("-p", *TOUR, "hello")

    assert ended.err.startswith("Not trusted, so not loaded by pi itself: ")
    assert ".servers.json" in ended.err
    assert "Skipped" not in ended.err
    assert started(cli) == []


def test_over_rpc_the_client_is_asked_once_and_again_after_a_change(cli: Program) -> None:
    (first,) = ask(cli, "Allow")
    assert first["method"] == "select"
    assert first["title"].splitlines()[:2] == [
        "Run the server alpha?",
        f"Defined in {cli.cwd / '.servers.json'}",
    ]
    assert started(cli) == ["alpha: None None; pi: abc"]

    assert ask(cli) == []
    assert cli.run("-p", "--approve", *TOUR, "hello").err == ""
    assert len(started(cli)) == 3

    configure(cli, alpha={"environment": "command"})
    assert "Skipped server alpha" in cli.run("-p", "--approve", *TOUR, "hello").err
    assert len(ask(cli, "Allow")) == 1
    # Commands keep the variables of tools; those of .env files are for pi alone.
    assert started(cli)[3:] == ["alpha: /venv None; pi: abc"]


@pytest.mark.full
def test_denied_programs_are_skipped_silently_in_every_mode(cli: Program) -> None:
    ask(cli, "Deny")

    assert cli.run("-p", "--approve", *TOUR, "hello").err == ""
    assert ask(cli) == []
    assert started(cli) == []


@pytest.mark.full
def test_a_project_cannot_grant_itself_consent(cli: Program) -> None:
    ask(cli, "Allow")
    granted = (cli.agent_dir / "consent.json").read_text()
    (cli.agent_dir / "consent.json").unlink()
    (cli.cwd / "started.txt").unlink()

    for path in ("consent.json", ".pi/consent.json", ".pi/agent/consent.json"):
        (cli.cwd / path).parent.mkdir(parents=True, exist_ok=True)
        (cli.cwd / path).write_text(granted)
    (cli.cwd / ".pi" / "settings.json").write_text(f'{{"consent": {granted}}}')

    assert "Skipped server alpha" in cli.run("-p", "--approve", *TOUR, "hello").err
    assert started(cli) == []


@pytest.mark.full
def test_consent_for_one_project_does_not_apply_to_another(cli: Program, tmp_path: Path) -> None:
    ask(cli, "Allow")
    other = tmp_path / "other"
    other.mkdir()
    (other / ".servers.json").write_bytes((cli.cwd / ".servers.json").read_bytes())
    in_other = Program(cli.home, other, cli.environ)

    assert "Skipped server alpha" in in_other.run("-p", "--approve", *TOUR, "hello").err
    assert started(in_other) == []


@pytest.mark.full
def test_processes_that_start_concurrently_share_the_stored_consent(cli: Program) -> None:
    ask(cli, "Allow")
    children = [cli.start("-p", "--approve", *TOUR, "hello") for _ in range(3)]
    errors = [child.communicate(timeout=TIMEOUT_SECONDS)[1] for child in children]

    assert errors == [b"", b"", b""]
    assert started(cli) == ["alpha: None None; pi: abc"] * 4


def test_the_check_of_an_extension_is_part_of_pi_doctor(cli: Program) -> None:
    (cli.agent_dir / "trust.json").write_text(json.dumps({str(cli.cwd): True}))

    lines = cli.run("doctor").out.splitlines()

    index = next(number for number, line in enumerate(lines) if "servers" in line.split()[1])
    assert lines[index].split() == ["·", "servers", "1", "servers"]
    assert lines[index + 1].strip() == "→ Look at them."


@pytest.mark.full
def test_doctor_leaves_out_an_extension_that_is_not_enabled(cli: Program) -> None:
    (cli.cwd / ".servers.json").unlink()

    ended = cli.run("doctor")

    assert ended.code == 0
    assert "servers" not in ended.out


@pytest.mark.full
def test_a_failing_doctor_check_is_reported(cli: Program) -> None:
    code = "def extension(pi):\n    pi.add_doctor_check('mine', lambda ctx: 1 / 0)\n"
    cli.write("extensions/broken.py", code)
    cli.write("extensions/worse.py", "def extension(pi):\n    1 / 0\n")
    odd = """from pi.extension import CheckResult
def extension(pi):
    pi.add_doctor_check("odd", lambda ctx: [CheckResult(level="brokn", text="no such level")])
"""
    cli.write("extensions/odd.py", odd)

    ended = cli.run("doctor")

    assert ended.code == 1
    assert "✗ mine " in ended.out
    assert "the check failed: division by zero" in ended.out
    assert "the check failed: 'brokn' is not a level" in " ".join(ended.out.split())
    assert "worse: ZeroDivisionError: division by zero" in ended.out
