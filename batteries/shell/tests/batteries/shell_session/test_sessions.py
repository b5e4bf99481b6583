"""The state of the shell survives between calls of the model."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.tool import ToolContext
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.shell.spawns import SpawnRefused, SpawnRequest
from tests.base.processes.children import needs_posix_shell
from tests.batteries.shell_session.bash_session import TIMEOUT_SECONDS, shell, text
from tests.modes.pipes import until

pytestmark = needs_posix_shell


async def test_working_directory_variables_and_functions_are_kept(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        outputs = await bash.texts(
            "x=5; f() { echo f $x $1; }; alias up='echo UP'; mkdir -p d; cd d; export Y=1; false",
            "echo $?; pwd; f z; up; sh -c 'echo $Y'",
        )

        assert outputs[1] == f"1\n{bash.cwd}/d\nf 5 z\nUP\n1\n"


async def test_env_and_cwd_are_for_one_call(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        (bash.cwd / "below").mkdir()
        call = {"command": 'echo "$A"; pwd', "env": {"A": "a 'b"}, "cwd": "below"}

        assert await bash.texts(call, "echo [$A]; pwd") == [
            f"a 'b\n{bash.cwd}/below\n",
            f"[]\n{bash.cwd}\n",
        ]


@pytest.mark.parametrize("command", ["echo $A $B $C", "echo $A $B $C; exit 1"])
async def test_several_variables_of_one_call_are_gone_afterwards(
    tmp_path: Path, command: str
) -> None:
    """Also those behind one that was not set before, such as a ``PATH``."""
    env = {"A": "new", "B": "new", "C": "new"}
    async with shell(tmp_path) as bash:
        after = (
            await bash.texts(
                "export B='o\nl;d'", {"command": command, "env": env}, "env; echo [$A$C]"
            )
        )[-1]

    assert "B=o\nl;d\n" in after and "new" not in after and after.endswith("[]\n")


async def test_a_timeout_ends_the_command_and_keeps_the_state(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        [_, slow, after] = await bash.run(
            "x=kept", {"command": "echo part; sleep 60; echo no", "timeout": 1}, "echo $x"
        )

        assert text(slow) == "part\n\n\nCommand timed out after 1 seconds"
        assert slow.details == {}
        assert text(after) == "kept\n"


async def test_an_abort_keeps_the_output_and_the_state(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        await bash.run("x=kept")
        begun = bash.cwd / "begun"
        running = asyncio.create_task(bash.run(f"echo part; touch {begun}; while :; do :; done"))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await until(begun.exists)
            await bash.hosted.session.abort()
            [aborted] = await running

        await bash.hosted.session.prompt("the step that the aborted run left over")
        assert text(aborted) == "part\n\n\nCommand aborted"
        assert await bash.texts("echo $x") == ["kept\n"]


async def test_a_shell_that_ends_is_started_again_with_a_notice(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        [_, ended, after] = await bash.run("x=1; cd /", "exec sh -c 'exit 3'", "echo [$x]; pwd")

        assert "[The shell session ended (exit code 3)." in text(ended)
        assert text(ended).endswith("Command exited with code 3")
        assert text(after) == f"[]\n{bash.cwd}\n"


SETUP = """x=1; list=(a 'b c'); declare -A map=([k]=v); export Y=2; umask 027; cd /
f() { local x=inner IFS=: PATH=; "$@"; }
alias up='echo UP'; shopt -s nullglob; trap 'echo usr' USR1; IFS=,"""
STATE = (
    'echo "$x ${list[1]} ${map[k]} $Y $(umask) $PWD [$IFS] $-"; declare -f f | wc -l; up;'
    " trap -p USR1; shopt nullglob; sh -c 'echo $Y $A'; jobs"
)


@pytest.mark.parametrize(
    "command",
    [
        "exit 3",
        "cd /nowhere 2>/dev/null || exit 1; echo never",
        "f exit 4",
        "{ exit 5; } >/dev/null",
        "f eval 'kill -INT $$; echo never'",
        "(set -u; echo ${nope?})2>/dev/null; set -e; false; echo never",
        "set -u; : $nope; echo never",
        ": ${nope:?}; echo never",
        "break; echo never",
    ],
)
async def test_a_command_that_would_end_a_shell_keeps_its_state(
    tmp_path: Path, command: str
) -> None:
    async with shell(tmp_path) as bash, asyncio.timeout(TIMEOUT_SECONDS):
        _, before, ended, _, after = await bash.texts(
            SETUP, STATE, {"command": command, "env": {"A": "1"}}, "set +eu", STATE
        )

        assert "never" not in ended
        assert "shell session" not in ended
        assert after == before


async def test_env_of_a_command_that_exits_is_gone_afterwards(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        call = {"command": "echo $A $B; exit 1", "env": {"A": "new", "B": "new"}}

        assert (await bash.texts("export A=old; cd /", call, "echo $A [$B]"))[-1] == "old []\n"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("yes | head -2", "y\ny\n"),
        ("sleep 0.05 & echo now; wait", "now\n"),
        (
            "sh -c 'kill -KILL $$'; echo $?",
            "{bash}: line 1: PID Killed   sh -c 'kill -KILL $$'\n137\n",
        ),
        (
            "echo one\nno-such-program; true",
            "one\n{bash}: line 2: no-such-program: command not found\n",
        ),
        ("(exit 3); echo $?", "3\n"),
        ("echo $-", "hBc\n"),
    ],
)
async def test_the_output_is_that_of_a_bash_without_a_terminal(
    tmp_path: Path, command: str, output: str
) -> None:
    async with shell(tmp_path) as bash:
        _, text = await bash.texts("exit 0", command)

        text = re.sub(r" +\d+ Killed +", " PID Killed   ", re.sub(r"\S+bash: ", "{bash}: ", text))
        assert text == output


async def test_a_shell_that_is_killed_between_calls_is_started_again_with_a_notice(
    tmp_path: Path,
) -> None:
    async with shell(tmp_path) as bash:
        [pid] = await bash.texts("echo $$")
        os.kill(int(pid), signal.SIGKILL)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            [first, second] = await bash.texts("echo new", "echo new")

        # The end of the shell is noticed before, at, or during the next command.
        assert "The shell session " in first
        assert second == "new\n"


@pytest.mark.full
async def test_a_command_that_ignores_interrupts_ends_the_shell(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        [slow, after] = await bash.run(
            {"command": "x=1; trap '' INT; sleep 60", "timeout": 1}, "echo [$x]"
        )

        assert "(the command ignored the interrupt)" in text(slow)
        assert text(after) == "[]\n"


@pytest.mark.parametrize(
    "command",
    ["echo 'open", "for", "if true; then", "echo )", "cat <<EOF\nx", "$(", "break", "return 3"],
)
async def test_a_faulty_command_leaves_the_shell_usable(tmp_path: Path, command: str) -> None:
    async with shell(tmp_path) as bash, asyncio.timeout(TIMEOUT_SECONDS):
        outputs = await bash.texts("x=1", command, "echo $x")

        assert outputs[-1] == "1\n"


async def test_late_output_of_a_background_process_is_shown_with_the_next_command(
    tmp_path: Path,
) -> None:
    async with shell(tmp_path) as bash:
        go = bash.cwd / "go"
        wait = f"(until [ -e {go} ]; do sleep 0.02; done; echo late; touch {go}.done) & echo now"
        [first] = await bash.texts(wait)
        go.touch()
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await until(go.with_name("go.done").exists)
        [second] = await bash.texts("echo next")

        assert first.endswith("now\n")
        assert second == "[output of background processes since the last command]\nlate\nnext\n"


async def test_output_that_resembles_the_end_marker_is_kept(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        outputs = await bash.texts(r"printf '\036abc 0 / abc\036'; printf '\036'", "echo ok")

        assert outputs == ["\x1eabc 0 / abc\x1e\x1e", "ok\n"]


async def test_redirections_of_the_shell_apply_to_one_call(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        outputs = await bash.texts("exec >file 2>&1 </dev/null; echo hidden", "cat file")

        assert outputs == ["(no output)", "hidden\n"]


async def test_a_concurrent_call_runs_in_its_own_shell(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash, asyncio.timeout(TIMEOUT_SECONDS):
        await bash.run("cd /; x=1")
        [tool] = [
            listed_tool
            for listed_tool in bash.hosted.session.tools.listed()
            if listed_tool.name == "bash"
        ]
        begun, go = bash.cwd / "begun", bash.cwd / "go"
        ctx = ToolContext("call", lambda result: None)

        async def call(command: str) -> str:
            result = await tool.run({"command": command}, ctx)
            return str(result.content[0].text)

        waiting = f"touch {begun}; until [ -e {go} ]; do sleep 0.02; done; echo $x"
        slow = asyncio.create_task(call(waiting))
        await until(begun.exists)
        other = await call("pwd; echo [$x]")
        go.touch()

        assert other == "/\n[]\n"
        assert await slow == "1\n"


async def test_spawn_guards_are_called_for_every_command(tmp_path: Path) -> None:
    def guard(pi: ExtensionAPI) -> None:
        def refuse(request: SpawnRequest) -> SpawnRequest:
            if request.command.startswith("rm"):
                raise SpawnRefused("Only plan: nothing is removed.")
            return request

        pi.wrap_spawn(refuse, {"bash"})

    async with shell(tmp_path, guard) as bash:
        outputs = await bash.texts("x=1; touch file", "rm file", "ls; echo $x")

        assert outputs[1:] == ["Only plan: nothing is removed.", "file\n1\n"]


async def test_the_shell_is_restarted_when_a_guard_changes_the_spawn_request(
    tmp_path: Path,
) -> None:
    env: dict[str, str] = {}

    def guard(pi: ExtensionAPI) -> None:
        def change(request: SpawnRequest) -> SpawnRequest:
            return replace(request, env={**request.env, **env})

        pi.wrap_spawn(change, {"bash"})

    async with shell(tmp_path, guard) as bash:
        await bash.run("x=1")
        env["SANDBOX"] = "on"
        [output] = await bash.texts("echo $SANDBOX [$x]")

        assert output.startswith("[The shell session was started again (how commands are started")
        assert output.endswith("on []\n")


async def test_without_a_session_every_command_has_its_own_shell(tmp_path: Path) -> None:
    async with shell(tmp_path, settings={"session": False}) as bash:
        (bash.cwd / "below").mkdir()
        call: dict[str, Any] = {"command": "echo $A $CI", "env": {"A": "1"}}
        outputs = await bash.texts("x=1; cd /", "echo [$x]; pwd", call, "cd below && pwd")

        assert outputs[1:] == [f"[]\n{bash.cwd}\n", "1 true\n", f"{bash.cwd}/below\n"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cwd": "gone"}, "Working directory does not exist: {}/gone"),
        ({"cwd": "file"}, "Working directory is not a directory: {}/file"),
        ({"env": {"a-b": "1"}}, "'a-b' cannot be the name of a variable: use letters, digits, _."),
        ({"async": True}, "Jobs are switched off (async.enabled), so async cannot be used here."),
    ],
)
async def test_invalid_arguments_are_rejected(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    async with shell(tmp_path) as bash:
        (bash.cwd / "file").touch()
        [result] = await bash.run({"command": "true", **arguments})

        assert result.is_error
        assert text(result) == message.format(bash.cwd)


async def test_long_output_is_truncated_and_kept_as_an_artifact(tmp_path: Path) -> None:
    async with shell(tmp_path) as bash:
        [result] = await bash.run("seq 1 3000")

        details = result.details
        assert isinstance(details, dict)
        assert details["artifactId"] == "0"
        assert Path(details["fullOutputPath"]).read_text().count("\n") == 3000
        assert f"[Showing lines 1001-3000 of 3000. Full output: {details['fullOutputPath']}]" in (
            text(result)
        )


async def test_a_command_for_which_the_model_has_a_tool_is_rejected(tmp_path: Path) -> None:
    more = {"bashInterceptor": {"enabled": True}}
    async with shell(tmp_path, more=more) as bash:
        [refused, allowed] = await bash.run("cat file | tail -3", "grep x /dev/null || echo none")

        assert text(refused).startswith("Blocked: Use the read tool")
        assert text(allowed) == "none\n"


async def test_variables_of_the_session_and_of_automation_are_set_for_commands(
    tmp_path: Path,
) -> None:
    async with shell(tmp_path) as bash:
        [output] = await bash.texts("echo $PI_MODEL $CI $EDITOR $PI_SESSION_ID")

        assert output == f"faux true true {bash.hosted.session.entries.log.header.id}\n"


async def test_aliases_and_functions_of_the_rc_file_are_there_but_not_its_variables(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    home.mkdir(parents=True, exist_ok=True)
    (home / ".bashrc").write_text(
        "echo noise\ncase $- in *i*) ;; *) return ;; esac\nalias hello='echo hello'\n"
        "greet() { echo greet $1; }\n_hidden() { :; }\nTOKEN=secret\nshopt -s globstar\n"
        'echo x >> "$HOME/rc-runs"\n'
    )
    async with shell(tmp_path) as bash:
        outputs = await bash.texts(
            "hello; greet you; echo [$TOKEN]; shopt globstar", "exit", "hello"
        )

        assert outputs[0] == "hello\ngreet you\n[]\nglobstar       \ton\n"
        assert outputs[2] == "hello\n"
        assert (home / "rc-runs").read_text() == "x\n"


async def test_an_rc_file_that_ends_the_shell_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(parents=True, exist_ok=True)
    (tmp_path / "home" / ".bashrc").write_text("exit 1\n")
    async with shell(tmp_path) as bash:
        assert await bash.texts("echo ok") == ["ok\n"]
