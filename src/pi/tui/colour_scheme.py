"""Whether the terminal is dark or light: asked, told, or guessed from the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from pi.tui.input.replies import Colour, ColourScheme

Scheme: TypeAlias = Literal["dark", "light"]


def scheme_of(background: Colour) -> Scheme:
    """What a background colour looks like, by its luminance as the eye sees it."""
    luminance = 0.2126 * background.red + 0.7152 * background.green + 0.0722 * background.blue
    return "light" if luminance > 0.5 else "dark"


def scheme_from_environment(env: Mapping[str, str]) -> Scheme | None:
    """What ``COLORFGBG`` (``foreground;background`` as palette numbers) says, if it is set."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    if not (background.isascii() and background.isdigit()):
        return None
    return "light" if int(background) == 7 or 9 <= int(background) <= 15 else "dark"


class Appearance:
    """What is known about the terminal's colours, best source first.

    The terminal's own word on dark or light, then its background colour, then ``COLORFGBG``, then
    dark.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self.background: Colour | None = None
        self._told: Scheme | None = None
        self._guessed = scheme_from_environment(env)
        self._listeners: list[Callable[[Scheme], None]] = []

    @property
    def scheme(self) -> Scheme:
        """Dark or light, as far as is known now."""
        if self._told:
            return self._told
        if self.background:
            return scheme_of(self.background)
        return self._guessed or "dark"

    def on_change(self, listener: Callable[[Scheme], None]) -> Callable[[], None]:
        """Be told when ``scheme`` changes; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def take(self, reply: Colour | ColourScheme) -> None:
        """Learn from what the terminal said."""
        before = self.scheme
        match reply:
            case ColourScheme(scheme=scheme):
                self._told = scheme
            case Colour(slot="background"):
                self.background = reply
        if self.scheme != before:
            for listener in tuple(self._listeners):
                listener(self.scheme)
