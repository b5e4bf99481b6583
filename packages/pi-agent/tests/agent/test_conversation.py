from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from pi.agent import conversation
from pi.agent.conversation import (
    AgentMessage,
    MemoryConversation,
    Projection,
    Snapshot,
    plain_messages,
    with_instructions,
)
from pi.ai.messages import (
    AssistantMessage,
    Interruption,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pi.base.records import Record
from pi.base.tasks import LARGE

PROMPT = SystemMessage(content="Be brief.")
HELLO = UserMessage(content="hello")
HI = AssistantMessage()


class Notice(Record, tag_field="role", tag="notice"):
    """A message of an application's own."""

    text: str


class Counting(list[Any]):
    """A log that counts how many messages are read from it one by one."""

    read = 0

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        self.read += len(found) if isinstance(key, slice) else 1
        return found


def test_a_conversation_in_memory_keeps_appended_messages() -> None:
    conversation = MemoryConversation(PROMPT)

    conversation.append(HELLO)
    public = conversation.add(HI)

    assert list(conversation.messages()) == [PROMPT, HELLO, HI]
    assert public is None


def test_messages_of_unknown_types_are_not_sent_to_models() -> None:
    log = [PROMPT, Notice(text="saved"), HELLO, HI]

    assert plain_messages(log) == [PROMPT, HELLO, HI]
    assert Projection().messages(log) == (PROMPT, HELLO, HI)


@pytest.mark.parametrize("transform", [None, list])
def test_fields_for_the_log_only_are_not_sent_to_the_model(transform: Any) -> None:
    result = ToolResultMessage(tool_call_id="c", tool_name="peek", content=(), useless=True)
    cut = AssistantMessage(interrupt=Interruption(by="Cuts", reason="enough"))
    log = [HELLO, cut, result]

    assert Projection(transform=transform).messages(log) == (
        HELLO,
        HI,
        ToolResultMessage(tool_call_id="c", tool_name="peek", content=()),
    )
    assert log[1:] == [cut, result]


def test_messages_of_an_application_are_converted_by_it() -> None:
    def convert(messages: Sequence[AgentMessage]) -> Sequence[Message]:
        return [
            UserMessage(content=message.text) if isinstance(message, Notice) else message
            for message in messages
        ]

    def last_two(messages: Sequence[AgentMessage]) -> Sequence[AgentMessage]:
        return messages[-2:]

    log = [PROMPT, HELLO, Notice(text="saved"), HI]

    assert Projection(convert).messages(log) == (PROMPT, HELLO, UserMessage(content="saved"), HI)
    assert Projection(convert, last_two).messages(log) == (
        PROMPT,
        UserMessage(content="saved"),
        HI,
    )


def test_instructions_are_restored_only_when_all_are_missing() -> None:
    later = SystemMessage(content="Be kind.")

    assert with_instructions([HELLO], [PROMPT, later]) == (PROMPT, later, HELLO)
    assert with_instructions([later, HELLO], [PROMPT, later]) == (later, HELLO)
    assert with_instructions([HELLO], []) == (HELLO,)


def test_only_new_entries_of_a_growing_log_are_read() -> None:
    log = Counting([PROMPT, HELLO])
    projection = Projection()

    projection.messages(log)
    log.append(HI)
    shown = projection.messages(log)
    projection.instructions(log)

    assert shown == (PROMPT, HELLO, HI)
    assert log.read == 3


def test_another_or_a_shorter_log_is_read_from_the_start() -> None:
    projection = Projection()
    log: list[Any] = [PROMPT, Notice(text="saved"), HELLO]
    projection.messages(log)

    del log[1:]
    assert projection.messages(log) == (PROMPT,)
    assert projection.instructions([HELLO]) == []
    assert projection.instructions([HELLO, PROMPT]) == [PROMPT]


def test_a_snapshot_does_not_change_with_its_list() -> None:
    growing = [1, 2, 3]

    snapshot = Snapshot(growing)
    growing.append(4)

    assert list(snapshot) == [1, 2, 3]
    assert (len(snapshot), snapshot[-1], snapshot[1:], snapshot == [1, 2, 3]) == (
        3,
        3,
        (2, 3),
        True,
    )
    assert snapshot != [1, 2, 3, 4]
    with pytest.raises(IndexError):
        snapshot[3]


async def test_many_new_messages_are_converted_outside_of_the_event_loop() -> None:
    threads: set[threading.Thread] = set()

    def convert(messages: Sequence[AgentMessage]) -> list[Message]:
        threads.add(threading.current_thread())
        return list(messages)

    projection = Projection(convert)
    log: list[Message] = [PROMPT, *[HELLO] * LARGE]

    await projection.prepare(log)
    await projection.prepare(log)

    assert list(projection.messages(log)) == log
    assert projection.instructions(log) == [PROMPT]
    assert threading.main_thread() not in threads
    log.append(HI)
    assert list(projection.messages(log)) == log


async def test_instructions_in_many_new_messages_are_found_outside_of_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find, threads = conversation._instructions, list[threading.Thread]()

    def recorded(messages: Sequence[AgentMessage]) -> list[SystemMessage]:
        threads.append(threading.current_thread())
        return find(messages)

    monkeypatch.setattr(conversation, "_instructions", recorded)
    log: list[Message] = [PROMPT, *[HELLO] * LARGE]
    projection = Projection(plain_messages)
    await projection.prepare(log)

    assert projection.instructions(log) == [PROMPT]
    assert threads
    assert threading.main_thread() not in threads


async def test_messages_that_were_converted_meanwhile_are_not_converted_twice() -> None:
    log: list[Message] = [HELLO] * (LARGE + 1)
    projection = Projection(plain_messages)

    preparing = asyncio.create_task(projection.prepare(log))
    await asyncio.sleep(0)
    assert len(projection.messages(log)) == len(log)
    await preparing

    assert list(projection.messages(log)) == log
