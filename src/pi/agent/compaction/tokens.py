"""How full the model's window is, and when that is too full. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.settings import CompactionSettings
from pi.ai.estimate import CHARACTERS_PER_TOKEN, counted_tokens, message_tokens
from pi.ai.messages import AssistantMessage, Message

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
