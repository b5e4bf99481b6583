"""What compaction works on: the entries of one branch, as the model would be shown them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pi.ai.estimate import message_tokens
from pi.ai.messages import (
    AssistantMessage,
    Json,
    Message,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.base.records import Record, replace

Role: TypeAlias = Literal[
    "system",
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "branchSummary",
    "compactionSummary",
    "metadata",
]
"""What an entry is in the log, whatever it becomes for the model."""


class Item(Record):
    """One entry of the branch."""

    id: str
    role: Role
    message: Message | None = None
    """What the model is shown of it; ``None`` for metadata and for what was edited away."""
    useless: bool = False
    """A tool result that its tool called not worth keeping."""
    details: Json | None = None
    """Of an earlier summary that pi wrote: its file lists."""

    @classmethod
    def of(cls, id: str, message: Message) -> Item:
        """The item of a message that is in the log as it is."""
        useless = isinstance(message, ToolResultMessage) and message.useless is True
        return cls(id=id, role=_ROLES[type(message)], message=message, useless=useless)

    @property
    def tokens(self) -> int:
        """A guess of what it takes up; system messages are kept apart and cost nothing here."""
        if self.message is None or isinstance(self.message, SystemMessage):
            return 0
        return message_tokens(self.message)


_ROLES: dict[type[Message], Role] = {
    SystemMessage: "system",
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResultMessage: "toolResult",
}


class Exchange(Record):
    """A tool call, where it is, and what came of it."""

    call: ToolCall
    called_at: int
    result: ToolResultMessage | None = None
    answered_at: int | None = None


def exchanges(items: Sequence[Item]) -> list[Exchange]:
    """Every call with its result. An id that is used again belongs to the newest call before."""
    found: list[Exchange] = []
    newest: dict[str, int] = {}
    for at, item in enumerate(items):
        match item.message:
            case AssistantMessage() as answer:
                for call in answer.tool_calls:
                    newest[call.id] = len(found)
                    found.append(Exchange(call=call, called_at=at))
            case ToolResultMessage() as result if result.tool_call_id in newest:
                index = newest[result.tool_call_id]
                found[index] = replace(found[index], result=result, answered_at=at)
            case _:
                pass
    return found


def tokens_of(items: Sequence[Item]) -> int:
    """What all of them take up together."""
    return sum(item.tokens for item in items)
