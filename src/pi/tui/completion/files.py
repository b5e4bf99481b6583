"""``@`` and a few letters: files of the project, wherever they are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from pi.base.fuzzy import rank
from pi.tui.completion.paths import PathProvider, take_path
from pi.tui.completion.provider import Completed, Suggestion, Suggestions
from pi.tui.completion.tokens import Token, mention_before, written

ListFiles = Callable[[str], Awaitable[Sequence[str]]]
"""Files and directories below the working directory that may fit a query.

Paths are relative, with slashes; a directory ends in one.
"""

_MOST = 50
_AT_ONCE = 1000
"""Files that are looked at before keys are: in a large project there are a hundred times more."""


class FileProvider:
    """Completes ``@path``. Outside the project only the directory that is typed is looked into."""

    trigger_characters = "@"

    def __init__(self, files: ListFiles, paths: PathProvider) -> None:
        self._files = files
        self._paths = paths

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """The files that fit the letters behind the ``@`` best."""
        token = mention_before(lines[row][:col])
        if token is None:
            return None
        if _leads_outside(token.path) or token.path.startswith("./"):
            return await self._paths.complete(token)
        folder = token.path if token.path.endswith("/") else None
        files = [path for path in await self._files(token.path) if path != folder]
        found = await _best(token.path, files)
        items = tuple(_suggestion(path, token) for path in found)
        return Suggestions(items=items, prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The path in place of what was typed of it, with a blank behind a file."""
        return take_path(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Anywhere: behind an ``@`` Tab asks again, elsewhere other providers answer."""
        return True


async def _best(query: str, files: Sequence[str]) -> list[str]:
    """The files that fit best, equals in their order; typing goes on meanwhile."""
    found: list[str] = []
    for start in range(0, len(files), _AT_ONCE):
        found += rank(query, files[start : start + _AT_ONCE])[:_MOST]
        await asyncio.sleep(0)
    return rank(query, found)[:_MOST]


def _leads_outside(path: str) -> bool:
    return path.startswith(("/", "~", "..")) or "/../" in path


def _suggestion(path: str, token: Token) -> Suggestion:
    folder, _, name = path.rstrip("/").rpartition("/")
    slash = "/" if path.endswith("/") else ""
    return Suggestion(value=written(path, token), label=name + slash, description=folder)
