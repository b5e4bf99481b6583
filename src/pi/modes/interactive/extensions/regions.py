"""Places around the editor that extensions may fill."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pi.base.terminal_text import sanitise_keeping_style
from pi.coding.port.drawing import Drawable, Lines, Make, made
from pi.coding.port.ui import Placement
from pi.modes.interactive.extensions.drawing import ExtensionTheme, SafeComponent, SafeLines
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.theme import Theme
from pi.tui.component import Component, RowCache
from pi.tui.containers import Container
from pi.tui.text.width import truncate_to_width

# Rows below the footer: what extensions say in a word, and lines of their own.


AROUND = 6
"""Rows that the editor and the footer take at the least."""
LEAST_FREE = 2
"""Rows to spare below which lines of extensions are left out."""


class Statuses:
    """One line with what extensions say under their keys, in the order of the keys."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.draw: Callable[[str, str, int], str | None] = lambda key, text, width: None
        """How others want a text to be drawn at a width; nothing for as it is."""
        self._memory = RowCache()
        self._texts: dict[str, str] = {}

    @property
    def texts(self) -> dict[str, str]:
        """What is said, by key."""
        return dict(sorted(self._texts.items()))

    def set(self, key: str, text: str | None) -> None:
        """Say something; ``None`` takes it back."""
        self._texts.pop(key, None)
        if text:
            self._texts[key] = " ".join(sanitise_keeping_style(text).split())
        self._memory.forget()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The line; nothing if nobody says anything."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        dim = self._theme.paint("dim")
        texts = [self.draw(key, text, width) or dim(text) for key, text in self.texts.items()]
        return [truncate_to_width(" ".join(texts), width, "…")] if texts else []


class FooterLines:
    """Lines of extensions, each painted by itself.

    On a screen with hardly a row to spare they are left out: the footer's own stay.
    """

    def __init__(
        self, screen_rows: Callable[[], int], *, repaint: Callable[[Component | None], None]
    ) -> None:
        self._screen_rows = screen_rows
        self._repaint = repaint
        """Paints one component, or everything because rows have come or gone."""
        self._lines: dict[str, tuple[int, SafeComponent]] = {}
        self._rows = Container()

    @property
    def children(self) -> tuple[Component, ...]:
        """The lines, from top to bottom."""
        return self._rows.children

    def set(self, key: str, drawable: Drawable, *, order: int) -> Line:
        """Have a line; one under the same key goes."""
        line = SafeComponent(drawable)
        self._lines[key] = (order, line)
        self._arrange()
        return Line(invalidate=lambda: self._repaint(line), remove=lambda: self._remove(key, line))

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._rows.invalidate()

    def render(self, width: int) -> list[str]:
        """The lines, if there is room."""
        if self._screen_rows() - AROUND < LEAST_FREE:
            return []
        return self._rows.render(width)

    def _remove(self, key: str, line: SafeComponent) -> None:
        if self._lines.get(key, (0, None))[1] is line:
            del self._lines[key]
            self._arrange()

    def _arrange(self) -> None:
        self._rows.clear()
        for _, line in sorted(self._lines.values(), key=lambda row: row[0]):
            self._rows.add_child(line)
        self._repaint(None)


class Line:
    """A line of an extension, for whoever has it; implements ``Rows``."""

    def __init__(self, *, invalidate: Callable[[], None], remove: Callable[[], None]) -> None:
        self.invalidate = invalidate
        self.remove = remove


SHARE, LEAST_ROWS = 3, 3
"""A widget has a third of the screen at most, but never less than three rows."""


class FooterData:
    """What a footer of an extension may tell beside its own."""

    def __init__(self, frame: AppLayout, statuses: Statuses) -> None:
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


class ExtensionRegions:
    """Which component stands where."""

    def __init__(self, frame: AppLayout, colours: ExtensionTheme) -> None:
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
        shown = self._usual_header if make is None else (SafeComponent(made(make, *self._given)),)
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
            shown = (SafeComponent(made(make, *self._given, data)),)
        for place, component in enumerate(shown):
            bottom.insert_child(place, component)
        self._repaint(None)

    def _widget(self, lines: Lines) -> Component:
        """What stands beside the editor; however much it is, the editor stays on the screen."""
        drawable = made(lines, *self._given) if callable(lines) else SafeLines(lines)
        return SafeComponent(drawable, lambda: max(self._screen_rows() // SHARE, LEAST_ROWS))

    def _screen_rows(self) -> int:
        return self._frame.tui.terminal.size.rows

    def _repaint(self, component: Component | None) -> None:
        if component is None:
            self._frame.tui.request_render()
        else:
            self._frame.tui.request_component_render(component)
