"""The colours of a terminal, as it reports them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pi.base.records import Record
from pi.tui.input.reports import Colour, PaletteColour

if TYPE_CHECKING:  # the first frame needs no conversion of colours
    from pi.tui.colour_spaces import Rgb

NUMBERS = range(16)
"""The colours of the palette that users configure."""
ASK_COLOURS = "\x1b]10;?\x07\x1b]11;?\x07" + "".join(f"\x1b]4;{n};?\x07" for n in NUMBERS)


class TerminalColours(Record):
    """The foreground, the background and the first sixteen colours of the palette."""

    foreground: Rgb
    background: Rgb
    palette: tuple[Rgb, ...]


class ReportedColours:
    """Collects the replies to ``ASK_COLOURS``; ``current`` is ``None`` until all have arrived."""

    def __init__(self) -> None:
        self.current: TerminalColours | None = None
        self._slots: dict[str, Rgb] = {}
        self._palette: dict[int, Rgb] = {}
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to changes of ``current``. Returns an unsubscribe function."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def handle_reply(self, reply: Colour | PaletteColour) -> None:
        """Keep the colour of a reply."""
        rgb = (round(reply.red * 255), round(reply.green * 255), round(reply.blue * 255))
        if isinstance(reply, PaletteColour):
            self._palette[reply.index] = rgb
        else:
            self._slots[reply.slot] = rgb

    def complete(self) -> None:
        """All replies have arrived: update ``current``, if the terminal reports its colours."""
        palette = tuple(self._palette[n] for n in NUMBERS if n in self._palette)
        if len(palette) < len(NUMBERS) or not {"foreground", "background"} <= self._slots.keys():
            return
        colours = TerminalColours(
            foreground=self._slots["foreground"],
            background=self._slots["background"],
            palette=palette,
        )
        if colours != self.current:
            self.current = colours
            for listener in tuple(self._listeners):
                listener()
