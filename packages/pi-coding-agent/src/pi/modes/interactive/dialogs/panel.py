"""The frame of every dialog: border, title, message and key hints; rows in columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from pi.base.terminal_text import one_line, sanitise
from pi.modes.interactive.dialogs.message import MessageView, shown_key
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component, Focusable, Interactive
from pi.tui.input.keymap import Keymap
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_parts, wrap_text

Hints: TypeAlias = Callable[[], str]

Keys: TypeAlias = tuple[tuple[str, str], ...]
"""Actions of a dialog, with their labels."""

DialogHints: TypeAlias = Callable[[], str]
"""The text beside a title."""

LIST_INSET = 1
"""Columns before the arrow of a list."""
LOW = 16
"""Screen height below which hints are omitted."""
MIN_ROWS = 3
_OTHER_ROWS = 9
"""Rows of a dialog beside its list: borders, title, search, footer."""
_GAP_AND_HINTS = 3
_BETWEEN = " · "
_BULLET = "• "
_BORDERS_AND_FOOTER = 4
_ENOUGH_FOR_MESSAGE = 6
"""Rows of a message for which empty rows are omitted."""
_LEAST_OF_MESSAGE = 3
"""Rows of a message for which hints are omitted."""
_TITLE_SHARE = 4
"""Maximum part of the screen for a title."""
_PLENTY = 1000


def no_hints() -> str:
    """Return an empty string: nothing is shown beside the title."""
    return ""


class Panel:
    """A component with a title above and hints below; keys go to the inner component.

    Title and message are sanitised. The first line of a title is the title, further lines start the
    message. ``rows`` is the screen height: if not everything fits, the middle of the message is
    hidden until the user opens it, and the hints are omitted if the message has hardly any rows.
    The title is limited to a part of the screen; a longer one is repeated in the message.
    ``inset`` moves the inner component to the right, so that the arrow of every list is in the
    same column.
    """

    def __init__(
        self,
        theme: Theme,
        title: str,
        inside: Component,
        *,
        message: str = "",
        hints: Hints = lambda: "",
        rows: Callable[[], int] = lambda: _PLENTY,
        aside: DialogHints = no_hints,
        inset: int = 0,
        keymap: Keymap | None = None,
    ) -> None:
        self.inside = inside
        self._theme = theme
        first, _, more = sanitise(title).strip().partition("\n")
        self._title = one_line(first)
        self._message = MessageView(more.strip("\n"), sanitise(message), theme, keymap or Keymap())
        self._repeats_title = False
        self._hints = hints
        self._rows = rows
        self._aside = aside
        self._inset = inset
        self._focused = False

    @property
    def children(self) -> tuple[Component, ...]:
        """The inner component."""
        return (self.inside,)

    @property
    def focused(self) -> bool:
        """Whether the inner component shows a cursor."""
        return self._focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._focused = focused
        if isinstance(self.inside, Focusable):
            self.inside.focused = focused

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        self.inside.invalidate()
        self._message.invalidate()

    def handle_input(self, data: str) -> None:
        """Scroll the message, or pass the key to the inner component."""
        if not self._message.handle_input(data) and isinstance(self.inside, Interactive):
            self.inside.handle_input(data)

    def render(self, width: int) -> list[str]:
        """Border, title, message, inner rows, hints, border."""
        border = self._theme.paint("border")("─" * width)
        inner_width = max(width - 2, 1)
        head = self._head(inner_width)
        available = max(self._rows() - _BORDERS_AND_FOOTER - len(head), 1)
        body: list[str] = []
        if self._message.is_open:
            head += self._message.open_rows(inner_width, available)
        else:
            body, message_rows = self._body(width, available)
            head += self._message.folded_rows(inner_width, message_rows)
        top = [f" {truncate_to_width(row, inner_width, '…')}" for row in head]
        return [truncate_to_width(row, width, "") for row in [border, *top, *body, border]]

    def _body(self, width: int, available: int) -> tuple[list[str], int]:
        """Return the rows below the message, and the number of rows that the message has."""
        inner_width = max(width - 2, 1)
        margin = " " * self._inset
        inside = [f"{margin}{row}" for row in self.inside.render(max(width - self._inset, 1))]
        message_rows = len(self._message.rows(inner_width))
        needed = min(message_rows, _ENOUGH_FOR_MESSAGE)
        hints = self._hint_rows(inner_width)
        gap = [""] if self._rows() >= LOW else []
        # Without room the empty rows go first; the keys go if the message then fits, or if it has
        # hardly any rows.
        layouts = (
            ([*gap, *inside, *(["", *hints] if hints else ())], needed),
            ([*gap, *inside, *hints], needed),
            ([*inside, *hints], message_rows),
            (inside, message_rows),
            ([*inside, *hints], min(needed, _LEAST_OF_MESSAGE)),
        )
        for body, least in layouts:
            if available - len(body) >= least:
                return body, available - len(body)
        return inside, max(available - len(inside), 1)

    def _head(self, width: int) -> list[str]:
        if not self._title:
            return []
        aside = f" {aside}" if (aside := self._aside()) else ""
        title_width = max(width - visible_width(aside), 1)
        most = max(self._rows() // _TITLE_SHARE, 1)
        wrapped = wrap_text(self._title, title_width)
        if len(wrapped) > most and not self._repeats_title:
            self._repeats_title = True  # what is asked must be readable
            self._message.prepend(self._title)
        title = [*map(self._theme.heading, _cut(wrapped, most, title_width))]
        title[-1] += self._theme.paint("muted")(aside)
        return title

    def _hint_rows(self, width: int) -> list[str]:
        dim = self._theme.paint("dim")
        return [f" {dim(row)}" for row in wrap_parts(self._hints(), _BETWEEN, width)]


def make_panel(
    ui: Ui,
    title: str,
    inside: Component,
    keys: Callable[[], Keys],
    *,
    message: str = "",
    aside: DialogHints = no_hints,
    inset: int = 0,
    more: str = "",
) -> Panel:
    """Build a dialog of this screen; ``more`` and ``keys`` are shown as hints."""

    def shown_hints() -> str:
        own_hints = hints(ui, *keys())
        return _BETWEEN.join((more, own_hints)) if more and own_hints else own_hints

    return Panel(
        ui.theme,
        title,
        inside,
        message=message,
        hints=shown_hints,
        rows=lambda: ui.rows,
        aside=aside,
        inset=inset,
        keymap=ui.keymap,
    )


def hints(ui: Ui, *actions: tuple[str, str]) -> str:
    """``Enter choose · Escape cancel``: the first key of each action and its label.

    Actions without a key are left out. On a low screen there are no hints: the list needs the rows.
    """
    if ui.rows < LOW:
        return ""
    labelled_keys = ((ui.keymap.keys(action), label) for action, label in actions)
    return _BETWEEN.join(f"{shown_key(keys[0])} {label}" for keys, label in labelled_keys if keys)


def _cut(rows: list[str], most: int, width: int) -> list[str]:
    """Return the first rows, with a sign in the last one if there were more."""
    if len(rows) <= most:
        return rows
    return [*rows[: most - 1], f"{truncate_to_width(rows[most - 1], width - 1, '')}…"]


def list_rows(ui: Ui, *, more: int = 0) -> int:
    """Return the number of list rows: half of the screen, if it is not very low.

    ``more`` are additional rows of the dialog.
    """
    other_rows = _OTHER_ROWS + more + (_GAP_AND_HINTS if ui.rows >= LOW else 0)
    return max(MIN_ROWS, min(ui.rows // 2, ui.rows - other_rows))


# Messages in lists --------------------------------------------------------------------------------


_FILE = re.compile(r'<file name="([^"]+)">(?:.*?</file>|.*)', re.S)
_SKILL = re.compile(r'\A<skill name="([^"]+)"[^>]*>(?:.*?</skill>|.*)', re.S)


def summarise_message(text: str) -> str:
    """Return a message with the names of inserted skills and files in place of their content.

    Also works for a text that was cut off inside one.
    """
    if not text.startswith("<"):
        return text
    return _FILE.sub(_mention, _SKILL.sub(r"/skill:\1 ", text)).strip()


def _mention(file: re.Match[str]) -> str:
    name = re.split(r"[/\\]", file[1])[-1]
    return f"@{name or file[1]} "
