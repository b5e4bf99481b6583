"""What the system prompt says about the user, in each mode."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey

NOBODY = "nobody can answer"
WATCHES = "The user watches"


def system_text(journey: Journey) -> str:
    """The system prompt of the last request."""
    message = journey.model.last["messages"][0]
    assert message["role"] in ("system", "developer")
    return str(message["content"])


@pytest.mark.parametrize("arguments", [("-p",), ("--mode", "json"), ("-p", "--continue")])
def test_nobody_watches_print_and_json_mode(journey: Journey, arguments: tuple[str, ...]) -> None:
    if "--continue" in arguments:
        journey.pi("-p", "Begin")
    ended = journey.pi(*arguments, "Go")

    assert ended.code == 0
    assert NOBODY in system_text(journey)
    assert WATCHES not in system_text(journey)


@pytest.mark.parametrize("arguments", [(), ("--headless",)])
def test_rpc_and_acp_tell_it_only_if_asked_to(journey: Journey, arguments: tuple[str, ...]) -> None:
    expected = NOBODY if arguments else WATCHES
    with journey.rpc(*arguments) as rpc:
        rpc.prompts("Go")
    assert expected in system_text(journey)
    with journey.acp(*arguments) as editor:
        editor.prompts(editor.opens(), "Go")
    assert expected in system_text(journey)


def test_a_user_watches_the_terminal(journey: Journey) -> None:
    journey.pi("-p", "Begin")
    with journey.terminal("--continue") as user:
        user.submits("Go on")
        user.sees("All is well.")
        user.settles()

    assert WATCHES in str(journey.model.last["messages"])
