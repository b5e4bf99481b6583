from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from pi.base.processes import Child, SpawnFailed
from pi.coding.shell.local import Ended, LocalShell, ShellOptions
from pi.coding.shell.spill import SpillFolder
from pi.testing import FakeClock
from tests.base.processes.children import needs_posix_shell, passing_of
from tests.coding.shell.shells import ShellHarness
from tests.coding.tools.places import make_shell
from tests.files import stand_in

pytestmark = needs_posix_shell


async def ran(shell: LocalShell, command: str) -> str:
    output = shell.new_output()
    await shell.run(command, output=output, timeout=20)
    return output.written().tail.content


# How a command runs ------------------------------------------------------------------------------


@pytest.mark.behaviour("death-by-signal-is-failure")
@pytest.mark.parametrize(
    ("command", "end"),
    [
        ("exit 0", Ended(exit_code=0)),
        ("exit 7", Ended(exit_code=7)),
        ("kill -9 $$", Ended(exit_code=137, signal=9)),
        ("kill -TERM $$", Ended(exit_code=143, signal=15)),
    ],
)
async def test_a_command_has_an_exit_code_also_when_killed_by_a_signal(
    tmp_path: Path, command: str, end: Ended
) -> None:
    harness = ShellHarness(tmp_path)

    assert await harness.run(f"echo said; {command}") == (end, "said\n")


async def test_both_outputs_come_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    shell = make_shell(tmp_path)

    assert await ran(shell, "echo 1; echo 2 >&2; echo 3; pwd") == f"1\n2\n3\n{tmp_path}\n"


@pytest.mark.behaviour("bash-is-found")
async def test_commands_run_in_bash_in_the_current_folder_of_the_session(
    tmp_path: Path,
) -> None:
    cwds = [tmp_path]
    shell = LocalShell(
        cwd=lambda: cwds[0],
        environ=lambda: os.environ,
        options=ShellOptions,
        spills=SpillFolder(tmp_path, random_bytes=os.urandom, clock=FakeClock()),
    )
    (tmp_path / "below").mkdir()

    before = await ran(shell, "[[ -n $BASH_VERSION ]] && pwd")
    cwds[0] = tmp_path / "below"

    assert (before, await ran(shell, "pwd")) == (f"{tmp_path}\n", f"{tmp_path}/below\n")


@pytest.mark.behaviour("bash-is-found")
async def test_a_configured_shell_runs_commands_in_the_sessions_folder(tmp_path: Path) -> None:
    own = tmp_path / "own shell"
    own.write_text('#!/bin/sh\necho "own $1 in $PWD: $2"\n')
    own.chmod(0o755)
    shell = make_shell(tmp_path, options=ShellOptions(path=str(own)))

    assert await ran(shell, "echo hi") == f"own -c in {tmp_path}: echo hi\n"


async def test_a_prefix_and_a_wrapper_apply_to_every_command(tmp_path: Path) -> None:
    options = ShellOptions(prefix="shopt -s expand_aliases\nX=1", wrapper="command")

    assert await ran(make_shell(tmp_path, options=options), "echo $X") == "1\n"


