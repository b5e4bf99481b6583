"""Overlays: their placement, their order, and the focus when they open and close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.records import Record
from pi.tui.component import Component, Focusable
from pi.tui.screen.rows import Layer
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
    """Free cells at the edges of the screen."""

    top: int = 0
    right: int = 0
    bottom: int = 0
    left: int = 0


class OverlayOptions(Record):
    """The size, position, visibility and focus behaviour of an overlay."""

    width: Length | None = None
    min_width: int | None = None
    max_height: Length | None = None
    anchor: Anchor = "center"
    offset_x: int = 0
    offset_y: int = 0
    row: Length | None = None
    """Overrides the anchor: a row of the screen, or a share of the free height."""
    col: Length | None = None
    margin: int | Margin = 0
    visible: Callable[[int, int], bool] | None = None
    """Called with the screen's columns and rows before every frame."""
    non_capturing: bool = False
    """Whether the overlay leaves the focus unchanged."""


class Bounds(Record, kw_only=False):
    """The cells that an overlay covers."""

    row: int
    column: int
    width: int
    height: int


class OverlayArea:
    """The part of the screen that an overlay may use."""

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
        """The width of the overlay in columns."""
        options = self._options
        requested = (
            min(DEFAULT_WIDTH, self._columns)
            if options.width is None
            else _cells(options.width, self._size.columns)
        )
        return max(1, min(max(requested, options.min_width or 0), self._columns))

    @property
    def height(self) -> int:
        """The maximum height of the overlay in rows."""
        limit = self._options.max_height
        if limit is None:
            return self._rows
        return max(1, min(_cells(limit, self._size.rows), self._rows))

    def bounds(self, height: int) -> Bounds:
        """Return the position of an overlay with ``height`` rows."""
        options, margin, width = self._options, self._margin, self.width
        down, across = _share(options.anchor, _DOWN), _share(options.anchor, _ACROSS)
        free_rows, free_columns = self._rows - height, self._columns - width
        row = _start(options.row, down, options.offset_y, first=margin.top, free=free_rows)
        column = _start(options.col, across, options.offset_x, first=margin.left, free=free_columns)
        return Bounds(
            # Margins may exceed the screen.
            row=_clamped(row, 0, self._size.rows - height),
            column=_clamped(column, 0, self._size.columns - width),
            width=width,
            height=height,
        )


def _start(requested: Length | None, share: float, offset: int, *, first: int, free: int) -> int:
    """Return the start of an overlay that can move by ``free`` cells from ``first``."""
    if isinstance(requested, int):
        start = requested
    else:
        start = first + (int(free * share) if requested is None else _cells(requested, free))
    return _clamped(start + offset, first, first + free)


def _share(anchor: Anchor, ends: dict[str, float]) -> float:
    """Return 0 for the start of the free space, 1 for its end."""
    return next((share for end, share in ends.items() if end in anchor.split("-")), 0.5)


def _cells(length: Length, total: int) -> int:
    if isinstance(length, int):
        return length
    try:
        return int(total * float(length.removesuffix("%")) / 100)
    except ValueError:
        raise PiError(
            f"Invalid overlay length {length!r}.",
            hint='Use a number of cells or a share like "50%".',
        ) from None


def _clamped(start: int, least: int, most: int) -> int:
    return max(least, min(start, most))


class FocusState:
    """The component that has the focus, if any."""

    def __init__(self) -> None:
        self._target: Component | None = None

    @property
    def target(self) -> Component | None:
        """The component that receives keys."""
        return self._target

    def set(self, target: Component | None) -> None:
        """Move the focus to ``target`` and update ``focused`` of both components."""
        if target is self._target:
            return
        self._notify(is_focused=False)
        self._target = target
        self._notify(is_focused=True)

    def _notify(self, *, is_focused: bool) -> None:
        target: object = self._target
        if isinstance(target, Focusable):
            target.focused = is_focused


