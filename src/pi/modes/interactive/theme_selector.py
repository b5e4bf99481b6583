"""Which theme is shown: by name, by a pair for light and dark, or as the terminal is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from pi.base.files import read_regular
from pi.base.records import Record
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import InvalidTheme, Palette, read_theme, theme_name
from pi.tui.negotiation import Scheme

BUILT_IN = Path(__file__).parent / "themes"

FindFiles: TypeAlias = Callable[[], Iterable[Path]]
"""Gives the files of themes that there are now."""


class ThemeSelector:
    """Finds themes, the built-in ones last, and shows the one that is wanted.

    ``files`` gives the files of themes, what wins first; ``scheme`` tells whether the terminal is
    dark or light; ``redraw`` is called when the colours have changed.
    """

    def __init__(
        self,
        theme: Theme,
        *,
        files: FindFiles,
        scheme: Callable[[], Scheme],
        redraw: Callable[[], None],
    ) -> None:
        self._theme = theme
        self.files = files
        """Asked each time; whoever knows of more themes than the start did sets another one."""
        self._scheme = scheme
        self._redraw = redraw
        self._wanted: str | None = None
        self._shown: tuple[Path, int] | None = None
        """The file of the theme that is shown, and when it was written."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every theme, by name."""
        return tuple(sorted({file.name for file in self._files()}))

    @property
    def current(self) -> str:
        """The theme that is shown."""
        return self._theme.palette.name

    @property
    def follows_terminal(self) -> bool:
        """Whether it depends on the terminal being dark or light."""
        return follows_terminal(self._wanted)

    def use(self, wanted: str | None) -> None:
        """Show what the setting says: a name, ``light/dark``, or nothing for the terminal's.

        ``InvalidTheme`` if there is none of that name or it cannot be read, be it only the other
        one
        of a pair; the old one stays then.
        """
        if wanted is not None and "/" in wanted:
            for name in wanted.split("/", 1):
                self.palette(name)
        file = self._find(self._name(wanted))
        self._show(file)
        self._wanted = wanted

    def palette(self, name: str) -> Palette:
        """The colours of a theme, without showing it; ``InvalidTheme`` if it cannot be read."""
        return self._find(name).palette

    def scheme_changed(self, scheme: Scheme) -> None:
        """The terminal has become dark or light."""
        if self.follows_terminal:
            with suppress(InvalidTheme):  # it was there when it was chosen
                self._show(self._find(self._name(self._wanted)))

    def reload_if_changed(self) -> None:
        """Show the theme as its file says now; a file that is wrong changes nothing."""
        if self._shown is None:
            return
        path, written = self._shown
        file = _opened(path)
        if file is not None and file.written != written:
            with suppress(InvalidTheme):  # it is being written: the next look finds it whole
                self._show(file)

    def _name(self, wanted: str | None) -> str:
        scheme = self._scheme()
        if wanted is None:
            return scheme
        light, slash, dark = wanted.partition("/")
        return (light if scheme == "light" else dark) if slash else wanted

    def _find(self, name: str) -> _ThemeFile:
        """The theme that calls itself so, or else that of a file with this name."""
        by_file_name: _ThemeFile | None = None
        for file in self._files():
            if file.name == name:
                return file
            if file.path.stem == name and by_file_name is None:
                by_file_name = file
        if by_file_name is not None:
            return by_file_name
        known = ", ".join(self.names)
        raise InvalidTheme(f'There is no theme "{name}".', hint=f"There are: {known}.")

    def _show(self, file: _ThemeFile) -> None:
        palette = file.palette
        self._shown = (file.path, file.written)
        if palette != self._theme.palette:
            self._theme.use(palette)
            self._redraw()

    def _files(self) -> Iterator[_ThemeFile]:
        for path in (*self.files(), *themes_in(BUILT_IN)):
            file = _opened(path)
            if file is not None:
                yield file


class _ThemeFile(Record, kw_only=False):
    """A file as it was when it was last looked at."""

    path: Path
    written: int
    """When it was written."""
    content: bytes

    @property
    def name(self) -> str:
        """What it calls itself; the name of the file if nobody can tell."""
        return theme_name(self.content) or self.path.stem

    @property
    def palette(self) -> Palette:
        """Its colours; ``InvalidTheme`` if it cannot be read."""
        return read_theme(self.content, str(self.path))


def _opened(path: Path) -> _ThemeFile | None:
    try:
        return _ThemeFile(path, path.stat().st_mtime_ns, read_regular(path))
    except OSError:
        return None


def follows_terminal(wanted: str | None) -> bool:
    """Whether a wish depends on the terminal being dark or light."""
    return wanted is None or "/" in wanted


def themes_in(folder: Path) -> list[Path]:
    """The files of themes in a folder; none if it is not there or closed to us."""
    try:
        return sorted(folder.glob("*.json"))
    except OSError:
        return []


def built_in(scheme: Scheme) -> Palette:
    """A theme that is always there."""
    path = BUILT_IN / f"{scheme}.json"
    return read_theme(path.read_bytes(), str(path))
