"""The pictures of one terminal: sends each once, and gives the rows that show it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO

from pi.base.pictures import ONE_AT_A_TIME, open_picture
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.tui.images import protocols
from pi.tui.images.protocols import CellExtent, PixelSize, fit, media_type, picture_size
from pi.tui.input.reports import DEFAULT_CELL
from pi.tui.style import Paint, unpainted
from pi.tui.terminal import ImageProtocol
from pi.tui.text.width import truncate_to_width

# How many pictures stay on the screen at a time.


class ImageBudget:
    """Keeps the most recent pictures and says which must go."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """How many; a lower one counts from the next picture on."""
        self._live: dict[int, None] = {}
        """Numbers of the pictures that are shown, oldest first."""
        self._demoted: set[int] = set()

    def admit(self, number: int) -> list[int]:
        """Make room for a picture that is shown for the first time; those that go for it."""
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
        """Whether a picture was admitted before, whatever became of it."""
        return number in self._live or number in self._demoted

    def is_live(self, number: int) -> bool:
        """Whether a picture may be shown; one that had to go does not come back."""
        return number in self._live


DEFAULT_LIMIT = 20


class ImageData(Record):
    """A picture as it came, with what was read from it."""

    data: bytes
    size: PixelSize | None
    """In pixels; nothing if that cannot be read, and then it cannot be shown."""
    mime: str
    name: str = ""


def picture(data: bytes | str, mime: str = "", name: str = "") -> ImageData:
    """A picture from bytes or base64; what the bytes say wins over ``mime``."""
    if isinstance(data, str):
        data = _decoded(data)
    return ImageData(data=data, size=picture_size(data), mime=media_type(data) or mime, name=name)


def as_png(shown: ImageData) -> ImageData:
    """The picture as a PNG, which is all that Kitty takes.

    Takes a while for anything else: call it in a thread before the picture is shown. Raises
    ``OSError`` if the picture cannot be read.
    """
    if shown.mime == "image/png":
        return shown
    output = BytesIO()
    with ONE_AT_A_TIME, open_picture(shown.data) as opened:
        opened.save(output, "PNG")
    return picture(output.getvalue(), name=shown.name)


class Graphics:
    """What draws pictures on one terminal.

    ``write`` sends to the terminal at once. Ids begin at ``first_id``, best a random one: other
    programs number their pictures too. ``cell_size`` tells how many pixels a cell has by now.
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
        """The pixels of a cell, as far as the terminal has told."""
        return PixelSize(*self._cell_size())

    def show_at_most(self, limit: int) -> None:
        """Keep this many pictures on the screen, from the next one on."""
        self._budget.limit = limit

    def new_id(self) -> int:
        """A number for a picture, unlike all others of this terminal."""
        self._next_id += 1
        return self._next_id - 1

    def may_show(self, image_id: int) -> bool:
        """Whether a picture has not been shown yet, or still is."""
        if self.protocol is None:
            return False
        return not self._budget.is_known(image_id) or self._budget.is_live(image_id)

    def rows(self, image_id: int, shown: ImageData, cells: CellExtent) -> list[str] | None:
        """Rows that show a picture in ``cells``; nothing if it must not or cannot be shown."""
        if not self.may_show(image_id):
            return None
        try:
            if not self._budget.is_known(image_id):
                self._admit(image_id, shown)
            if not self._budget.is_live(image_id):
                return None  # the budget is zero
            if self.protocol == "kitty":
                return self._kitty_rows(image_id, cells)
            return _drawn_from_below(self._drawing(shown, cells), cells)
        except OSError:  # a picture that Pillow cannot read is shown as its name
            return None

    def _admit(self, image_id: int, shown: ImageData) -> None:
        sending = ""
        if self.protocol == "kitty":
            png = base64.b64encode(as_png(shown).data).decode()
            sending = protocols.transmit(image_id, png)
        for old in self._budget.admit(image_id):
            if self.protocol == "kitty":
                self._write(protocols.delete(old))
            self._placed.pop(old, None)
        if self._budget.is_live(image_id) and sending:
            self._write(sending)

    def _kitty_rows(self, image_id: int, cells: CellExtent) -> list[str]:
        if not self._has_placeholders or cells.rows > protocols.MAX_ROWS:
            return [protocols.place(image_id, cells), *[""] * (cells.rows - 1)]
        if self._placed.get(image_id) != cells:
            self._placed[image_id] = cells
            self._write(protocols.place_virtually(image_id, cells))
        return protocols.placeholders(image_id, cells)

    def _drawing(self, shown: ImageData, cells: CellExtent) -> str:
        if self.protocol == "iterm2":
            data = base64.b64encode(shown.data).decode()
            return protocols.show(data, cells, size=len(shown.data), name=shown.name)
        pixels = PixelSize(cells.columns * self.cell.width, cells.rows * self.cell.height)
        return protocols.encode(shown.data, pixels)


def _drawn_from_below(drawing: str, cells: CellExtent) -> list[str]:
    """Empty rows; on the last one the cursor goes up, draws and comes back.

    Drawn from above, a picture near the lower edge would scroll the screen. Near the upper one
    ``pi.tui.screen.rows`` leaves it out.
    """
    up = f"\x1b[{cells.rows - 1}A" if cells.rows > 1 else ""
    return [*[""] * (cells.rows - 1), f"\x1b7{up}{drawing}\x1b8"]


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""


# A picture, or a line that says what it would show.


class Image:
    """A picture, no larger than so many cells.

    Where it cannot be shown there is a line of text instead. Once it has been shown it keeps its
    height, so that what stands below it stays where it is.
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
        """Rows that the picture took when it was last shown."""
        self._drawn: tuple[int, CellExtent | None] | None = None
        """The width and the cells for which ``_rows`` were made."""
        self._rows: list[str] = []

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._drawn = None

    def render(self, width: int) -> list[str]:
        """The picture, or the text in its place."""
        key = (width, self._cells(width))
        if key != self._drawn:
            self._drawn = key
            self._rows = self._draw(*key)
        return self._rows

    def _cells(self, width: int) -> CellExtent | None:
        """The cells that the picture takes, if it can be shown at all."""
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
