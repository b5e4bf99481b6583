"""Output of tools with control characters."""

from __future__ import annotations

import json

import pytest

from tests.journeys.program import Journey

COLOURED = r"printf '\033[31mred\033[0m \a\0 \033]0;title\a end\r\n'"


@pytest.mark.parametrize("extended", [False, True])
def test_the_model_gets_plain_text_and_the_entry_keeps_colours(
    journey: Journey, extended: bool
) -> None:
    journey.home.use_settings(bash={"extended": extended})
    journey.model.calls("bash", command=COLOURED)
    with journey.terminal() as user:
        user.submits("run it")
        user.sees("red", "All is well.")

    assert journey.model.results_of() == ["red   end\n"]
    stored = journey.home.sessions[0]
    [result] = [e for e in stored if e.get("message", {}).get("role") == "toolResult"]
    assert "\x1b[31mred" in json.dumps(result, ensure_ascii=False).replace("\\u001b", "\x1b")


def test_a_long_coloured_output_is_read_as_plain_text(journey: Journey) -> None:
    journey.model.calls(
        "bash", command=r"for i in $(seq 3000); do printf '\033[31m%s\033[0m\a\n' $i; done"
    )
    journey.model.calls("read", path="artifact://0", offset=2999)
    assert journey.pi("-p", "run it").code == 0

    shown, whole = journey.model.results_of()
    assert shown.startswith("1001\n1002\n")
    assert whole.rstrip() == "2999\n3000"


def test_a_file_with_control_characters_is_read_exactly(journey: Journey) -> None:
    (journey.home.cwd / "colours.sh").write_text("echo '\x1b[31mred'\n")
    journey.model.calls("read", path="colours.sh")
    journey.model.calls(
        "edit", path="colours.sh", edits=[{"oldText": "\x1b[31mred", "newText": "plain"}]
    )
    assert journey.pi("-p", "look").code == 0

    assert journey.model.results_of()[0] == "echo '\x1b[31mred'\n"
    assert (journey.home.cwd / "colours.sh").read_text() == "echo 'plain'\n"
