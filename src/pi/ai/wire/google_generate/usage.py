"""Token counts of this wire → ours. Pure."""

from __future__ import annotations

from pi.ai.messages import Usage
from pi.ai.wire.google_generate.chunks import UsageMetadata
from pi.base.records import UNSET


class Tally:
    """The tokens of one answer. Every event counts them anew; they add up when somebody asks."""

    def __init__(self) -> None:
        self._prompt = self._tool_prompt = self._cached = self._said = 0
        self._thoughts: int | None = None
        self._usage: Usage | None = Usage()

    def take(self, counts: UsageMetadata) -> None:
        """Take the counts of an event; what it does not say stays as an earlier one said."""
        self._usage = None
        if counts.prompt_token_count is not None:
            self._prompt = counts.prompt_token_count
        if counts.candidates_token_count is not None:
            self._said = counts.candidates_token_count
        if counts.cached_content_token_count is not None:
            self._cached = counts.cached_content_token_count
        if counts.tool_use_prompt_token_count is not None:
            self._tool_prompt = counts.tool_use_prompt_token_count
        if counts.thoughts_token_count is not None:
            self._thoughts = counts.thoughts_token_count

    def usage(self) -> Usage:
        """The tokens so far; the same value as long as no event has counted anew."""
        if self._usage is None:
            self._usage = Usage(
                input=max(self._prompt + self._tool_prompt - self._cached, 0),
                output=self._said + (self._thoughts or 0),
                cache_read=self._cached,
                reasoning=UNSET if self._thoughts is None else self._thoughts,
            )
        return self._usage
