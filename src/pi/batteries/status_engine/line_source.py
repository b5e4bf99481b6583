"""Line 3 from outside: asked for seldom, never twice at once, and never waited for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

THROTTLE = 0.3
"""Seconds that pass at least between two questions."""
MOST_DOUBLINGS = 6
"""Every failure in a row doubles that, up to about 20 seconds: starting programs is not free."""


class NoAnswer(Exception):
    """There is no new line; its text says why."""


Ask: TypeAlias = Callable[[bytes], Awaitable[str]]
"""Gives the line for a payload, empty if there is none; ``NoAnswer`` if nobody can tell."""
Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Runs something beside everything else."""


class LineSource:
    """Keeps the last good line of a command or a file.

    ``stir`` says that the answer may be another one by now; ``poll`` asks when it is time. What
    happens in between is asked about once. ``on_line`` is called when the line is another one,
    ``on_problem`` the first time that there is no answer: what fails once fails often.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        start: Start,
        on_line: Callable[[], None] = lambda: None,
        on_problem: Callable[[str], None] = lambda problem: None,
        refresh: float = 0.0,
    ) -> None:
        self.line = ""
        self._ask = ask
        self._start = start
        self._on_line = on_line
        self._on_problem = on_problem
        self._refresh = refresh
        """Seconds after which it asks although nobody has stirred; 0 waits for that."""
        self._is_stirred = True
        self._is_asking = False
        self._asked: float | None = None
        self._failures = 0
        """Since the last good answer."""
        self._has_told = False

    def stir(self) -> None:
        """Ask anew as soon as that is allowed."""
        self._is_stirred = True

    def poll(self, now: float, payload: Callable[[], bytes]) -> None:
        """Ask, if it is time; ``now`` is in seconds of a monotonic clock. Returns at once."""
        if self._is_asking or not self._is_due(now):
            return
        self._is_asking, self._is_stirred, self._asked = True, False, now
        self._start(self._answer(payload()))

    def _is_due(self, now: float) -> bool:
        if self._asked is None:
            return True
        passed = now - self._asked
        return passed >= THROTTLE * 2 ** min(self._failures, MOST_DOUBLINGS) and (
            self._is_stirred or (self._refresh > 0 and passed >= self._refresh)
        )

    async def _answer(self, payload: bytes) -> None:
        try:
            line = await self._ask(payload)
        except NoAnswer as problem:
            self._fail(str(problem))
            return
        finally:
            self._is_asking = False
        self._failures = 0
        if line != self.line:
            self.line = line
            self._on_line()

    def _fail(self, problem: str) -> None:
        self._failures += 1
        if not self._has_told:
            self._has_told = True
            self._on_problem(problem)
