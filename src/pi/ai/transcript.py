"""System messages: the prompt and the tools that a conversation has come to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from pi.ai.messages import Context, Message, SystemMessage, Tool
from pi.base.records import Record


class Instructions(Record):
    """What all system messages of a conversation add up to."""

    prompt: str = ""
    tools: tuple[Tool, ...] = ()


def conversation(context: Context) -> tuple[Message, ...]:
    """The messages of ``context``, with its prompt and tools as a leading system message."""
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
    """The instructions, and the messages that remain.

    With ``keep_later`` only the leading system messages are folded into the prompt, and the later
    ones stay where they are, for wires that can carry them; the tools are always the final set.
    """
    system = [message for message in messages if isinstance(message, SystemMessage)]
    tools = final_tools(system)
    if keep_later:
        first = leading(messages)
        return Instructions(prompt=render(first), tools=tools), tuple(messages[len(first) :])
    rest = tuple(message for message in messages if not isinstance(message, SystemMessage))
    return Instructions(prompt=render(system), tools=tools), rest


def leading(messages: Iterable[Message]) -> tuple[SystemMessage, ...]:
    """The system messages that a conversation begins with."""
    found: list[SystemMessage] = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            break
        found.append(message)
    return tuple(found)


def render(system: Iterable[SystemMessage]) -> str:
    """The prompt: contents, then the sections as all patches left them, parted by blank lines."""
    contents: list[str] = []
    sections: dict[str, str | None] = {}
    for message in system:
        contents.append(plain_text(message))
        if isinstance(message.sections, dict):
            sections.update(message.sections)
    return "\n\n".join(part for part in (*contents, *sections.values()) if part)


def plain_text(message: SystemMessage) -> str:
    """A system message's own content, without its sections."""
    if isinstance(message.content, str):
        return message.content
    return "\n\n".join(block.text for block in message.content)


def final_tools(system: Iterable[SystemMessage]) -> tuple[Tool, ...]:
    """The tools that are there after all messages, in the order in which they were added."""
    tools: dict[str, Tool] = {}
    for message in system:
        for removed in message.tools_removed or ():
            tools.pop(removed["name"], None)
        for added in message.tools_added or ():
            tools[added.name] = added
    return tuple(tools.values())


def checkpoint(system: Sequence[SystemMessage]) -> SystemMessage | None:
    """One message that says what all of them add up to; ``None`` of none."""
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


# System messages in the middle of a conversation, as servers that take such get them. Pure.


def render_update(message: SystemMessage) -> str:
    """What ``message`` changes in the instructions, said to the model.

    A section that is gone cannot be unsaid, so the model is told to disregard it.
    """
    sections = message.sections if isinstance(message.sections, dict) else {}
    gone = (name for name, text in sections.items() if text is None)
    notes = (f'The earlier section "{name}" no longer applies.' for name in gone)
    return "\n\n".join(part for part in (render([message]), *notes) if part.strip())
