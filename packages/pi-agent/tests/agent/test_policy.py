from __future__ import annotations

from pi.agent.policy import (
    Boundary,
    Interrupt,
    Next,
    Policy,
    Request,
    StopRun,
    ToolRefused,
)
from pi.agent.tools.tool import ToolResult
from pi.ai.events import TextDelta
from pi.ai.messages import AssistantMessage, ToolCall
from pi.ai.providers.faux import FAUX_MODEL


async def test_a_policy_without_hooks_changes_nothing() -> None:
    policy = Policy()
    request = Request(model=FAUX_MODEL, thinking="off", messages=(), tools=())
    answer, call = AssistantMessage(), ToolCall(id="A", name="peek", arguments={})
    result, at = ToolResult.of("ok"), Boundary(kind="turn", next=Next(action="again"))

    policy.on_delta(TextDelta(content_index=0, delta="o"), lambda: answer)

    assert await policy.before_request(request) is request
    assert await policy.after_answer(answer) is answer
    assert await policy.before_tool(call) is call
    assert await policy.after_tool(call, result) is result
    assert await policy.at_boundary(at) is at.next


def test_a_decision_is_claimed_unless_its_action_is_go_on() -> None:
    assert [Next(action=word).claimed for word in ("go_on", "again", "stop")] == [
        False,
        True,
        True,
    ]


def test_only_the_decision_again_can_open_a_new_run() -> None:
    assert Next(action="again", new_run=True).opens_run
    assert not Next(action="again").opens_run
    assert not Next(action="stop", new_run=True).opens_run


def test_stop_run_carries_a_stop_decision() -> None:
    stop = StopRun("out of money", exit_code=3)

    assert stop.next == Next(action="stop", reason="out of money", exit_code=3)
    assert str(stop) == "out of money"


def test_refusals_and_interrupts_carry_their_fields() -> None:
    refused, cut = ToolRefused("no", terminate=True), Interrupt("no", keep=True, entries=("a",))

    assert (refused.message, refused.terminate) == ("no", True)
    assert (str(cut), cut.reason, cut.keep, cut.entries) == ("no", "no", True, ("a",))