class OverlayHandle:
    """The handle of an overlay, returned to its caller."""

    def __init__(self, component: Component, options: OverlayOptions, owner: Overlays) -> None:
        self.component = component
        self.options = options
        self.bounds: Bounds | None = None
        """The cells where it was last drawn; None while it is invisible."""
        self._owner = owner
        self._hidden = False

    @property
    def is_hidden(self) -> bool:
        """Return whether it was hidden with ``set_hidden``."""
        return self._hidden

    @property
    def is_focused(self) -> bool:
        """Return whether it receives keys."""
        return self._owner.focus.target is self.component

    def hide(self) -> None:
        """Close the overlay; the previous focus is restored."""
        self._owner.remove(self)

    def set_hidden(self, hidden: bool) -> None:  # noqa: FBT001 - named as in the specification
        """Hide or show the overlay. One that takes keys returns to the front with the focus."""
        self._hidden = hidden
        if hidden or self.options.non_capturing:
            self._owner.update_focus()
        else:
            self._owner.raise_to_front(self)

    def focus(self) -> None:
        """Bring the overlay to the front and focuse it."""
        self._owner.raise_to_front(self)

    def unfocus(self, target: Component | None = None) -> None:
        """Keep the overlay visible, but moves the focus to ``target`` or to what is below."""
        self._owner.release(self, target)


class Overlays:
    """A stack of overlays; the last one is on top.

    The topmost visible overlay that takes keys has the focus. Without one, the component below that
    had it last has it.
    """

    def __init__(self, focus: FocusState, *, size: Callable[[], Size]) -> None:
        self.focus = focus
        self._size = size
        self._stack: list[OverlayHandle] = []
        self._released: set[int] = set()
        """Overlays that released the focus until they are focused again."""
        self._below: Component | None = None

    def __len__(self) -> int:
        return len(self._stack)

    def show(self, component: Component, options: OverlayOptions | None = None) -> OverlayHandle:
        """Show a component above all others."""
        handle = OverlayHandle(component, options or OverlayOptions(), self)
        self._stack.append(handle)
        if handle.options.non_capturing:
            self._released.add(id(handle))
        self.update_focus()
        return handle

    def set_focus_below(self, target: Component | None) -> None:
        """Set the component that has the focus when no overlay takes it."""
        self._below = target
        self.update_focus()

    def focus_pressed(self, target: Component) -> None:
        """Focuse the component on which the mouse was pressed, in an overlay or below."""
        pressed = next((handle for handle in self._stack if handle.component is target), None)
        if pressed is None:
            self.set_focus_below(target)
        else:
            self.raise_to_front(pressed)

    def remove(self, handle: OverlayHandle) -> None:
        """Remove an overlay; does nothing if it was removed before."""
        if handle in self._stack:
            self._stack.remove(handle)
            self._released.discard(id(handle))
            handle.bounds = None
            self.update_focus()

    def remove_top(self) -> None:
        """Remove the topmost visible overlay."""
        visible = [handle for handle in self._stack if self._is_visible(handle)]
        if visible:
            self.remove(visible[-1])

    def raise_to_front(self, handle: OverlayHandle) -> None:
        """Move an overlay to the top and focuse it."""
        if handle in self._stack:
            self._stack.remove(handle)
            self._stack.append(handle)
            self._released.discard(id(handle))
            self.update_focus()

    def release(self, handle: OverlayHandle, target: Component | None) -> None:
        """Release the focus of an overlay until it is raised again."""
        if handle in self._stack:
            self._released.add(id(handle))
        if target is not None:
            self._below = target
        self.update_focus()

    def update_focus(self) -> None:
        """Update the focus."""
        focusable = [handle for handle in self._stack if self._takes_keys(handle)]
        self.focus.set(focusable[-1].component if focusable else self._below)

    def layers(self) -> list[Layer]:
        """Draw and place the visible overlays. Returns them with the lowest first."""
        layers: list[Layer] = []
        for handle in self._stack:
            handle.bounds = None
            if not self._is_visible(handle):
                continue
            space = OverlayArea(handle.options, self._size())
            lines = handle.component.render(space.width)[: space.height]
            handle.bounds = space.bounds(len(lines))
            layers.append(Layer(handle.bounds.row, handle.bounds.column, space.width, lines))
        return layers

    @property
    def handles(self) -> tuple[OverlayHandle, ...]:
        """All overlays, the topmost last."""
        return tuple(self._stack)

    @property
    def has_visible(self) -> bool:
        """Whether any overlay is visible."""
        return any(map(self._is_visible, self._stack))

    def _is_visible(self, handle: OverlayHandle) -> bool:
        if handle.is_hidden:
            return False
        size = self._size()
        return handle.options.visible is None or handle.options.visible(size.columns, size.rows)

    def _takes_keys(self, handle: OverlayHandle) -> bool:
        return id(handle) not in self._released and self._is_visible(handle)
