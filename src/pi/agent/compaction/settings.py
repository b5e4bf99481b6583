"""The numbers that decide when a conversation is compacted and how much of it stays."""

from __future__ import annotations

from pi.base.records import Record


class CompactionSettings(Record):
    """Tokens, with the names and defaults of the settings file."""

    reserve_tokens: int = 16_384
    """Left free for the answer."""
    keep_recent_tokens: int = 20_000
    """About how much of the newest conversation stays as it is."""
    threshold_percent: float = -1
    """Part of the window that may be filled; beats ``reserve_tokens`` when positive."""
    threshold_tokens: int = -1
    """Tokens that may be used; beats both when positive."""
