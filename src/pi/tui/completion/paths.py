"""Paths on disk, one directory at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from pi.base.fuzzy import rank
from pi.tui.completion.provider import Completed, Suggestion, Suggestions, replace_prefix
from pi.tui.completion.tokens import Token, path_before, written

ListDirectory = Callable[[Path], Sequence[str]]
"""The names in a directory, those of directories with a slash behind; blocking, may raise."""

_MOST = 200
_MOST_NAMES = 100_000
"""Names of a directory that are looked at."""


def list_directory(folder: Path) -> list[str]:
    """The names in a directory; a symbolic link to a directory counts as one."""
    with os.scandir(folder) as found:
        entries = islice(found, _MOST_NAMES)
        return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]


class PathProvider:
    """Completes paths when asked. Relative ones are below ``cwd``; ``~`` is ``home``."""

    trigger_characters = ""

    def __init__(
        self, cwd: Callable[[], Path], home: Path, *, listing: ListDirectory = list_directory
    ) -> None:
        self._cwd = cwd
        self._home = home
        self._listing = listing

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """What is in the directory that is typed, if it was asked for."""
        if not force:
            return None
        token = path_before(lines[row][:col])
        return await self.complete(token)

    async def complete(self, token: Token) -> Suggestions | None:
        """What is in the directory of a path that is typed; only that directory is read."""
        folder, _, name = token.path.rpartition("/")
        shown = f"{folder}/" if "/" in token.path else ""
        if token.path == "~":
            shown, name = "~/", ""
        try:
            found = await asyncio.to_thread(self._fitting, name, self._folder(shown))
        except OSError:  # not there, or not ours to read: there is nothing to suggest
            return None
        items = [
            Suggestion(value=written(shown + path, token), label=path) for path in found[:_MOST]
        ]
        return Suggestions(items=tuple(items), prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The path in place of what was typed of it."""
        return take_path(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Anywhere."""
        return True

    def _fitting(self, typed: str, folder: Path) -> list[str]:
        """What fits in a directory; in a thread, as a directory can have very many names."""
        return _fitting(typed, self._listing(folder))

    def _folder(self, shown: str) -> Path:
        if shown.startswith("~/"):
            return self._home / shown[2:]
        return self._cwd() / shown


def take_path(lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str) -> Completed:
    """A path in place of what was typed of it; a quote that stands behind is not doubled."""
    line = lines[row]
    if '"' in item.value and line[col : col + 1] == '"':
        lines = [*lines[:row], line[:col] + line[col + 1 :], *lines[row + 1 :]]
    is_mention = prefix.startswith("@")
    is_folder = item.value.rstrip('"').endswith("/")
    text = item.value + (" " if is_mention and not is_folder else "")
    return replace_prefix(lines, row, col, prefix, text)


def _fitting(typed: str, names: Sequence[str]) -> list[str]:
    """Names that begin with what is typed, else those that fit it; hidden ones only by a dot."""
    seen = [name for name in names if typed.startswith(".") or not name.startswith(".")]
    seen.sort(key=lambda name: (not name.endswith("/"), name.lower()))
    beginning = [name for name in seen if name.lower().startswith(typed.lower())]
    return beginning or rank(typed, seen)
