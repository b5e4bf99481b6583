from __future__ import annotations

import asyncio

import pytest

from pi.agent.policy import Boundary, Next, Policy, Request, StopRun
from pi.ai.errors import RateLimited
from pi.ai.messages import AssistantMessage, SystemMessage, Text, UserMessage
from pi.ai.testing import calls, says
from pi.base.records import replace
from tests.agent.agents import AgentFixture
from tests.agent.cutting import Cuts, peek

# Before the request ------------------------------------------------------------------------------


async def test_a_policy_may_change_a_request_and_nothing_of_it_is_stored() -> None:
    class Note(Policy):
        async def before_request(self, request: Request) -> Request:
            note = UserMessage(content="psst")
            return replace(request, messages=(*request.messages, note), thinking="high")

    fixture = AgentFixture(says("ok"), policies=[Note()])

    await fixture.agent.prompt("go")

    request = fixture.provider.requests[0]
    assert request.messages[-1] == UserMessage(content="psst")
    assert request.options.reasoning == "high"
    assert fixture.roles == ["user", "assistant:stop"]


async def test_a_policy_may_choose_model_tools_and_tool_choice_for_one_request() -> None:
    class Careful(Policy):
        async def before_request(self, request: Request) -> Request:
            other = replace(request.model, id="other")
            return replace(request, model=other, tools=(), tool_choice="none")

    fixture = AgentFixture(says("ok"), tools=[peek], policies=[Careful()])

    await fixture.agent.prompt("go")

    request = fixture.provider.requests[0]
    assert (request.model.id, request.options.tool_choice) == ("other", "none")
    assert request.messages[-1] == SystemMessage(
        content="", tools_removed=({"name": "peek"},), timestamp=fixture.clock.now_ms()
    )
    assert fixture.roles == ["system", "user", "assistant:stop"]


async def test_a_policy_cannot_drop_the_prompt(caplog: pytest.LogCaptureFixture) -> None:
    class Forgetful(Policy):
        async def before_request(self, request: Request) -> Request:
            return replace(request, messages=request.messages[-1:])

    fixture = AgentFixture(says("ok"), system_prompt="Be brief.", policies=[Forgetful()])

    await fixture.agent.prompt("go")

    assert [type(message) for message in fixture.provider.requests[0].messages] == [
        SystemMessage,
        UserMessage,
    ]
    assert "Forgetful dropped the prompt" in caplog.text


async def test_a_policy_may_stop_a_run_before_a_request() -> None:
    class Broke(Policy):
        async def before_request(self, request: Request) -> Request:
            raise StopRun("out of money", exit_code=3)

    fixture = AgentFixture(policies=[Broke()])

    ended = await fixture.agent.prompt("go")

    assert ended == Next(action="stop", reason="out of money", exit_code=3)
    assert fixture.provider.requests == []
    assert fixture.agent.state.messages[-1].error_message == "out of money"
    assert fixture.emitted[-5:] == [
        "message_start assistant:aborted",
        "message_end assistant:aborted",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]


async def test_an_abort_during_a_before_request_hook_sends_no_request() -> None:
    begun = asyncio.Event()

    class Slow(Policy):
        async def before_request(self, request: Request) -> Request:
            begun.set()
            await asyncio.Event().wait()
            return request

    fixture = AgentFixture(says("never"), policies=[Slow()])
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await begun.wait()

    fixture.agent.abort()
    await running

    assert fixture.provider.requests == []
    assert fixture.roles == ["user", "assistant:error"]
    assert fixture.agent.state.messages[-1].error_message == "This operation was aborted"


async def test_a_before_request_hook_that_aborts_is_not_cancelled_and_no_request_is_sent() -> None:
    finished: list[str] = []

    class Gives(Policy):
        async def before_request(self, request: Request) -> Request:
            fixture.agent.abort()
            await asyncio.sleep(0)
            finished.append("up")
            return request

    fixture = AgentFixture(says("never"), policies=[Gives()])

    await fixture.agent.prompt("go")

    assert finished == ["up"]
    assert fixture.provider.requests == []


# After the answer --------------------------------------------------------------------------------


class Shout(Policy):
    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        return replace(answer, content=(Text(text=answer.text.upper()),))


async def test_an_answer_is_changed_before_it_is_stored_and_emitted() -> None:
    fixture = AgentFixture(says("hello"), policies=[Shout()])

    await fixture.agent.prompt("go")

    assert fixture.agent.state.messages[-1].text == "HELLO"


async def test_after_answer_hooks_get_failed_and_interrupted_answers_but_no_aborted_ones() -> None:
    seen: list[str] = []

    class Sees(Policy):
        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            seen.append(answer.stop_reason)
            return answer

    fixture = AgentFixture(
        RateLimited("slow"), says("bad"), says("never"), policies=[Sees(), Cuts("bad")]
    )

    await fixture.agent.prompt("fails")
    fixture.on("message_start assistant:pending", lambda: None)
    fixture.on("turn_end", fixture.agent.abort)
    await fixture.agent.prompt("is cut")
    fixture.on("message_start assistant:pending", fixture.agent.abort)
    await fixture.agent.prompt("is aborted")

    assert seen == ["error", "aborted"]


async def test_a_policy_may_stop_a_run_after_an_answer_and_its_calls_do_not_run() -> None:
    class Enough(Policy):
        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            raise StopRun("enough")

    fixture = AgentFixture(calls("peek", path="x"), tools=[peek], policies=[Enough(), Shout()])

    ended = await fixture.agent.prompt("go")

    assert fixture.roles == ["system", "user", "assistant:aborted"]
    assert fixture.agent.state.messages[-1].error_message == "enough"
    assert ended == Next(action="stop", reason="enough")


async def test_an_abort_during_an_after_answer_hook_leaves_the_answer_unchanged() -> None:
    begun = asyncio.Event()

    class Slow(Policy):
        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            begun.set()
            await asyncio.Event().wait()
            return answer

    fixture = AgentFixture(says("hello"), policies=[Slow(), Shout()])
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await begun.wait()

    fixture.agent.abort()
    await running

    assert fixture.roles == ["user", "assistant:stop"]
    assert fixture.agent.state.messages[-1].text == "hello"


async def test_a_hook_that_fails_is_logged_and_the_run_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Clumsy(Policy):
        async def before_request(self, request: Request) -> Request:
            raise KeyError("oops")

        async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
            raise KeyError("oops")

        async def at_boundary(self, at: Boundary) -> Next:
            raise KeyError("oops")

    fixture = AgentFixture(says("ok"), policies=[Clumsy()])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:stop"]
    assert caplog.text.count("Clumsy failed") == 5
