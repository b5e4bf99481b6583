"""The protocol between an editor and a completion provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pi.base.records import Record


class Suggestion(Record):
    """A text to insert. ``value`` is inserted; the other fields are shown."""

    value: str
    label: str = ""
    description: str = ""


class Suggestions(Record):
    """Matching suggestions, best first, and the prefix before the cursor that a choice replaces."""

    items: tuple[Suggestion, ...]
    prefix: str


class Completed(Record):
    """The text after a suggestion was applied, with the new cursor position."""

    lines: tuple[str, ...]
    row: int
    col: int


class Provider(Protocol):
    """Provides suggestions. Rows and columns count from zero."""

    @property
    def trigger_characters(self) -> str:
        """Characters that trigger a request when typed at the start of a word."""
        ...

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """Return the suggestions at a position, or None.

        Cancelled when a newer request replaces it.

        ``force`` is true if the user pressed Tab, and false if the request was triggered by typing.
        """
        ...

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """Return the text with ``prefix`` replaced by a suggestion."""
        ...

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Return whether Tab completes at this position."""
        ...


def replace_prefix(lines: Sequence[str], row: int, col: int, prefix: str, text: str) -> Completed:
    """Return the text with the ``prefix`` before the cursor replaced. The rest is unchanged."""
    line = lines[row]
    head = line[: col - len(prefix)] + text
    return Completed(
        lines=(*lines[:row], head + line[col:], *lines[row + 1 :]), row=row, col=len(head)
    )
