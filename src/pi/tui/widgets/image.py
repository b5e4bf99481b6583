"""A picture, or a line that says what it would show."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.tui.images.graphics import Graphics, Picture
from pi.tui.images.sizes import Cells, fit
from pi.tui.style import Paint, unpainted
from pi.tui.text.slicing import truncate_to_width


class Image:
    """A picture, no larger than so many cells.

    Where it cannot be shown there is a line of text instead. Once it has been shown it keeps its
    height, so that what stands below it stays where it is.
    """

    def __init__(
        self,
        picture: Picture,
        graphics: Graphics | None = None,
        *,
        max_columns: int = 60,
        max_rows: int = 24,
        paint: Paint = unpainted,
    ) -> None:
        self._picture = picture
        self._graphics = graphics
        self._max_columns = max_columns
        self._max_rows = max_rows
        self._paint = paint
        self._id = graphics.new_id() if graphics else 0
        self._reserved = 0
        """Rows that the picture took when it was last shown."""
        self._drawn: tuple[int, Cells | None] | None = None
        """The width and the cells for which ``_rows`` were made."""
        self._rows: list[str] = []

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._drawn = None

    def render(self, width: int) -> list[str]:
        """The picture, or the text in its place."""
        wanted = (width, self._cells(width))
        if wanted != self._drawn:
            self._drawn = wanted
            self._rows = self._draw(*wanted)
        return self._rows

    def _cells(self, width: int) -> Cells | None:
        """The cells that the picture takes, if it can be shown at all."""
        size, graphics = self._picture.size, self._graphics
        if size is None or graphics is None or not graphics.may_show(self._id):
            return None
        return fit(size, graphics.cell, Cells(min(width, self._max_columns), self._max_rows))

    def _draw(self, width: int, cells: Cells | None) -> list[str]:
        if cells and self._graphics:
            rows = self._graphics.rows(self._id, self._picture, cells)
            if rows is not None:
                self._reserved = len(rows)
                return rows
        text = self._paint(truncate_to_width(_description(self._picture), width, "…"))
        return [text, *[""] * (self._reserved - 1)]


def _description(picture: Picture) -> str:
    size = f" {picture.size.width}x{picture.size.height}" if picture.size else ""
    name = f"{one_line(picture.name)} " if picture.name else ""
    return f"[Image: {name}[{one_line(picture.mime)}]{size}]"
