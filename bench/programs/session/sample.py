"""A session file of some thousand entries, about 1 KB each, like one of a long conversation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from pi.ai.messages import (
    AssistantMessage,
    Cost,
    Text,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.coding.session.entries import MessageEntry, SessionMessage
from pi.coding.session.opening import SessionLocation, new_session

WORDS = ("the", "function", "returns", "x", "{", "}", "\n    ", '"quoted"', "über", "path/to.py")
USAGE = Usage(input=60, output=20, cache_read=40, total_tokens=120, cost=Cost(input=6e-05))


def messages() -> Iterator[SessionMessage]:
    """An endless conversation: the user asks, the model calls a tool and answers."""
    chance = random.Random(1)

    def words(count: int) -> Text:
        return Text(text=" ".join(chance.choices(WORDS, k=count)))

    def assistant(*content: Text | ToolCall) -> AssistantMessage:
        return AssistantMessage(
            content=content, api="openai-completions", provider="mock", model="m", usage=USAGE
        )

    while True:
        yield UserMessage(content=(words(130),))
        yield assistant(words(70), ToolCall(id="call_1", name="read", arguments={"path": "a.py"}))
        yield ToolResultMessage(tool_call_id="call_1", tool_name="read", content=(words(120),))
        yield assistant(words(80))


def make_session(folder: Path, entries: int) -> Path:
    """A file with that many entries."""
    memory = new_session(SessionLocation(None, "/somewhere", print))
    source = messages()
    for _ in range(entries):
        memory.append(MessageEntry(message=next(source)))
    lines = [memory.line(place) for place in range(entries)]
    log = new_session(SessionLocation(folder, "/somewhere", print), lines=lines)
    log.close()
    assert log.file is not None
    return log.file
