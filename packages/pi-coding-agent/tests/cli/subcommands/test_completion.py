from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.cli.main import main
from pi.cli.options import FLAGS
from pi.cli.subcommand_rows import COMMANDS
from pi.cli.subcommands.completion import SHELLS, bash, fish, zsh
from tests.sampling import sampled

Captured = pytest.CaptureFixture[str]
Find = Callable[[str, str], str]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_contains_all_options_and_commands(
    shell: str, capsys: Captured
) -> None:
    assert main(["completion", shell], {}) == 0

    script = capsys.readouterr().out
    names = [flag.name.removeprefix("--") for flag in FLAGS]
    names += [command.name for command in COMMANDS if not command.is_alias]
    assert [name for name in names if name not in script] == []


@pytest.mark.parametrize("arguments", [[], ["tcsh"], ["bash", "zsh"]])
def test_an_unknown_shell_is_rejected(arguments: list[str], capsys: Captured) -> None:
    assert main(["completion", *arguments], {}) == 1

    assert capsys.readouterr().err == (
        "Error: No valid shell given. Valid values: bash, zsh, fish\n"
        'For example, in ~/.bashrc: eval "$(pi completion bash)"\n'
    )


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("--mo", {"--mode", "--model", "--models"}),
        ("se", {"sessions", "setup"}),
        ("--mode ''", {"text", "json", "rpc", "acp"}),
        ("-p --thinking x", {"xhigh"}),
        ("auth l", {"login", "logout"}),
        ("completion ''", {"bash", "zsh", "fish"}),
        ("auth check --pro", {"--provider"}),
        ("auth check ''", {"folder", "some file.txt"}),
        ("-p @some", {r"@some\ file.txt"}),
        ("-p @fo", {"@folder/"}),
        ("-p '@\"so'", set()),
        ("-p some", {"some file.txt"}),
        ("--session-dir ''", {"folder"}),
        ("--api-key ''", set()),
        ("install --lo", {"--local"}),
    ],
)
def test_bash_offers_the_matching_completions(
    tmp_path: Path, program: Find, typed: str, offered: set[str]
) -> None:
    folder = furnished(tmp_path)
    ask = f"{bash()}\nCOMP_WORDS=(pi {typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _pi\n"
    ask += 'printf "%s\\n" "${COMPREPLY[@]}"\n'

    finished = subprocess.run(
        [program("bash", "what bash offers"), "-u", "-c", ask],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.stderr == ""
    assert set(finished.stdout.splitlines()) - {""} == offered


def test_bash_treats_an_attached_file_as_one_word(program: Find) -> None:
    ask = f'COMP_WORDBREAKS=$" @=:"\n{bash()}\nprintf %s "$COMP_WORDBREAKS"'

    finished = subprocess.run(
        [program("bash", "the words of bash"), "-c", ask], capture_output=True, check=False
    )

    assert finished.stdout == b" =:"


OFFERED = [
    ("--mo", {"--mode", "--model", "--models"}),
    ("se", {"sessions", "setup"}),
    ("-n", {"-n", "-na", "-nbt", "-nc", "-ne", "-np", "-ns", "-nt"}),
    ("--mode ", {"text", "json", "rpc", "acp"}),
    ("-p --thinking x", {"xhigh"}),
    ("--model m --th", {"--theme", "--thinking"}),
    ("auth l", {"login", "logout"}),
    ("auth check --pro", {"--provider"}),
    ("completion ", {"bash", "zsh", "fish"}),
    ("install --lo", {"--local"}),
    ("-p some", {"some file.txt"}),
    ("--session-dir ", {"folder"}),
    ("--api-key ", set()),
]
"""What is typed behind ``pi``, and what both zsh and fish offer then."""

ZSH = r"""
zmodload zsh/zpty || exit 1
zpty -b shell "zsh -f -i"
zpty -w shell "PS1=; unsetopt beep; autoload -Uz compinit; compinit -u -D; source $1"
zpty -w shell 'compadd () {
    typeset -a hits
    [[ " $@ " == *" -[OAD] "* ]] || builtin compadd -A hits "$@"
    for hit in $hits; do print -r -- "<hit>${(Q)hit}</hit>"; done
    builtin compadd "$@"
}'
zpty -w shell '_offer () { zle complete-word; print -r -- "<do""ne>"; }; zle -N _offer'
zpty -w shell 'bindkey "^I" _offer; print -r -- "<rea""dy>"'
zpty -r shell answer "*<ready>*" || exit 2
zpty -w -n shell "pi $2"$'\t'
zpty -r shell answer "*<done>*" || exit 3
print -r -- "$answer"
"""
"""Prints what a zsh offers that has read the script ``$1``, when ``pi $2`` and Tab are typed."""


@pytest.mark.parametrize(
    ("typed", "offered"), sampled([("-p @some", {"some file.txt"}), *OFFERED], 1)
)
def test_zsh_offers_the_matching_completions(
    tmp_path: Path, program: Find, typed: str, offered: set[str]
) -> None:
    shell, folder = program("zsh", "what zsh offers"), furnished(tmp_path)
    (tmp_path / "script").write_text(zsh())

    finished = subprocess.run(
        [shell, "-f", "-c", ZSH, "zsh", tmp_path / "script", typed],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (finished.returncode, finished.stderr) == (0, "")
    assert set(re.findall("<hit>(.*?)</hit>", finished.stdout)) == offered


@pytest.mark.parametrize(("typed", "offered"), [*OFFERED, ("-p @some", {"@some file.txt"})])
def test_fish_offers_the_matching_completions(
    tmp_path: Path, program: Find, typed: str, offered: set[str]
) -> None:
    shell, folder = program("fish", "what fish offers"), furnished(tmp_path)
    (tmp_path / "script").write_text(fish())
    ask = f"source {tmp_path / 'script'}; complete -C 'pi {typed}'"

    finished = subprocess.run(
        [shell, "--no-config", "-c", ask],
        cwd=folder,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    lines = finished.stdout.splitlines()
    assert (finished.returncode, finished.stderr) == (0, "")
    assert {line.partition("\t")[0].removesuffix("/") for line in lines} == offered


def furnished(tmp_path: Path) -> Path:
    """A folder with a file and a folder in it."""
    folder = tmp_path / "place"
    (folder / "folder").mkdir(parents=True)
    (folder / "some file.txt").touch()
    return folder


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


def test_fish_offers_options_after_the_value_of_another_option() -> None:
    commands = " ".join(command.name for command in COMMANDS if not command.is_alias)
    lines = [line for line in fish().splitlines() if " -l model " in line and "auth" in line]

    assert lines[-1] == (
        f"complete -c pi -n 'not __fish_seen_subcommand_from {commands}' -l model"
        " -d 'provider/id:thinking, or part of a name' -x"
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
