from __future__ import annotations

from typing import Any

import pytest

from pi.ai.messages import AssistantMessage, SystemMessage, Text, ToolResultMessage, UserMessage
from pi.base.records import replace
from pi.coding.extension_host.events.answers import (
    BeforeAgentStartAnswer,
    Block,
    BoundaryAnswer,
    ContextAnswer,
    MessageEndAnswer,
    ToolResultAnswer,
)
from pi.coding.extension_host.events.run import (
    BeforeAgentStartEvent,
    BeforeProviderRequestEvent,
    BoundaryContext,
    ContextEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnEndEvent,
)
from pi.coding.extension_host.events.session import InputAnswer, InputEvent
from pi.coding.prompt import SystemPromptOptions
from pi.coding.session.entries import Custom

ANSWER = AssistantMessage(api="a", provider="p", model="m")


def test_input_is_changed_until_it_is_handled() -> None:
    transformed = InputEvent(text="a").with_answer(InputAnswer(action="transform", text="b"))

    assert (
        transformed
        == InputEvent(text="b")
        == transformed.with_answer(InputAnswer(action="continue"))
    )
    assert transformed.with_answer(InputAnswer(action="handled")).is_settled


def test_messages_of_all_handlers_are_added_and_the_last_prompt_is_used() -> None:
    event = BeforeAgentStartEvent(
        prompt="x",
        images=(),
        system_prompt="s",
        system_prompt_options=SystemPromptOptions(cwd="/"),
    )
    for answer in (
        BeforeAgentStartAnswer(message={"custom_type": "a"}, system_prompt="1"),
        BeforeAgentStartAnswer(message={"custom_type": "b"}),
        BeforeAgentStartAnswer(system_prompt="2"),
    ):
        event = event.with_answer(answer)

    assert event.messages == ({"custom_type": "a"}, {"custom_type": "b"})
    assert event.replacement == "2"


def test_entries_of_a_boundary_add_up_and_one_continue_is_enough() -> None:
    first = {"type": "custom", "customType": "a"}
    event = TurnEndEvent().with_answer(BoundaryAnswer(entries=(first,), continue_=True))
    event = event.with_answer(BoundaryAnswer(entries=(Custom(custom_type="b"),)))

    assert event.entries == (Custom(custom_type="a"), Custom(custom_type="b"))
    assert event.continue_


def test_the_first_block_of_a_call_wins() -> None:
    call = ToolCallEvent(tool_name="x", tool_call_id="1", input={})

    assert call.with_answer(Block(block=False)) is call
    assert call.with_answer(Block(reason="no")).is_settled


def test_changes_of_a_tool_result_are_combined() -> None:
    result = ToolResultEvent(tool_name="x", tool_call_id="1", input={}, content=())
    result = result.with_answer(ToolResultAnswer(content=(Text(text="a"),)))
    result = result.with_answer(ToolResultAnswer(is_error=True, details=None))

    assert (result.content, result.is_error, result.details) == ((Text(text="a"),), True, None)


USER = UserMessage(content="x")
RESULT = ToolResultMessage(tool_call_id="1", tool_name="x", content=())


@pytest.mark.parametrize("message", [ANSWER, USER, RESULT])
def test_a_message_can_be_replaced_by_one_of_its_role(message: Any) -> None:
    event = MessageEndEvent(message=message)

    assert event.with_answer(MessageEndAnswer(message=message)) == event


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (USER, ANSWER),
        (ANSWER, USER),
        (RESULT, replace(RESULT, tool_call_id="2")),
        (SystemMessage(content="a"), SystemMessage(content="b")),
    ],
)
def test_an_invalid_replacement_of_a_message_is_refused(old: Any, new: Any) -> None:
    with pytest.raises(TypeError):
        MessageEndEvent(message=old).with_answer(MessageEndAnswer(message=new))


def test_a_payload_can_only_be_replaced_by_a_dict() -> None:
    event = BeforeProviderRequestEvent(payload={})

    assert event.with_answer({"a": 1}).payload == {"a": 1}
    with pytest.raises(TypeError):
        event.with_answer([])  # type: ignore[arg-type]


def test_the_last_list_of_messages_wins() -> None:
    message = UserMessage(content="x")

    assert ContextEvent(messages=()).with_answer(ContextAnswer(messages=(message,))).messages == (
        message,
    )


def test_expensive_event_fields_are_computed_on_access() -> None:
    read: list[str] = []

    def reading(name: str, value: object) -> object:
        read.append(name)
        return value

    context = BoundaryContext(
        entries=lambda: reading("entries", ()),  # type: ignore[arg-type, return-value]
        messages=lambda: reading("messages", ()),  # type: ignore[arg-type, return-value]
        convert=lambda messages: [],
        pending=lambda: ("waiting",),
    )
    update = MessageUpdateEvent(None, lambda: reading("partial", ANSWER))  # type: ignore[arg-type, return-value]

    assert read == []
    assert (context.context_entries, context.pending_messages) == ((), ("waiting",))
    assert (context.context_messages, context.llm_messages) == ((), [])
    assert update.message is ANSWER
    assert read == ["entries", "messages", "messages", "partial"]
    assert context.can_continue  # a message is pending
