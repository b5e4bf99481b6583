"""Names the function that holds everything up: nobody inside the event loop could."""

from __future__ import annotations

import logging
import threading

from pi.coding.extension_host.order import Owner

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds after which a function that does not return is named."""


class Stalls:
    """A thread that looks, now and then, at what is being called.

    It cannot end a function of Python that never returns; Ctrl+C can.
    """

    def __init__(self, seconds: float = PATIENCE) -> None:
        self.current: tuple[Owner, str] | None = None
        """Whose function is being called, and at what event; one object for each call."""
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self) -> None:
        """Begin to look; once is enough."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="stalls", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _look(self) -> None:
        before = named = None
        while not self._ended.wait(self._seconds):
            now = self.current
            if now is not None and now is before and now is not named:
                named = now
                log.warning("%s does not return from %s: nothing else can happen", *_told(now))
            before = now


def _told(call: tuple[Owner, str]) -> tuple[str, str]:
    return call[0].path, call[1]
