"""Completion by extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pi.tui.completion.provider import Completed, Provider, Suggestion, Suggestions, replace_prefix
from pi.tui.completion.sources import CombinedProvider

CompletionFailed: TypeAlias = Callable[[Exception], None]


class ExtensionCompletion:
    """Combines the providers of extensions, and then the built-in one, in ``provider``."""

    def __init__(self, failed: CompletionFailed) -> None:
        self._failed = failed
        self._usual: tuple[Provider, ...] = ()
        self._foreign: list[_Foreign] = []
        self.provider = CombinedProvider(())

    def complete_with(self, usual: Provider) -> None:
        """Set the provider used when no extension has a suggestion."""
        self._usual = (usual,)
        self._combine()

    def add(self, provider: object) -> Callable[[], None]:
        """Add a provider; returns a function that removes it."""
        foreign = _Foreign(provider, self._broken)
        self._foreign.append(foreign)
        self._combine()
        return lambda: self._remove(foreign)

    def _broken(self, foreign: _Foreign, error: Exception) -> None:
        self._remove(foreign)
        self._failed(error)

    def _remove(self, foreign: _Foreign) -> None:
        if foreign in self._foreign:
            self._foreign.remove(foreign)
            self._combine()

    def _combine(self) -> None:
        self.provider.replace((*self._foreign, *self._usual))


class _Foreign:
    """A provider of an extension; missing members use the built-in one; removed after a failure."""

    def __init__(self, provider: object, broken: Callable[[_Foreign, Exception], None]) -> None:
        self._provider: Any = provider
        self._broken = broken

    @property
    def trigger_characters(self) -> str:
        return "".join(getattr(self._provider, "trigger_characters", ""))

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        try:
            suggestions = await self._provider.get_suggestions(lines, row, col, force=force)
            return as_suggestions(suggestions)
        except Exception as error:
            self._broken(self, error)
            return None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        usual = replace_prefix(lines, row, col, prefix, item.value)
        apply = getattr(self._provider, "apply_completion", None)
        if apply is None:
            return usual
        try:
            done = apply(lines, row, col, item, prefix)
            return Completed(lines=tuple(done.lines), row=done.row, col=done.col)
        except Exception as error:
            self._broken(self, error)
            return usual

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        decide = getattr(self._provider, "should_trigger_file_completion", None)
        try:
            return decide is None or bool(decide(lines, row, col))
        except Exception as error:
            self._broken(self, error)
            return True


def as_suggestions(suggestions: Any) -> Suggestions | None:
    """Convert suggestions: a record, or a dict with ``items`` (texts or dicts) and a prefix."""
    if suggestions is None or isinstance(suggestions, Suggestions):
        return suggestions
    items = tuple(_suggestion(item) for item in suggestions["items"])
    return Suggestions(items=items, prefix=suggestions["prefix"]) if items else None


def _suggestion(item: Any) -> Suggestion:
    if isinstance(item, Suggestion):
        return item
    return Suggestion(**item) if isinstance(item, Mapping) else Suggestion(value=str(item))
