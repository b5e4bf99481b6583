"""The message log of an agent, its projection for the model, and changes of its instructions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, overload

from msgspec import UNSET

from pi.agent.events import Emit, EntryAppended
from pi.agent.policy import Draft
from pi.ai.messages import (
    AssistantMessage,
    Interruption,
    Json,
    Message,
    RemovedTool,
    SystemMessage,
    Tool,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.transcript import final_tools
from pi.base.records import replace
from pi.base.tasks import LARGE

T = TypeVar("T")

AgentMessage: TypeAlias = Any
"""A ``Message``, or an application record with a ``role``."""

Convert: TypeAlias = Callable[[Sequence[AgentMessage]], Sequence[Message]]
"""Converts log messages to model messages, message by message.

It is called with new messages only, so converting two parts must equal converting the whole.
"""
Transform: TypeAlias = Callable[[Sequence[AgentMessage]], Sequence[AgentMessage]]
"""Filters or changes log messages before they are converted."""

Finish: TypeAlias = Callable[[AgentMessage], Awaitable[AgentMessage]]
"""Returns the message to store instead of a given one, with the same role. Not called for model
responses.
"""

_KNOWN = (SystemMessage, UserMessage, AssistantMessage, ToolResultMessage)


async def unchanged(message: AgentMessage) -> AgentMessage:
    """Return the message unchanged (default filter)."""
    return message


class Conversation(Protocol):
    """The message log. There is no second list to keep in sync."""

    def messages(self) -> Sequence[AgentMessage]:
        """Return the messages of the next request.

        Returns the same, growing sequence as long as messages are only appended, and a new sequence
        after any other change. A caller that reads it every turn can skip what it has seen.
        """
        ...

    def append(self, message: AgentMessage) -> None:
        """Store ``message``; it is stored when this returns."""
        ...

    def add(self, draft: Draft) -> Json | None:
        """Store an entry that is neither a response nor a tool result; returns its public form, if
        any.
        """
        ...


async def store_drafts(conversation: Conversation, drafts: Sequence[Draft], emit: Emit) -> None:
    """Store draft entries of policies and emit those that are public."""
    for draft in drafts:
        entry = conversation.add(draft)
        if entry is not None:
            await emit(EntryAppended(entry=entry))


class MemoryConversation:
    """Conversation in memory."""

    def __init__(self, *messages: AgentMessage) -> None:
        self._messages: list[AgentMessage] = list(messages)

    def messages(self) -> Sequence[AgentMessage]:
        """Return all messages."""
        return self._messages

    def append(self, message: AgentMessage) -> None:
        """Store ``message``."""
        self._messages.append(message)

    def add(self, draft: Draft) -> Json | None:
        """Store a draft; here it must be a message."""
        self._messages.append(draft)
        return None


class Snapshot(Sequence[T]):
    """Immutable view of an append-only list, made without copying."""

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
        selection = range(self._length)[index]
        if isinstance(selection, int):
            return self._items[selection]
        return tuple(self._items[position] for position in selection)

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    def __reversed__(self) -> Iterator[T]:
        return map(self._items.__getitem__, range(self._length - 1, -1, -1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


class Projection:
    """The log as the model sees it. The cost of a turn does not grow with the conversation."""

    def __init__(self, convert: Convert | None = None, transform: Transform | None = None) -> None:
        self._convert = convert or plain_messages
        self._transform = transform
        self._log: Sequence[AgentMessage] = ()
        self._processed = 0
        self._instructions: list[SystemMessage] = []
        self._messages: list[Message] = []
        self._has_instructions = False

    def messages(self, log: Sequence[AgentMessage]) -> Sequence[Message]:
        """Return the messages for a request; always includes the instructions in the log."""
        self._update(log)
        if self._transform is not None:
            messages = _as_sent(self._convert(self._transform(log)))
            return with_instructions(messages, self._instructions)
        if self._has_instructions or not self._instructions:
            return Snapshot(self._messages)
        return with_instructions(self._messages, self._instructions)

    def instructions(self, log: Sequence[AgentMessage]) -> Sequence[SystemMessage]:
        """Return the system messages in the log."""
        self._update(log)
        return self._instructions

    async def prepare(self, log: Sequence[AgentMessage]) -> None:
        """Convert new messages in a thread if there are many, so that ``messages`` does not block.

        Does nothing if there is a ``transform``.
        """
        processed = self._processed
        begin = processed if log is self._log else 0
        if self._transform is not None or len(log) - begin <= LARGE:
            return
        before, new = self._log, log[begin:]
        added = await asyncio.to_thread(self._converted, new)
        if self._log is before and self._processed == processed:  # nothing was converted meanwhile
            if not begin:
                self._log, self._processed, self._has_instructions = log, 0, False
                self._instructions, self._messages = [], []
            self._add(added)

    def _update(self, log: Sequence[AgentMessage]) -> None:
        """Process new messages of the log; all of them if it is a different log."""
        if log is not self._log or len(log) < self._processed:
            self._log, self._processed, self._has_instructions = log, 0, False
            self._instructions, self._messages = [], []
        if len(log) > self._processed:
            self._add(self._converted(log[self._processed :]))

    def _converted(self, new: Sequence[AgentMessage]) -> _Converted:
        """Return what ``_add`` needs; changes nothing, so that it can run in a thread."""
        messages = _as_sent(self._convert(new)) if self._transform is None else []
        return _Converted(len(new), _instructions(new), messages, bool(_instructions(messages)))

    def _add(self, new: _Converted) -> None:
        self._processed += new.length
        self._instructions += new.instructions
        self._messages += new.messages
        self._has_instructions = self._has_instructions or new.has_instructions


class _Converted(NamedTuple):
    """New messages of a log."""

    length: int
    instructions: list[SystemMessage]
    messages: list[Message]
    """The converted messages, without fields that only the log has."""
    has_instructions: bool
    """Whether ``messages`` has system messages."""


def _instructions(messages: Sequence[AgentMessage]) -> list[SystemMessage]:
    return [message for message in messages if isinstance(message, SystemMessage)]


def _as_sent(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without fields that are only for the log."""
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
    """Return only the messages that models understand (default conversion)."""
    return [message for message in messages if isinstance(message, _KNOWN)]


