from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.cli.commands import COMMANDS
from pi.cli.flags import FLAGS
from pi.cli.main import main
from pi.cli.subcommands.completion import SHELLS, bash, fish, zsh

Captured = pytest.CaptureFixture[str]
Find = Callable[[str, str], str]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_names_everything(shell: str, capsys: Captured) -> None:
    assert main(["completion", shell], {}) == 0

    script = capsys.readouterr().out
    names = [flag.name.removeprefix("--") for flag in FLAGS]
    names += [command.name for command in COMMANDS if not command.is_alias]
    assert [name for name in names if name not in script] == []


@pytest.mark.parametrize("words", [[], ["tcsh"], ["bash", "zsh"]])
def test_the_shell_must_be_one_that_is_known(words: list[str], capsys: Captured) -> None:
    assert main(["completion", *words], {}) == 1

    assert capsys.readouterr().err == (
        "Error: For which shell? Valid values: bash, zsh, fish\n"
        'For example, in ~/.bashrc: eval "$(pi completion bash)"\n'
    )


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("--mo", {"--mode", "--model", "--models"}),
        ("se", {"sessions"}),
        ("--mode ''", {"text", "json", "rpc"}),
        ("-p --thinking x", {"xhigh"}),
        ("auth l", {"login", "logout"}),
        ("completion ''", {"bash", "zsh", "fish", "-h", "--help"}),
        ("-p @some", {"@some file.txt"}),
        ("-p some", {"some file.txt"}),
        ("--session-dir fo", {"folder"}),
        ("--api-key ''", set()),
    ],
)
def test_bash_offers_what_fits(
    tmp_path: Path, program: Find, typed: str, offered: set[str]
) -> None:
    (tmp_path / "some file.txt").touch()
    (tmp_path / "folder").mkdir()
    ask = f"{bash()}\nCOMP_WORDS=(pi {typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _pi\n"
    ask += 'printf "%s\\n" "${COMPREPLY[@]}"\n'

    finished = subprocess.run(
        [program("bash", "what bash offers"), "-u", "-c", ask],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.stderr == ""
    assert set(finished.stdout.splitlines()) - {""} == offered


def test_the_script_for_zsh_completes_at_its_first_use_from_a_folder_of_fpath() -> None:
    script = zsh()

    assert script.startswith("#compdef pi\n")
    assert script.endswith(
        """\
if [[ ${funcstack[1]} == _pi ]]; then
    _pi "$@"  # as a file of fpath, at its first use
else
    compdef _pi pi
fi
"""
    )


def test_fish_offers_options_also_behind_the_value_of_another() -> None:
    commands = " ".join(command.name for command in COMMANDS if not command.is_alias)
    lines = [line for line in fish().splitlines() if " -l model " in line and "auth" in line]

    assert lines[-1] == (
        f"complete -c pi -n 'not __fish_seen_subcommand_from {commands}' -l model"
        " -d 'provider/id:thinking, or a part of a name' -x"
    )


@pytest.mark.parametrize(("shell", "script"), [("bash", bash), ("zsh", zsh), ("fish", fish)])
def test_the_shell_understands_its_script(
    shell: str, script: Callable[[], str], program: Find, tmp_path: Path
) -> None:
    file = tmp_path / "script"
    file.write_text(script())
    path = program(shell, f"the syntax of the completion for {shell}")

    finished = subprocess.run([path, "-n", file], capture_output=True, text=True, check=False)

    assert (finished.returncode, finished.stderr) == (0, "")
