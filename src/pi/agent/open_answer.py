"""The answer that is being streamed, as somebody outside the stream may cut it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NewType

from pi.agent.policy import Interrupt

MessageToken = NewType("MessageToken", int)
"""Stands for one answer of an agent; no other answer of it ever has the same."""


class OpenAnswer:
    """Knows whether an answer is open, and who wants it cut.

    Whoever finds out later than at its delta that an answer should not go on cannot raise
    ``Interrupt`` any more; with the token of that answer they can still say it here.
    """

    def __init__(self) -> None:
        self.cut: Interrupt | None = None
        """Why the newest answer is to end, if somebody wants that."""
        self._newest = 0
        self._stop: Callable[[], None] | None = None

    @property
    def token(self) -> MessageToken | None:
        """Stands for the answer that is open; ``None`` between answers, and once it is cut."""
        is_open = self._stop is not None and self.cut is None
        return MessageToken(self._newest) if is_open else None

    @contextmanager
    def streaming(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have an answer open that ``stop`` can end."""
        self._newest += 1
        self._stop, self.cut = stop, None
        try:
            yield
        finally:
            self._stop = None

    def interrupt(self, token: MessageToken, cut: Interrupt) -> bool:
        """End the answer that ``token`` stands for; False if it is over, or cut already."""
        if self._stop is None or token != self.token:
            return False
        self.cut = cut
        self._stop()
        return True
