"""What extensions draw, described without a screen: anything with ``render(width)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Protocol, TypeAlias

from pi.coding.bus import PASSED_ON


class Drawable(Protocol):
    """Something that can be drawn; it may also have ``handle_input(key)`` and ``invalidate()``."""

    def render(self, width: int) -> Sequence[str]:
        """The lines, none wider than ``width`` columns."""
        ...


Make: TypeAlias = Callable[..., Drawable]
"""Makes what is drawn. It is given as much of what the place has to offer as it takes."""
Lines: TypeAlias = Sequence[str] | Make

_PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def made(make: Make, *given: object) -> Drawable:
    """What ``make`` makes of as many of the ``given`` things as it asks for."""
    wanted = signature(make).parameters.values()
    if any(each.kind is Parameter.VAR_POSITIONAL for each in wanted):
        return make(*given)
    asked = [each for each in wanted if each.kind in _PLACES and each.default is Parameter.empty]
    return make(*given[: len(asked)])


class Rows(Protocol):
    """Rows of the screen that belong to an extension."""

    def invalidate(self) -> None:
        """Have these rows drawn again, and no others."""
        ...

    def remove(self) -> None:
        """Have them no longer."""
        ...


class NoRows:
    """Rows that nobody sees."""

    def invalidate(self) -> None:
        """Nothing is drawn."""

    def remove(self) -> None:
        """Nothing was there."""


class Theme(Protocol):
    """Colours by meaning, and what else can be done to a text."""

    @property
    def name(self) -> str:
        """What the theme is called; empty where there are no colours."""
        ...

    def fg(self, name: str, text: str) -> str:
        """``text`` in a colour of the theme."""
        ...

    def bg(self, name: str, text: str) -> str:
        """``text`` on a colour of the theme."""
        ...

    def bold(self, text: str) -> str:
        """``text``, heavier."""
        ...

    def italic(self, text: str) -> str:
        """``text``, slanted."""
        ...

    def underline(self, text: str) -> str:
        """``text`` with a line below it."""
        ...

    def dim(self, text: str) -> str:
        """``text``, fainter."""
        ...

    def inverse(self, text: str) -> str:
        """``text`` with its colours exchanged."""
        ...

    def strikethrough(self, text: str) -> str:
        """``text``, crossed out."""
        ...


def _as_it_is(text: str) -> str:
    return text


class PlainTheme:
    """No colours: every text stays as it is."""

    name = ""
    bold = italic = underline = dim = inverse = strikethrough = staticmethod(_as_it_is)

    def fg(self, name: str, text: str) -> str:
        """``text`` as it is."""
        return text

    def bg(self, name: str, text: str) -> str:
        """``text`` as it is."""
        return text


class GuardedDrawable:
    """A drawable that harms no screen: the first failure is told, and from then on it is empty."""

    def __init__(self, drawable: Drawable, failed: Callable[[BaseException], None]) -> None:
        self._drawable = drawable
        self._failed = failed
        self._has_failed = False

    def render(self, width: int) -> Sequence[str]:
        """The lines of the drawable; none once it has failed."""
        if self._has_failed:
            return ()
        try:
            return [str(line) for line in self._drawable.render(width)]
        except PASSED_ON:
            raise
        except BaseException as problem:
            self._has_failed = True
            self._failed(problem)
            return ()

    def invalidate(self) -> None:
        """Pass it on, to those that remember something."""
        forget = getattr(self._drawable, "invalidate", None)
        if forget is not None:
            forget()
