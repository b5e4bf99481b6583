from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pi.cli.extension_options import parse_extension_subcommand
from pi.cli.subcommands.completion import SHELLS
from tests.cli.program import Program
from tests.sampling import sampled

SERVING = """\
# /// pi
# activate = ["command:serve"]
# commands = { serve = "serve" }
# [subcommands.serve]
# help = "serve this folder"
# usage = "<address>"
# session = false
# [subcommands.serve.flags.port]
# type = "string"
# default = "8080"
# description = "where to listen"
# [subcommands.serve.flags.name]
# description = "print names; pi has an option of that name"
# ///
import asyncio
import json

from pi.extension import PiError

def extension(pi):
    @pi.command("serve")
    async def serve(args, ctx):
        if args == "fail":
            raise PiError("The port is in use", hint="Use another one.")
        if args == "broken":
            return 1 / 0
        if args == "exit":
            ctx.exit(7)
        if args == "wait":
            ctx.write("ready\\n")
            await asyncio.Event().wait()
        known = {
            "args": args,
            "port": ctx.flags["port"],
            "name": ctx.flags.get("name", False),
            "file": ctx.session_manager.get_session_file(),
            "trusted": ctx.is_project_trusted(),
            "has_ui": ctx.has_ui,
        }
        ctx.write(json.dumps(known) + "\\n")
        print("stray")
"""


@pytest.fixture
def bare(tmp_path: Path) -> Program:
    """A home without credentials, and a project that needs trust."""
    program = Program.below(tmp_path)
    program.write("extensions/serving.py", SERVING)
    (program.cwd / ".pi").mkdir()
    (program.cwd / ".pi" / "settings.json").write_text("{}")
    return program


@pytest.mark.parametrize(
    ("arguments", "expected"),
    sampled(
        [
            (["here"], {"args": "here", "port": "8080", "name": False}),
            (["--port", "1", "--name", "here"], {"args": "here", "port": "1", "name": True}),
            (["--port=2"], {"args": "", "port": "2", "name": False}),
        ],
        keep=1,
    ),
)
def test_a_subcommand_without_a_session_needs_no_model(
    bare: Program, arguments: list[str], expected: dict[str, object]
) -> None:
    ended = bare.run("serve", *arguments)

    defaults = {"file": None, "trusted": False, "has_ui": False}
    assert (ended.code, ended.err) == (0, "stray\n")
    assert json.loads(ended.out) == expected | defaults
    assert not (bare.agent_dir / "sessions").exists()


def test_a_subcommand_without_a_session_reads_no_input_and_writes_at_once(bare: Program) -> None:
    process = bare.start("serve", "wait")  # its input stays open
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 143


@pytest.mark.full
def test_a_failing_subcommand_prints_a_message_and_sets_the_exit_code(bare: Program) -> None:
    assert bare.run("serve", "fail") == (1, "", "Error: The port is in use. Use another one.\n")
    broken = bare.run("serve", "broken")
    assert (broken.code, broken.out) == (1, "")
    assert broken.err == "Error: division by zero\n"
    assert bare.run("serve", "exit") == (7, "", "")


def test_an_unknown_option_of_a_subcommand_has_a_suggestion(bare: Program) -> None:
    assert bare.run("serve", "--prt", "1") == (
        1,
        "",
        "Error: Unknown option: --prt\nDid you mean --port?\n",
    )
    assert bare.run("serve", "--port") == (
        1,
        "",
        'Error: Extension flag "--port" requires a value\n',
    )


@pytest.mark.full
def test_help_and_completion_list_the_subcommand(bare: Program) -> None:
    assert "\n  serve <address> " in bare.run("--help").out

    page = bare.run("serve", "--help")
    assert (page.code, page.err) == (0, "")
    assert page.out.startswith("Usage\n  pi serve <address>  serve this folder\n")
    assert "--port <value>  where to listen" in page.out
    assert "--mode" not in page.out

    for shell in SHELLS:
        script = bare.run("completion", shell).out
        assert "serve" in script
        assert "port" in script


def test_bash_completes_the_subcommand_and_its_options(bare: Program, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(bare.run("completion", "bash").out)

    def completed(*arguments: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in arguments)
        act = (
            f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(arguments) - 1};"
            ' _pi; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        ran = subprocess.run(["bash", "-c", act], capture_output=True, text=True, check=True)
        return ran.stdout.split()

    assert completed("pi", "ser") == ["serve"]
    assert completed("pi", "serve", "--po") == ["--port"]


@pytest.mark.parametrize(
    ("argv", "continues"),
    [([], True), (["--session", "x"], False), (["--no-session"], False), (["-c"], True)],
)
def test_a_subcommand_can_request_the_last_session(
    tmp_path: Path, argv: list[str], continues: bool
) -> None:
    program = Program.below(tmp_path)
    text = SERVING.replace("session = false", 'session = "continue"')
    program.write("extensions/serving.py", text)
    arguments = parse_extension_subcommand(
        ["serve", *argv], {"HOME": str(program.home)}, program.cwd
    )

    assert arguments is not None
    assert arguments.options.get("continue", False) is continues
    assert "without_session" not in arguments.options
