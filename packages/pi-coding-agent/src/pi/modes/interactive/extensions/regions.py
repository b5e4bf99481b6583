"""Rows of extensions around the editor and in the footer. They always fit the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pi.base.terminal_text import sanitise_keeping_style
from pi.coding.port.drawing import Drawable, FooterPart, Lines, Make, make_drawable
from pi.coding.port.ui import PLACEMENTS, Placement
from pi.modes.interactive.extensions.drawing import SafeComponent, SafeLines
from pi.modes.interactive.extensions.theme import ExtensionTheme
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.theme import Theme
from pi.tui.component import Component
from pi.tui.containers import CachedWidget, Container
from pi.tui.text.width import truncate_to_width

RESERVED_ROWS = 6
"""Minimum rows of the editor and the footer."""
MIN_FREE = 2
"""Free rows below which lines of extensions are omitted."""


class Statuses(CachedWidget):
    """One line with the status texts of extensions, ordered by key."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.draw: Callable[[str, str, int], str | None] = lambda key, text, width: None
        """Returns how an extension draws a status text at a width; ``None`` for unchanged."""
        self._texts: dict[str, str] = {}

    @property
    def texts(self) -> dict[str, str]:
        """The texts by key."""
        return dict(sorted(self._texts.items()))

    def set(self, key: str, text: str | None) -> None:
        """Set a text; ``None`` removes it."""
        self._texts.pop(key, None)
        if text:
            self._texts[key] = " ".join(sanitise_keeping_style(text).split())
        self.invalidate()

    def _draw(self, width: int) -> list[str]:
        dim = self._theme.paint("dim")
        texts = [self.draw(key, text, width) or dim(text) for key, text in self.texts.items()]
        return [truncate_to_width(" ".join(texts), width, "…")] if texts else []


NO_ROWS: list[str] = []
"""Always the same list: rows are unchanged if the list is identical."""


class FooterLines:
    """Lines of extensions, each painted separately.

    On a very low screen they are omitted: the footer's own rows stay.
    """

    def __init__(
        self, screen_rows: Callable[[], int], *, repaint: Callable[[Component | None], None]
    ) -> None:
        self._screen_rows = screen_rows
        self._repaint = repaint
        """Paints one component, or everything if the number of rows changed."""
        self._lines: dict[str, tuple[int, SafeComponent, frozenset[FooterPart]]] = {}
        self._rows = Container()
        self.invalidate = self._rows.invalidate
        """Invalidates the cached rows."""

    @property
    def children(self) -> tuple[Component, ...]:
        """The lines, from top to bottom."""
        return self._rows.children

    @property
    def replaced(self) -> frozenset[FooterPart]:
        """The parts of the footer that visible lines replace."""
        if not self._lines or not self._fit():
            return frozenset()
        return frozenset().union(*(parts for _, _, parts in self._lines.values()))

    def set(
        self, key: str, drawable: Drawable, *, order: int, replaces: Sequence[FooterPart] = ()
    ) -> Line:
        """Add a line; one with the same key is replaced."""
        line = SafeComponent(drawable)
        self._lines[key] = (order, line, frozenset(replaces))
        self._arrange()
        return Line(invalidate=lambda: self._repaint(line), remove=lambda: self._remove(key, line))

    def render(self, width: int) -> list[str]:
        """The lines, if there are any and they fit."""
        return self._rows.render(width) if self._lines and self._fit() else NO_ROWS

    def _fit(self) -> bool:
        return self._screen_rows() - RESERVED_ROWS >= MIN_FREE

    def _remove(self, key: str, line: SafeComponent) -> None:
        if key in self._lines and self._lines[key][1] is line:
            del self._lines[key]
            self._arrange()

    def _arrange(self) -> None:
        self._rows.clear()
        for _, line, _ in sorted(self._lines.values(), key=lambda row: row[0]):
            self._rows.add_child(line)
        self._repaint(None)


class Line:
    """The handle of a line of an extension; implements ``Rows``."""

    def __init__(self, *, invalidate: Callable[[], None], remove: Callable[[], None]) -> None:
        self.invalidate = invalidate
        self.remove = remove


SHARE, MIN_ROWS = 3, 3
"""A widget has at most a third of the screen, but at least three rows."""


class FooterData:
    """Data for a footer of an extension."""

    def __init__(self, frame: AppLayout, statuses: Statuses) -> None:
        self._frame = frame
        self._statuses = statuses

    @property
    def branch(self) -> str:
        """The branch of the folder; empty outside of a repository."""
        return self._frame.footer.facts.branch

    @property
    def statuses(self) -> Mapping[str, str]:
        """The texts set with ``set_status``."""
        return self._statuses.texts


class ExtensionRegions:
    """Places the components of extensions."""

    def __init__(self, frame: AppLayout, colours: ExtensionTheme) -> None:
        self._frame = frame
        self._factory_arguments = (frame.tui, colours)
        self._widgets: dict[str, tuple[Container, Component]] = {}
        self._usual_header: tuple[Component, ...] | None = None
        self.statuses = Statuses(frame.theme)
        """The status texts of extensions."""
        self.lines = FooterLines(lambda: frame.tui.terminal.size.rows, repaint=self._repaint)
        """Lines below the footer."""
        frame.footer.replaced = lambda: self.lines.replaced
        frame.bottom.add_child(self.statuses)
        frame.bottom.add_child(self.lines)

    def set_status(self, key: str, text: str | None) -> None:
        """Set a status text below the footer."""
        self.statuses.set(key, text)
        self._repaint(self.statuses)

    def set_widget(self, key: str, lines: Lines | None, placement: Placement | None) -> None:
        """Show a widget above or below the editor; one with the same key is replaced."""
        component = None if lines is None else self._widget(lines)
        if key in self._widgets:
            container, previous = self._widgets.pop(key)
            container.remove_child(previous)
        if component is not None:
            below = placement is not None and PLACEMENTS[placement] == "belowEditor"
            container = self._frame.below_editor if below else self._frame.above_editor
            container.add_child(component)
            self._widgets[key] = (container, component)
        self._repaint(None)

    def set_header(self, make: Make | None) -> None:
        """Show a header above the conversation."""
        header, tui = self._frame.header, self._frame.tui
        if self._usual_header is None:
            self._usual_header = header.children
        header.clear()
        components = (
            self._usual_header
            if make is None
            else (SafeComponent(make_drawable(make, *self._factory_arguments)),)
        )
        for component in components:
            header.add_child(component)
        tui.reset_display()  # the header may have scrolled away, and all rows move

    def set_footer(self, make: Make | None) -> None:
        """Show a footer in place of the built-in one and the status texts."""
        bottom = self._frame.bottom
        for part in bottom.children:
            if part is not self.lines:
                bottom.remove_child(part)
        data = FooterData(self._frame, self.statuses)
        components: tuple[Component, ...] = (self._frame.footer, self.statuses)
        if make is not None:
            components = (SafeComponent(make_drawable(make, *self._factory_arguments, data)),)
        for position, component in enumerate(components):
            bottom.insert_child(position, component)
        self._repaint(None)

    def _widget(self, lines: Lines) -> Component:
        """Return a component with limited rows, so that the editor stays on the screen."""
        drawable = (
            make_drawable(lines, *self._factory_arguments) if callable(lines) else SafeLines(lines)
        )
        return SafeComponent(
            drawable, lambda: max(self._frame.tui.terminal.size.rows // SHARE, MIN_ROWS)
        )

    def _repaint(self, component: Component | None) -> None:
        if component is None:
            self._frame.tui.request_render()
        else:
            self._frame.tui.request_component_render(component)
