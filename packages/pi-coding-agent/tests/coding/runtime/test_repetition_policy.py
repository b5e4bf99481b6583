from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.errors import CannotContinue
from pi.agent.policy import Next
from pi.agent.tools.define import tool
from pi.ai.messages import Interruption
from pi.coding.runtime.session.policies import Repetition, RepetitionLimits, repeats
from pi.testing import Reply, call, calls, says, thinks
from tests.agent.agents import AgentFixture

LIMITS = RepetitionLimits()
CIRCLE = "Let me check that file again. "


@tool
async def peek(path: str) -> str:
    """Look at a file."""
    return f"seen {path}"


# Text --------------------------------------------------------------------------------------------


@pytest.mark.behaviour("loops-are-stopped")
@pytest.mark.parametrize(
    "piece",
    ["again ", "ha ", "好的。", CIRCLE, "A paragraph of some length, with its end.\n\n" * 20],
)
def test_text_that_ends_with_many_repeats_is_detected(piece: str) -> None:
    assert repeats("Well. " + piece * 400, LIMITS)
    assert repeats("Well. " + (piece * 400)[:-1], LIMITS)  # with an incomplete last repeat


@pytest.mark.behaviour("loops-are-stopped")
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"| {n} | {n * n} | 0.0 |" for n in range(500)),
        "| 0 | 0.0 | 1e-9 |\n" * 500,
        "0x00, 0xFF, " * 500,
        "FF 0a bc " * 500,
        "nan inf -1 " * 500,
        "-" * 5000,
        "|---|---|\n" * 500,
        "\n" * 5000,
    ],
)
def test_numbers_and_separator_lines_are_not_detected_as_repetition(text: str) -> None:
    assert not repeats(text, LIMITS)


def test_short_or_numbered_repeats_are_not_detected_as_repetition() -> None:
    assert not repeats(CIRCLE * 7, LIMITS)
    assert not repeats("ha " * 300, LIMITS)
    assert not repeats("".join(f"{n}. {CIRCLE}" for n in range(100)), LIMITS)
    assert not repeats("", LIMITS)


@given(st.text(max_size=60), st.text(min_size=1, max_size=40), st.integers(1, 30))
def test_detected_text_always_ends_with_enough_repeats(start: str, piece: str, times: int) -> None:
    limits = RepetitionLimits(repeats=5, characters=50, longest=40)
    text = start + piece * times

    if repeats(text, limits):
        period = next(n for n in range(1, 41) if text.endswith(text[-n:] * 5))
        assert text.endswith(text[-period:] * max(5, -(-50 // period)))


@pytest.mark.behaviour("loops-are-stopped")
async def test_a_repetitive_answer_is_interrupted_and_retried_once() -> None:
    fixture = AgentFixture(says(CIRCLE * 500), says("There."), policies=[Repetition()])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted", "assistant:stop"]
    cut = fixture.agent.state.messages[1]
    assert cut.interrupt == Interruption(by="Repetition", reason="The answer repeated itself.")
    assert len(cut.text) < 2000


@pytest.mark.behaviour("loops-are-stopped")
@pytest.mark.parametrize("say", [says, thinks])
async def test_a_second_repetitive_answer_ends_the_run(say: object) -> None:
    assert callable(say)
    fixture = AgentFixture(lambda _: say(CIRCLE * 500), policies=[Repetition()])

    ended = await fixture.agent.prompt("go")

    assert ended == Next(
        action="stop", reason="Stopped: the model repeated the same text in 2 answers.", exit_code=1
    )
    assert fixture.roles == ["user", "assistant:aborted", "assistant:aborted"]


async def test_repetitive_tool_arguments_are_allowed() -> None:
    fixture = AgentFixture(
        calls("peek", path=CIRCLE * 500), says("ok"), tools=[peek], policies=[Repetition()]
    )

    await fixture.agent.prompt("go")

    assert fixture.roles[-1] == "assistant:stop"
    assert len(fixture.results) == 1


# Calls -------------------------------------------------------------------------------------------


@pytest.mark.behaviour("loops-are-stopped")
async def test_a_repeated_tool_call_is_refused_and_finally_ends_the_run() -> None:
    fixture = AgentFixture(lambda _: calls("peek", path="x"), tools=[peek], policies=[Repetition()])

    ended = await fixture.agent.prompt("go")

    assert fixture.texts[:5] == ["seen x"] * 5
    assert [text.partition(" was made ")[0] for text in fixture.texts[5:8]] == [
        "This very call of peek"
    ] * 3
    reason = "Stopped: the model made the same call of peek 9 times in a row."
    assert fixture.texts[8:] == [reason]
    assert ended == Next(action="stop", reason=reason, exit_code=1)


@pytest.mark.behaviour("loops-are-stopped")
async def test_identical_calls_in_one_answer_are_counted() -> None:
    many = Reply(blocks=tuple(call("peek", id=str(n), path="x") for n in range(7)))
    fixture = AgentFixture(many, says("ok"), tools=[peek], policies=[Repetition()])

    await fixture.agent.prompt("go")

    assert [result.is_error for result in fixture.results] == [False] * 5 + [True] * 2


@pytest.mark.behaviour("loops-are-stopped")
@pytest.mark.parametrize(
    ("reply", "name"),
    [
        (calls("nowhere", path="x"), "nowhere"),
        (calls("peek", wrong=1), "peek"),
        (calls("a\x1b[31m" + "b" * 500), "ab"),
    ],
)
async def test_repeated_invalid_calls_end_the_run(reply: Reply, name: str) -> None:
    fixture = AgentFixture(lambda _: reply, tools=[peek], policies=[Repetition()])

    ended = await fixture.agent.prompt("go")

    assert ended.exit_code == 1
    assert ended.reason.startswith(f"Stopped: the model made the same call of {name}")
    assert ended.reason.endswith(" 9 times in a row.")
    assert "\x1b" not in ended.reason and len(ended.reason) < 200
    assert len(fixture.results) == 9


async def test_a_different_call_result_or_prompt_resets_the_count() -> None:
    polled = iter(range(100))

    @tool
    async def poll() -> str:
        """See how far it is."""
        return f"{next(polled)} %"

    alternating = [calls("peek", path=path) for path in "abab" * 3]
    polling = [calls("poll")] * 12
    waiting = [calls("peek", path="x")] * 5
    fixture = AgentFixture(
        *alternating,
        *polling,
        *waiting,
        says("half"),
        *waiting,
        says("done"),
        tools=[peek, poll],
        policies=[Repetition()],
    )

    await fixture.agent.prompt("go")
    await fixture.agent.prompt("on")

    assert not any(result.is_error for result in fixture.results)
    assert fixture.agent.state.messages[-1].text == "done"


# Steering ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("loops-are-stopped")
async def test_steering_an_empty_session_does_not_loop() -> None:
    fixture = AgentFixture(says("hello"))

    await fixture.agent.steer("hi")
    with pytest.raises(CannotContinue):
        await fixture.agent.continue_()
    assert fixture.provider.requests == []

    await fixture.agent.prompt("go")
    assert fixture.roles == ["user", "user", "assistant:stop"]
    assert len(fixture.provider.requests) == 1
