"""Which theme is shown: by name, by a pair for light and dark, or as the terminal is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import BadTheme, Palette, read_theme
from pi.tui.colour_scheme import Scheme

BUILT_IN = Path(__file__).parent / "themes"

FindFiles: TypeAlias = Callable[[], Iterable[Path]]
"""Gives the files of themes that there are now."""


class ThemeChoice:
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
        return tuple(sorted({path.stem for path in self._candidates()}))

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

        ``BadTheme`` if there is none of that name or it cannot be read; the old one stays then.
        """
        palette = self._load(self._name(wanted))
        self._wanted = wanted
        self._show(palette)

    def palette(self, name: str) -> Palette:
        """The colours of a theme, without showing it; ``BadTheme`` if it cannot be read."""
        return self._read(name)[0]

    def scheme_changed(self, scheme: Scheme) -> None:
        """The terminal has become dark or light."""
        if self.follows_terminal:
            self._show(self._load(self._name(self._wanted)))

    def reload_if_changed(self) -> None:
        """Show the theme as its file says now; a file that is wrong changes nothing."""
        if self._shown is None:
            return
        path, written = self._shown
        try:
            if path.stat().st_mtime_ns != written:
                self._show(self._load(path.stem))
        except (OSError, BadTheme):
            return  # it is being written: the next look finds it whole

    def _name(self, wanted: str | None) -> str:
        scheme = self._scheme()
        if wanted is None:
            return scheme
        light, slash, dark = wanted.partition("/")
        return (light if scheme == "light" else dark) if slash else wanted

    def _load(self, name: str) -> Palette:
        palette, self._shown = self._read(name)
        return palette

    def _read(self, name: str) -> tuple[Palette, tuple[Path, int]]:
        for path in self._candidates():
            if path.stem != name:
                continue
            try:
                written, content = path.stat().st_mtime_ns, path.read_bytes()
            except OSError:
                continue
            return read_theme(content, str(path)), (path, written)
        known = ", ".join(self.names)
        raise BadTheme(f'There is no theme "{name}".', hint=f"There are: {known}.")

    def _show(self, palette: Palette) -> None:
        if palette != self._theme.palette:
            self._theme.use(palette)
            self._redraw()

    def _candidates(self) -> Iterator[Path]:
        yield from self.files()
        yield from themes_in(BUILT_IN)


def follows_terminal(wanted: str | None) -> bool:
    """Whether a wish depends on the terminal being dark or light."""
    return wanted is None or "/" in wanted


def themes_in(folder: Path) -> list[Path]:
    """The files of themes in a folder; none if it is not there."""
    return sorted(folder.glob("*.json"))


def built_in(scheme: Scheme) -> Palette:
    """A theme that is always there."""
    path = BUILT_IN / f"{scheme}.json"
    return read_theme(path.read_bytes(), str(path))
