"""The pictures of one terminal: sends each once, and gives the rows that show it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO

from pi.base.pictures import ONE_AT_A_TIME, open_picture
from pi.base.records import Record
from pi.tui.capabilities import ImageProtocol
from pi.tui.images import iterm, kitty, sixel
from pi.tui.images.budget import ImageBudget
from pi.tui.images.sizes import Cells, Size, media_type, picture_size
from pi.tui.input.replies import DEFAULT_CELL

DEFAULT_LIMIT = 20


class Picture(Record):
    """A picture as it came, with what was read from it."""

    data: bytes
    size: Size | None
    """In pixels; nothing if that cannot be read, and then it cannot be shown."""
    mime: str
    name: str = ""


def picture(data: bytes | str, mime: str = "", name: str = "") -> Picture:
    """A picture from bytes or base64; what the bytes say wins over ``mime``."""
    if isinstance(data, str):
        data = _decoded(data)
    return Picture(data=data, size=picture_size(data), mime=media_type(data) or mime, name=name)


def as_png(shown: Picture) -> Picture:
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
        self._placed: dict[int, Cells] = {}

    @property
    def cell(self) -> Size:
        """The pixels of a cell, as far as the terminal has told."""
        return Size(*self._cell_size())

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

    def rows(self, image_id: int, shown: Picture, cells: Cells) -> list[str] | None:
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

    def _admit(self, image_id: int, shown: Picture) -> None:
        sending = ""
        if self.protocol == "kitty":
            png = base64.b64encode(as_png(shown).data).decode()
            sending = kitty.transmit(image_id, png)
        for old in self._budget.admit(image_id):
            if self.protocol == "kitty":
                self._write(kitty.delete(old))
            self._placed.pop(old, None)
        if self._budget.is_live(image_id) and sending:
            self._write(sending)

    def _kitty_rows(self, image_id: int, cells: Cells) -> list[str]:
        if not self._has_placeholders or cells.rows > kitty.MOST_ROWS:
            return [kitty.place(image_id, cells), *[""] * (cells.rows - 1)]
        if self._placed.get(image_id) != cells:
            self._placed[image_id] = cells
            self._write(kitty.place_virtually(image_id, cells))
        return kitty.placeholders(image_id, cells)

    def _drawing(self, shown: Picture, cells: Cells) -> str:
        if self.protocol == "iterm2":
            data = base64.b64encode(shown.data).decode()
            return iterm.show(data, cells, size=len(shown.data), name=shown.name)
        pixels = Size(cells.columns * self.cell.width, cells.rows * self.cell.height)
        return sixel.encode(shown.data, pixels)


def _drawn_from_below(drawing: str, cells: Cells) -> list[str]:
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
