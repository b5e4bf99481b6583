"""How long the session has been going on."""

from __future__ import annotations

from pi.extension import Clock, ExtensionAPI, SessionStartEvent

LINGER = 60.0
"""Seconds for which a session's beginning is remembered, for when extensions are loaded again."""


class Stopwatch:
    """Milliseconds since the session began, by a clock that never jumps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Begin at zero."""
        self._began = self._clock.monotonic()

    def milliseconds(self) -> int:
        """How long it has been going on."""
        return round((self._clock.monotonic() - self._began) * 1000)


async def stopwatch_of(pi: ExtensionAPI, session_id: str, event: SessionStartEvent) -> Stopwatch:
    """The stopwatch of a session: at zero when it begins, and going on after ``/reload``."""

    async def make(scope: object) -> Stopwatch:
        return Stopwatch(pi.scope.clock)

    watch = await pi.shared(("status_engine", session_id), make, linger=LINGER)
    if event.reason != "reload":
        watch.restart()
    return watch
