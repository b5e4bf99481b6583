"""From bytes to events, and who sees a key before the focused component does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pi.base.records import Record
from pi.tui.input.decoder import Decoder, InputEvent
from pi.tui.render_loop import Timer, Timers


class InputPump:
    """Decodes what a terminal sends and hands on every event, in order.

    Wakes the decoder when the rest of a sequence is overdue.
    """

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


class InputDecision(Record):
    """What a listener makes of a key before the focused component gets it."""

    consume: bool = False
    """Nobody else gets it."""
    data: str | None = None
    """Others get this instead."""


InputListener: TypeAlias = Callable[[str], InputDecision | None]


class KeyListeners:
    """Those that see every key first, in the order in which they came."""

    def __init__(self) -> None:
        self._listeners: list[InputListener] = []

    def add(self, listener: InputListener, *, first: bool = False) -> Callable[[], None]:
        """Let a listener see every key, also before those that came earlier.

        Returns what ends that.
        """
        self._listeners.insert(0 if first else len(self._listeners), listener)
        return lambda: self._listeners.remove(listener)

    def filtered(self, data: str) -> str | None:
        """What the listeners leave for the focused component; None if one of them took it."""
        for listener in tuple(self._listeners):
            decision = listener(data)
            if decision is None:
                continue
            if decision.consume:
                return None
            if decision.data is not None:
                data = decision.data
        return data
