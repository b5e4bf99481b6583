"""Limits of a response: its size, and the time with nothing but keep-alives."""

from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.errors import (
    AnswerTooLarge,
    ProviderUnavailable,
)
from pi.ai.request import Call
from pi.base.clock import Clock

LARGEST_ANSWER = 64 * 1024 * 1024
"""Limit of characters of text, thinking and arguments in one response."""

LARGEST_BODY = 128 * 1024 * 1024
"""Limit of decoded bytes of one response; most of them are JSON around the content.

Verbose gateways wrap every token in 400 to 500 bytes: the longest outputs (128,000 tokens) take
about 64 MB.
"""

_COUNTED_EVERY = 1024 * 1024

MAX_SILENCE = 900.0
"""Seconds for which keep-alives alone keep a response open."""


class KeepAliveLimit:
    """Fails a stream that sends only keep-alives for too long."""

    def __init__(self, call: Call, clock: Clock) -> None:
        self._clock = clock
        self._endless = call.options.timeout_ms == 0
        self._last = clock.monotonic()

    def received(self, *, has_events: bool) -> None:
        """Record that data arrived; raises ``ProviderUnavailable`` after ``MAX_SILENCE``."""
        now = self._clock.monotonic()
        if has_events:
            self._last = now
        elif now - self._last > MAX_SILENCE and not self._endless:
            raise ProviderUnavailable(
                f"The server has sent nothing but keep-alives for {MAX_SILENCE / 60:.0f} minutes."
            )


class Allowance:
    """Stops a response that exceeds ``LARGEST_BODY`` or ``LARGEST_ANSWER``."""

    def __init__(self, builder: MessageBuilder) -> None:
        self._builder = builder
        self._received = 0
        # Content cannot be larger than the body, so nothing is counted before that.
        self._next_count = LARGEST_ANSWER

    def spend(self, size: int) -> None:
        """Count ``size`` more decoded bytes; raises ``AnswerTooLarge``."""
        self._received += size
        if self._received < self._next_count:
            return
        self._next_count = self._received + _COUNTED_EVERY
        if self._received > LARGEST_BODY:
            raise _too_large(f"{LARGEST_BODY >> 20} MiB transferred")
        if self._builder.size > LARGEST_ANSWER:
            raise _too_large(f"{LARGEST_ANSWER >> 20} MiB of content")


def _too_large(limit: str) -> AnswerTooLarge:
    return AnswerTooLarge(
        f"The answer exceeds the limit of {limit} and was stopped.",
        hint="Ask for less at once, or choose another model.",
    )
