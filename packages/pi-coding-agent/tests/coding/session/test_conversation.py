from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given

from pi.agent.conversation import Conversation, Projection
from pi.ai.messages import SystemMessage
from pi.base.tasks import LARGE
from pi.coding.session.context import convert_to_llm, shown_messages
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import (
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    Label,
    ModelChange,
)
from pi.coding.session.opening import new_session
from tests.coding.session.random_sessions import Append, Step, play, stories
from tests.coding.session.sessions import answer, make_location, on_disk, result, user


@given(stories)
def test_the_conversation_always_equals_the_messages_of_the_log(story: list[Step]) -> None:
    log = new_session(make_location(None))
    conversation: Conversation = SessionConversation(log)
    projection = Projection(convert_to_llm)

    for step in story:
        before = conversation.messages()
        play(log, step)
        messages = conversation.messages()

        assert messages == shown_messages(log)
        if isinstance(step, Append) and not isinstance(step.draft, Compaction | ContextEdit):
            assert messages is before
        assert list(projection.messages(messages)) == convert_to_llm(messages)


def test_a_returned_sequence_changes_only_at_its_end() -> None:
    conversation = SessionConversation(new_session(make_location(None)))
    conversation.append(user("1").message)
    messages = conversation.messages()
    first = conversation.log.tree.outlines[0].id

    conversation.append(answer("2").message)
    conversation.add(ContextEdit(target_id=first, replacement=None))

    assert [list(messages), list(conversation.messages())] == [
        [user("1").message],
        [answer("2").message],
    ]


def test_appended_messages_are_shown_as_in_the_log_wherever_the_leaf_moves() -> None:
    log = new_session(make_location(None))
    conversation = SessionConversation(log)
    one, two, left_behind = (user(text).message for text in ("one", "two", "left behind"))
    instructions = SystemMessage(content="", sections={"preamble": "Be brief."}, timestamp=1)

    conversation.append(instructions)
    conversation.append(one)
    first = log.leaf_id
    assert conversation.messages() == shown_messages(log) == [instructions, one]

    conversation.append(left_behind)
    log.move_to(first)
    conversation.append(two)
    assert (
        conversation.messages()
        == shown_messages(log)
        == [
            instructions,
            one,
            two,
        ]
    )


def test_changes_made_directly_to_the_log_are_seen() -> None:
    conversation = SessionConversation(new_session(make_location(None)))
    conversation.log.append(user("1"))
    conversation.messages()
    conversation.log.append(user("2"))
    conversation.log.move_to(None)

    assert list(conversation.messages()) == []


@pytest.mark.behaviour("entries-keep-causal-order")
def test_appended_messages_are_written_to_the_file_in_order(tmp_path: Path) -> None:
    conversation = SessionConversation(new_session(make_location(tmp_path)))
    assert conversation.log.file is not None

    for number, draft in enumerate([user("1"), answer("2", "call"), result("call", "3")]):
        conversation.append(draft.message)
        lines = on_disk(conversation.log.file)
        assert [line["message"]["role"] for line in lines[1:]] == [
            "user",
            "assistant",
            "toolResult",
        ][: number + 1]
        assert [line["parentId"] for line in lines[1:]] == [
            None,
            *(line["id"] for line in lines[1:-1]),
        ]


def test_added_entries_are_public_only_where_the_original_emits_them() -> None:
    conversation = SessionConversation(new_session(make_location(None)))

    public = [
        conversation.add(CustomMessageEntry(custom_type="bd", content="boundary msg")),
        conversation.add(Custom(custom_type="bdc", data=1)),
        conversation.add(ContextEdit(target_id="00000001", replacement=None)),
        conversation.add(ModelChange(provider="p", model_id="m")),
        conversation.add(Label(target_id="00000001", label="x")),
        conversation.add(CustomMessage(custom_type="c", content="x", display=False)),
    ]

    times = {"timestamp": "2023-11-14T22:13:20.000Z"}
    assert public == [
        {
            "type": "custom_message",
            "customType": "bd",
            "content": "boundary msg",
            "display": True,
            "id": "00000002",
            "parentId": None,
        }
        | times,
        {"type": "custom", "customType": "bdc", "data": 1, "id": "00000003", "parentId": "00000002"}
        | times,
        {"type": "context_edit", "id": "00000004", "parentId": "00000003"}
        | times
        | {"targetId": "00000001", "replacement": None},
        None,
        None,
        {
            "type": "custom_message",
            "customType": "c",
            "content": "x",
            "display": False,
            "id": "00000007",
            "parentId": "00000006",
        }
        | times,
    ]
    assert public[1] is not None
    assert list(public[1]) == ["type", "customType", "data", "id", "parentId", "timestamp"]


async def test_a_long_session_is_decoded_without_blocking_the_event_loop() -> None:
    log = new_session(make_location(None))
    for number in range(LARGE + 1):
        log.append(user(f"{number}"))
    conversation = SessionConversation(log)

    preparing = asyncio.create_task(conversation.prepare())
    turns = 0
    while not preparing.done():
        await asyncio.sleep(0)
        turns += 1

    assert turns > 2, "the loop was free"
    prepared = conversation.messages()
    assert prepared == shown_messages(log)
    conversation.append(user("later").message)
    assert conversation.messages() is prepared
    assert prepared == shown_messages(log)


async def test_a_message_added_during_decoding_is_shown_once() -> None:
    log = new_session(make_location(None))
    for number in range(LARGE + 1):
        log.append(user(f"{number}"))
    conversation = SessionConversation(log)

    preparing = asyncio.create_task(conversation.prepare())
    await asyncio.sleep(0)
    conversation.append(user("meanwhile").message)
    await preparing

    assert conversation.messages() == shown_messages(log)
    assert len(conversation.messages()) == LARGE + 2
