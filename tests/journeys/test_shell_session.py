"""The commands of a session that run in one shell (``bash.extended``)."""

from __future__ import annotations

import os
import re

import pytest

from tests.journeys.model_server import Answer, calls
from tests.journeys.program import Journey


@pytest.fixture
def extended(journey: Journey) -> Journey:
    """A journey with the extended ``bash`` tool."""
    journey.home.use_settings(bash={"extended": True})
    return journey


def outputs(journey: Journey, *commands: str) -> list[str]:
    """The results of these commands in one run."""
    for command in commands:
        journey.model.calls("bash", command=command)
    assert journey.pi("-p", "run them").code == 0
    return journey.model.results_of()


def test_the_output_is_what_the_command_printed(extended: Journey) -> None:
    by_signal, killed, background = outputs(
        extended,
        "find / -maxdepth 2 2>/dev/null | head -n 2 | wc -l",
        "sh -c 'kill -KILL $$'; echo after",
        "sleep 0.1 & echo now; wait",
    )

    assert by_signal == "2\n"
    assert re.fullmatch(r"\S*bash: line 1: +\d+ Killed +sh -c 'kill -KILL \$\$'\nafter\n", killed)
    assert background == "now\n"


def test_a_command_that_exits_leaves_the_shell_as_it_was(extended: Journey) -> None:
    _, exited, after = outputs(
        extended, "mkdir d; cd d; x=kept", "cd /nowhere || exit 1; echo never", "echo $x; pwd"
    )

    assert re.fullmatch(
        r"\S*bash: line 1: cd: /nowhere: No such file or directory\n\n\nCommand exited with code 1",
        exited,
    )
    assert after == f"kept\n{extended.home.cwd}/d\n"


@pytest.mark.parametrize("settings", [{"extended": True}, {"extended": True, "session": False}, {}])
def test_commands_for_which_there_is_a_tool_are_refused_in_every_form(
    journey: Journey, settings: dict[str, bool]
) -> None:
    journey.home.use_settings(bash=settings, bashInterceptor={"enabled": True})
    commands = ("cd . && cat f", "FOO=1 cat f", "/bin/cat f", "command cat f", "cat f > g")
    *refused, allowed = outputs(journey, *commands, "echo fine")

    assert all(result.startswith("Blocked: Use the ") for result in refused), refused
    assert allowed == "fine\n"


def test_the_model_is_told_that_a_pipe_to_head_was_removed(extended: Journey) -> None:
    shortened, kept, failed = outputs(
        extended, "seq 3 | head -n 1", "seq 9 | head -n -7", "(seq 3; exit 4) | tail -1"
    )

    note = "[`| {}` was not run: long output is cut by the tool, which keeps all of it.]"
    assert shortened == f"1\n2\n3\n\n{note.format('head -n 1')}"
    assert kept == "1\n2\n"
    assert failed.endswith(f"Command exited with code 4\n\n{note.format('tail -1')}")


def test_a_time_limit_out_of_range_is_clamped(extended: Journey) -> None:
    extended.model.calls("bash", command="sleep 30", timeout=-1)
    extended.pi("-p", "run it")

    assert "Command timed out after 1 seconds" in extended.model.results_of()[0]
    [result] = [
        entry["message"]
        for entry in extended.home.sessions[0]
        if entry.get("message", {}).get("role") == "toolResult"
    ]
    assert (result["isError"], result["details"]) == (True, {})


def test_settings_of_the_interceptor_without_effect_are_named(journey: Journey) -> None:
    rules = [
        {"pattern": "(", "tool": "read", "message": "no"},
        {"pattern": "x", "tool": "raed", "message": "no"},
    ]
    journey.home.use_settings(bashInterceptor={"rules": rules})
    assert "bashInterceptor.rules has no effect" in journey.pi("-p", "hi").err
    journey.home.use_settings(bashInterceptor={"rules": rules, "enabled": True})
    errors = journey.pi("-p", "hi").err

    assert "'(' is no regular expression" in errors
    assert "there is no tool 'raed'" in errors


def test_a_bash_tool_that_is_switched_off_is_missing_without_a_warning(journey: Journey) -> None:
    journey.home.use_settings(bash={"enabled": False})
    ended = journey.pi("-p", "hi")

    assert ended.err == ""
    assert journey.model.tools_of() == ["read", "edit", "write"]


def test_a_trap_of_an_earlier_command_runs_at_the_end_of_the_session(extended: Journey) -> None:
    extended.home.write_work("draft", "")
    _, exited, after = outputs(
        extended, "trap 'rm draft; touch ended' EXIT; x=kept", "exit 3", "echo $x; ls"
    )

    assert exited == "(no output)\n\nCommand exited with code 3"
    assert after == "kept\ndraft\n"
    assert [path.name for path in extended.home.cwd.iterdir()] == ["ended"]


def test_a_shell_ends_with_its_session(extended: Journey) -> None:
    command = "trap 'touch ended' EXIT; sleep 600 >/dev/null 2>&1 & echo $!"
    extended.model.calls("bash", command=command)
    with extended.rpc() as client:
        client.prompts("run it")
        client.request("new_session")

        assert (extended.home.cwd / "ended").exists()
        background = int(extended.model.results_of()[0])
        os.kill(background, 0)  # ends with pi, as one of the plain tool does


def test_a_sub_agent_has_a_shell_of_its_own_and_the_same_rules(extended: Journey) -> None:
    extended.home.use_settings(task={"enabled": True}, bashInterceptor={"enabled": True})
    task = {"agent": "task", "name": "helper", "task": "Look."}
    extended.model.script(
        calls("bash", command="x=main"),
        Answer(calls=(("task", task),)),
        calls("bash", command="cd /; x=sub"),
        calls("bash", command="pwd; echo $x"),
        calls("bash", command="cat f"),
        calls("yield", data="done"),
        calls("bash", command="pwd; echo $x"),
    )
    assert extended.pi("-p", "delegate").code == 0

    assert extended.model.results_of()[-1] == f"{extended.home.cwd}\nmain\n"
    sub_agent = extended.model.results_of(-3)
    assert sub_agent[1] == "/\nsub\n"
    assert sub_agent[2].startswith("Blocked: Use the read tool")


def test_a_rule_about_edits_does_not_hold_up_a_command_that_only_reads(extended: Journey) -> None:
    rules = {"mode": "auto-edit", "allow": ["Bash"], "deny": ["Edit(kept.txt)"]}
    extended.home.use_settings(permissions=rules)
    extended.home.write_work("other.txt", "text\n")
    extended.home.write_work("kept.txt", "kept\n")
    read, removed, replaced = outputs(extended, "cat other.txt", "rm kept.txt", "echo x > kept.txt")

    assert read == "text\n"
    assert "Edit(kept.txt)" in removed
    assert "Edit(kept.txt)" in replaced
    assert (extended.home.cwd / "kept.txt").read_text() == "kept\n"
