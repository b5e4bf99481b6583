"""The images of one terminal, the limit for visible images, and the image widget.

Each image is transmitted once.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO

from pi.base.picture_sizes import PixelSize, media_type, picture_size
from pi.base.pictures import ONE_AT_A_TIME, open_picture
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.tui.images import protocols
from pi.tui.images.protocols import CellExtent, fit
from pi.tui.input.reports import DEFAULT_CELL
from pi.tui.style import Paint, unpainted
from pi.tui.terminal import ImageProtocol
from pi.tui.text.width import truncate_to_width


class ImageBudget:
    """Limits the number of visible images; the most recent ones stay."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """The limit. A lower value takes effect with the next image."""
        self._live: dict[int, None] = {}
        """The ids of visible images, oldest first."""
        self._demoted: set[int] = set()

    def admit(self, number: int) -> list[int]:
        """Add an image. Returns the ids of the images that must be removed."""
        if self.limit < 1:
            self._demoted.add(number)
            return []
        self._live[number] = None
        excess = list(self._live)[: max(len(self._live) - self.limit, 0)]
        for old in excess:
            del self._live[old]
        self._demoted.update(excess)
        return excess

    def is_known(self, number: int) -> bool:
        """Return whether an image was ever admitted."""
        return number in self._live or number in self._demoted

    def is_live(self, number: int) -> bool:
        """Return whether an image may be shown. A removed image does not return."""
        return number in self._live


DEFAULT_LIMIT = 20


class ImageData(Record):
    """The data of an image, with its size and type."""

    data: bytes
    size: PixelSize | None
    """In pixels; None if it cannot be read, in which case the image cannot be shown."""
    mime: str
    name: str = ""


def picture(data: bytes | str, mime: str = "", name: str = "") -> ImageData:
    """Create an image from bytes or base64. The type found in the bytes overrides ``mime``."""
    if isinstance(data, str):
        data = _decoded(data)
    return ImageData(data=data, size=picture_size(data), mime=media_type(data) or mime, name=name)


def as_png(image: ImageData) -> ImageData:
    """Convert an image to PNG, the only format that Kitty accepts.

    The conversion of other formats is slow: call this in a thread before the image is shown. Raises
    ``OSError`` if the image cannot be read.
    """
    if image.mime == "image/png":
        return image
    output = BytesIO()
    with ONE_AT_A_TIME, open_picture(image.data) as opened:
        opened.save(output, "PNG")
    return picture(output.getvalue(), name=image.name)


class Graphics:
    """Draws images on one terminal.

    ``write`` sends to the terminal immediately. Ids start at ``first_id``, preferably a random
    number, because other programs number their images too. ``cell_size`` returns the current size
    of a cell in pixels.
    """

    def __init__(
        self,
        protocol: ImageProtocol | None,
        *,
        write: Callable[[str], None],
        has_placeholders: bool = False,
        limit: int = DEFAULT_LIMIT,
        first_id: int = 1,
        cell_size: Callable[[], tuple[int, int]] = lambda: (
            DEFAULT_CELL.width,
            DEFAULT_CELL.height,
        ),
    ) -> None:
        self.protocol = protocol
        self._cell_size = cell_size
        self._write = write
        self._has_placeholders = has_placeholders
        self._budget = ImageBudget(limit)
        self._next_id = first_id
        self._placed: dict[int, CellExtent] = {}

    @property
    def cell(self) -> PixelSize:
        """The size of a cell in pixels, as reported by the terminal or assumed."""
        return PixelSize(*self._cell_size())

    def show_at_most(self, limit: int) -> None:
        """Set the limit for visible images, starting with the next one."""
        self._budget.limit = limit

    def new_id(self) -> int:
        """Return an unused image id."""
        self._next_id += 1
        return self._next_id - 1

    def may_show(self, image_id: int) -> bool:
        """Return whether an image was not shown yet or is still visible."""
        if self.protocol is None:
            return False
        return not self._budget.is_known(image_id) or self._budget.is_live(image_id)

    def rows(self, image_id: int, image: ImageData, cells: CellExtent) -> list[str] | None:
        """Return rows that show an image in ``cells``; None if it cannot be shown."""
        if not self.may_show(image_id):
            return None
        try:
            if not self._budget.is_known(image_id):
                self._admit(image_id, image)
            if not self._budget.is_live(image_id):
                return None  # the limit is zero
            if self.protocol == "kitty":
                return self._kitty_rows(image_id, cells)
            return _drawn_from_below(self._drawing(image, cells), cells)
        except OSError:  # Pillow cannot read the image: its name is shown instead
            return None

    def _admit(self, image_id: int, image: ImageData) -> None:
        transmission = ""
        if self.protocol == "kitty":
            png = base64.b64encode(as_png(image).data).decode()
            transmission = protocols.transmit(image_id, png)
        for old in self._budget.admit(image_id):
            if self.protocol == "kitty":
                self._write(protocols.delete(old))
            self._placed.pop(old, None)
        if self._budget.is_live(image_id) and transmission:
            self._write(transmission)

    def _kitty_rows(self, image_id: int, cells: CellExtent) -> list[str]:
        if not self._has_placeholders or cells.rows > protocols.MAX_ROWS:
            return [protocols.place(image_id, cells), *[""] * (cells.rows - 1)]
        if self._placed.get(image_id) != cells:
            self._placed[image_id] = cells
            self._write(protocols.place_virtually(image_id, cells))
        return protocols.placeholders(image_id, cells)

    def _drawing(self, image: ImageData, cells: CellExtent) -> str:
        if self.protocol == "iterm2":
            data = base64.b64encode(image.data).decode()
            return protocols.show(data, cells, size=len(image.data), name=image.name)
        pixels = PixelSize(cells.columns * self.cell.width, cells.rows * self.cell.height)
        return protocols.encode(image.data, pixels)


def _drawn_from_below(drawing: str, cells: CellExtent) -> list[str]:
    """Return empty rows; on the last one the cursor moves up, draws, and returns.

    Drawn from the top, an image near the lower edge would scroll the screen. Near the upper edge,
    ``pi.tui.screen.rows`` omits it.
    """
    up = f"\x1b[{cells.rows - 1}A" if cells.rows > 1 else ""
    return [*[""] * (cells.rows - 1), f"\x1b7{up}{drawing}\x1b8"]


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""


class Image:
    """An image, limited to a number of cells.

    If it cannot be shown, a line of text describes it. Once shown it keeps its height, so that the
    content below does not move.
    """

    def __init__(
        self,
        picture: ImageData,
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
        """Rows that the image took when it was last shown."""
        self._drawn: tuple[int, CellExtent | None] | None = None
        """The width and cells for which ``_rows`` were drawn."""
        self._rows: list[str] = []

    def invalidate(self) -> None:
        """Discard cached rows."""
        self._drawn = None

    def render(self, width: int) -> list[str]:
        """Return the image, or the text that replaces it."""
        key = (width, self._cells(width))
        if key != self._drawn:
            self._drawn = key
            self._rows = self._draw(*key)
        return self._rows

    def _cells(self, width: int) -> CellExtent | None:
        """Return the cells that the image takes, if it can be shown."""
        size, graphics = self._picture.size, self._graphics
        if size is None or graphics is None or not graphics.may_show(self._id):
            return None
        return fit(size, graphics.cell, CellExtent(min(width, self._max_columns), self._max_rows))

    def _draw(self, width: int, cells: CellExtent | None) -> list[str]:
        if cells and self._graphics:
            rows = self._graphics.rows(self._id, self._picture, cells)
            if rows is not None:
                self._reserved = len(rows)
                return rows
        text = self._paint(truncate_to_width(_description(self._picture), width, "…"))
        return [text, *[""] * (self._reserved - 1)]


def _description(picture: ImageData) -> str:
    size = f" {picture.size.width}x{picture.size.height}" if picture.size else ""
    name = f"{one_line(picture.name)} " if picture.name else ""
    return f"[Image: {name}[{one_line(picture.mime)}]{size}]"
