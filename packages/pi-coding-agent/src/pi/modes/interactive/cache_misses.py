"""Notices about requests that the prompt cache of the provider did not serve."""

from __future__ import annotations

from pi.agent.events import MessageEnd
from pi.ai.messages import AssistantMessage, Usage
from pi.coding.compaction.events import CompactionEnd

MIN_TOKENS = 4000
"""Tokens below which a miss is not reported."""


class CacheMissDetector:
    """Compares the usage of every answer with that of the answer before it."""

    def __init__(self) -> None:
        self._before: tuple[str, int] | None = None
        """The last model, and how many tokens of its input are cached."""

    def handle_event(self, event: object) -> str:
        """Return a notice after an event; usually empty."""
        match event:
            case MessageEnd(message=AssistantMessage(usage=usage) as answer) if usage.total_tokens:
                before, model = self._before, f"{answer.provider}/{answer.model}"
                self._before = (model, usage.cache_read + usage.cache_write)
                if before is not None and before[0] == model:
                    return _miss_notice(usage, before[1])
            case CompactionEnd():
                self._before = None  # the next input is a different one
        return ""


def _miss_notice(usage: Usage, cached: int) -> str:
    lost = cached - usage.cache_read
    if cached < MIN_TOKENS or lost < cached // 2:
        return ""
    return f"Cache miss: {lost:,} cached tokens were processed again."
