from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.mock_process import MockProcess
from pi.cli.main import main
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.sampling import sampled
from tests.screens.terminal_user import needs_pty, terminal_user

Captured = pytest.CaptureFixture[str]


def test_help_has_a_page_for_pi_and_one_for_each_command(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    help_text = capsys.readouterr().out
    assert main(["auth", "--help"]) == 0
    part = capsys.readouterr().out

    assert "  auth check " in help_text and "--model <pattern>" in help_text
    assert part.startswith("Usage\n  pi auth check ")


def test_an_option_of_pi_is_unknown_to_a_command(capsys: Captured) -> None:
    assert main(["sessions", "--model", "x"], {"HOME": "."}) == 1

    assert capsys.readouterr().err.startswith("Error: Unknown option: --model\n")


@pytest.mark.full
def test_models_are_listed_by_a_flag_as_by_the_command(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)

    flag, command = cli.run("--list-models", "tour"), cli.run("models", "tour")

    assert flag == command
    assert flag.out.splitlines()[1].split() == ["demo", "tour", "128K", "16.4K", "no", "no"]


@pytest.mark.parametrize(("arguments", "paths"), [((), ["/v1/models"]), (("--offline",), [])])
def test_listing_models_offline_sends_no_request_to_the_gateway(
    tmp_path: Path, server: MockProcess, arguments: tuple[str, ...], paths: list[str]
) -> None:
    gateway = f"http://127.0.0.1:{server.port}"
    cli = Program.below(tmp_path, PI_RADIUS_GATEWAY=gateway, RADIUS_API_KEY="k")

    cli.run(*arguments, "--list-models")

    assert [exchange.path for exchange in server.log()] == paths


def test_no_matching_model_exits_with_0(tmp_path: Path) -> None:
    ended = Program.below(tmp_path).run("--list-models", "zzz")

    assert ended == (0, 'No models matching "zzz"\n', "")


def test_an_unknown_model_suggests_the_nearest(cli: Program) -> None:
    assert cli.run("-p", "--model", "eco-3", "hello") == (
        1,
        "",
        'Error: Model "eco-3" not found. Use --list-models to see available models.\n'
        "Did you mean echo-3?\n",
    )


@pytest.mark.full
def test_an_unknown_provider_suggests_the_nearest(cli: Program) -> None:
    assert cli.run("-p", "--provider", "mokc", "hello") == (
        1,
        "",
        'Error: Unknown provider "mokc".'
        " Use --list-models to see available providers/models.\n"
        "Did you mean mock?\n",
    )


def test_resume_without_a_terminal_is_an_error(tmp_path: Path) -> None:
    program = Program.below(tmp_path)

    assert program.run("--resume", "--", "hello") == (
        1,
        "",
        "Error: --resume needs a terminal to choose a session.\n"
        "Use --continue for the latest one, or --session <id>; `pi sessions` lists them.\n",
    )
    assert program.run("--resume", "hello") == (
        1,
        "",
        "No session found matching 'hello'\n"
        "Picking one needs a terminal. Use --continue for the latest one, or --session <id>;"
        " `pi sessions` lists them.\n",
    )


@needs_pty
def test_a_terminal_as_input_and_output_starts_the_interactive_mode(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    ours, theirs = os.openpty()
    with (
        os.fdopen(ours, "r+b", buffering=0) as terminal_user,
        os.fdopen(theirs, "r+b", buffering=0) as terminal,
        subprocess.Popen(
            [sys.executable, "-m", "pi"],
            cwd=cli.cwd,
            env=cli.variables,
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.PIPE,
        ) as program,
    ):
        output = b""
        while "─".encode() not in output:
            output += terminal_user.read(65_536)
        terminal_user.write(b"\x04")

        assert program.wait(TIMEOUT_SECONDS) == 0


@needs_pty
@pytest.mark.parametrize(
    ("word", "suggestion"),
    sampled(
        [("modles", "models"), ("instal", "install"), ("help", "--help"), ("version", "--version")],
        keep=1,
    ),
)
def test_a_mistyped_command_sends_no_request_on_a_terminal(
    cli: Program, server: MockProcess, word: str, suggestion: str
) -> None:
    with terminal_user(cli, word) as ada:
        ada.sees(f"did you mean `pi {suggestion}`?")
        assert ada.ends() == 1
    assert server.log() == []


@needs_pty
def test_a_mistyped_command_of_an_extension_sends_no_request(
    cli: Program, server: MockProcess
) -> None:
    extensions = cli.agent_dir / "extensions"
    extensions.mkdir(parents=True, exist_ok=True)
    manifest = (
        '# /// pi\n# activate = ["command:collab"]\n# subcommands.collab.help = "share"\n# ///\n'
    )
    (extensions / "live.py").write_text(f"{manifest}def extension(pi): ...\n")
    with terminal_user(cli, "colab") as ada:
        ada.sees("did you mean `pi collab`? `pi -- colab` sends it as a prompt.")
        assert ada.ends() == 1
    assert server.log() == []


@needs_pty
@pytest.mark.parametrize(
    "arguments", sampled([["--", "modles"], ["modles", "please"], ["hello"]], keep=1)
)
def test_words_that_are_not_a_mistyped_command_are_a_prompt(
    cli: Program, server: MockProcess, arguments: list[str]
) -> None:
    with terminal_user(cli, *arguments) as ada:
        ada.sees("The quick brown")
        assert ada.leaves() == 0


def test_a_mistyped_command_sends_no_request_without_a_terminal(
    cli: Program, server: MockProcess
) -> None:
    code, out, err = cli.run("modles")

    assert (code, out) == (1, "")
    assert "did you mean `pi models`? `pi -- modles` sends it as a prompt." in err
    assert server.log() == []


@pytest.mark.parametrize("arguments", [["modles", "pull"], ["auht", "check"], ["instal", "pypi:x"]])
def test_a_mistyped_command_with_its_argument_sends_no_request(
    cli: Program, server: MockProcess, arguments: list[str]
) -> None:
    code, out, err = cli.run(*arguments)

    assert (code, out) == (1, "")
    assert "did you mean" in err and f"`pi -- {' '.join(arguments)}`" in err
    assert server.log() == []


@pytest.mark.parametrize("arguments", [["modles", "please"], ["instal", "a b"], ["lists", "these"]])
def test_a_mistyped_command_with_other_words_is_a_prompt(
    cli: Program, arguments: list[str]
) -> None:
    assert cli.run(*arguments).out == "The quick brown\n"


def test_a_mistyped_command_with_piped_text_is_a_prompt(cli: Program) -> None:
    assert cli.run("modles", piped="text") == (0, "The quick brown\n", "")


LINK = f"relay.example/r/{'r' * 22}.5.{'S' * 86}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "mock/model", "join", LINK),
        ("-p", LINK),
        ("-p", f"join {LINK}"),
        ("--no-session", "-p", "look", f"https://relay.example/#{'r' * 22}%235%23{'S' * 43}"),
    ],
)
def test_a_link_to_a_shared_session_is_never_sent_to_a_model(
    tmp_path: Path, capsys: Captured, arguments: tuple[str, ...]
) -> None:
    assert main(arguments, {"HOME": str(tmp_path)}) == 1
    out, err = capsys.readouterr()
    assert "`pi join LINK [options]`" in err and "SSS" not in out + err


def test_a_link_is_a_prompt_after_two_dashes_and_in_a_sentence(cli: Program) -> None:
    assert cli.run("-p", f"What is {LINK}?", "--", LINK).code == 0
