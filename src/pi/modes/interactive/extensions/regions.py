"""Places around the editor that extensions may fill."""

from __future__ import annotations

from collections.abc import Mapping

from pi.coding.extension_host.drawing import Lines, Make, made
from pi.coding.extension_host.ui import Placement
from pi.modes.interactive.extensions.colours import Colours
from pi.modes.interactive.extensions.fitting import Fitted, FittedLines
from pi.modes.interactive.extensions.footer_lines import FooterLines, Statuses
from pi.modes.interactive.frame import Frame
from pi.tui.component import Component
from pi.tui.containers import Container

SHARE, LEAST_ROWS = 3, 3
"""A widget has a third of the screen at most, but never less than three rows."""


class FooterData:
    """What a footer of an extension may tell beside its own."""

    def __init__(self, frame: Frame, statuses: Statuses) -> None:
        self._frame = frame
        self._statuses = statuses

    @property
    def branch(self) -> str:
        """The branch of the folder; empty outside of a repository."""
        return self._frame.footer.facts.branch

    @property
    def statuses(self) -> Mapping[str, str]:
        """What extensions have said with ``set_status``."""
        return self._statuses.texts


class Regions:
    """Which component stands where."""

    def __init__(self, frame: Frame, colours: Colours) -> None:
        self._frame = frame
        self._given = (frame.tui, colours)
        self._widgets: dict[str, tuple[Container, Component]] = {}
        self._usual_header: tuple[Component, ...] | None = None
        self.statuses = Statuses(frame.theme)
        """What extensions say in a word."""
        self.lines = FooterLines(self._screen_rows, repaint=self._repaint)
        """Lines below the footer."""
        frame.bottom.add_child(self.statuses)
        frame.bottom.add_child(self.lines)

    def set_status(self, key: str, text: str | None) -> None:
        """Say something below the footer."""
        self.statuses.set(key, text)
        self._repaint(self.statuses)

    def set_widget(self, key: str, lines: Lines | None, placement: Placement | None) -> None:
        """Show something above or below the editor; what had the key before goes."""
        component = None if lines is None else self._widget(lines)
        if key in self._widgets:
            place, shown = self._widgets.pop(key)
            place.remove_child(shown)
        if component is not None:
            below = placement == "belowEditor"
            place = self._frame.below_editor if below else self._frame.above_editor
            place.add_child(component)
            self._widgets[key] = (place, component)
        self._repaint(None)

    def set_header(self, make: Make | None) -> None:
        """Show something above the conversation."""
        header, tui = self._frame.header, self._frame.tui
        if self._usual_header is None:
            self._usual_header = header.children
        header.clear()
        shown = self._usual_header if make is None else (Fitted(made(make, *self._given)),)
        for component in shown:
            header.add_child(component)
        tui.reset_display()  # it may have scrolled away, and everything moves

    def set_footer(self, make: Make | None) -> None:
        """Show something in place of the footer and of what is said below it."""
        bottom = self._frame.bottom
        for part in bottom.children:
            if part is not self.lines:
                bottom.remove_child(part)
        data = FooterData(self._frame, self.statuses)
        shown: tuple[Component, ...] = (self._frame.footer, self.statuses)
        if make is not None:
            shown = (Fitted(made(make, *self._given, data)),)
        for place, component in enumerate(shown):
            bottom.insert_child(place, component)
        self._repaint(None)

    def _widget(self, lines: Lines) -> Component:
        """What stands beside the editor; however much it is, the editor stays on the screen."""
        drawable = made(lines, *self._given) if callable(lines) else FittedLines(lines)
        return Fitted(drawable, lambda: max(self._screen_rows() // SHARE, LEAST_ROWS))

    def _screen_rows(self) -> int:
        return self._frame.tui.terminal.size.rows

    def _repaint(self, component: Component | None) -> None:
        if component is None:
            self._frame.tui.request_render()
        else:
            self._frame.tui.request_component_render(component)
