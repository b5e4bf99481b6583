"""The numbers that decide when a conversation is compacted and how much of it stays."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pi.base.records import Meta, Record

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
