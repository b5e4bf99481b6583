"""The frame of every dialog: a border, a title, what it is about, and which keys there are."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component, Focusable, Interactive
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text

Hints = Callable[[], str]

LOW = 16
"""Rows of a screen below which every row counts."""
LEAST_ROWS = 3
AROUND_A_LIST = 9
"""Rows that a dialog has beside its list."""
_BETWEEN = " · "


class Panel:
    """A component with a title above and hints below; keys go to what is inside.

    Title and message may come from anybody: they are sanitised.
    """

    def __init__(
        self,
        theme: Theme,
        title: str,
        inside: Component,
        *,
        message: str = "",
        hints: Hints = lambda: "",
    ) -> None:
        self.inside = inside
        self._theme = theme
        self._title = one_line(title)
        self._message = sanitise(message)
        self._hints = hints
        self._focused = False

    @property
    def children(self) -> tuple[Component, ...]:
        """What is framed."""
        return (self.inside,)

    @property
    def focused(self) -> bool:
        """Whether what is inside shows a cursor."""
        return self._focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._focused = focused
        if isinstance(self.inside, Focusable):
            self.inside.focused = focused

    def handle_input(self, data: str) -> None:
        """Pass the key on."""
        if isinstance(self.inside, Interactive):
            self.inside.handle_input(data)

    def invalidate(self) -> None:
        """Draw anew next time."""
        self.inside.invalidate()

    def render(self, width: int) -> list[str]:
        """Border, title, message, inside, hints, border."""
        border = self._theme.paint("border")("─" * width)
        room = max(width - 2, 1)
        rows = [border]
        if self._title:
            title = truncate_to_width(self._title, room, "…")
            rows.append(f" {self._theme.paint('accent', bold=True)(title)}")
        muted = self._theme.paint("muted")
        if self._message:
            rows += [f" {muted(line)}" for line in wrap_text(self._message, room)]
        rows += ["", *self.inside.render(width)]
        if hints := self._hints():
            dim = self._theme.paint("dim")
            rows += ["", *(f" {dim(line)}" for line in _wrapped(hints, room))]
        return [truncate_to_width(row, width, "") for row in [*rows, border]]


def hints(ui: Ui, *actions: tuple[str, str]) -> str:
    """``Enter choose · Escape cancel``: the first key of each action and what it does here.

    Actions without a key are left out. On a low screen there are no hints: the list needs the room.
    """
    if ui.rows < LOW:
        return ""
    found = ((ui.keymap.keys(action), what) for action, what in actions)
    return _BETWEEN.join(f"{shown_key(keys[0])} {what}" for keys, what in found if keys)


def _wrapped(hints: str, width: int) -> list[str]:
    """Hints on rows, a key never apart from what it does unless it alone is too long."""
    rows = [""]
    for hint in hints.split(_BETWEEN):
        longer = f"{rows[-1]}{_BETWEEN}{hint}" if rows[-1] else hint
        if visible_width(longer) <= width:
            rows[-1] = longer
        else:
            rows.append(hint)
    return [line for row in rows if row for line in wrap_text(row, width)]


def shown_key(key: str) -> str:
    """A key as people call it: ``Ctrl+S``, ``Enter``, ``PageUp``."""
    return "+".join(part[:1].upper() + part[1:] for part in key.split("+")) if key else ""


def list_rows(ui: Ui, *, around: int = AROUND_A_LIST) -> int:
    """How many rows of a list a dialog shows: half of the screen, if it is not very low.

    ``around`` are the rows that it has beside the list.
    """
    return max(LEAST_ROWS, min(ui.rows // 2, ui.rows - around))
