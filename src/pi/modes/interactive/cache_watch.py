"""Whether the provider's cache was of use: told to whoever wants to know what misses cost. Pure."""

from __future__ import annotations

from pi.agent.events import MessageEnd
from pi.ai.messages import AssistantMessage, Usage
from pi.coding.compaction.events import CompactionEnd

LEAST_TOKENS = 4000
"""Tokens below which a miss is not worth a word."""


class CacheWatch:
    """Compares every answer with the one before it."""

    def __init__(self) -> None:
        self._before: tuple[str, int] | None = None
        """The model that was asked last, and how many tokens of its input a cache holds since."""

    def hear(self, event: object) -> str:
        """What to tell after something happened; mostly nothing."""
        match event:
            case MessageEnd(message=AssistantMessage(usage=usage) as answer) if usage.total_tokens:
                before, model = self._before, f"{answer.provider}/{answer.model}"
                self._before = (model, usage.cache_read + usage.cache_write)
                if before is not None and before[0] == model:
                    return _told(usage, before[1])
            case CompactionEnd():
                self._before = None  # what follows is another input
        return ""


def _told(usage: Usage, cached: int) -> str:
    lost = cached - usage.cache_read
    if cached < LEAST_TOKENS or lost < cached // 2:
        return ""
    return f"Cache miss: {lost:,} tokens that the provider's cache had were read anew."
