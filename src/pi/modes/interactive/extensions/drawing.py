"""Drawables of extensions as components: whatever they give fits the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pi.base.terminal_text import sanitise_keeping_style
from pi.coding.port.drawing import Drawable
from pi.coding.port.ui import ThemeChange
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.ui import Ui
from pi.tui.component import CURSOR_MARKER, Area, wants_key_release
from pi.tui.screen.rows import permitted
from pi.tui.style import Style, painter
from pi.tui.text.width import expand_tabs, truncate_to_width, visible_width

if TYPE_CHECKING:
    from pi.tui.mouse import MouseEvent, MouseResult


Failed: TypeAlias = Callable[[Exception], None]
"""Told that a component cannot be drawn, or cannot take a key."""


class SafeComponent:
    """A drawable whose rows are cut where they do not fit; ``most`` limits how many there are."""

    def __init__(self, drawable: Drawable, most: Callable[[], int] | None = None) -> None:
        self._drawable = drawable
        self._most = most
        self._rows: list[str] = []

    def invalidate(self) -> None:
        """Have it forget what it remembers, if it can."""
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
        """Where its children are, if it says so."""
        areas_at = getattr(self._drawable, "areas_at", None)
        return list(areas_at(row)) if areas_at is not None else []

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Let it have the mouse, if it wants that."""
        take: Callable[[MouseEvent], MouseResult | None] | None
        take = getattr(self._drawable, "handle_mouse", None)
        return None if take is None else take(event)


class SafeLines:
    """Lines that stay as they are; they may have styles, and nothing else that terminals obey."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = [sanitise_keeping_style(str(line)) for line in lines]

    def render(self, width: int) -> Sequence[str]:
        """The lines."""
        return self._lines


class SafeInteractive(SafeComponent):
    """A component that takes keys. The first time that it fails is told, and is its last."""

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
        """Let it have the key, if it wants any."""
        take = getattr(self._component, "handle_input", None)
        if take is None:
            return
        try:
            take(data)
        except Exception as problem:
            self._failed(problem)

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Let it have the mouse, if it wants that."""
        try:
            return super().handle_mouse(event)
        except Exception as problem:
            self._failed(problem)
            return None

    def render(self, width: int) -> list[str]:
        """Its rows; none when it fails."""
        try:
            return super().render(width)
        except Exception as problem:
            self._failed(problem)
            return []


def fitting(lines: Iterable[str], width: int) -> list[str]:
    """Lines as rows: broken where they say so, without tabs, and cut at the width.

    Styles, links, pictures and the place of the cursor are all that a terminal is to obey in them:
    a row that erases the screen or calls the window names is a row that repeats what others say.
    """
    rows = [expand_tabs(_harmless(row)) for line in lines for row in line.split("\n")]
    return [row if visible_width(row) <= width else truncate_to_width(row, width) for row in rows]


def _harmless(row: str) -> str:
    return CURSOR_MARKER.join(map(permitted, row.split(CURSOR_MARKER)))


# The colours of the screen, as extensions know them.


class ExtensionTheme:
    """Paints by meaning; implements ``Theme`` of extensions. It follows the theme it is made of."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme

    @property
    def name(self) -> str:
        """What the theme is called."""
        return self._theme.palette.name

    def fg(self, name: str, text: str) -> str:
        """``text`` in a colour of the theme; a name that it does not have changes nothing."""
        return self._theme.paint(name)(text)

    def bg(self, name: str, text: str) -> str:
        """``text`` on a colour of the theme."""
        return self._theme.paint(name)(text)

    def bold(self, text: str) -> str:
        """``text``, heavier."""
        return self._theme.bold(text)

    def italic(self, text: str) -> str:
        """``text``, slanted."""
        return painter(Style(italic=True))(text)

    def underline(self, text: str) -> str:
        """``text`` with a line below it."""
        return painter(Style(underline=True))(text)

    def dim(self, text: str) -> str:
        """``text``, fainter."""
        return painter(Style(dim=True))(text)

    def inverse(self, text: str) -> str:
        """``text`` with its colours exchanged."""
        return painter(Style(inverse=True))(text)

    def strikethrough(self, text: str) -> str:
        """``text``, crossed out."""
        return painter(Style(strike=True))(text)


# The themes of this screen, for extensions.


class ExtensionThemes:
    """Finds themes by name, and chooses one as ``/theme`` does."""

    def __init__(self, ui: Ui) -> None:
        self._ui = ui

    @property
    def names(self) -> tuple[str, ...]:
        """Every theme, by name."""
        return self._ui.themes.names

    def get(self, name: str) -> ExtensionTheme | None:
        """A theme by its name."""
        try:
            palette = self._ui.themes.palette(name)
        except InvalidTheme:
            return None
        return ExtensionTheme(Theme(palette, self._ui.theme.depth))

    def use(self, name: str) -> ThemeChange:
        """Choose a theme; the settings remember it."""
        try:
            self._ui.themes.use(name)
        except InvalidTheme as problem:
            return ThemeChange(success=False, error=problem.explain())
        self._ui.port.settings.set({"theme": name})
        return ThemeChange(success=True)
