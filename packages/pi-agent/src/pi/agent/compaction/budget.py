"""Token budgets: when a conversation is compacted, how much of it is kept, and its items. Pure."""

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
from pi.ai.token_estimates import (
    CHARACTERS_PER_TOKEN,
    counted_tokens,
    estimated_tokens,
    message_tokens,
)
from pi.base.records import Record, replace

Tokens: TypeAlias = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""A number of tokens that every JSON reader represents exactly."""


class CompactionSettings(Record):
    """Tokens, with the names and defaults of the settings file."""

    reserve_tokens: Tokens = 16_384
    """Reserved for the response."""
    keep_recent_tokens: Tokens = 20_000
    """Approximate size of the recent conversation that is kept unchanged."""
    threshold_percent: float = -1
    """Percentage of the window that may be filled; overrides ``reserve_tokens`` if positive."""
    threshold_tokens: int = -1
    """Tokens that may be used; overrides both if positive."""
    reserve_percent: Annotated[float, Meta(ge=0, le=100)] = 0
    """Percentage of the window to reserve, if that is more than ``reserve_tokens``."""
    adaptive_keep: bool = False
    """Whether the kept part is measured in the provider's tokens instead of estimated ones."""
    file_tree: bool = False
    """Whether a summary ends with one ``<files>`` tree instead of two lists."""
    short_summary: bool = False
    """Whether a sentence for the user is requested as well."""


MAX_RESERVE = 0.75
"""Maximum part of a window that is reserved, so that small windows can be filled at all."""


def estimate_tokens(content: Message | str) -> int:
    """Estimate tokens: four characters per token, 1200 per image.

    An application message is measured in its converted form.
    """
    if isinstance(content, str):
        return -(-len(content) // CHARACTERS_PER_TOKEN)
    return message_tokens(content)


def context_tokens(messages: Sequence[Message], *, compacted: int = 0) -> int:
    """Return the tokens in use: as reported by the provider, else an estimate.

    The first ``compacted`` messages precede the latest compaction; usage reported for them is
    outdated.
    """
    reported = reported_tokens(messages[compacted:])
    return estimated_tokens(messages) if reported is None else reported


def reported_tokens(messages: Sequence[Message]) -> int | None:
    """Return the last reported usage plus an estimate for later messages; ``None`` without a
    report.
    """
    since = 0
    for message in reversed(messages):
        if isinstance(message, AssistantMessage) and (counted := counted_tokens(message)):
            return counted + since
        since += message_tokens(message)
    return None


def threshold(window: int, settings: CompactionSettings) -> int:
    """Return the number of tokens above which a conversation is compacted."""
    if settings.threshold_tokens > 0:
        return min(settings.threshold_tokens, window)
    if settings.threshold_percent > 0:
        return int(window * min(settings.threshold_percent, 100) / 100)
    reserve = max(settings.reserve_tokens, int(window * settings.reserve_percent / 100))
    return window - min(reserve, int(window * MAX_RESERVE))


def should_compact(tokens: int, window: int, settings: CompactionSettings) -> bool:
    """Whether ``tokens`` exceed the threshold; never for an unknown window."""
    return window > 0 and tokens > threshold(window, settings)


MAX_RATIO, MIN_RATIO = 3.0, 0.5
"""Limits of the ratio: a wrong count of a provider must not keep everything, or nothing."""


def tokens_to_keep(window: int, settings: CompactionSettings, ratio: float = 1.0) -> int:
    """Return how many recent tokens are kept, as estimated.

    At most half of the threshold: otherwise a small window would have nothing to compact and still
    be full. ``ratio`` is the provider's count of the conversation divided by the estimate; it is
    used only with ``adaptive_keep``.
    """
    if not settings.adaptive_keep:
        ratio = 1.0
    ratio = min(max(ratio, MIN_RATIO), MAX_RATIO)
    keep = int(settings.keep_recent_tokens / ratio)
    if window <= 0:
        return keep
    return min(keep, int(threshold(window, settings) // 2 / max(ratio, 1.0)))


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
"""Role of an entry in the log, before its conversion for the model."""


class CompactionItem(Record):
    """One entry of the branch that is compacted."""

    id: str
    role: Role
    message: Message | None = None
    """Its form for the model; ``None`` for metadata and removed content."""
    useless: bool = False
    """A tool result marked as not worth keeping."""
    details: Json | None = None
    """Details of an earlier summary or hand-off that pi wrote: file lists, carry-over."""

    @classmethod
    def of(cls, id: str, message: Message) -> CompactionItem:
        """Make the item of a message that is stored unchanged."""
        useless = isinstance(message, ToolResultMessage) and message.useless is True
        return cls(id=id, role=_ROLES[type(message)], message=message, useless=useless)

    @property
    def tokens(self) -> int:
        """Estimated tokens; system messages are kept separately and count as zero."""
        if self.message is None or isinstance(self.message, SystemMessage):
            return 0
        return message_tokens(self.message)


_ROLES: dict[type[Message], Role] = {
    SystemMessage: "system",
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolResultMessage: "toolResult",
}


class ToolExchange(Record):
    """A tool call with its position and result."""

    call: ToolCall
    called_at: int
    result: ToolResultMessage | None = None
    answered_at: int | None = None


def exchanges(items: Sequence[CompactionItem]) -> list[ToolExchange]:
    """Return every call with its result. A reused id belongs to the latest preceding call."""
    pairs: list[ToolExchange] = []
    newest: dict[str, int] = {}
    for position, item in enumerate(items):
        match item.message:
            case AssistantMessage() as answer:
                for call in answer.tool_calls:
                    newest[call.id] = len(pairs)
                    pairs.append(ToolExchange(call=call, called_at=position))
            case ToolResultMessage() as result if result.tool_call_id in newest:
                index = newest[result.tool_call_id]
                pairs[index] = replace(pairs[index], result=result, answered_at=position)
            case _:
                pass
    return pairs


def tokens_of(items: Sequence[CompactionItem]) -> int:
    """Return the estimated tokens of all items."""
    return sum(item.tokens for item in items)
