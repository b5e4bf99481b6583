"""Paints the alternate screen and routes mouse events to the components.

The main screen is restored unchanged at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence

from pi.base.records import replace
from pi.tui.component import Area, Component
from pi.tui.display import Leave, NewPage
from pi.tui.images import protocols
from pi.tui.input.reports import MouseReport
from pi.tui.mouse import MouseEvent, MouseResult, MouseTarget, MouseType
from pi.tui.overlays import OverlayHandle
from pi.tui.screen.emitters import BEGIN_SYNC, END_SYNC, HIDE_CURSOR, SHOW_CURSOR
from pi.tui.screen.pane_match import PaneText
from pi.tui.screen.rows import (
    WRAP_OFF,
    WRAP_ON,
    Caret,
    Layer,
    RowPrinter,
    composite,
    find_caret,
    window_rows,
    without_markers,
)
from pi.tui.screen.screen import Repaint
from pi.tui.stacks import VStack
from pi.tui.terminal import Size

log = logging.getLogger(__name__)


def targets_at(top: Area, x: int, y: int) -> list[Area]:
    """Return all components under a cell, innermost first, with their areas on the screen.

    Only components that report the areas of their children are searched.
    """
    if not top.covers(x, y):
        return []
    targets: list[Area] = []
    areas_at: Callable[[int], list[Area]] | None = getattr(top.component, "areas_at", None)
    for area in areas_at(y - top.row) if areas_at is not None else ():
        child = replace(area, row=top.row + area.row, column=top.column + area.column)
        targets += targets_at(child, x, y)
    return [*targets, top]


class MouseRouter:
    """Delivers mouse reports to components and tracks which one captured the mouse.

    A press and a release on the same cell are a click. Consecutive clicks on the same cell are
    counted as long as the mouse does not move.
    """

    def __init__(self) -> None:
        self._captured: Area | None = None
        self._pressed: tuple[int, int] | None = None
        self._clicks = 0
        self._clicked: tuple[int, int] | None = None

    def route(
        self, report: MouseReport, targets: list[Area]
    ) -> tuple[MouseResult, Component | None]:
        """Deliver a report. Returns the result and the component that handled it."""
        kinds: list[MouseType] = [report.action]
        if report.action == "press":
            self._pressed = (report.x, report.y)
        elif report.action == "release" and self._pressed == (report.x, report.y):
            kinds.append("click")
            self._clicks = self._clicks + 1 if self._clicked == self._pressed else 1
            self._clicked = self._pressed
        elif report.action in ("drag", "wheel", "move"):
            self._pressed = self._clicked = None
        answer, owner = MouseResult(), None
        for kind in kinds:
            result, handler = self._deliver(kind, report, targets)
            if handler is not None:
                answer = MouseResult(
                    handled=True,
                    focus=answer.focus or result.focus,
                    render=answer.render or result.render,
                )
                owner = handler
        if report.action == "release":
            self._captured = None
        return answer, owner

    def _deliver(
        self, kind: MouseType, report: MouseReport, targets: list[Area]
    ) -> tuple[MouseResult, Component | None]:
        for target in [self._captured] if self._captured else targets:
            component: object = target.component
            if not isinstance(component, MouseTarget):
                continue
            clicks = self._clicks if kind == "click" else 0
            answer = component.handle_mouse(_event_for(target, kind, report, clicks))
            if answer is not None and answer.handled:
                if answer.capture:
                    self._captured = target
                return answer, target.component
        return MouseResult(), None


def _event_for(area: Area, kind: MouseType, report: MouseReport, clicks: int) -> MouseEvent:
    """Convert a report to the coordinates of an area."""
    return MouseEvent(
        type=kind,
        button=report.button,
        x=report.x - area.column,
        y=report.y - area.row,
        screen_x=report.x,
        screen_y=report.y,
        width=area.width,
        height=area.height,
        shift=report.shift,
        alt=report.alt,
        ctrl=report.ctrl,
        wheel_delta=report.wheel_delta,
        click_count=clicks,
    )


_ALTERNATE_ON, _ALTERNATE_OFF = "\x1b[?1049h", "\x1b[?1049l"
_MOUSE = (1000, 1002, 1003, 1004, 1006)
"""Buttons, dragging, motion, window focus, and SGR reports, which have no coordinate limit."""
_CLEAR = "\x1b[2J\x1b[H"


class FullscreenDisplay:
    """Components on the alternate screen, as high as the terminal.

    ``exit_rows`` returns the rows to print on the main screen at the end: the transcript, a hint,
    or nothing.
    """

    def __init__(self, size: Size, *, strict: bool = False) -> None:
        self.root = VStack()
        self.synchronized = False
        self.show_cursor = False
        self.exit_rows: Callable[[int], list[str]] | None = None
        self._strict = strict
        self._size = size
        self._drawn: list[str] = []
        self._painted: list[str | None] = []
        self._images: set[int] = set()
        """Images that stay on the screen until they are removed."""
        self._caret: Caret | None = None
        self._router = MouseRouter()
        self._is_open = False

    def opening(self) -> str:
        """Enter the alternate screen and enable mouse reports."""
        self._is_open = True
        self._reset_painted()
        mouse = "".join(f"\x1b[?{mode}h" for mode in _MOUSE)
        return f"{_ALTERNATE_ON}{WRAP_OFF}{mouse}{_CLEAR}"

    def closing(self, leave: Leave = "for good") -> str:
        """Leave the alternate screen if it was entered. At exit, print the final rows."""
        if not self._is_open:
            return ""
        self._is_open = False
        mouse = "".join(f"\x1b[?{mode}l" for mode in reversed(_MOUSE))
        is_over = leave == "for good"
        rows = self.exit_rows(self._size.columns) if self.exit_rows and is_over else []
        printer = RowPrinter(self._size.columns)
        final = "".join(f"{printer.render(without_markers(row))}\r\n" for row in rows)
        return f"{mouse}{WRAP_ON}{_ALTERNATE_OFF}{final}"

    def draw(self, changed: Collection[Component] | None) -> None:
        """Draw the rows that fit the screen."""
        self._drawn = self.root.render_in(self._size.columns, self._size.rows)

    def paint(self, layers: Sequence[Layer], *, repaint: Repaint) -> str:
        """Return the bytes of the rows that changed, or of all rows."""
        width, height = self._size.columns, self._size.rows
        if repaint is not Repaint.CHANGES:
            self._reset_painted()
        rows = self._drawn
        if layers:
            rows = composite(rows, layers, width=width)[:height]
        caret = find_caret(rows)
        rows = window_rows(rows)
        output = self._changes(rows) + self._removed_images(rows)
        self._painted = list(rows)
        output += self._cursor(caret, moved=bool(output))
        if not output:
            return ""
        log.debug("fullscreen (repaint %s): %d rows at %d columns", repaint.value, height, width)
        return f"{BEGIN_SYNC}{output}{END_SYNC}" if self.synchronized else output

    def resize(self, size: Size, pane: PaneText | None = None) -> Repaint:
        """Change the size. The whole screen is painted."""
        self._size = size
        return Repaint.WINDOW

    def acknowledge_frame(self, size: Size) -> None:
        """Do nothing: a resize repaints the whole screen, and there is no history."""

    def resume(self, size: Size) -> Repaint:
        """Like a resize."""
        return self.resize(size)

    def reset(self, page: NewPage | None = None) -> Repaint:
        """Paint the whole screen."""
        return Repaint.WINDOW

    def handle_mouse(
        self, report: MouseReport, overlays: Sequence[OverlayHandle]
    ) -> Component | None:
        """Deliver a report to the component under the mouse, overlays first."""
        targets: list[Area] = []
        for handle in reversed(overlays):
            if bounds := handle.bounds:
                cells = (bounds.row, bounds.column, bounds.width, bounds.height)
                targets += targets_at(Area(handle.component, *cells), report.x, report.y)
        if not targets:  # components covered by an overlay do not receive the event
            root_area = Area(self.root, 0, 0, self._size.columns, self._size.rows)
            targets = targets_at(root_area, report.x, report.y) + self._scroll_target(report)
        answer, component = self._router.route(report, targets)
        return component if answer.focus else None

    def _scroll_target(self, report: MouseReport) -> list[Area]:
        """Return the view that the wheel scrolls if no component under the mouse scrolls."""
        if report.action != "wheel":
            return []
        return [area for area in self.root.areas if getattr(area.component, "is_primary", False)]

    def _reset_painted(self) -> None:
        self._painted = []
        self._caret = None

    def _changes(self, rows: Sequence[str]) -> str:
        printer = RowPrinter(self._size.columns, strict=self._strict)
        output: list[str] = []
        for number, row in enumerate(rows):
            old = self._painted[number] if number < len(self._painted) else None
            if old == row:
                continue
            column, text = (0, printer.render(row)) if old is None else printer.change(old, row)
            output.append(f"\x1b[{number + 1};{column + 1}H{text}")
        return "".join(output)

    def _removed_images(self, rows: Sequence[str]) -> str:
        """Return the sequences that hide images on no row any more. Text does not cover them."""
        before, self._images = self._images, protocols.placed(rows)
        return "".join(map(protocols.hide, sorted(before - self._images)))

    def _cursor(self, caret: Caret | None, *, moved: bool) -> str:
        if caret == self._caret and not moved:
            return ""
        self._caret = caret
        if caret is None:
            return HIDE_CURSOR
        show = SHOW_CURSOR if self.show_cursor else ""
        return f"\x1b[{caret.row + 1};{min(caret.column, self._size.columns - 1) + 1}H{show}"
