"""Names on the command line that only loaded extensions know: files of extensions, tools."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey

TOOLS = '''
from pi.extension import tool

@tool
async def moon(phase: str) -> str:
    """Describe the moon.

    Args:
        phase: which one
    """
    return phase
'''
UNKNOWN = "--tools: there is no tool raed."


def test_a_file_of_tools_is_loaded_by_an_option_and_by_a_setting(journey: Journey) -> None:
    path = journey.home.write_work("moon.py", TOOLS)

    assert journey.pi("-p", "-e", "moon.py", "hello").err == ""
    assert "moon" in journey.model.tools_of()
    journey.home.use_settings(extensions=[str(path)])
    assert journey.pi("-p", "--tools", "moon", "hello").err == ""
    assert journey.model.tools_of() == ["moon"]


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("gone.py", None, "does not exist"),
        ("broken.py", "1/0\n", "ZeroDivisionError"),
        pytest.param("empty.py", "x = 1\n", "no function extension", marks=pytest.mark.full),
        pytest.param("other.ts", "export {}", "original pi", marks=pytest.mark.full),
    ],
)
def test_an_extension_that_cannot_be_loaded_ends_the_start(
    journey: Journey, name: str, source: str | None, reason: str
) -> None:
    if source is not None:
        journey.home.write_work(name, source)
    journey.expects("a traceback")  # of the extension, in the log

    ended = journey.pi("-p", "--extension", name, "hello")
    with journey.terminal("--extension", name, "hello") as user:
        assert user.ends() == 1

    assert ended.code == 1
    assert reason in ended.err.splitlines()[-1] or reason in ended.err.splitlines()[-2]
    assert ended.err.count(reason) == 1 + (name == "other.ts")  # also in a count of such files
    assert reason in " ".join(user.tape.split())
    assert journey.model.requests == []


def test_an_unknown_tool_ends_the_start_in_print_mode_and_on_a_terminal(journey: Journey) -> None:
    ended = journey.pi("-p", "--tools", "raed,bash", "hello")
    with journey.terminal("--tools", "raed,bash", "hello") as user:
        assert user.ends() == 1

    assert (ended.code, ended.err) == (1, f"Error: {UNKNOWN}\nDid you mean read?\n")
    assert UNKNOWN in user.tape
    assert journey.model.requests == []


def test_an_unknown_tool_is_an_error_for_programs_and_editors(journey: Journey) -> None:
    with journey.rpc("--tools", "raed") as client:
        # Its answer, or its last words: pi ends as soon as it knows.
        with pytest.raises(AssertionError, match="there is no tool raed"):
            client.request("prompt", message="hello")
        assert client.close() == 1
    with journey.acp("--tools", "raed") as editor:
        prompt = [{"type": "text", "text": "hello"}]
        answer = editor.ask("session/prompt", sessionId=editor.opens(), prompt=prompt)
    assert "there is no tool raed" in answer["error"]["message"]
    assert journey.model.requests == []


def test_patterns_and_tools_of_servers_are_no_unknown_tools(journey: Journey) -> None:
    ended = journey.pi("-p", "--tools", "read,todo,mcp__sky_weather,gh*", "hello")

    assert (ended.code, ended.err) == (0, "")
    assert journey.model.tools_of() == ["read", "todo"]


def test_an_unknown_tool_that_is_left_out_is_one_line_and_the_run_goes_on(
    journey: Journey,
) -> None:
    ended = journey.pi("-p", "--exclude-tools", "raed", "hello")
    journey.home.use_settings(defaultTools=["raed", "bash", "todo"])
    again = journey.pi("-p", "hello")

    line = "there is no tool raed. Did you mean read?\n"
    assert (ended.code, ended.err) == (0, f"Warning: --exclude-tools: {line}")
    assert (again.code, again.err) == (0, f"Warning: defaultTools: {line}")
    assert journey.model.tools_of() == ["bash", "todo"]
    assert 'defaultTools: unknown tool "raed"' in journey.pi("doctor").out
