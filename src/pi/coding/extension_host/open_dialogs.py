"""Questions of one extension that wait for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class OpenDialogs:
    """Those that are open now; the end of the session leaves all of them."""

    def __init__(self) -> None:
        self._asked: set[asyncio.Task[Any]] = set()

    async def answer(self, question: Coroutine[Any, Any, T], left: T) -> T:
        """What the person answers, or ``left`` if the session ends before that."""
        asked = asyncio.ensure_future(question)
        self._asked.add(asked)
        try:
            return await asked
        except asyncio.CancelledError:
            if asked in self._asked:  # whoever asks was cancelled, and the question with it
                raise
            return left
        finally:
            self._asked.discard(asked)

    def leave(self) -> None:
        """Take all of them away."""
        asked, self._asked = self._asked, set()
        for each in asked:
            each.cancel()
