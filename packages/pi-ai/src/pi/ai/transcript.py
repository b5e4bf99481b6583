"""Conversations: system messages folded into a prompt and a tool list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from pi.ai.messages import (
    Context,
    Message,
    SystemMessage,
    Tool,
)
from pi.base.records import Record


class Instructions(Record):
    """The sum of all system messages of a conversation."""

    prompt: str = ""
    tools: tuple[Tool, ...] = ()


def conversation(context: Context) -> tuple[Message, ...]:
    """Return the messages of ``context``, with its prompt and tools as a leading system
    message."""
    if context.system_prompt is UNSET and context.tools is UNSET:
        return tuple(context.messages)
    leading = SystemMessage(
        content="" if context.system_prompt is UNSET else str(context.system_prompt),
        tools_added=context.tools,
    )
    return (leading, *context.messages)


def fold(
    messages: Sequence[Message], *, keep_later: bool
) -> tuple[Instructions, tuple[Message, ...]]:
    """Return the instructions and the remaining messages.

    With ``keep_later`` only the leading system messages are folded into the prompt, and later ones
    stay in place, for wires that support them; the tools are always the final set.
    """
    system = [message for message in messages if isinstance(message, SystemMessage)]
    tools = final_tools(system)
    if keep_later:
        first = leading(messages)
        return Instructions(prompt=render(first), tools=tools), tuple(messages[len(first) :])
    rest = tuple(message for message in messages if not isinstance(message, SystemMessage))
    return Instructions(prompt=render(system), tools=tools), rest


def leading(messages: Iterable[Message]) -> tuple[SystemMessage, ...]:
    """Return the system messages that a conversation begins with."""
    system_messages: list[SystemMessage] = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            break
        system_messages.append(message)
    return tuple(system_messages)


def render(system: Iterable[SystemMessage]) -> str:
    """Render the prompt: contents, then the sections after all patches, separated by blank
    lines."""
    contents: list[str] = []
    sections: dict[str, str | None] = {}
    for message in system:
        contents.append(plain_text(message))
        if isinstance(message.sections, dict):
            sections.update(message.sections)
    return "\n\n".join(part for part in (*contents, *sections.values()) if part)


def plain_text(message: SystemMessage) -> str:
    """Return a system message's own content, without its sections."""
    if isinstance(message.content, str):
        return message.content
    return "\n\n".join(block.text for block in message.content)


def final_tools(system: Iterable[SystemMessage]) -> tuple[Tool, ...]:
    """Return the tools that remain after all messages, in the order of their addition."""
    tools: dict[str, Tool] = {}
    for message in system:
        for removed in message.tools_removed or ():
            tools.pop(removed["name"], None)
        for added in message.tools_added or ():
            tools[added.name] = added
    return tuple(tools.values())


def checkpoint(system: Sequence[SystemMessage]) -> SystemMessage | None:
    """Return one message equivalent to all of them; ``None`` if there are none."""
    if not system:
        return None
    sections: dict[str, str | None] = {}
    for message in system:
        sections.update(message.sections or {})
    for name in [name for name, text in sections.items() if text is None]:
        del sections[name]
    return SystemMessage(
        content="\n\n".join(filter(None, map(plain_text, system))),
        sections=sections or UNSET,
        tools_added=final_tools(system) or UNSET,
        timestamp=system[-1].timestamp,
    )


def render_update(message: SystemMessage) -> str:
    """Render the changes that ``message`` makes to the instructions, as text for the model.

    A removed section was already sent, so the text says that it no longer applies.
    """
    sections = message.sections if isinstance(message.sections, dict) else {}
    removed = (name for name, text in sections.items() if text is None)
    notes = (f'The earlier section "{name}" no longer applies.' for name in removed)
    return "\n\n".join(part for part in (render([message]), *notes) if part.strip())
