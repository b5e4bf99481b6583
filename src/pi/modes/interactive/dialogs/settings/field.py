"""One value, being typed."""

from __future__ import annotations

from collections.abc import Callable

from pi.coding.settings.table import Setting
from pi.modes.interactive.dialogs.settings.values import BadValue, by_default, for_editing, typed
from pi.modes.interactive.theme import Theme
from pi.tui.input.keymap import Keymap
from pi.tui.text.slicing import truncate_to_width
from pi.tui.widgets.input import Input


class ValueField:
    """A field that gives a value only if it is one; nothing typed takes the setting back."""

    def __init__(
        self,
        theme: Theme,
        keymap: Keymap,
        setting: Setting,
        value: object,
        *,
        on_value: Callable[[object], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._theme = theme
        self._setting = setting
        self._on_value = on_value
        self._problem = ""
        self._field = Input(
            prompt=" > ",
            placeholder=_without(setting),
            placeholder_paint=theme.paint("dim"),
            keymap=keymap,
            on_submit=self._take,
            on_cancel=on_cancel,
        )
        self._field.set_value(for_editing(setting, value))
        self._field.focused = True

    def handle_input(self, data: str) -> None:
        """Write, accept or cancel."""
        self._problem = ""
        self._field.handle_input(data)

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._field.invalidate()

    def render(self, width: int) -> list[str]:
        """What it is, the field, and what is wrong with what was typed."""
        muted, error = self._theme.paint("muted"), self._theme.paint("error")
        head = [f" {self._setting.label}", f" {muted(self._setting.description)}", ""]
        rows = [*head, *self._field.render(width), "", f" {error(self._problem)}"]
        return [truncate_to_width(row, width, "…") for row in rows]

    def _take(self, text: str) -> None:
        try:
            self._on_value(typed(self._setting, text))
        except BadValue as problem:
            self._problem = problem.message


def _without(setting: Setting) -> str:
    """What holds while nothing is typed."""
    return "nothing set" if setting.default is None else f"{by_default(setting)}, by default"
