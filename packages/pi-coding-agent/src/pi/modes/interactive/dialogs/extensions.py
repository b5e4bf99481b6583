"""``/extensions``: the list of extensions; Space switches one, Enter shows its details."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.base.fuzzy import rank
from pi.base.terminal_text import one_line
from pi.coding.extension_host.switches import counts_as_on
from pi.coding.port.extensions import ExtensionRow, RowGroup
from pi.modes.interactive.dialogs.columns import spread
from pi.modes.interactive.dialogs.extension_switching import switch_extension
from pi.modes.interactive.dialogs.panel import LOW, list_rows, make_panel
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.ui import Ui, report_errors
from pi.tui.component import Component
from pi.tui.input.keys import matches_key
from pi.tui.text.width import pad_to_width
from pi.tui.text.wrap import wrap_text

TITLE = "Extensions"
NONE = "No extensions found. See docs/how-to/write-an-extension.md to write one."
GROUPS: dict[RowGroup, str] = {
    "on": "On",
    "recommended": "Recommended",
    "more": "More",
    "needs": "Needs something",
}
_KEYS = (("tui.select.confirm", "details"), ("tui.select.cancel", "close"))
_SWITCH_HINT = "Space switch"
_NAME_WIDTH = 20
_BENEFIT_ROWS = 3
"""Rows below the list for the whole text of the selected extension, which may be cut beside it."""
_MARKS = {"on": "●", "session": "●", "ready": "◐", "off": "○", "needs": "○", "failed": "✗"}
_COLOURS = {"on": "success", "session": "success", "ready": "success", "failed": "error"}


async def show_extensions(ui: Ui) -> None:
    """Show all extensions until the user closes the list; switching takes effect at once."""
    port = ui.port.extensions
    clashes = (
        f"{clash.kind} {clash.name} is registered by {clash.winner}, not by {clash.loser}."
        for clash in port.clashes()
    )
    foreign = (f"{path} is for the original pi and cannot run here." for path in port.foreign)
    message = "\n".join([*clashes, *foreign])

    def build(done: Callable[[None], None]) -> Component:
        inside = ExtensionList(ui, close=lambda: done(None))
        return make_panel(ui, TITLE, inside, lambda: _KEYS, message=message, more=_SWITCH_HINT)

    await ui.show(build)


class ExtensionList:
    """The extensions by group. A row stays in its group while the list is open."""

    def __init__(self, ui: Ui, *, close: Callable[[], None]) -> None:
        self._ui = ui
        self._pending: set[str] = set()
        """Paths of extensions that are being switched."""
        rows = ui.port.extensions.switches.rows()
        self._groups = {row.path: GROUPS[row.group] for row in rows}
        self._rows = _sort_rows(rows)
        self._picker = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: find_extensions(query, self._rows),
            draw=self._draw,
            rows=lambda: list_rows(ui, more=_BENEFIT_ROWS),
            foot=self._benefit,
            on_pick=self._open,
            on_cancel=close,
            same=lambda row: row.path,
            group=lambda row: self._groups.get(row.path, GROUPS["more"]),
            empty=NONE,
        )
        self.render = self._picker.render
        """The search field and the visible rows."""
        self.invalidate = self._picker.invalidate
        """Invalidates the cached rows."""

    @property
    def focused(self) -> bool:
        """Whether the search field shows its cursor."""
        return self._picker.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._picker.focused = focused

    def handle_input(self, data: str) -> None:
        """Switch the selected extension, or search, move, open and close."""
        row = self._picker.selected
        if not matches_key(data, "space"):
            self._picker.handle_input(data)
        elif row is not None and row.path not in self._pending:
            # The list stays open and usable while an extension is loaded.
            self._ui.tasks.start(self._toggle(row), name=f"switch {row.name}")

    async def _toggle(self, row: ExtensionRow) -> None:
        self._pending.add(row.path)
        self._refresh()
        try:
            with report_errors(self._ui):
                await switch_extension(self._ui, row.name, on=not counts_as_on(row))
        finally:
            self._pending.discard(row.path)
            self._refresh()

    def _open(self, row: ExtensionRow) -> None:
        self._ui.tasks.start(self._show_details(row), name=f"details of {row.name}")

    async def _show_details(self, row: ExtensionRow) -> None:
        from pi.modes.interactive.dialogs.extension_details import (  # lazy: most lists are closed
            show_details,
        )

        with report_errors(self._ui):
            await show_details(self._ui, row)
        self._refresh()

    def _refresh(self) -> None:
        """Show the states of now, in the order of before."""
        by_path = {row.path: row for row in self._ui.port.extensions.switches.rows()}
        self._rows = [by_path[row.path] for row in self._rows if row.path in by_path]
        self._picker.refresh()
        self._ui.request_render()

    def _benefit(self, width: int) -> list[str]:
        row = self._picker.selected
        if row is None or self._ui.rows < LOW:
            return []
        lines = wrap_text(one_line(row.benefit), width)[: _BENEFIT_ROWS - 1]
        paint = self._ui.theme.paint("dim")
        return ["", *(paint(line) for line in lines)]

    def _draw(self, row: ExtensionRow, width: int, *, selected: bool) -> str:
        paint = self._ui.theme.paint
        mark = paint(_COLOURS.get(row.state, "dim"))(_MARKS[row.state])
        name = pad_to_width(one_line(row.name), _NAME_WIDTH)
        label = paint("accent")(name) if selected else name
        benefit = paint("text" if selected else "muted")(one_line(row.benefit))
        state = "…" if row.path in self._pending else short_state(row)
        return spread(f"{mark} {label} {benefit}", paint("dim")(state), width)


def short_state(row: ExtensionRow) -> str:
    """The state of an extension in a few words, for a list."""
    match row.state:
        case "on" if row.kind == "choice" and isinstance(row.value, str):
            return one_line(f"on: {row.value}")
        case "session":
            return "on for this session"
        case "ready":
            return "when it is used"
        case "needs":
            return "needs a library"
        case "failed":
            return "could not be loaded"
        case state:
            return state


def find_extensions(query: str, rows: Sequence[ExtensionRow]) -> Sequence[ExtensionRow]:
    """The extensions that hold every word of a query, those with it in the name first.

    If none does, fuzzy matches of names are returned, so that a typing error finds something.
    """
    terms = query.casefold().split()
    if not terms:
        return rows
    named = [row for row in rows if all(word in row.name.casefold() for word in terms)]
    texts = {row.path: _searched_text(row) for row in rows if row not in named}
    others = [
        row for row in rows if row.path in texts and all(word in texts[row.path] for word in terms)
    ]
    return [*named, *others] or rank(query, rows, key=lambda row: row.name)


def _searched_text(row: ExtensionRow) -> str:
    return " ".join((row.name, row.benefit, row.setting, *row.tools, *row.commands)).casefold()


def _sort_rows(rows: Sequence[ExtensionRow]) -> list[ExtensionRow]:
    groups = list(GROUPS)
    # What is switched on comes before what merely can be used.
    return sorted(rows, key=lambda row: (groups.index(row.group), row.state == "ready", row.name))
