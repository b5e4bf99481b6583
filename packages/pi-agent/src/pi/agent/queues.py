"""Messages queued for a run, and the protocol of the agent that its loop uses.

Messages are queued during a run: steering for the next turn, follow-ups for the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import UNSET, UnsetType

from pi.agent.conversation import Conversation, Finish
from pi.agent.events import EventDispatcher, QueueUpdate
from pi.agent.policy import Policy, Request
from pi.agent.response import StreamingResponse
from pi.agent.tools.tool import AgentTool
from pi.ai.event_stream import EventStream
from pi.ai.messages import Image, Json, SystemMessage, Text, UserMessage, blocks
from pi.ai.models.model import Model
from pi.base.clock import Clock

QueueMode: TypeAlias = Literal["all", "one-at-a-time"]


class MessageQueues:
    """Steering and follow-up queues. A message leaves its queue when it is delivered, so that an
    abort loses none.
    """

    def __init__(
        self, *, steering: QueueMode = "one-at-a-time", follow_up: QueueMode = "one-at-a-time"
    ) -> None:
        self.steering_mode: QueueMode = steering
        self.follow_up_mode: QueueMode = follow_up
        self._steering: list[Any] = []
        self._follow_up: list[Any] = []
        self.has_drained = False
        """Whether messages left a queue since the last ``update``."""

    def steer(self, message: Any) -> None:
        """Queue ``message`` for after the tools of the current turn."""
        self._steering.append(message)

    def follow_up(self, message: Any) -> None:
        """Queue ``message`` for when the agent would stop."""
        self._follow_up.append(message)

    def drain_steering(self) -> Iterator[Any]:
        """Yield and remove the messages of the next turn one by one."""
        return self._drain(self._steering, self.steering_mode)

    def drain_follow_up(self) -> Iterator[Any]:
        """Yield and remove the messages that start another turn at the end, one by one."""
        return self._drain(self._follow_up, self.follow_up_mode)

    def clear(
        self, *, steering: bool = True, follow_up: bool = True
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Empty the chosen queues; returns their messages."""
        steering_messages = tuple(self._steering) if steering else ()
        follow_up_messages = tuple(self._follow_up) if follow_up else ()
        del self._steering[: len(steering_messages)], self._follow_up[: len(follow_up_messages)]
        return steering_messages, follow_up_messages

    @property
    def steering(self) -> tuple[Any, ...]:
        """Messages queued for the next turn."""
        return tuple(self._steering)

    @property
    def follow_ups(self) -> tuple[Any, ...]:
        """Messages queued for the end."""
        return tuple(self._follow_up)

    def update(self) -> QueueUpdate:
        """Both queues as shown to the user."""
        self.has_drained = False
        return QueueUpdate(
            steering=tuple(map(message_text, self._steering)),
            follow_up=tuple(map(message_text, self._follow_up)),
        )

    def __bool__(self) -> bool:
        return bool(self._steering or self._follow_up)

    def _drain(self, queue: list[Any], mode: QueueMode) -> Iterator[Any]:
        for _ in range(len(queue) if mode == "all" else 1):
            if queue:
                self.has_drained = True
                yield queue.pop(0)


def user_message(
    text: str, images: Sequence[Image] = (), *, now_ms: int, meta: Json | UnsetType = UNSET
) -> UserMessage:
    """Make the message of a user's text and images."""
    return UserMessage(content=(Text(text=text), *images), timestamp=now_ms, meta=meta)


def message_text(message: Any) -> str:
    """Return the text of a queued message as it is shown."""
    content = getattr(message, "content", "")
    if not isinstance(content, str | tuple):
        return ""
    return "".join(block.text for block in blocks(content) if isinstance(block, Text))


class LoopAgent(Protocol):
    """The part of ``Agent`` that the loop uses. A protocol, because ``Agent`` imports the loop."""

    model: Model
    tools: tuple[AgentTool, ...]
    policies: tuple[Policy, ...]
    finish: Finish
    inbox: MessageQueues
    open_answer: StreamingResponse
    conversation: Conversation
    events: EventDispatcher
    clock: Clock

    def request(self) -> Request:
        """The request for the conversation so far, before policies."""
        ...

    def undeclared_changes(self) -> Sequence[SystemMessage]:
        """Changes of prompt and tools that the conversation does not contain yet."""
        ...

    def send(self, request: Request) -> EventStream:
        """Send ``request`` to its model and return the response as it arrives."""
        ...
