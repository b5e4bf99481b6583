from __future__ import annotations

from msgspec import UNSET

from pi.ai.messages import Image, Text
from pi.modes.interactive.transcript.tool_call_state import MAX_UNFINISHED, ToolCallState

PICTURE = Image(data="AA", mime_type="image/png")


def test_incomplete_arguments_are_parsed_as_far_as_possible() -> None:
    call = ToolCallState("1", "write", now=0.0)

    call.append_arguments('{"path": "a.py", "content": "pri')
    assert call.arguments == {"path": "a.py", "content": "pri"}
    call.append_arguments('nt(1)"}')
    assert call.argument("content") == "print(1)"


def test_control_sequences_are_removed_from_arguments_and_output() -> None:
    call = ToolCallState("1", "bash", now=0.0)

    call.run({"command": "a\x1b[2Jb", "n": 3}, now=1.0)
    call.show((Text(text="x\x1b]0;t\x07y\r\n"), PICTURE), UNSET)

    assert (call.argument("command"), call.argument("n"), call.argument("none")) == ("ab", "3", "")
    assert (call.text, call.images, call.details) == ("xy\n", (PICTURE,), {})


def test_overwritten_lines_of_a_command_show_only_the_last_text() -> None:
    steps = Text(text="one\r\n\r10%\r20%\r30%\ntwo\r\nhalf\r")
    bash, read = ToolCallState("1", "bash", now=0.0), ToolCallState("2", "read", now=0.0)

    bash.show((steps,), UNSET)
    read.show((Text(text="a\rb"),), UNSET)

    assert (bash.text, read.text) == ("one\n30%\ntwo\nhalf", "a\nb")


def test_the_end_is_final() -> None:
    call = ToolCallState("1", "edit", now=0.0)
    call.run({}, now=1.0)
    call.end((Text(text="done"),), {"diff": "+1 x"}, failed=False, now=3.5)

    call.show((Text(text="late"),), {"diff": "late"})
    call.interrupt()

    assert (call.state, call.text, call.details, call.seconds) == (
        "done",
        "done",
        {"diff": "+1 x"},
        2.5,
    )


def test_a_call_can_end_as_interrupted() -> None:
    call = ToolCallState("1", "bash", now=0.0)

    call.interrupt()

    assert call.has_ended
    assert call.state == "interrupted"


def test_arguments_without_an_end_are_read_up_to_a_limit_until_they_are_complete() -> None:
    call = ToolCallState("1", "write", now=0.0)

    call.append_arguments('{"path": "a.py", "content": "')
    for _ in range(20):
        call.append_arguments("a" * 100_000)
    assert MAX_UNFINISHED - 200_000 < len(call.arguments["content"]) <= MAX_UNFINISHED

    call.set_arguments({"path": "a.py", "content": "whole"})
    assert call.argument("content") == "whole"
