"""Lists with titles, in which everything has a name and a few words: keys, commands, facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.text.slicing import pad_to_width, truncate_to_width
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text

_GAP = 2


class Section(Record):
    """A list with a title; each row says what something is called and what it does."""

    title: str
    rows: tuple[tuple[str, str], ...]


class SectionsView:
    """Sections one below the other, with what things are called in one column."""

    def __init__(self, theme: Theme, sections: Sequence[Section]) -> None:
        self._theme = theme
        self._sections = sections

    def invalidate(self) -> None:
        """Nothing is remembered."""

    def render(self, width: int) -> list[str]:
        """A title and the rows of each; what does not fit beside its name goes below it."""
        inside = max(width - 2, 1)
        names = [visible_width(name) for section in self._sections for name, _ in section.rows]
        column = min(max(names, default=0), inside // 2)
        rows: list[str] = []
        for section in self._sections:
            rows += ["", self._theme.paint("mdHeading", bold=True)(section.title)]
            rows += self._listed(section, column, inside)
        return [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]

    def _listed(self, section: Section, column: int, width: int) -> Iterator[str]:
        paint = self._theme.paint("mdCode")
        margin = " " * (column + _GAP)
        for name, what in section.rows:
            name = one_line(name)
            told = wrap_text(one_line(what), max(width - len(margin), 1)) if what else []
            if visible_width(name) > column or not told:
                yield paint(name)
            else:
                yield paint(pad_to_width(name, column)) + " " * _GAP + told.pop(0)
            yield from (margin + row for row in told)
