"""The conversation as the agent sees it: a log to append to, and what the model is shown of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeVar, overload

from msgspec import UNSET

from pi.agent.policy import Draft
from pi.ai.messages import (
    AssistantMessage,
    Interruption,
    Json,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pi.base.records import replace

T = TypeVar("T")

AgentMessage: TypeAlias = Any
"""A ``Message``, or a record of the application's own with a ``role``."""

Convert: TypeAlias = Callable[[Sequence[AgentMessage]], Sequence[Message]]
"""Turns what the log holds into what models understand, message by message.

It is called with what is new; what it makes of two parts must be what it makes of the whole.
"""
Transform: TypeAlias = Callable[[Sequence[AgentMessage]], Sequence[AgentMessage]]
"""Chooses or changes what of the log is shown, before it is converted."""

Finish: TypeAlias = Callable[[AgentMessage], Awaitable[AgentMessage]]
"""What is kept in the place of a message that the model has not made; of the same role."""

_KNOWN = (SystemMessage, UserMessage, AssistantMessage, ToolResultMessage)


async def unchanged(message: AgentMessage) -> AgentMessage:
    """The message itself: nobody wants another one in its place."""
    return message


class Conversation(Protocol):
    """Where messages are kept. There is no second list to keep in step."""

    def messages(self) -> Sequence[AgentMessage]:
        """What the next request is made of.

        The same sequence, only longer, as long as messages are just appended; a new one after any
        other change. So whoever reads it every turn need not read it all.
        """
        ...

    def append(self, message: AgentMessage) -> None:
        """Keep ``message``; when this returns it is kept."""
        ...

    def add(self, draft: Draft) -> Json | None:
        """Keep something that is no answer and no result; its public form, if it has one."""
        ...


class MemoryConversation:
    """A conversation that lives as long as the program."""

    def __init__(self, *messages: AgentMessage) -> None:
        self._messages: list[AgentMessage] = list(messages)

    def messages(self) -> Sequence[AgentMessage]:
        """All of it."""
        return self._messages

    def append(self, message: AgentMessage) -> None:
        """Keep ``message``."""
        self._messages.append(message)

    def add(self, draft: Draft) -> Json | None:
        """Keep a draft, which here can only be a message."""
        self._messages.append(draft)
        return None


class Snapshot(Sequence[T]):
    """A list as it is now, made at no cost; only for one that does nothing but grow."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Sequence[T]) -> None:
        self._items = items
        self._length = len(items)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        places = range(self._length)[index]
        if isinstance(places, int):
            return self._items[places]
        return tuple(self._items[place] for place in places)

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


class Projection:
    """What a model is shown of a log. The cost of a turn does not grow with the conversation."""

    def __init__(self, convert: Convert | None = None, transform: Transform | None = None) -> None:
        self._convert = convert or plain_messages
        self._transform = transform
        self._log: Sequence[AgentMessage] = ()
        self._seen = 0
        self._instructions: list[SystemMessage] = []
        self._shown: list[Message] = []
        self._instructed = False

    def messages(self, log: Sequence[AgentMessage]) -> Sequence[Message]:
        """What models are asked with; never without the instructions that the log holds."""
        self._look_at(log)
        if self._transform is not None:
            shown = _as_sent(self._convert(self._transform(log)))
            return with_instructions(shown, self._instructions)
        if self._instructed or not self._instructions:
            return Snapshot(self._shown)
        return with_instructions(self._shown, self._instructions)

    def instructions(self, log: Sequence[AgentMessage]) -> Sequence[SystemMessage]:
        """What the log says of prompt and tools."""
        self._look_at(log)
        return self._instructions

    def _look_at(self, log: Sequence[AgentMessage]) -> None:
        """Look at what is new in the log; at all of it if it is another one."""
        if log is not self._log or len(log) < self._seen:
            self._log, self._seen, self._instructed = log, 0, False
            self._instructions, self._shown = [], []
        if len(log) > self._seen:
            new = log[self._seen :]
            self._seen = len(log)
            self._instructions += _instructions(new)
            if self._transform is None:
                shown = _as_sent(self._convert(new))
                self._shown += shown
                self._instructed = self._instructed or bool(_instructions(shown))


def _instructions(messages: Sequence[AgentMessage]) -> list[SystemMessage]:
    return [message for message in messages if isinstance(message, SystemMessage)]


def _as_sent(messages: Sequence[Message]) -> list[Message]:
    """The messages without what only the log knows of them."""
    return [_without_marks(message) for message in messages]


def _without_marks(message: Message) -> Message:
    match message:
        case AssistantMessage(interrupt=Interruption()):
            return replace(message, interrupt=UNSET)
        case ToolResultMessage(useless=True):
            return replace(message, useless=UNSET)
        case UserMessage(meta=dict()):
            return replace(message, meta=UNSET)
        case _:
            return message


def plain_messages(messages: Sequence[AgentMessage]) -> Sequence[Message]:
    """Only what models understand by themselves: the default conversion."""
    return [message for message in messages if isinstance(message, _KNOWN)]


def with_instructions(
    messages: Sequence[Message], instructions: Sequence[SystemMessage]
) -> tuple[Message, ...]:
    """``messages``, with ``instructions`` in front if somebody has dropped every one of them.

    A model without its prompt and tools is never what was meant.
    """
    if any(isinstance(message, SystemMessage) for message in messages):
        return tuple(messages)
    return (*instructions, *messages)
