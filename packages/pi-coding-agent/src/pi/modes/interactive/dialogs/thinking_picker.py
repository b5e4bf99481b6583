"""Dialog to choose the thinking level."""

from __future__ import annotations

from collections.abc import Callable

from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.records import Record
from pi.modes.interactive.dialogs.panel import (
    LIST_INSET,
    list_rows,
    make_panel,
)
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

_THINKING_KEYS = (
    ("tui.select.confirm", "use"),
    ("app.thinking.save", "use and make default"),
    ("tui.select.cancel", "cancel"),
)


class PickedLevel(Record):
    """A choice, and whether it becomes the default."""

    level: ThinkingLevel
    as_default: bool = False


async def pick_thinking(ui: Ui) -> PickedLevel | None:
    """Return the level that the user chooses among those of the model."""
    levels, now = ui.port.models.levels(), ui.port.models.thinking_level

    def build(done: Callable[[PickedLevel | None], None]) -> Component:
        inside = LevelList(ui, levels, now, done)
        return make_panel(ui, "Thinking level", inside, lambda: _THINKING_KEYS, inset=LIST_INSET)

    return await ui.show(build)


class LevelList:
    """The levels, with the current one selected."""

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
        self.invalidate = self._list.invalidate
        """Invalidates the cached rows."""
        self.render = self._list.render
        """The list."""

    def handle_input(self, data: str) -> None:
        """Move, select, or select as default."""
        item = self._list.selected
        if item is not None and self._keymap.matches(data, "app.thinking.save"):
            self._done(PickedLevel(level=self._levels[item.value], as_default=True))
        else:
            self._list.handle_input(data)
