"""``entry://ID``: the text of an entry, for notes that point to what a compaction left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.agent.tools.tool import ToolFailed
from pi.ai.json_text import json_text
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.coding.session.context import convert_to_llm
from pi.coding.session.entries import (
    BashExecution,
    BranchSummary,
    Compaction,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    SessionMessage,
)
from pi.coding.session.errors import EntryNotFound
from pi.coding.session.log import SessionLog

Content = tuple[Text | Image, ...]


def read_entry(log: SessionLog, id: str) -> Content:
    """Return what the model saw of an entry of the current branch; raises ``ToolFailed``."""
    try:
        position = log.tree.place(id)
        entry = log.at(position)
    except EntryNotFound:
        raise ToolFailed(f"This session has no entry {id}.") from None
    if position not in log.tree.path(log.leaf):
        raise ToolFailed(f"The entry {id} belongs to another branch of this session.")
    content = _content(entry)
    if not content:
        raise ToolFailed(f"The entry {id} has no text for the model.")
    return content


def readable_ids(log: SessionLog) -> Iterator[str]:
    """Yield the ids of the entries of the current branch that can be read."""
    return (entry.id for entry in log.branch() if _content(entry))


def _content(entry: Entry) -> Content:
    match entry:
        case MessageEntry(message=message):
            return _message_content(message)
        case CustomMessageEntry(content=content):
            return _parts(content)
        case Compaction(summary=summary) | BranchSummary(summary=summary):
            return (Text(text=summary),)
        case _:
            return ()


def _message_content(message: SessionMessage) -> Content:
    match message:
        case UserMessage(content=content):
            return _parts(content)
        case ToolResultMessage():
            (result,) = convert_to_llm([message])
            return _parts(result.content) if isinstance(result, ToolResultMessage) else ()
        case AssistantMessage():
            return (Text(text="\n\n".join(_answer_texts(message))),)
        case BashExecution(exclude_from_context=True):
            return ()  # the user ran it with `!!`, so that the model does not see it
        case BashExecution(command=command, output=output):
            return (Text(text=f"$ {command}\n{output}"),)
        case _:
            return ()


def _answer_texts(answer: AssistantMessage) -> Iterator[str]:
    for block in answer.content:
        match block:
            case Text(text=text):
                yield text
            case ToolCall(name=name, arguments=arguments):
                yield f"[{name}] {json_text(arguments)}"
            case _:
                pass  # thoughts are not repeated


def _parts(content: str | Sequence[Text | Image]) -> Content:
    return (Text(text=content),) if isinstance(content, str) else tuple(content)
