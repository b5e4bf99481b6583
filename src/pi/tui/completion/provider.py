"""What an editor asks for suggestions, and what it gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pi.base.records import Record


class Suggestion(Record):
    """Something to insert: ``value`` goes into the text, the rest is for the reader."""

    value: str
    label: str = ""
    description: str = ""


class Suggestions(Record):
    """What fits, best first, and the text before the cursor that the choice replaces."""

    items: tuple[Suggestion, ...]
    prefix: str


class Completed(Record):
    """A text in which a suggestion was taken, and where the cursor is then."""

    lines: tuple[str, ...]
    row: int
    col: int


class Provider(Protocol):
    """Knows what can be completed. Lines and columns count from zero."""

    @property
    def trigger_characters(self) -> str:
        """Characters that, typed at the start of a word, ask for suggestions by themselves."""
        ...

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """What fits at a place, or nothing. It is cancelled when the answer is no longer wanted.

        ``force`` says that it was asked for, by Tab, and not just because something was typed.
        """
        ...

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """The text with a suggestion in place of its prefix."""
        ...

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Whether Tab completes here, rather than doing something else."""
        ...


def replace_prefix(lines: Sequence[str], row: int, col: int, prefix: str, text: str) -> Completed:
    """The text with the ``prefix`` before the cursor replaced; nothing else of it changes."""
    line = lines[row]
    head = line[: col - len(prefix)] + text
    return Completed(
        lines=(*lines[:row], head + line[col:], *lines[row + 1 :]), row=row, col=len(head)
    )
