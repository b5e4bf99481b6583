"""Random sequences of commands leave the session in the state of a real shell."""

from __future__ import annotations

import asyncio
import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from pi.base.clock import SystemClock
from pi.base.processes import spawn
from pi.batteries.shell_session.session import ShellSession
from pi.batteries.shell_session.shell_code import ARGUMENTS
from pi.coding.extension_host.scope import Scope
from tests.base.processes.children import needs_posix_shell
from tests.sampling import sampled

pytestmark = needs_posix_shell

STATE = (
    'echo "status $?"; pwd; echo "$a|$b|$c|${list[*]}|${#list[@]}"; declare -p a b c 2>/dev/null;'
    " declare -f f g; alias; shopt -p nullglob extglob; set +o | grep -e noglob -e nounset;"
    ' ls -A; umask; echo "$OLDPWD"; trap -p USR1'
)
"""Prints everything that the steps can change."""


def steps(dice: random.Random, count: int) -> list[str]:
    """A random sequence of commands, some of which fail."""
    names, values = ("a", "b", "c"), ("1", "x y", "'q'", "$a", "${b}z", "ä", "", "*")
    choices = (
        lambda: f'{dice.choice(names)}="{dice.choice(values)}"',
        lambda: f"export {dice.choice(names)}",
        lambda: f"unset {dice.choice(names)}",
        lambda: f"list+=({dice.choice(names)} {dice.randrange(9)})",
        lambda: f"mkdir -p d{dice.randrange(3)}; cd d{dice.randrange(3)}",
        lambda: "cd ..",
        lambda: "cd -",
        lambda: "cd /nowhere",
        lambda: f'f() {{ echo f "$1" {dice.randrange(9)}; return {dice.randrange(4)}; }}; f x',
        lambda: 'g() { local a=inner; b=$a; f "$a"; }; g',
        lambda: "f 1; f 2",
        lambda: f"alias up{dice.randrange(3)}='echo UP'",
        lambda: f"up{dice.randrange(3)} now",
        lambda: dice.choice(("false", "true", "(exit 7)", "! true", "no-such-program")),
        lambda: dice.choice(("shopt -s nullglob", "shopt -u nullglob", "shopt -s extglob")),
        lambda: dice.choice(("set -f", "set +f")),
        lambda: dice.choice(("echo 'open", "for", "echo )", "if true; then", "$(", "cat <<E\nx")),
        lambda: (
            f"for i in 1 2 3; do a=$a$i; done; while false; do :; done; umask 02{dice.choice('27')}"
        ),
        lambda: "echo $? $a; (cd /; a=sub; exit 3)",
        lambda: 'printf "%s\\n" "$a" | while read -r line; do c=$line; done; echo [$c]',
        lambda: "read -r b <<< 'from here'; cat <<END\n$a $b\nEND",
        lambda: f"touch file{dice.randrange(3)}; ls file* 2>/dev/null | wc -l",
        lambda: dice.choice(("trap 'echo usr' USR1", "trap - USR1")),
        lambda: "return 3; local z=1",
    )
    return [dice.choice(choices)() for _ in range(count)]


def in_a_real_shell(folder: Path, commands: list[str], environ: dict[str, str]) -> str:
    """The state after the commands in one bash that reads them from its input."""
    lines = ["shopt -s expand_aliases"]
    for command in commands:
        lines.append(f"eval {shlex.quote(command)} </dev/null >/dev/null 2>&1")
    lines.append(f"eval {shlex.quote(STATE)} </dev/null 2>&1")
    ran = subprocess.run(
        ["bash", "--norc", "--noprofile"],
        input="\n".join(lines) + "\n",
        cwd=folder,
        env=environ,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )
    return ran.stdout


async def in_a_session(folder: Path, commands: list[str], environ: dict[str, str]) -> str:
    """The state after the same commands in a session."""
    scope = Scope(SystemClock(), name="test", report=lambda *_: None)
    child = await spawn(
        ["bash", *ARGUMENTS], cwd=folder, env=environ, stdin="pipe", errors="separate"
    )
    session = ShellSession(child, scope, cwd=str(folder))
    try:
        await session.start("")
        output = bytearray()
        for command in commands:
            await session.run(command, write=lambda data: None)
        await session.run(STATE, write=output.extend)
        return output.decode()
    finally:
        await scope.close()


async def _compare(tmp_path: Path, seed: int) -> None:
    commands = steps(random.Random(seed), 8)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    # Deep enough for a sequence of ``cd ..``: both shells must find the same files.
    root = tmp_path / f"{seed}"
    folder = root.joinpath(*"12345678", "same")
    folder.mkdir(parents=True)
    async with asyncio.timeout(60):
        outputs = await in_a_session(folder, commands, environ)
    shutil.rmtree(root)
    folder.mkdir(parents=True)
    expected = await asyncio.to_thread(in_a_real_shell, folder, commands, environ)

    assert outputs == expected, commands


@pytest.mark.parametrize("block", sampled(range(5), keep=2))
async def test_the_state_equals_that_of_a_real_shell(tmp_path: Path, block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        await _compare(tmp_path, seed)


@pytest.mark.full
@pytest.mark.timeout(600)
async def test_the_state_equals_that_of_a_real_shell_a_thousand_times(tmp_path: Path) -> None:
    for seed in range(1000, 2000):
        await _compare(tmp_path, seed)
