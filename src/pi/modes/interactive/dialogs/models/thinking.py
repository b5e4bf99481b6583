"""Choosing how much the model thinks."""

from __future__ import annotations

from collections.abc import Callable

from pi.ai.models.model import ThinkingLevel
from pi.base.records import Record
from pi.modes.interactive.dialogs.panel import framed, list_rows
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.select_list import SelectItem, SelectList

DESCRIPTIONS: dict[ThinkingLevel, str] = {
    "off": "answers at once",
    "minimal": "a moment",
    "low": "a little",
    "medium": "for everyday work",
    "high": "for hard problems",
    "xhigh": "for very hard problems",
    "max": "as long as it takes",
}

_KEYS = (
    ("tui.select.confirm", "use"),
    ("app.thinking.save", "use and start with it"),
    ("tui.select.cancel", "cancel"),
)


class PickedLevel(Record):
    """A choice, and whether sessions are to begin with it from now on."""

    level: ThinkingLevel
    keep: bool = False


async def pick_thinking(ui: Ui) -> PickedLevel | None:
    """The level that the person chooses among those that the model knows."""
    levels, now = ui.port.models.levels(), ui.port.models.thinking_level

    def build(done: Callable[[PickedLevel | None], None]) -> Component:
        inside = LevelList(ui, levels, now, done)
        return framed(ui, "Thinking level", inside, lambda: _KEYS)

    return await ui.show(build)


class LevelList:
    """The levels, the present one selected."""

    def __init__(
        self,
        ui: Ui,
        levels: tuple[ThinkingLevel, ...],
        now: ThinkingLevel,
        done: Callable[[PickedLevel | None], None],
    ) -> None:
        self._keymap = ui.keymap
        self._levels: dict[str, ThinkingLevel] = {level: level for level in levels}
        self._done = done
        self._list = SelectList(
            [SelectItem(value=level, description=DESCRIPTIONS[level]) for level in levels],
            lambda: list_rows(ui),
            ui.theme.select,
            keymap=ui.keymap,
            on_select=lambda item: done(PickedLevel(level=self._levels[item.value])),
            on_cancel=lambda: done(None),
        )
        if now in levels:
            self._list.select(levels.index(now))

    def handle_input(self, data: str) -> None:
        """Move, use, or use and keep."""
        item = self._list.selected
        if item is not None and self._keymap.matches(data, "app.thinking.save"):
            self._done(PickedLevel(level=self._levels[item.value], keep=True))
        else:
            self._list.handle_input(data)

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._list.invalidate()

    def render(self, width: int) -> list[str]:
        """The list."""
        return self._list.render(width)
