from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.agent.events import AgentEnd, MessageEnd, MessageStart, TurnEnd
from pi.agent.policy import Next
from pi.ai.messages import AssistantMessage, Text, UserMessage
from pi.modes.headless import RunResult

GOOD = AssistantMessage(content=(Text(text="good"),))
BAD = AssistantMessage(stop_reason="error", error_message="500: broken")


def result_of(*messages: object) -> RunResult:
    ending = RunResult()
    for message in messages:
        ending.handle_event(MessageStart(message=message))
        ending.handle_event(MessageEnd(message=message))
        if isinstance(message, AssistantMessage):
            ending.handle_event(TurnEnd(message=message))
    ending.handle_event(AgentEnd(messages=()))
    return ending


def test_the_result_is_the_last_answer() -> None:
    assert result_of(UserMessage(content="a"), BAD, GOOD, UserMessage(content="b")).answer is GOOD
    assert result_of(UserMessage(content="a")).answer is None


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (GOOD, None),
        (AssistantMessage(stop_reason="length"), None),
        (BAD, "500: broken"),
        (AssistantMessage(stop_reason="aborted", error_message=UNSET), "Request aborted"),
    ],
)
def test_an_answer_fails_by_an_error_or_an_abort(
    answer: AssistantMessage, failure: str | None
) -> None:
    ending = result_of(answer)

    assert ending.failure == failure
    assert ending.exit_code(Next()) == (0 if failure is None else 1)


def test_a_run_without_an_answer_exits_with_0() -> None:
    assert result_of().exit_code(None) == 0


def test_the_exit_code_of_a_stop_decision_overrides_that_of_the_answer() -> None:
    assert result_of(GOOD).exit_code(Next(action="stop", exit_code=3)) == 3
    assert result_of(BAD).exit_code(Next(action="stop", exit_code=0)) == 0
