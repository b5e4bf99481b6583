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
from pi.base.records import replace
from pi.testing import call, calls, says
from tests.agent.agents import Stage


@tool
async def peek(path: str) -> str:
    """Look at a file."""
    return f"seen {path}"


def peeks(*names: str) -> list[ToolCall]:
    return [call("peek", id=name, path=name) for name in names]


async def test_a_plain_turn_is_emitted_in_the_recorded_order() -> None:
    stage = Stage(says("Hello there."), system_prompt="Be brief.")

    await stage.agent.prompt("first")

    assert stage.emitted == [
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
    assert stage.roles == ["system", "user", "assistant:stop"]


async def test_every_message_but_the_models_may_be_another_before_it_is_kept() -> None:
    stage = Stage(says("t", *peeks("A")), says("done"), tools=[peek])

    async def shout(message: AgentMessage) -> AgentMessage:
        if isinstance(message, SystemMessage):
            return message
        return replace(message, content=(Text(text=message.content[0].text.upper()),))

    stage.agent.finish = shout
    await stage.agent.prompt("go")

    said = stage.agent.state.messages[1:]
    assert [message.content[0].text for message in said] == ["GO", "t", "SEEN A", "done"]
    turns = [event for event in stage.events if isinstance(event, TurnEnd)]
    assert turns[0] == TurnEnd(message=said[1], tool_results=(said[2],))


async def test_a_run_reports_at_its_end_what_it_has_added() -> None:
    stage = Stage(says("t", *peeks("A")), says("done"), says("again"), tools=[peek])

    await stage.agent.prompt("go")
    await stage.agent.prompt("once more")

    said = stage.agent.state.messages
    ends = [event for event in stage.events if isinstance(event, AgentEnd)]
    assert ends == [AgentEnd(messages=said[:5]), AgentEnd(messages=said[5:])]
    turns = [event for event in stage.events if isinstance(event, TurnEnd)]
    assert turns[0] == TurnEnd(message=said[2], tool_results=(said[3],))


async def test_a_message_is_in_the_log_before_it_is_emitted() -> None:
    stage = Stage(says("t", *peeks("A")), says("done"), tools=[peek], system_prompt="Be brief.")
    missing: list[Any] = []

    def look(event: object) -> None:
        message = getattr(event, "message", None)
        if message is not None and getattr(message, "stop_reason", "") != "pending":
            missing.extend([message] if message not in stage.agent.state.messages else [])

    stage.agent.subscribe(look)
    await stage.agent.prompt("go")

    assert missing == []


@pytest.mark.behaviour("calls-with-end-turn-run")
async def test_calls_that_come_with_a_plain_stop_are_run_all_the_same() -> None:
    asking = replace(calls("peek", path="x"), stop_reason="stop")
    stage = Stage(asking, says("done"), tools=[peek])

    await stage.agent.prompt("go")

    assert stage.texts == ["seen x"]
    assert len(stage.provider.requests) == 2


# Queues ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("steering-after-the-batch", "extension-message-after-results")
async def test_steering_enters_after_the_tools_and_follow_ups_when_it_would_stop() -> None:
    stage = Stage(says("t", *peeks("A")), says("after steering"), says("after all"), tools=[peek])

    async def interfere() -> None:
        await stage.agent.steer("steered")
        await stage.agent.follow_up("followed")

    stage.on("tool_execution_start A", interfere)
    await stage.agent.prompt("go")

    assert stage.roles == [
        "system",
        "user",
        "assistant:toolUse",
        "toolresult",
        "user",
        "assistant:stop",
        "user",
        "assistant:stop",
    ]
    said = [m for m in stage.agent.state.messages if isinstance(m, UserMessage)]
    assert [message.content for message in said] == [
        (Text(text="go"),),
        (Text(text="steered"),),
        (Text(text="followed"),),
    ]
    assert stage.emitted.count("agent_start") == 1
    turn = stage.emitted.index("turn_start", 3)
    assert stage.emitted[turn : turn + 3] == ["turn_start", "queue_update", "message_start user"]


@pytest.mark.parametrize(("mode", "turns"), [("all", [3, 0, 0]), ("one-at-a-time", [1, 1, 1])])
async def test_queued_messages_enter_one_turn_together_or_one_turn_each(
    mode: str, turns: list[int]
) -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        for text in "abc":
            await stage.agent.steer(text)
        return "waited"

    replies = [says("one"), says("two"), says("three")]
    stage = Stage(calls("wait"), *replies, tools=[wait], steering_mode=mode)

    await stage.agent.prompt("go")

    asked = [
        sum(isinstance(message, UserMessage) for message in request.messages) - 1
        for request in stage.provider.requests[1:]
    ]
    new = [now - before for before, now in zip([0, *asked], asked, strict=False)]
    assert new == turns[: len(new)]
    assert sum(new) == 3


async def test_steering_queued_while_idle_waits_for_the_next_run() -> None:
    stage = Stage(says("one"), steering_mode="all")
    await stage.agent.steer("a")
    await stage.agent.steer("b")
    assert stage.emitted == ["queue_update", "queue_update"]

    await stage.agent.prompt("go")

    said = [m for m in stage.agent.state.messages if isinstance(m, UserMessage)]
    assert [message.content for message in said] == [
        (Text(text="go"),),
        (Text(text="a"),),
        (Text(text="b"),),
    ]
    assert stage.roles == ["user", "user", "user", "assistant:stop"]


async def test_follow_ups_come_one_turn_each_or_together() -> None:
    stage = Stage(says("one"), says("two"), says("three"))
    await stage.agent.follow_up("a")
    await stage.agent.follow_up("b")

    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:stop"] * 3
    assert stage.emitted.count("agent_start") == 1


async def test_a_run_that_failed_takes_nothing_from_the_queues() -> None:
    stage = Stage(ProviderError("no"))
    await stage.agent.follow_up("later")

    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:error"]
    assert len(stage.agent.inbox.follow_ups) == 1


async def test_a_result_that_terminates_ends_the_run_without_another_request() -> None:
    @tool
    async def finish() -> ToolResult:
        """End."""
        return ToolResult.of("bye", terminate=True)

    stage = Stage(calls("finish"), tools=[finish])

    await stage.agent.prompt("go")

    assert len(stage.provider.requests) == 1
    assert stage.emitted[-3:] == ["turn_end", "agent_end", "agent_settled"]


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


async def test_asking_again_takes_another_turn_of_the_same_run_with_the_drafts() -> None:
    draft = UserMessage(content="go on")
    decides = Decides(Next(action="again", entries=(draft,)))
    stage = Stage(says("one"), says("two"), policies=[decides])

    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:stop", "user", "assistant:stop"]
    assert stage.emitted.count("agent_start") == 1
    assert [at.answer and at.answer.text for at in decides.seen] == ["one", "two"]


async def test_stopping_leaves_results_unanswered_and_queues_as_they_are() -> None:
    decides = Decides(Next(action="stop"))
    stage = Stage(says("t", *peeks("A")), says("never"), tools=[peek], policies=[decides])
    await stage.agent.follow_up("later")

    await stage.agent.prompt("go")

    assert stage.roles == ["system", "user", "assistant:toolUse", "toolresult"]
    assert decides.seen[0].results == tuple(stage.results)
    assert len(stage.agent.inbox.follow_ups) == 1


async def test_a_preparation_between_turns_may_stop_the_run() -> None:
    async def stops() -> None:
        raise StopRun("enough")

    decides = Decides(Next(action="again", prepare=stops))
    stage = Stage(says("one"), says("never"), policies=[decides])

    ended = await stage.agent.prompt("go")

    assert ended == Next(action="stop", reason="enough")
    assert stage.roles == ["user", "assistant:stop"]


@pytest.mark.behaviour("tool-changes-apply-next-request")
async def test_what_changes_during_a_run_is_used_by_its_next_request() -> None:
    stage = Stage(calls("grow"), says("done"), system_prompt="Be brief.")

    @tool
    async def grow() -> str:
        """Change everything."""
        stage.agent.tools = (*stage.agent.tools, peek)
        stage.agent.system_prompt = "Be kind."
        stage.agent.model = replace(stage.agent.model, id="other")
        stage.agent.thinking_level = "high"
        return "grown"

    stage.agent.tools = (grow,)
    await stage.agent.prompt("go")

    first, second = stage.provider.requests
    assert (first.model.id, first.options.reasoning) == ("faux", "off")
    assert (second.model.id, second.options.reasoning) == ("other", "high")
    said = [message for message in second.messages if isinstance(message, SystemMessage)]
    assert [message.sections for message in said] == [
        {"preamble": "Be brief."},
        {"preamble": "Be kind."},
    ]
    assert [[tool.name for tool in message.tools_added or ()] for message in said] == [
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
async def test_a_run_that_fails_ends_with_an_answer_that_reports_it(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken: dict[str, Any] = {where: breaks}
    stage = Stage(says("never"), **broken)

    await stage.agent.prompt("go")

    assert stage.emitted[-5:] == SYNTHETIC
    last = stage.agent.state.messages[-1]
    assert last == AssistantMessage(
        api="faux",
        provider="faux",
        model="faux",
        stop_reason="error",
        error_message="a bug",
        timestamp=stage.clock.now_ms(),
    )
    assert stage.agent.state.error_message == "a bug"
    assert "a turn failed" in caplog.text


async def test_a_run_that_fails_after_an_abort_counts_as_aborted() -> None:
    def abort_and_break(messages: Sequence[AgentMessage]) -> Sequence[AgentMessage]:
        stage.agent.abort()
        raise ValueError("a bug")

    stage = Stage(transform_context=abort_and_break)

    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:aborted"]


class Full(MemoryConversation):
    """A log that takes nothing after so many messages."""

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
    stage = Stage(says("t", *peeks("A")), says("done"), tools=[peek], conversation=Full(room))

    await stage.agent.prompt("go")

    assert stage.emitted[-5:] == SYNTHETIC
    assert stage.emitted.count("turn_start") == stage.emitted.count("turn_end")
    for kind in ("message", "tool_execution"):
        starts = [line for line in stage.emitted if line.startswith(f"{kind}_start")]
        ends = [line for line in stage.emitted if line.startswith(f"{kind}_end")]
        assert len(starts) == len(ends)
    assert "the error message could not be stored" in caplog.text
    assert stage.agent.state.error_message == "disk full"


async def test_a_draft_that_cannot_be_kept_ends_the_turn_with_a_failure() -> None:
    class NoDrafts(MemoryConversation):
        def add(self, draft: object) -> None:
            raise OSError("disk full")

    decides = Decides(Next(entries=("draft",)))
    stage = Stage(says("one"), policies=[decides], conversation=NoDrafts())

    await stage.agent.prompt("go")

    assert stage.roles == ["user", "assistant:stop", "assistant:error"]
    assert stage.emitted[-5:] == SYNTHETIC


def test_the_loop_fits_on_a_page_and_names_no_policy(root: Path) -> None:
    text = (root / "src/pi/agent/loop.py").read_text("utf-8")

    named = re.findall(r"\b(retry|compaction|bash|read|anthropic|openai)\b", text, re.IGNORECASE)

    assert named == []
    assert len(text.splitlines()) <= 250
