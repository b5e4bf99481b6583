from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi.agent.compaction.budget import CompactionSettings
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.env import SessionFailed
from pi.agent.errors import AgentBusy, WouldDeadlock
from pi.agent.events import AgentEvent, MessageStart, QueueUpdate, TurnEnd
from pi.agent.harness.harness import AgentHarness, SystemPrompt
from pi.agent.harness.store import (
    ConversationStore,
    MemoryStore,
    StoredCompaction,
    StoredModelChange,
    StoredThinkingLevel,
)
from pi.agent.policy import Boundary, Next, Policy
from pi.agent.skills import Skill
from pi.agent.tools.define import tool
from pi.ai.messages import Image, Json, SystemMessage, Text, UserMessage
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, Step
from pi.ai.request import Call, StreamOptions
from pi.ai.testing import Reply, ScriptedStream, calls, says
from pi.ai.transcript import render
from pi.base.records import replace
from pi.base.testing import FakeClock

OTHER = replace(FAUX_MODEL, id="other")
FAUX = StoredModelChange(provider="faux", model_id="faux")
OFF = StoredThinkingLevel(thinking_level="off")
PDF = Skill(name="pdf", description="Read PDFs", location="/s/pdf/SKILL.md", content="Use it.")
SMALL = CompactionSettings(keep_recent_tokens=100)
LONG = "word " * 400


@tool
def peek(path: str) -> str:
    """Look at a file."""
    return f"seen {path}"


class Session(AgentHarness):
    """A harness with a script in place of a model."""

    def __init__(
        self, *steps: Step, store: ConversationStore | None = None, **options: Any
    ) -> None:
        self.script = ScriptedStream(*steps)
        super().__init__(
            self.script, store or MemoryStore(), model=FAUX_MODEL, clock=FakeClock(), **options
        )


def kept(session: Session) -> list[str]:
    return [type(entry.value).__name__ for entry in session.conversation.entries()]


def user_texts(call: Call) -> list[str]:
    return [
        "".join(block.text for block in message.content if isinstance(block, Text))
        for message in call.messages
        if isinstance(message, UserMessage) and isinstance(message.content, tuple)
    ]


def prompt_of(call: Call) -> str:
    return render(message for message in call.messages if isinstance(message, SystemMessage))


# The conversation --------------------------------------------------------------------------------


async def test_a_conversation_begins_with_model_and_thinking_level_before_the_messages() -> None:
    session = Session(calls("peek", path="a"), says("Done."), tools=[peek])

    await session.prompt("Look.")

    assert [entry.value for entry in session.conversation.entries()][:2] == [FAUX, OFF]
    assert kept(session)[2:] == [
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
        "ToolResultMessage",
        "AssistantMessage",
    ]
    assert session.agent.state.messages[-1].text == "Done."


async def test_a_changed_model_or_thinking_level_is_stored_once_and_used_at_once() -> None:
    session = Session(says("one"), thinking_level="low")

    session.set_model(OTHER)
    session.set_model(OTHER)
    session.set_thinking_level("low")
    session.set_thinking_level("high")
    await session.prompt("go")

    assert [entry.value for entry in session.conversation.entries()][:4] == [
        FAUX,
        StoredThinkingLevel(thinking_level="low"),
        StoredModelChange(provider="faux", model_id="other"),
        StoredThinkingLevel(thinking_level="high"),
    ]
    (request,) = session.script.requests
    assert (request.model, request.options.reasoning) == (OTHER, "high")


async def test_a_stored_conversation_is_resumed() -> None:
    store = MemoryStore()
    first = Session(says("Paris."), store=store)
    await first.prompt("Capital of France?")
    await first.close()

    second = Session(says("2 million."), store=store, conversation_id=first.conversation.id)
    await second.prompt("How many people?")

    assert user_texts(second.script.requests[0]) == ["Capital of France?", "How many people?"]
    assert kept(second).count("StoredModelChange") == 1
    with pytest.raises(SessionFailed):
        first.conversation.append(UserMessage(content="late"))