def with_instructions(
    messages: Sequence[Message], instructions: Sequence[SystemMessage]
) -> tuple[Message, ...]:
    """Prepend ``instructions`` if ``messages`` contains no system message.

    A transform that drops every system message would remove prompt and tools by accident.
    """
    if any(isinstance(message, SystemMessage) for message in messages):
        return tuple(messages)
    return (*instructions, *messages)


PROMPT_SECTION = "preamble"


PromptText: TypeAlias = str | Mapping[str, str]
"""The whole prompt as one text, or named sections in order."""


def instruction_changes(
    system_messages: Sequence[SystemMessage],
    prompt: PromptText | None,
    tools: Sequence[Tool],
    *,
    now_ms: int,
) -> tuple[SystemMessage, ...]:
    """Return the system messages that bring the declared prompt and tools up to date.

    A ``prompt`` of ``None`` leaves the declared prompt unchanged.
    """
    declared = {tool.name: tool for tool in final_tools(system_messages)}
    current = {tool.name for tool in tools}
    added = tuple(tool for tool in tools if declared.get(tool.name) != tool)
    removed = tuple(RemovedTool(name=name) for name in declared if name not in current)
    sections = {} if prompt is None else _changed(_sections(system_messages), prompt)
    if not (added or removed or sections):
        return ()
    return (
        SystemMessage(
            content="",
            sections=sections or UNSET,
            tools_added=added or UNSET,
            tools_removed=removed or UNSET,
            timestamp=now_ms,
        ),
    )


def prompt_text(prompt: PromptText) -> str:
    """Return the prompt as one text, sections separated by blank lines."""
    return prompt if isinstance(prompt, str) else "\n\n".join(prompt.values())


def _changed(declared: dict[str, str], prompt: PromptText) -> dict[str, str | None]:
    """Return new and changed sections, ``None`` for removed ones. A plain text is one section."""
    if isinstance(prompt, str):
        declared_text = declared.get(PROMPT_SECTION, "")
        return {} if prompt == declared_text else {PROMPT_SECTION: prompt or None}
    new: dict[str, str | None] = {n: text for n, text in prompt.items() if declared.get(n) != text}
    return new | {name: None for name in declared if name not in prompt}


def _sections(system_messages: Sequence[SystemMessage]) -> dict[str, str]:
    """Return the sections after all patches."""
    current: dict[str, str | None] = {}
    for message in system_messages:
        current.update(message.sections or {})
    return {name: text for name, text in current.items() if text}
