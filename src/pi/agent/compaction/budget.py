"""The numbers that decide when a conversation is compacted and how much of it stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from pi.ai.messages import (
    AssistantMessage,
    Json,
    Message,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.token_estimate import CHARACTERS_PER_TOKEN, counted_tokens, message_tokens
from pi.base.records import Record, replace

Tokens: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""A number of tokens that every program which reads the file can tell exactly."""


class CompactionSettings(Record):
    """Tokens, with the names and defaults of the settings file."""

    reserve_tokens: Tokens = 16_384
    """Left free for the answer."""
    keep_recent_tokens: Tokens = 20_000
    """About how much of the newest conversation stays as it is."""
    threshold_percent: float = -1
    """Part of the window that may be filled; beats ``reserve_tokens`` when positive."""
    threshold_tokens: int = -1
    """Tokens that may be used; beats both when positive."""


# How full the model's window is, and when that is too full. Pure.


LARGEST_RESERVE = 0.75
"""Part of a window that may be reserved: with a small model there must be something to fill."""


def estimate_tokens(said: Message | str) -> int:
    """A guess: four characters make a token, a picture counts 1200.

    A message of the application's own is measured as what it becomes for the model.
    """
    if isinstance(said, str):
        return -(-len(said) // CHARACTERS_PER_TOKEN)
    return message_tokens(said)


def context_tokens(messages: Sequence[Message], *, compacted: int = 0) -> int:
    """How much of the window the conversation takes: as the provider counted it, else a guess.

    The first ``compacted`` messages are older than the latest compaction: what a provider counted
    then says nothing about the conversation now.
    """
    reported = reported_tokens(messages[compacted:])
    return sum(map(message_tokens, messages)) if reported is None else reported


def reported_tokens(messages: Sequence[Message]) -> int | None:
    """What the provider last counted, and a guess for what came after; ``None`` without a count."""
    since = 0
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and (counted := counted_tokens(message)):
            return counted + since
        since += message_tokens(message)
    return None


def threshold(window: int, settings: CompactionSettings) -> int:
    """The tokens above which a conversation is compacted."""
    if settings.threshold_tokens > 0:
        return min(settings.threshold_tokens, window)
    if settings.threshold_percent > 0:
        return int(window * min(settings.threshold_percent, 100) / 100)
    return window - min(settings.reserve_tokens, int(window * LARGEST_RESERVE))


def should_compact(tokens: int, window: int, settings: CompactionSettings) -> bool:
    """Whether a conversation of ``tokens`` has outgrown its window; never for an unknown one."""
    return window > 0 and tokens > threshold(window, settings)


def tokens_to_keep(window: int, settings: CompactionSettings) -> int:
    """How much of the newest conversation stays.

    At most half of what may be filled: a model with a small window would otherwise have nothing
    to compact and be full all the same.
    """
    if window <= 0:
        return settings.keep_recent_tokens
    return min(settings.keep_recent_tokens, threshold(window, settings) // 2)


# What compaction works on: the entries of one branch, as the model would be shown them.


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


class CompactionItem(Record):
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
    def of(cls, id: str, message: Message) -> CompactionItem:
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


class UserExchange(Record):
    """A tool call, where it is, and what came of it."""

    call: ToolCall
    called_at: int
    result: ToolResultMessage | None = None
    answered_at: int | None = None


def exchanges(items: Sequence[CompactionItem]) -> list[UserExchange]:
    """Every call with its result. An id that is used again belongs to the newest call before."""
    found: list[UserExchange] = []
    newest: dict[str, int] = {}
    for at, item in enumerate(items):
        match item.message:
            case AssistantMessage() as answer:
                for call in answer.tool_calls:
                    newest[call.id] = len(found)
                    found.append(UserExchange(call=call, called_at=at))
            case ToolResultMessage() as result if result.tool_call_id in newest:
                index = newest[result.tool_call_id]
                found[index] = replace(found[index], result=result, answered_at=at)
            case _:
                pass
    return found


def tokens_of(items: Sequence[CompactionItem]) -> int:
    """What all of them take up together."""
    return sum(item.tokens for item in items)
