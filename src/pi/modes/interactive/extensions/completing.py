"""What extensions suggest, before everything else that could be meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pi.tui.completion.combined import CombinedProvider
from pi.tui.completion.provider import (
    Completed,
    Provider,
    Suggestion,
    Suggestions,
    replace_prefix,
)

Failed: TypeAlias = Callable[[Exception], None]


class Completing:
    """The providers of extensions and the usual one, as one; implements ``Provider``."""

    def __init__(self, failed: Failed) -> None:
        self._failed = failed
        self._usual: tuple[Provider, ...] = ()
        self._foreign: list[_Foreign] = []
        self._all = CombinedProvider(())

    def complete_with(self, usual: Provider) -> None:
        """Say what is suggested when no extension knows something."""
        self._usual = (usual,)
        self._combine()

    def add(self, provider: object) -> Callable[[], None]:
        """Ask one more extension; gives what ends that."""
        foreign = _Foreign(provider, self._broken)
        self._foreign.append(foreign)
        self._combine()
        return lambda: self._remove(foreign)

    @property
    def trigger_characters(self) -> str:
        """Those of all."""
        return self._all.trigger_characters

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """The first answer."""
        return await self._all.get_suggestions(lines, row, col, force=force)

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """What the one that answered makes of its suggestion."""
        return self._all.apply_completion(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Whether all agree that Tab completes here."""
        return self._all.should_trigger_file_completion(lines, row, col)

    def _broken(self, foreign: _Foreign, problem: Exception) -> None:
        self._remove(foreign)
        self._failed(problem)

    def _remove(self, foreign: _Foreign) -> None:
        if foreign in self._foreign:
            self._foreign.remove(foreign)
            self._combine()

    def _combine(self) -> None:
        self._all = CombinedProvider((*self._foreign, *self._usual))


class _Foreign:
    """A provider of an extension: what it leaves out is the usual, and it fails once at most."""

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
            found = await self._provider.get_suggestions(lines, row, col, force=force)
            return as_suggestions(found)
        except Exception as problem:
            self._broken(self, problem)
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
        except Exception as problem:
            self._broken(self, problem)
            return usual

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        decide = getattr(self._provider, "should_trigger_file_completion", None)
        try:
            return decide is None or bool(decide(lines, row, col))
        except Exception as problem:
            self._broken(self, problem)
            return True


def as_suggestions(found: Any) -> Suggestions | None:
    """What an extension found: a record, or a dict with ``items`` (texts or dicts) and a prefix."""
    if found is None or isinstance(found, Suggestions):
        return found
    items = tuple(_suggestion(item) for item in found["items"])
    return Suggestions(items=items, prefix=found["prefix"]) if items else None


def _suggestion(item: Any) -> Suggestion:
    if isinstance(item, Suggestion):
        return item
    return Suggestion(**item) if isinstance(item, Mapping) else Suggestion(value=str(item))
