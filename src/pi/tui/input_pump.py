"""From bytes to events: feeds the decoder and wakes it when the rest of a sequence is overdue."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.input.decoder import Decoder, InputEvent
from pi.tui.render_loop import Timer, Timers


class InputPump:
    """Decodes what a terminal sends and hands on every event, in order."""

    def __init__(
        self, decoder: Decoder, timers: Timers, handle: Callable[[InputEvent], None]
    ) -> None:
        self._decoder = decoder
        self._timers = timers
        self._handle = handle
        self._overdue: Timer | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes as they arrived."""
        self._deliver(self._decoder.feed(data, self._timers.time()))

    def stop(self) -> None:
        """Wait for nothing any more."""
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None

    def _expire(self) -> None:
        self._overdue = None
        self._deliver(self._decoder.expire(self._timers.time()))

    def _deliver(self, events: list[InputEvent]) -> None:
        self.stop()
        deadline = self._decoder.deadline
        if deadline is not None:
            wait = max(deadline - self._timers.time(), 0.0)
            self._overdue = self._timers.call_later(wait, self._expire)
        for event in events:
            self._handle(event)