async def test_conversations_can_be_switched_and_queued_messages_are_dropped() -> None:
    session = Session(says("one"), says("two"), says("three"))
    await session.prompt("a")
    first = session.conversation.id
    await session.follow_up("for the first")
    events: list[AgentEvent] = []
    session.subscribe(events.append)

    await session.open_conversation()
    await session.prompt("b")
    second = session.conversation.id
    await session.open_conversation(first)
    await session.prompt("c")

    assert [user_texts(call) for call in session.script.requests] == [["a"], ["b"], ["a", "c"]]
    assert [call.options.session_id for call in session.script.requests] == [first, second, first]
    assert QueueUpdate() in events


async def test_a_conversation_that_cannot_be_opened_leaves_the_old_one_open() -> None:
    session = Session(says("one"))

    with pytest.raises(SessionFailed):
        await session.open_conversation("unknown")
    await session.prompt("a")

    assert kept(session)[-1] == "AssistantMessage"


async def test_switching_or_compacting_during_a_run_raises_agent_busy() -> None:
    begun = asyncio.Event()
    session = Session(says("one two three"))
    session.subscribe(lambda event: begun.set() if isinstance(event, MessageStart) else None)
    running = asyncio.create_task(session.prompt("go"))
    await begun.wait()

    for attempt in (session.prompt("on"), session.open_conversation(), session.compact()):
        with pytest.raises(AgentBusy, match="already processing a prompt"):
            await attempt
    await running


async def test_calls_from_a_listener_that_would_wait_for_its_own_run_raise() -> None:
    session = Session(says("one"))
    refused: list[str] = []

    async def interfere(event: AgentEvent) -> None:
        if isinstance(event, TurnEnd):
            attempts = (session.prompt("on"), session.open_conversation(), session.compact())
            for attempt in attempts:
                with pytest.raises(WouldDeadlock) as problem:
                    await attempt
                refused.append(problem.value.hint)

    session.subscribe(interfere)
    await session.prompt("go")

    assert refused == ["Queue a message instead, or do it when the agent is idle."] * 3


async def test_closing_ends_the_run() -> None:
    begun = asyncio.Event()
    session = Session(lambda call: says(LONG))
    session.subscribe(lambda event: begun.set() if isinstance(event, MessageStart) else None)
    running = asyncio.create_task(session.prompt("go"))
    await begun.wait()

    await session.close()
    await running

    assert session.agent.state.messages[-1].stop_reason == "aborted"


# Prompt and skills -------------------------------------------------------------------------------


async def test_the_prompt_is_rendered_once_per_run_and_sent_only_when_it_changed() -> None:
    rules = ["Be brief."]
    prompt = SystemPrompt({"preamble": "You help.", "rules": lambda: "\n".join(rules)})
    session = Session(
        calls("peek", path="a"), says("1"), says("2"), says("3"), system_prompt=prompt, tools=[peek]
    )

    def change_rules(event: AgentEvent) -> None:
        if len(session.script.requests) == 1:
            rules[:] = ["Be kind."]

    session.subscribe(change_rules)
    for text in ("a", "b", "c"):
        await session.prompt(text)

    assert [prompt_of(call) for call in session.script.requests] == [
        "You help.\n\nBe brief.",
        "You help.\n\nBe brief.",
        "You help.\n\nBe kind.",
        "You help.\n\nBe kind.",
    ]
    assert kept(session).count("SystemMessage") == 2


async def test_skills_are_listed_for_a_model_that_can_read_them_and_expanded_for_users() -> None:
    session = Session(says("1"), skills=[PDF], tools=[peek])
    await session.follow_up("/skill:pdf c.pdf")
    await session.steer("/skill:pdf b.pdf", [Image(data="", mime_type="image/png")])
    picture = UserMessage(content="/skill:pdf as it is")

    await session.prompt("/skill:pdf a.pdf")
    session.script.add(says("2"), says("3"))
    await session.prompt(picture)

    last = session.script.requests[-1]
    assert "<name>pdf</name>" in prompt_of(last)
    texts = user_texts(last)
    assert [text.splitlines()[-1] for text in texts] == ["a.pdf", "b.pdf", "c.pdf"]
    assert all(text.startswith('<skill name="pdf"') for text in texts)
    assert picture in last.messages


