"""Selects the theme: by name, by a pair for light and dark, or following the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from pi.base.files import read_regular
from pi.base.records import Record
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import (
    RESERVED,
    InvalidTheme,
    Palette,
    read_theme,
    theme_name,
)
from pi.tui.negotiation import Scheme
from pi.tui.terminal_colours import ReportedColours

BUILT_IN = Path(__file__).parent / "themes"

FindFiles: TypeAlias = Callable[[], Iterable[Path]]
"""Returns the current theme files."""


class ThemeSelector:
    """Finds themes, the built-in ones last, and shows the selected one.

    ``files`` returns the theme files by precedence; ``scheme`` returns whether the terminal is dark
    or light; ``redraw`` is called when the colours have changed.
    """

    def __init__(
        self,
        theme: Theme,
        *,
        files: FindFiles,
        scheme: Callable[[], Scheme],
        redraw: Callable[[], None],
        colours: ReportedColours | None = None,
        follow_colours: Callable[[], None] = lambda: None,
    ) -> None:
        """``follow_colours`` queries ``colours``, those of the terminal."""
        self._colours = colours or ReportedColours()
        self._follow_colours = follow_colours
        self._colours.on_change(self._colours_changed)
        self._theme = theme
        self.files = files
        """Called for every search; replaced when the session is open, which has more files."""
        self._scheme = scheme
        self._redraw = redraw
        self._setting: str | None = None
        self._shown: tuple[Path, int] | None = None
        """The file of the current theme, and its modification time."""

    @property
    def names(self) -> tuple[str, ...]:
        """All themes, by name."""
        return tuple(sorted({RESERVED, *(file.name for file in self._files())}))

    @property
    def current(self) -> str:
        """The current theme."""
        return self._theme.palette.name

    @property
    def follows_terminal(self) -> bool:
        """Whether the theme depends on the terminal being dark or light."""
        return follows_terminal(self._setting)

    def use(self, setting: str | None) -> None:
        """Apply the setting: a name, ``light/dark``, or ``None`` to follow the terminal.

        Raises ``InvalidTheme`` if a theme is unknown or cannot be read, also for the unused one of
        a pair; the old one is kept then.
        """
        if setting is not None and "/" in setting:
            for name in setting.split("/", 1):
                self.palette(name)
        self._show_named(self._name(setting))
        self._setting = setting

    def palette(self, name: str) -> Palette:
        """Return the colours of a theme without showing it.

        Raises ``InvalidTheme`` if it cannot be read.
        """
        if name == RESERVED:
            return self._system()
        return self._find(name).palette

    def scheme_changed(self, scheme: Scheme) -> None:
        """The terminal became dark or light."""
        if self.follows_terminal:
            with suppress(InvalidTheme):  # the theme existed when it was selected
                self._show_named(self._name(self._setting))

    def _colours_changed(self) -> None:
        if self._shown is None and self.current == RESERVED:
            self._apply(self._system())

    def reload_if_changed(self) -> None:
        """Reload the theme if its file changed; an invalid file changes nothing."""
        if self._shown is None:
            return
        path, written = self._shown
        file = _open_theme_file(path)
        if file is not None and file.written != written:
            with suppress(InvalidTheme):  # it is being written: the next check reads the whole file
                self._show(file)

    def _name(self, setting: str | None) -> str:
        scheme = self._scheme()
        if setting is None:
            return scheme
        light, slash, dark = setting.partition("/")
        return (light if scheme == "light" else dark) if slash else setting

    def _find(self, name: str) -> _ThemeFile:
        """Return the theme with this name, or else with this file name."""
        by_file_name: _ThemeFile | None = None
        for file in self._files():
            if file.name == name:
                return file
            if file.path.stem == name and by_file_name is None:
                by_file_name = file
        if by_file_name is not None:
            return by_file_name
        available = ", ".join(self.names)
        raise InvalidTheme(f'Unknown theme "{name}".', hint=f"Available: {available}.")

    def _system(self) -> Palette:
        from pi.modes.interactive.system_theme import system_palette  # lazy: one theme of many

        return system_palette(self._colours.current)

    def _show_named(self, name: str) -> None:
        if name == RESERVED:
            self._follow_colours()
            self._shown = None
            self._apply(self._system())
        else:
            self._show(self._find(name))

    def _show(self, file: _ThemeFile) -> None:
        palette = file.palette
        self._shown = (file.path, file.written)
        self._apply(palette)

    def _apply(self, palette: Palette) -> None:
        if palette != self._theme.palette:
            self._theme.use(palette)
            self._redraw()

    def _files(self) -> Iterator[_ThemeFile]:
        for path in (*self.files(), *themes_in(BUILT_IN)):
            file = _open_theme_file(path)
            if file is not None and file.name != RESERVED:
                yield file


class _ThemeFile(Record, kw_only=False):
    """The cached content of a file."""

    path: Path
    written: int
    """Modification time."""
    content: bytes

    @property
    def name(self) -> str:
        """Its name; the file name if it has none."""
        return theme_name(self.content) or self.path.stem

    @property
    def palette(self) -> Palette:
        """Its colours. Raises ``InvalidTheme`` if it cannot be read."""
        return read_theme(self.content, str(self.path))


def _open_theme_file(path: Path) -> _ThemeFile | None:
    try:
        return _ThemeFile(path, path.stat().st_mtime_ns, read_regular(path))
    except OSError:
        return None


def follows_terminal(setting: str | None) -> bool:
    """Whether a setting depends on the terminal being dark or light."""
    return setting is None or "/" in setting or setting == RESERVED


def themes_in(folder: Path) -> list[Path]:
    """Return the theme files in a folder; none if it is missing or not readable."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(".json"))
    except OSError:
        return []


def built_in(scheme: Scheme) -> Palette:
    """Return a bundled theme."""
    path = BUILT_IN / f"{scheme}.json"
    return read_theme(path.read_bytes(), str(path))
