"""Dialog to choose the prompt to fork from."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.fuzzy import rank
from pi.base.terminal_text import one_line
from pi.coding.port.results import ForkPoint
from pi.modes.interactive.dialogs.panel import list_rows, make_panel, summarise_message
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component


async def pick_fork_point(ui: Ui, points: list[ForkPoint]) -> ForkPoint | None:
    """Return a user message of this branch; the last one is selected."""

    def draw(point: ForkPoint, width: int, *, selected: bool) -> str:
        text = one_line(summarise_message(point.text)) or "(pictures)"
        return ui.theme.paint("accent")(text) if selected else text

    def build(done: Callable[[ForkPoint | None], None]) -> Component:
        inside = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, points, key=lambda point: point.text),
            draw=draw,
            rows=lambda: list_rows(ui),
            on_pick=done,
            on_cancel=lambda: done(None),
            empty="No messages yet",
        )
        if points:
            inside.select(lambda point: point is points[-1])
        return make_panel(
            ui,
            "Fork from a message",
            inside,
            lambda: CHOOSING,
            message="The new session ends before it; its text is put into the editor.",
        )

    return await ui.show(build)
