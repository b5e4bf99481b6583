"""Choosing what to say differently, in a session of its own."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.fuzzy import rank
from pi.base.terminal_text import one_line
from pi.coding.runtime.results import ForkPoint
from pi.modes.interactive.dialogs.panel import framed, list_rows
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING
from pi.modes.interactive.dialogs.typed import typed_in_short
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component


async def pick_fork_point(ui: Ui, points: list[ForkPoint]) -> ForkPoint | None:
    """Something that the person said on this branch; the last one is selected."""

    def draw(point: ForkPoint, width: int, *, selected: bool) -> str:
        text = one_line(typed_in_short(point.text)) or "(pictures)"
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
            empty="Nothing was said yet",
        )
        if points:
            inside.select(lambda point: point is points[-1])
        return framed(
            ui,
            "Fork from a message",
            inside,
            lambda: CHOOSING,
            message="The new session goes on before it; its text comes into the editor.",
        )

    return await ui.show(build)