async def test_the_profile_of_the_user_is_read_only_if_configured(tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("echo profile\n")
    environ = {**os.environ, "HOME": str(tmp_path)}
    outputs = [
        await ran(make_shell(tmp_path, environ=environ, options=options), "echo ran")
        for options in (ShellOptions(), ShellOptions(login=True))
    ]

    assert outputs[0] == "ran\n"
    assert outputs[1].endswith("profile\nran\n")


async def test_commands_have_no_input_and_git_does_not_prompt(tmp_path: Path) -> None:
    shell = make_shell(tmp_path)

    assert await ran(shell, "cat; echo $GIT_TERMINAL_PROMPT $PAGER $AI_AGENT") == "0 cat pi\n"
    assert await ran(shell, "tty; test -t 0 || echo none") == "not a tty\nnone\n"


@pytest.mark.behaviour("output-decodes-as-a-stream")
async def test_a_character_split_over_two_reads_is_decoded(tmp_path: Path) -> None:
    pieces: list[str] = []
    harness = ShellHarness(tmp_path)

    _, text = await harness.run(
        r"printf '\xe2\x82'; sleep 0.2; printf '\xac'; printf '\xff\x00'", on_text=pieces.append
    )

    assert text == "€\ufffd\0" == "".join(pieces)


@pytest.mark.behaviour("long-output-is-bounded")
async def test_output_appears_while_a_command_runs(tmp_path: Path) -> None:
    harness = ShellHarness(tmp_path)
    first = asyncio.Event()
    go = tmp_path / "go"

    def received(text: str) -> None:
        first.set()

    running = asyncio.create_task(
        harness.run(
            f"echo begun; until [ -e {go} ]; do sleep 0.02; done; echo end", on_text=received
        )
    )
    async with asyncio.timeout(30):
        await first.wait()
        assert not running.done()
        go.touch()
        assert await running == (Ended(exit_code=0), "begun\nend\n")


async def test_an_abort_during_the_start_keeps_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, marker, aborted = ShellHarness(tmp_path), tmp_path / "said", asyncio.Event()
    start = LocalShell._start

    async def slowly(self: LocalShell, *how: Any) -> Child:
        child = await start(self, *how)
        await aborted.wait()
        return child

    monkeypatch.setattr(LocalShell, "_start", slowly)
    output = harness.shell.new_output()
    running = asyncio.create_task(
        harness.shell.run(f"echo part; touch {marker}; sleep 600", output=output)
    )
    async with asyncio.timeout(30):
        while not marker.exists():
            await passing_of(0.01)
    running.cancel()
    await asyncio.sleep(0)
    aborted.set()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (output.written().tail.content, harness.remaining()) == ("part\n", [])


async def test_a_listener_that_fails_ends_the_command(tmp_path: Path) -> None:
    harness = ShellHarness(tmp_path)

    def fail(text: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await harness.run("echo begun; sleep 60", on_text=fail)
    assert harness.remaining() == []


@pytest.mark.behaviour("missing-cwd-is-a-result")
async def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    shell = make_shell(tmp_path)

    with pytest.raises(SpawnFailed, match=r"the working directory .*gone does not exist"):
        await shell.run("true", output=shell.new_output(), cwd=tmp_path / "gone")


async def test_a_wrapper_gets_the_whole_command_not_its_first_part(tmp_path: Path) -> None:
    boxed = tmp_path / "boxed"
    boxed.write_text('#!/bin/sh\nBOXED=yes exec "$@"\n')
    boxed.chmod(0o755)
    shell = make_shell(tmp_path, options=ShellOptions(wrapper=str(boxed)))

    assert await ran(shell, "echo $BOXED; echo $BOXED && (echo $BOXED)") == "yes\nyes\nyes\n"


@pytest.mark.parametrize("wrapper", ["", "env"])
async def test_variables_set_by_profile_and_prefix_are_unset(tmp_path: Path, wrapper: str) -> None:
    (tmp_path / ".bash_profile").write_text("export A_KEY=1 B_KEY=2 KEPT=3")
    options = ShellOptions(
        prefix="export C_KEY=4", wrapper=wrapper, login=True, unset=("A_KEY", "B_KEY", "C_KEY")
    )
    shell = make_shell(
        tmp_path, environ={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, options=options
    )

    assert await ran(shell, 'echo "$A_KEY$B_KEY$KEPT$C_KEY"') == "3\n"


async def test_a_command_longer_than_an_argument_may_be_is_run(tmp_path: Path) -> None:
    shell = make_shell(tmp_path)
    long = f"X='{'é' * 150_000}'\necho ${{#X}} $0 $#; exit 7"
    harness = ShellHarness(tmp_path)

    ended, text = await harness.run(long)

    assert (ended.exit_code, text) == (7, (await harness.run("echo 150000 $0 $#"))[1])
    assert await ran(shell, f"cat; : {'x' * 200_000}; echo end") == "end\n"
    spills = tmp_path.with_name(f"{tmp_path.name}-spills")
    assert list(spills.glob("*.sh")) == []


@pytest.mark.parametrize("named", ["a shell wrapper", "fish"])
async def test_a_long_command_that_cannot_be_passed_is_refused_in_one_line(
    tmp_path: Path, named: str
) -> None:
    own = str(stand_in(tmp_path / "fish", "exit 0"))
    options = ShellOptions(path=own) if named == "fish" else ShellOptions(wrapper=own)

    with pytest.raises(SpawnFailed, match=rf"^The command has 2\d+,\d+ characters, .* {named}\.$"):
        await ran(make_shell(tmp_path, options=options), "#" + "x" * 200_000)
