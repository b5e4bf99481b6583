"""``Drawable`` and ``Theme``: drawing for extensions, independent of the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Literal, Protocol, TypeAlias

from pi.base.tasks import propagated_exceptions


class Drawable(Protocol):
    """An object that can be drawn; may also have ``handle_input(key)`` and ``invalidate()``."""

    def render(self, width: int) -> Sequence[str]:
        """Return the lines, none wider than ``width`` columns."""
        ...


Make: TypeAlias = Callable[..., Drawable]
"""Creates a drawable; called by ``make_drawable``."""
Lines: TypeAlias = Sequence[str] | Make

_PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def make_drawable(make: Make, *arguments: object) -> Drawable:
    """Call ``make`` with as many of ``arguments`` as it has required positional parameters.

    With ``*args`` it gets all.
    """
    parameters = signature(make).parameters.values()
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return make(*arguments)
    required = [
        parameter
        for parameter in parameters
        if parameter.kind in _PLACES and parameter.default is Parameter.empty
    ]
    return make(*arguments[: len(required)])


FooterPart: TypeAlias = Literal["folder", "branch", "model", "thinking", "permissions"]
"""A part of the footer that rows below it can replace."""


class Rows(Protocol):
    """Rows of the screen that belong to an extension."""

    def invalidate(self) -> None:
        """Redraw these rows only."""
        ...

    def remove(self) -> None:
        """Remove these rows."""
        ...


class NoRows:
    """Rows that are not shown."""

    def invalidate(self) -> None:
        """Do nothing."""

    def remove(self) -> None:
        """Do nothing."""


class Theme(Protocol):
    """Colours by meaning, and text attributes."""

    @property
    def name(self) -> str:
        """The name of the theme; empty without colours."""
        ...

    def fg(self, name: str, text: str) -> str:
        """Return ``text`` in a foreground colour of the theme."""
        ...

    def bg(self, name: str, text: str) -> str:
        """Return ``text`` on a background colour of the theme."""
        ...

    def bold(self, text: str) -> str:
        """Return ``text`` in bold."""
        ...

    def italic(self, text: str) -> str:
        """Return ``text`` in italics."""
        ...

    def underline(self, text: str) -> str:
        """Return ``text`` underlined."""
        ...

    def dim(self, text: str) -> str:
        """Return ``text`` dimmed."""
        ...

    def inverse(self, text: str) -> str:
        """Return ``text`` with its colours swapped."""
        ...

    def strikethrough(self, text: str) -> str:
        """Return ``text`` struck through."""
        ...


def _unchanged(text: str) -> str:
    return text


class PlainTheme:
    """A theme without colours: returns every text unchanged."""

    name = ""
    bold = italic = underline = dim = inverse = strikethrough = staticmethod(_unchanged)

    def fg(self, name: str, text: str) -> str:
        """Return ``text`` unchanged."""
        return text

    def bg(self, name: str, text: str) -> str:
        """Return ``text`` unchanged."""
        return text


class GuardedDrawable:
    """Wraps an extension's drawable. After an exception, which is reported, it renders no lines."""

    def __init__(self, drawable: Drawable, failed: Callable[[BaseException], None]) -> None:
        self._drawable = drawable
        self._failed = failed
        self._has_failed = False

    def render(self, width: int) -> Sequence[str]:
        """Return the lines of the drawable; none once it has failed."""
        if self._has_failed:
            return ()
        try:
            return [str(line) for line in self._drawable.render(width)]
        except propagated_exceptions():
            raise
        except BaseException as error:
            self._has_failed = True
            self._failed(error)
            return ()

    def invalidate(self) -> None:
        """Forward to the drawable, if it has ``invalidate``."""
        forget = getattr(self._drawable, "invalidate", None)
        if forget is not None:
            forget()
