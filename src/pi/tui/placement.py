"""Where an overlay goes on the screen. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.records import Record
from pi.tui.terminal import Size

Anchor: TypeAlias = Literal[
    "center",
    "top-left",
    "top-right",
    "bottom-left",
    "bottom-right",
    "top-center",
    "bottom-center",
    "left-center",
    "right-center",
]
Length: TypeAlias = int | str
"""Cells, or a share of the screen such as ``"50%"``."""

DEFAULT_WIDTH = 80

_DOWN = {"top": 0.0, "bottom": 1.0}
_ACROSS = {"left": 0.0, "right": 1.0}


class Margin(Record):
    """Cells at the edges of the screen that an overlay leaves free."""

    top: int = 0
    right: int = 0
    bottom: int = 0
    left: int = 0


class OverlayOptions(Record):
    """How large an overlay is, where it stands, when it is seen and whether it takes the keys."""

    width: Length | None = None
    min_width: int | None = None
    max_height: Length | None = None
    anchor: Anchor = "center"
    offset_x: int = 0
    offset_y: int = 0
    row: Length | None = None
    """Instead of the anchor: a row of the screen, or a share of the height that is left free."""
    col: Length | None = None
    margin: int | Margin = 0
    visible: Callable[[int, int], bool] | None = None
    """Asked with the screen's columns and rows before every frame."""
    non_capturing: bool = False
    """Leaves the focus where it is."""


class Bounds(Record, kw_only=False):
    """The cells that an overlay covers."""

    row: int
    column: int
    width: int
    height: int


class Space:
    """The part of the screen that an overlay may take."""

    def __init__(self, options: OverlayOptions, size: Size) -> None:
        self._options = options
        self._size = size
        margin = options.margin
        self._margin = (
            Margin(top=margin, right=margin, bottom=margin, left=margin)
            if isinstance(margin, int)
            else margin
        )
        self._columns = max(1, size.columns - self._margin.left - self._margin.right)
        self._rows = max(1, size.rows - self._margin.top - self._margin.bottom)

    @property
    def width(self) -> int:
        """Columns for the overlay."""
        options = self._options
        wanted = (
            min(DEFAULT_WIDTH, self._columns)
            if options.width is None
            else _cells(options.width, self._size.columns)
        )
        return max(1, min(max(wanted, options.min_width or 0), self._columns))

    @property
    def height(self) -> int:
        """The most rows that the overlay may have."""
        limit = self._options.max_height
        if limit is None:
            return self._rows
        return max(1, min(_cells(limit, self._size.rows), self._rows))

    def bounds(self, height: int) -> Bounds:
        """The place of an overlay that turned out ``height`` rows high."""
        options, margin, width = self._options, self._margin, self.width
        down, across = _share(options.anchor, _DOWN), _share(options.anchor, _ACROSS)
        below, beside = self._rows - height, self._columns - width
        row = _start(options.row, down, options.offset_y, first=margin.top, free=below)
        column = _start(options.col, across, options.offset_x, first=margin.left, free=beside)
        return Bounds(
            # Margins may be larger than the screen.
            row=_clamped(row, 0, self._size.rows - height),
            column=_clamped(column, 0, self._size.columns - width),
            width=width,
            height=height,
        )


def _start(wanted: Length | None, share: float, offset: int, *, first: int, free: int) -> int:
    """Where an overlay begins that may move by ``free`` cells from ``first`` on."""
    if isinstance(wanted, int):
        place = wanted
    else:
        place = first + (int(free * share) if wanted is None else _cells(wanted, free))
    return _clamped(place + offset, first, first + free)


def _share(anchor: Anchor, ends: dict[str, float]) -> float:
    """0 at the beginning of the free space, 1 at its end."""
    return next((share for end, share in ends.items() if end in anchor.split("-")), 0.5)


def _cells(length: Length, whole: int) -> int:
    if isinstance(length, int):
        return length
    try:
        return int(whole * float(length.removesuffix("%")) / 100)
    except ValueError:
        raise PiError(
            f"{length!r} is no length of an overlay.", hint='Give cells or a share like "50%".'
        ) from None


def _clamped(place: int, least: int, most: int) -> int:
    return max(least, min(place, most))
