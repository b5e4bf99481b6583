"""``rule://`` and what else extensions can read: how it may go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from pi.base.fuzzy import rank
from pi.tui.completion.provider import Completed, Suggestion, Suggestions, replace_prefix
from pi.tui.completion.tokens import mention_before, path_before, written

Complete: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""How a reference may go on of which something was typed."""

_MOST = 50


class ReferenceProvider:
    """Completes references of extensions, with an ``@`` before them or without."""

    trigger_characters = ""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """What the extension that reads such a reference knows."""
        before = lines[row][:col]
        token = mention_before(before) or path_before(before)
        if ":" not in token.path:  # as every reference has
            return None
        found = rank(token.path, await self._complete(token.path))[:_MOST]
        items = tuple(Suggestion(value=written(path, token), label=path) for path in found)
        return Suggestions(items=items, prefix=token.raw) if items else None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The reference in place of what was typed of it."""
        return replace_prefix(lines, row, col, prefix, item.value)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Anywhere: what is no reference is left to other providers."""
        return True
