"""Drawables of extensions: their rows always fit the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.base.terminal_text import sanitise_keeping_style
from pi.coding.port.drawing import Drawable
from pi.tui.component import CURSOR_MARKER, Area, wants_key_release
from pi.tui.screen.rows import permitted
from pi.tui.text.width import expand_tabs, truncate_to_width, visible_width

if TYPE_CHECKING:
    from pi.tui.mouse import MouseEvent, MouseResult


Failed: TypeAlias = Callable[[Exception], None]
"""Called when a component cannot be drawn or cannot handle a key."""


class SafeComponent:
    """A drawable whose rows are truncated to the width; ``most`` limits their number."""

    def __init__(self, drawable: Drawable, most: Callable[[], int] | None = None) -> None:
        self._drawable = drawable
        self._most = most
        self._rows: list[str] = []

    def invalidate(self) -> None:
        """Clear its cache, if it has one."""
        forget = getattr(self._drawable, "invalidate", None)
        if forget is not None:
            forget()

    def render(self, width: int) -> list[str]:
        """Its rows; the same list as long as nothing changes."""
        rows = fitting(self._drawable.render(width), width)
        if self._most is not None and (hidden := len(rows) - self._most()) > 0:
            rows[-hidden - 1 :] = fitting([f"… {hidden + 1} more"], width)
        if rows != self._rows:
            self._rows = rows
        return self._rows

    def areas_at(self, row: int) -> list[Area]:
        """The areas of its children, if it has any."""
        areas_at = getattr(self._drawable, "areas_at", None)
        return list(areas_at(row)) if areas_at is not None else []

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Pass a mouse event, if it handles them."""
        handle: Callable[[MouseEvent], MouseResult | None] | None
        handle = getattr(self._drawable, "handle_mouse", None)
        return None if handle is None else handle(event)


class SafeLines:
    """Fixed lines; styles are allowed, other control sequences are removed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = [sanitise_keeping_style(str(line)) for line in lines]

    def render(self, width: int) -> Sequence[str]:
        """The lines."""
        return self._lines


class SafeInteractive(SafeComponent):
    """A component that handles keys. Removed after its first exception, which is reported."""

    def __init__(self, component: Drawable, failed: Failed) -> None:
        super().__init__(component)
        self.wants_key_release = wants_key_release(component)
        self._component: Any = component
        self._failed = failed

    @property
    def focused(self) -> bool:
        """Whether it shows a cursor."""
        return bool(getattr(self._component, "focused", False))

    @focused.setter
    def focused(self, focused: bool) -> None:
        if hasattr(self._component, "focused"):
            self._component.focused = focused

    def handle_input(self, data: str) -> None:
        """Pass a key, if it handles them."""
        handle = getattr(self._component, "handle_input", None)
        if handle is None:
            return
        try:
            handle(data)
        except Exception as error:
            self._failed(error)

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Pass a mouse event, if it handles them."""
        try:
            return super().handle_mouse(event)
        except Exception as error:
            self._failed(error)
            return None

    def render(self, width: int) -> list[str]:
        """Its rows; none after a failure."""
        try:
            return super().render(width)
        except Exception as error:
            self._failed(error)
            return []


def fitting(lines: Iterable[str], width: int) -> list[str]:
    """Split lines into rows, without tabs, truncated to the width.

    Only styles, links, images and the cursor marker are kept: other control sequences could erase
    the screen or change the window title.
    """
    rows = [expand_tabs(_harmless(row)) for line in lines for row in line.split("\n")]
    return [row if visible_width(row) <= width else truncate_to_width(row, width) for row in rows]


def _harmless(row: str) -> str:
    return CURSOR_MARKER.join(map(permitted, row.split(CURSOR_MARKER)))


# Rows below the footer ----------------------------------------------------------------------------
