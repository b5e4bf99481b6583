"""Choosing a theme; whatever is selected is shown at once."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.panel import framed, list_rows
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component


class PickedTheme(Record):
    """What the setting is to be; no name follows the terminal."""

    name: str | None


FOLLOW = PickedTheme(name=None)


async def pick_theme(ui: Ui) -> PickedTheme | None:
    """The theme that the person chooses; the old one is back if they choose none."""
    before = ui.port.settings.values.theme
    offered = [FOLLOW, *(PickedTheme(name=name) for name in ui.themes.names)]

    def draw(theme: PickedTheme, width: int, *, selected: bool) -> str:
        text = one_line(_called(theme)) + ("  (now)" if theme.name == before else "")
        return ui.theme.paint("accent")(text) if selected else text

    def build(done: Callable[[PickedTheme | None], None]) -> Component:
        inside = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, offered, key=_called),
            draw=draw,
            rows=lambda: list_rows(ui),
            on_pick=done,
            on_cancel=lambda: done(None),
            on_move=lambda theme: _preview(ui, theme.name),
        )
        inside.select(lambda theme: theme.name == before)
        return framed(ui, "Theme", inside, lambda: CHOOSING)

    picked: PickedTheme | None = None
    try:
        picked = await ui.show(build)
        return picked
    finally:
        if picked is None:
            _preview(ui, before)


def _called(theme: PickedTheme) -> str:
    return theme.name or "as the terminal is"


def _preview(ui: Ui, name: str | None) -> None:
    try:
        ui.themes.use(name)
    except PiError as problem:
        ui.notify(problem.explain(), "error")
