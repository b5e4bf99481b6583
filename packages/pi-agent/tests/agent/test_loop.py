from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pi.agent.conversation import AgentMessage, MemoryConversation
from pi.agent.events import AgentEnd, TurnEnd
from pi.agent.policy import Boundary, Next, Policy, StopRun
from pi.agent.tools.define import tool
from pi.agent.tools.tool import ToolResult
from pi.ai.errors import ProviderError
from pi.ai.messages import AssistantMessage, SystemMessage, Text, ToolCall, UserMessage
from pi.ai.testing import call, calls, says
from pi.base.records import replace
from scripts.workspace import find_source
from tests.agent.agents import AgentFixture


@tool
async def peek(path: str) -> str:
    """Look at a file."""
    return f"seen {path}"


def peeks(*names: str) -> list[ToolCall]:
    return [call("peek", id=name, path=name) for name in names]


async def test_a_plain_turn_is_emitted_in_the_recorded_order() -> None:
    fixture = AgentFixture(says("Hello there."), system_prompt="Be brief.")

    await fixture.agent.prompt("first")

    assert fixture.emitted == [
        "agent_start",
        "turn_start",
        "message_start system",
        "message_end system",
        "message_start user",
        "message_end user",
        "message_start assistant:pending",
        "message_end assistant:stop",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert fixture.roles == ["system", "user", "assistant:stop"]


async def test_the_finish_hook_can_replace_every_message_except_those_of_the_model() -> None:
    fixture = AgentFixture(says("t", *peeks("A")), says("done"), tools=[peek])

    async def shout(message: AgentMessage) -> AgentMessage:
        if isinstance(message, SystemMessage):
            return message
        return replace(message, content=(Text(text=message.content[0].text.upper()),))

    fixture.agent.finish = shout
    await fixture.agent.prompt("go")

    messages = fixture.agent.state.messages[1:]
    assert [message.content[0].text for message in messages] == ["GO", "t", "SEEN A", "done"]
    turns = [event for event in fixture.events if isinstance(event, TurnEnd)]
    assert turns[0] == TurnEnd(message=messages[1], tool_results=(messages[2],))


async def test_the_end_of_a_run_lists_the_messages_that_the_run_added() -> None:
    fixture = AgentFixture(says("t", *peeks("A")), says("done"), says("again"), tools=[peek])

    await fixture.agent.prompt("go")
    await fixture.agent.prompt("once more")

    messages = fixture.agent.state.messages
    ends = [event for event in fixture.events if isinstance(event, AgentEnd)]
    assert ends == [AgentEnd(messages=messages[:5]), AgentEnd(messages=messages[5:])]
    turns = [event for event in fixture.events if isinstance(event, TurnEnd)]
    assert turns[0] == TurnEnd(message=messages[2], tool_results=(messages[3],))


async def test_a_message_is_in_the_log_before_it_is_emitted() -> None:
    fixture = AgentFixture(
        says("t", *peeks("A")), says("done"), tools=[peek], system_prompt="Be brief."
    )
    missing: list[Any] = []

    def look(event: object) -> None:
        message = getattr(event, "message", None)
        if message is not None and getattr(message, "stop_reason", "") != "pending":
            missing.extend([message] if message not in fixture.agent.state.messages else [])

    fixture.agent.subscribe(look)
    await fixture.agent.prompt("go")

    assert missing == []


@pytest.mark.behaviour("calls-with-end-turn-run")
async def test_tool_calls_with_stop_reason_stop_are_run() -> None:
    asking = replace(calls("peek", path="x"), stop_reason="stop")
    fixture = AgentFixture(asking, says("done"), tools=[peek])

    await fixture.agent.prompt("go")

    assert fixture.texts == ["seen x"]
    assert len(fixture.provider.requests) == 2


# Queues ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("steering-after-the-batch", "extension-message-after-results")
async def test_steering_is_sent_after_the_tools_and_follow_ups_when_the_run_would_end() -> None:
    fixture = AgentFixture(
        says("t", *peeks("A")), says("after steering"), says("after all"), tools=[peek]
    )

    async def interfere() -> None:
        await fixture.agent.steer("steered")
        await fixture.agent.follow_up("followed")

    fixture.on("tool_execution_start A", interfere)
    await fixture.agent.prompt("go")

    assert fixture.roles == [
        "system",
        "user",
        "assistant:toolUse",
        "toolresult",
        "user",
        "assistant:stop",
        "user",
        "assistant:stop",
    ]
    user_messages = [m for m in fixture.agent.state.messages if isinstance(m, UserMessage)]
    assert [message.content for message in user_messages] == [
        (Text(text="go"),),
        (Text(text="steered"),),
        (Text(text="followed"),),
    ]
    assert fixture.emitted.count("agent_start") == 1
    turn = fixture.emitted.index("turn_start", 3)
    assert fixture.emitted[turn : turn + 3] == ["turn_start", "queue_update", "message_start user"]


@pytest.mark.parametrize(("mode", "turns"), [("all", [3, 0, 0]), ("one-at-a-time", [1, 1, 1])])
async def test_steering_messages_are_sent_in_one_turn_or_in_one_turn_each(
    mode: str, turns: list[int]
) -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        for text in "abc":
            await fixture.agent.steer(text)
        return "waited"

    replies = [says("one"), says("two"), says("three")]
    fixture = AgentFixture(calls("wait"), *replies, tools=[wait], steering_mode=mode)

    await fixture.agent.prompt("go")

    counts = [
        sum(isinstance(message, UserMessage) for message in request.messages) - 1
        for request in fixture.provider.requests[1:]
    ]
    new = [now - before for before, now in zip([0, *counts], counts, strict=False)]
    assert new == turns[: len(new)]
    assert sum(new) == 3


async def test_steering_queued_while_idle_waits_for_the_next_run() -> None:
    fixture = AgentFixture(says("one"), steering_mode="all")
    await fixture.agent.steer("a")
    await fixture.agent.steer("b")
    assert fixture.emitted == ["queue_update", "queue_update"]

    await fixture.agent.prompt("go")

    user_messages = [m for m in fixture.agent.state.messages if isinstance(m, UserMessage)]
    assert [message.content for message in user_messages] == [
        (Text(text="go"),),
        (Text(text="a"),),
        (Text(text="b"),),
    ]
    assert fixture.roles == ["user", "user", "user", "assistant:stop"]


async def test_follow_ups_are_sent_in_one_turn_each() -> None:
    fixture = AgentFixture(says("one"), says("two"), says("three"))
    await fixture.agent.follow_up("a")
    await fixture.agent.follow_up("b")

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:stop"] * 3
    assert fixture.emitted.count("agent_start") == 1


async def test_a_failed_run_does_not_drain_the_queues() -> None:
    fixture = AgentFixture(ProviderError("no"))
    await fixture.agent.follow_up("later")

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:error"]
    assert len(fixture.agent.inbox.follow_ups) == 1


async def test_a_result_that_terminates_ends_the_run_without_another_request() -> None:
    @tool
    async def finish() -> ToolResult:
        """End."""
        return ToolResult.of("bye", terminate=True)

    fixture = AgentFixture(calls("finish"), tools=[finish])

    await fixture.agent.prompt("go")

    assert len(fixture.provider.requests) == 1
    assert fixture.emitted[-3:] == ["turn_end", "agent_end", "agent_settled"]


# Decisions ---------------------------------------------------------------------------------------


class Decides(Policy):
    """Decides at turn boundaries, as often as it has decisions."""

    def __init__(self, *decisions: Next) -> None:
        self._decisions = list(decisions)
        self.seen: list[Boundary] = []

    async def at_boundary(self, at: Boundary) -> Next:
        if at.kind != "turn":
            return at.next
        self.seen.append(at)
        return self._decisions.pop(0) if self._decisions else at.next


async def test_the_decision_again_starts_another_turn_of_the_same_run_with_the_drafts() -> None:
    draft = UserMessage(content="go on")
    decides = Decides(Next(action="again", entries=(draft,)))
    fixture = AgentFixture(says("one"), says("two"), policies=[decides])

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:stop", "user", "assistant:stop"]
    assert fixture.emitted.count("agent_start") == 1
    assert [at.answer and at.answer.text for at in decides.seen] == ["one", "two"]


async def test_the_decision_stop_leaves_results_unanswered_and_queues_unchanged() -> None:
    decides = Decides(Next(action="stop"))
    fixture = AgentFixture(says("t", *peeks("A")), says("never"), tools=[peek], policies=[decides])
    await fixture.agent.follow_up("later")

    await fixture.agent.prompt("go")

    assert fixture.roles == ["system", "user", "assistant:toolUse", "toolresult"]
    assert decides.seen[0].results == tuple(fixture.results)
    assert len(fixture.agent.inbox.follow_ups) == 1


async def test_a_preparation_between_turns_may_stop_the_run() -> None:
    async def stops() -> None:
        raise StopRun("enough")

    decides = Decides(Next(action="again", prepare=stops))
    fixture = AgentFixture(says("one"), says("never"), policies=[decides])

    ended = await fixture.agent.prompt("go")

    assert ended == Next(action="stop", reason="enough")
    assert fixture.roles == ["user", "assistant:stop"]


@pytest.mark.behaviour("tool-changes-apply-next-request")
async def test_changes_of_the_agent_during_a_run_are_used_by_the_next_request() -> None:
    fixture = AgentFixture(calls("grow"), says("done"), system_prompt="Be brief.")

    @tool
    async def grow() -> str:
        """Change everything."""
        fixture.agent.tools = (*fixture.agent.tools, peek)
        fixture.agent.system_prompt = "Be kind."
        fixture.agent.model = replace(fixture.agent.model, id="other")
        fixture.agent.thinking_level = "high"
        return "grown"

    fixture.agent.tools = (grow,)
    await fixture.agent.prompt("go")

    first, second = fixture.provider.requests
    assert (first.model.id, first.options.reasoning) == ("faux", "off")
    assert (second.model.id, second.options.reasoning) == ("other", "high")
    system_messages = [message for message in second.messages if isinstance(message, SystemMessage)]
    assert [message.sections for message in system_messages] == [
        {"preamble": "Be brief."},
        {"preamble": "Be kind."},
    ]
    assert [[tool.name for tool in message.tools_added or ()] for message in system_messages] == [
        ["grow"],
        ["peek"],
    ]


# Failures ----------------------------------------------------------------------------------------


def breaks(*_: object) -> Any:
    raise ValueError("a bug")


SYNTHETIC = [
    "message_start assistant:error",
    "message_end assistant:error",
    "turn_end",
    "agent_end",
    "agent_settled",
]


@pytest.mark.parametrize("where", ["convert_to_llm", "transform_context", "stream"])
async def test_a_run_that_fails_ends_with_an_error_answer(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken: dict[str, Any] = {where: breaks}
    fixture = AgentFixture(says("never"), **broken)

    await fixture.agent.prompt("go")

    assert fixture.emitted[-5:] == SYNTHETIC
    last = fixture.agent.state.messages[-1]
    assert last == AssistantMessage(
        api="faux",
        provider="faux",
        model="faux",
        stop_reason="error",
        error_message="a bug",
        timestamp=fixture.clock.now_ms(),
    )
    assert fixture.agent.state.error_message == "a bug"
    assert "a turn failed" in caplog.text


async def test_a_run_that_fails_after_an_abort_counts_as_aborted() -> None:
    def abort_and_break(messages: Sequence[AgentMessage]) -> Sequence[AgentMessage]:
        fixture.agent.abort()
        raise ValueError("a bug")

    fixture = AgentFixture(transform_context=abort_and_break)

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:aborted"]


class Full(MemoryConversation):
    """A log that raises after a number of messages."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def append(self, message: AgentMessage) -> None:
        if len(self.messages()) >= self._room:
            raise OSError("disk full")
        super().append(message)


@pytest.mark.parametrize("room", range(5))
async def test_a_log_that_is_full_ends_the_run_in_order(
    room: int, caplog: pytest.LogCaptureFixture
) -> None:
    fixture = AgentFixture(
        says("t", *peeks("A")), says("done"), tools=[peek], conversation=Full(room)
    )

    await fixture.agent.prompt("go")

    assert fixture.emitted[-5:] == SYNTHETIC
    assert fixture.emitted.count("turn_start") == fixture.emitted.count("turn_end")
    for kind in ("message", "tool_execution"):
        starts = [line for line in fixture.emitted if line.startswith(f"{kind}_start")]
        ends = [line for line in fixture.emitted if line.startswith(f"{kind}_end")]
        assert len(starts) == len(ends)
    assert "the error message could not be stored" in caplog.text
    assert fixture.agent.state.error_message == "disk full"


async def test_a_draft_that_cannot_be_stored_ends_the_run_with_an_error_answer() -> None:
    class NoDrafts(MemoryConversation):
        def add(self, draft: object) -> None:
            raise OSError("disk full")

    decides = Decides(Next(entries=("draft",)))
    fixture = AgentFixture(says("one"), policies=[decides], conversation=NoDrafts())

    await fixture.agent.prompt("go")

    assert fixture.roles == ["user", "assistant:stop", "assistant:error"]
    assert fixture.emitted[-5:] == SYNTHETIC


def test_the_loop_has_at_most_250_lines_and_names_no_policy(root: Path) -> None:
    text = find_source(root, "agent/loop.py").read_text("utf-8")

    named = re.findall(r"\b(retry|compaction|bash|read|anthropic|openai)\b", text, re.IGNORECASE)

    assert named == []
    assert len(text.splitlines()) <= 250
