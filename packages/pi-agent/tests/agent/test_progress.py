from __future__ import annotations

from pi.agent.events import AgentEvent, MessageUpdate
from pi.agent.tools.define import tool
from pi.ai.errors import ProviderError
from pi.ai.testing import calls, says
from tests.agent.agents import AgentFixture


async def test_the_state_shows_the_partial_answer_and_pending_calls_of_a_run() -> None:
    @tool
    async def peek() -> str:
        """Look."""
        return "seen"

    fixture = AgentFixture(says("one two", *calls("peek").blocks), says("done"), tools=[peek])
    partial: list[str] = []
    open_calls: list[int] = []

    def look(event: AgentEvent) -> None:
        state = fixture.agent.state
        assert state.is_streaming
        if isinstance(event, MessageUpdate):
            assert state.streaming_message is not None
            partial.append(state.streaming_message.text)
        elif state.pending_tool_calls:
            open_calls.append(len(state.pending_tool_calls))

    fixture.agent.subscribe(look)
    await fixture.agent.prompt("go")

    assert {"one ", "one two", "done"} <= set(partial)
    assert open_calls == [1]
    assert fixture.agent.state.streaming_message is None


async def test_the_last_error_is_shown_until_an_answer_succeeds() -> None:
    fixture = AgentFixture(ProviderError("out of order"), says("ok"))

    await fixture.agent.prompt("go")
    assert fixture.agent.state.error_message == "out of order"
    await fixture.agent.prompt("again")
    assert fixture.agent.state.error_message is None
