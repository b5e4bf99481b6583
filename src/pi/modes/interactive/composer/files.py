"""The files that ``@`` offers: listed once, and again when the list has grown old."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from pi.base.errors import PiError

FRESH_SECONDS = 10.0

ListBelow = Callable[[Path], Awaitable[Sequence[str]]]
"""All that is below a folder and not ignored, relative to it."""


class ProjectFiles:
    """Answers from memory while a list is fresh, so that typing on costs nothing."""

    def __init__(
        self, below: ListBelow, cwd: Callable[[], Path], monotonic: Callable[[], float]
    ) -> None:
        self._below = below
        self._cwd = cwd
        self._monotonic = monotonic
        self._listed: tuple[Path, float, Sequence[str]] | None = None

    async def __call__(self, query: str) -> Sequence[str]:
        """Everything below the working directory, whatever the query, what is near first."""
        cwd, now = self._cwd(), self._monotonic()
        if self._listed is not None:
            where, when, files = self._listed
            if where == cwd and now - when < FRESH_SECONDS:
                return files
        try:
            files = await asyncio.to_thread(sorted, await self._below(cwd), key=_nearness)
        except PiError:  # the folder is gone, or the program that lists it: no reason to interrupt
            files = ()
        self._listed = (cwd, now, files)
        return files


def _nearness(path: str) -> tuple[int, bool, str]:
    """Less for what is not deep in folders, not hidden, and early in the alphabet."""
    folder, _, name = path.rstrip("/").rpartition("/")
    return folder.count("/") + bool(folder), name.startswith("."), path.lower()