async def test_skills_without_a_tool_to_read_them_are_not_listed() -> None:
    session = Session(says("1"), skills=[PDF])

    await session.prompt("go")

    assert prompt_of(session.script.requests[0]) == ""


# What shapes a run -------------------------------------------------------------------------------


class Named(Policy):
    """Records its calls."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name = name
        self._calls = calls

    async def at_boundary(self, at: Boundary) -> Next:
        if at.kind == "turn":
            self._calls.append(self._name)
        return at.next


async def test_policies_are_called_by_rank_until_they_are_removed() -> None:
    session = Session(says("1"), says("2"))
    calls: list[str] = []
    session.add_policy(Named("last", calls), at="last")
    remove = session.add_policy(Named("normal", calls))
    session.add_policy(Named("first", calls), at="first")

    await session.prompt("a")
    remove()
    await session.prompt("b")

    assert calls == ["first", "normal", "last", "first", "last"]


async def test_request_hooks_are_called_for_every_request_including_compaction() -> None:
    session = Session(says("1"), says("Notes."), compaction=SMALL)

    async def note(payload: Json, model: Model) -> Json:
        return {**payload, "noted": True}

    session.hooks.before_request(note)
    await session.prompt(LONG)
    await session.compact()

    assert len(session.script.requests) == 2
    for request in session.script.requests:
        assert request.options.on_payload is not None
        assert await request.options.on_payload({}, request.model) == {"noted": True}


# Compaction --------------------------------------------------------------------------------------


async def test_compaction_shortens_the_next_request() -> None:
    options = StreamOptions(api_key="KEY", session_id="mine")
    session = Session(
        says("1"), says("Notes."), says("2"), compaction=SMALL, options=options, tools=[peek]
    )
    await session.prompt(LONG)

    compaction = await session.compact("mind the tests")
    await session.prompt("next")

    _, summary, after = session.script.requests
    assert "mind the tests" in str(summary.messages[-1].content)
    assert (summary.options.api_key, after.options.api_key) == ("KEY", "KEY")
    assert summary.options.session_id == f"{session.conversation.id}-compaction"
    assert after.options.session_id == "mine"
    assert isinstance(compaction, StoredCompaction)
    shown = user_texts(after)
    assert "Notes." in shown[0]
    assert (len(shown), shown[1]) == (2, "next")
    # By its time a count from before the compaction is distinguished from one after it.
    assert compaction.timestamp == FakeClock().now_ms()
    assert compaction.timestamp in {message.timestamp for message in after.messages}
    assert LONG not in str(after.messages)
    assert kept(session).count("SystemMessage") == 1  # the prompt is not sent again


async def test_other_operations_are_rejected_during_a_compaction() -> None:
    requested = asyncio.Event()

    def slowly(call: Call) -> Reply:
        requested.set()
        return says(LONG)

    session = Session(says("1"), slowly, says("2"), compaction=SMALL)
    await session.prompt(LONG)
    before = kept(session)
    compacting = asyncio.create_task(session.compact())
    await requested.wait()

    for attempt in (session.prompt("x"), session.compact(), session.open_conversation()):
        with pytest.raises(AgentBusy):
            await attempt
    session.abort()
    with pytest.raises(CompactionFailed) as aborted:
        await compacting

    assert aborted.value.code == "aborted"
    assert kept(session) == before
    await session.prompt("after all")
    assert user_texts(session.script.requests[-1]) == [LONG, "after all"]


async def test_a_short_conversation_is_not_compacted_and_can_be_continued() -> None:
    session = Session(says("1"))

    with pytest.raises(CompactionFailed, match="Nothing to compact"):
        await session.compact()
    await session.prompt("go")

    assert kept(session)[-1] == "AssistantMessage"
