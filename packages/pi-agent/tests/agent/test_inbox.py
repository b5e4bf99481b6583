from __future__ import annotations

import pytest

from pi.agent.events import QueueUpdate
from pi.agent.queues import MessageQueues, message_text, user_message
from pi.ai.messages import Image, Text, UserMessage
from pi.base.records import Record

PICTURE = Image(data="aGk=", mime_type="image/png")


class Note(Record):
    content: dict[str, int]


def test_one_message_is_drained_at_a_time_unless_the_mode_is_all() -> None:
    inbox = MessageQueues()
    for text in "abc":
        inbox.steer(text)
        inbox.follow_up(text.upper())

    assert (list(inbox.drain_steering()), inbox.steering) == (["a"], ("b", "c"))
    inbox.steering_mode = "all"
    assert (list(inbox.drain_steering()), inbox.steering) == (["b", "c"], ())
    assert list(inbox.drain_follow_up()) == ["A"]
    inbox.follow_up_mode = "all"
    assert list(inbox.drain_follow_up()) == ["B", "C"]
    assert list(inbox.drain_follow_up()) == []


def test_a_message_that_is_not_drained_remains_queued() -> None:
    inbox = MessageQueues(steering="all")
    inbox.steer("a")
    inbox.steer("b")

    assert next(inbox.drain_steering()) == "a"

    assert inbox.steering == ("b",)


def test_a_message_queued_while_draining_is_not_drained() -> None:
    inbox = MessageQueues(follow_up="all")
    inbox.follow_up("a")
    taking = inbox.drain_follow_up()

    assert next(taking) == "a"
    inbox.follow_up("b")

    assert list(taking) == []
    assert inbox.follow_ups == ("b",)


def test_has_drained_is_true_until_the_next_update() -> None:
    inbox = MessageQueues()
    inbox.steer("a")
    seen = [inbox.has_drained]

    list(inbox.drain_steering())
    seen.append(inbox.has_drained)
    inbox.update()
    seen.append(inbox.has_drained)

    assert seen == [False, True, False]


def test_the_queues_are_truthy_while_a_message_is_queued() -> None:
    inbox = MessageQueues()
    assert not inbox

    inbox.follow_up("a")
    assert inbox


def test_clearing_returns_the_messages_of_one_queue_or_both() -> None:
    inbox = MessageQueues()
    inbox.steer("a")
    inbox.follow_up("b")

    assert inbox.clear(steering=False) == ((), ("b",))
    assert inbox.clear(follow_up=False) == (("a",), ())
    inbox.steer("c")
    assert inbox.clear() == (("c",), ())
    assert not inbox


def test_queues_are_shown_as_texts() -> None:
    inbox = MessageQueues()
    inbox.steer(user_message("look", [PICTURE], now_ms=5))
    inbox.follow_up(UserMessage(content="later"))

    assert inbox.update() == QueueUpdate(steering=("look",), follow_up=("later",))


@pytest.mark.parametrize("odd", [Note(content={"a": 1}), "text", 5])
def test_a_message_without_text_is_shown_as_an_empty_string(odd: object) -> None:
    assert message_text(odd) == ""


def test_a_user_message_contains_text_and_pictures() -> None:
    assert user_message("look", [PICTURE], now_ms=5) == UserMessage(
        content=(Text(text="look"), PICTURE), timestamp=5
    )
