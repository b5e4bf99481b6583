"""Reports for the transcript: sections with two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.text.width import pad_to_width, truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_parts

_GAP = 2
_BETWEEN = " · "
_TYPED = "mdCode"
_NARROW = 32
"""Columns below which descriptions are not wrapped beside their names."""
_WIDEST_NAME = 28
"""A longer name has a row of its own: one long usage must not squeeze all descriptions."""


class Section(Record):
    """A titled list of names and descriptions."""

    title: str
    rows: tuple[tuple[str, str], ...]
    paint: str = _TYPED
    """The theme colour of the names: ``mdCode`` for typed text, ``muted`` for labels."""


class SectionsView:
    """Sections one below the other, with the names in one column."""

    def __init__(self, theme: Theme, sections: Sequence[Section]) -> None:
        self._theme = theme
        self._sections = sections

    def invalidate(self) -> None:
        """Do nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """A title and rows for each section.

        Where the column of descriptions is narrow, one that does not fit goes below its name, and
        so do all others of a list of commands or keys.
        """
        inside = max(width - 2, 1)
        names = [visible_width(name) for section in self._sections for name, _ in section.rows]
        usual = [columns for columns in names if columns <= _WIDEST_NAME] or names
        column = min(max(usual, default=0), inside // 2)
        rows: list[str] = []
        for section in self._sections:
            rows += ["", self._theme.heading(section.title)]
            rows += self._section_rows(section, column, inside)
        return [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]

    def _section_rows(self, section: Section, column: int, width: int) -> Iterator[str]:
        paint = self._theme.paint(section.paint)
        margin = " " * (column + _GAP)
        value_width = max(width - len(margin), 1)
        rows = [(one_line(name), one_line(value)) for name, value in section.rows]
        is_long = [
            value_width < _NARROW and visible_width(value) > value_width for _, value in rows
        ]
        is_stacked = section.paint == _TYPED and any(is_long)
        for (name, value), does_not_fit in zip(rows, is_long, strict=True):
            if is_stacked or does_not_fit:
                if name:
                    yield paint(name)
                below = wrap_parts(value, _BETWEEN, max(width - _GAP, 1))
                yield from (" " * _GAP + row for row in below)
                continue
            text = wrap_parts(value, _BETWEEN, value_width)
            if visible_width(name) > column or not text:
                yield paint(name)
            else:
                yield paint(pad_to_width(name, column)) + " " * _GAP + text.pop(0)
            yield from (margin + row for row in text)


# Session information ------------------------------------------------------------------------------
